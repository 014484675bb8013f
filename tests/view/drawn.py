"""What is drawn of data structures, against the data structures themselves: each check takes a detector, the arrays of
a frame and the positions at the last update."""

import numpy as np

from pliant import Mesh
from pliant.detect.queries.closest_point import ClosestPoints

LOOSE = 2e-6  # metres: frames are in single precision


def boxes_of(lines):
    """Corner (k,3) and sides (k,3,3) of boxes, as drawn: twelve edges each."""
    edges = np.asarray(lines, float).reshape(-1, 12, 2, 3)
    corner = edges[:, 0, 1]
    return corner, np.stack([edges[:, k, 0] - corner for k in (4, 1, 0)], 1)


def in_boxes(points, lines, more=0.0):
    """(n,k) whether points (n,3) are in boxes (k), enlarged by metres."""
    corner, sides = boxes_of(lines)
    length = np.maximum(np.linalg.norm(sides, axis=2), 1e-12)
    along = np.einsum("nki,kai->nka", points[:, None] - corner, sides / length[..., None])
    flat = length < 1e-9  # a side without length has no direction
    return ((along >= -LOOSE - more) & (along <= length + LOOSE + more) | flat).all(2)


def in_balls(points, balls):
    return np.linalg.norm(points[:, None] - balls[:, :3], axis=2) <= balls[:, 3] + LOOSE


def check_volumes(arrays, sides, kind, lag=0.0):
    """Every triangle is in one of the volumes drawn of its side."""
    for k, (x, faces) in enumerate(sides):
        corners = x[faces].reshape(-1, 3)
        if kind == "sphere":
            held = in_balls(corners, arrays["spheres"][arrays["spheres"][:, 4] == k].astype(float))
        elif kind.endswith("dop"):  # their outlines are compared with their slabs elsewhere
            ends = arrays[("lines", "accents")[k]].reshape(-1, 3)
            held = ((corners >= ends.min(0) - LOOSE) & (corners <= ends.max(0) + LOOSE)).all(1)[:, None]
        else:
            held = in_boxes(corners, arrays[("lines", "accents")[k]], lag)
        assert held.reshape(len(faces), 3, -1).all(1).any(1).all()


def check_bvh(detector, arrays, x):
    near = detector.near
    sides = [(mesh.x, mesh.top.faces) for mesh in ([near.a] if near.same else [near.a, near.b])]
    phase = near.broad_phase
    trees = phase.trees if phase is not None else []
    partial = any(getattr(tree, "update", "blend") in ("top-down", "hybrid", "blend") for tree in trees)
    kind = {6: "box", 4: "sphere", 15: "oriented"}.get(trees[0].tree.items.shape[1], "dop") if trees else "box"
    lag = max((tree.moved for tree in trees), default=0.0)
    if partial:  # nodes that no traversal reached are not drawn
        assert sum(map(len, arrays.values())) > 0
    else:
        check_volumes(arrays, sides, kind, lag)


def check_continuous(detector, arrays, x):
    moving = detector._collisions.sides
    phase = detector.broad_phase
    if phase is None and not detector._collisions.velocity_cones:
        for end in ("x_0", "x_1"):
            check_volumes(arrays, [(getattr(m, end), m.leaf_mesh.top.faces) for m in moving], "box")
    else:
        assert sum(map(len, arrays.values())) > 0


def check_stochastic(detector, arrays, x):
    parts = [x[part.side.rows][part.side.mesh.faces] for part in detector._parts]
    corners = np.concatenate(parts).reshape(-1, 3)
    assert in_boxes(corners, arrays["lines"]).reshape(sum(map(len, parts)), 3, -1).all(1).any(1).all()
    assert len(arrays.get("accents", ())) == min(len(detector.leaf_pairs), 4000)


def check_field(detector, arrays, x):
    field, plane = detector.field, arrays["field_slice"].astype(float)
    assert (plane >= field.low - LOOSE).all()
    assert (plane <= field.high + LOOSE).all()
    lines = arrays["lines"].astype(float)
    if type(field).__name__ == "PlanarField":
        return
    assert np.ptp(lines[..., 2]) < LOOSE  # the cells are those that the plane cuts
    if getattr(field, "storage", "") == "sparse":
        ring = lines.reshape(-1, 4, 2, 3)
        index = np.rint((ring[:, 0, 0] - field.low) / (4.0 * field.spacing))[:, :2].astype(int)
        k = int((lines[0, 0, 2] - field.low[2]) / (4.0 * field.spacing))
        assert (field.grid.index[index[:, 0], index[:, 1], k] > 0).all()
        assert len(ring) == (field.grid.index[:, :, k] > 0).sum()
    elif hasattr(field, "leaves"):
        low, side, _ = field.leaves()
        z = lines[0, 0, 2]
        cut = (low[:, 2] <= z) & (z < low[:, 2] + side)
        drawn = lines.reshape(-1, 4, 2, 3)
        assert len(drawn) == cut.sum()
        np.testing.assert_allclose(drawn[:, 0, 0, :2], low[cut, :2], atol=LOOSE)


def check_grid(detector, arrays, x):
    """The cells of brute force hold vertices of the first side, and faces of the second are near them."""
    one, two = (x[side.rows] for side in detector.sides)
    inside = in_boxes(one, arrays["lines"])
    assert inside.any(0).all()
    corner, sides = boxes_of(arrays["lines"])
    faces = two[detector.sides[1].mesh.faces]
    reach = detector.within + LOOSE
    low, high = faces.min(1) - reach, faces.max(1) + reach
    overlap = (low[:, None] <= corner + sides.sum(1)) & (corner <= high[:, None])
    assert overlap.all(2).any(0).all()


def check_hash(detector, arrays, x):
    """Every vertex is in an occupied cell, and every drawn cell is occupied."""
    lines = np.concatenate([arrays.get(name, np.zeros((0, 2, 3))) for name in ("lines", "accents")])
    held = in_boxes(detector._hash.x, lines)
    assert held.any(1).all()
    assert held.any(0).all()


def check_images(detector, arrays, x):
    if detector.resolution is None:
        starts = arrays.get("lines", np.zeros((0, 2, 3)))[:, 0]
        apart = np.linalg.norm(starts[:, None] - x, axis=2).min(1)
        assert (apart < LOOSE).all()  # rays start at vertices
    elif detector._volume is not None:
        middle = arrays["lines"].astype(float).mean(1)
        bodies = [part for part in (detector.one, detector.other) if part.solid]
        depth = [ClosestPoints(p.side.mesh.moved(x[p.side.rows])).query(middle)[0] for p in bodies]
        assert (np.min(depth, 0) < detector.bounds[0]).all()


def check_pairs(detector, arrays, x):
    ends = np.concatenate([arrays.get(name, np.zeros((0, 2, 3))) for name in ("lines", "accents")]).reshape(-1, 3)
    assert len(ends)
    assert (np.linalg.norm(ends[:, None] - x, axis=2).min(1) < LOOSE).all()


def check_spheres(detector, arrays, x):
    """One sphere for each triangle around its centroid, that reaches two thirds of the way to its farthest corner."""
    for k, mesh in enumerate(detector._leaf_meshes):
        corners = mesh.x[mesh.top.faces]
        balls = arrays["spheres"][arrays["spheres"][:, 4] == k].astype(float)
        apart = np.linalg.norm(balls[:, None, :3] - corners.mean(1), axis=2)
        assert (apart.min(1) < LOOSE).all()
        far = np.linalg.norm(corners - corners.mean(1)[:, None], axis=2).max(1)
        np.testing.assert_allclose(balls[:, 3], 2.0 / 3.0 * far[apart.argmin(1)], atol=LOOSE)


def check_heights(detector, arrays, x):
    """The nodes are on the surface."""
    mesh = detector.obstacle.mesh
    moved = Mesh(x[detector.obstacle.rows], mesh.faces)
    ends = arrays["lines"].reshape(-1, 3).astype(float)
    assert np.abs(ClosestPoints(moved).query(ends)[0]).max() < 1e-5


def check_bone_boxes(detector, arrays, x):
    assert in_boxes(x[detector.body.rows], arrays["lines"]).any(1).all()


CHECKS = {
    "brute-force": check_grid,
    "distance-field": check_field,
    "bvh": check_bvh,
    "continuous": check_continuous,
    "height-grid": check_heights,
    "bone-boxes": check_bone_boxes,
    "sphere-surface": check_spheres,
    "spatial-hash": lambda detector, *given: (check_grid if detector._flat else check_hash)(
        detector._flat or detector, *given
    ),
    "stochastic-bvh": check_stochastic,
    "active-pairs": check_pairs,
    "image-space": check_images,
}

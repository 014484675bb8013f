"""What every shape must be, measured."""

import numpy as np

from pliant.mesh import Mesh


def smallest_angles(mesh: Mesh) -> np.ndarray:
    """(m,) the smallest angle of each face, degrees."""
    x = mesh.vertices[mesh.faces]
    ahead = np.roll(x, -1, 1) - x
    behind = np.roll(x, 1, 1) - x
    wide = np.linalg.norm(np.cross(ahead, behind), axis=2)
    return np.degrees(np.arctan2(wide, (ahead * behind).sum(2))).min(1)


def is_one_closed_body(mesh: Mesh) -> bool:
    found = mesh.issues
    return not found.summary() and found.components == 1 and mesh.volume > 0


def same(a: Mesh, b: Mesh) -> bool:
    return (
        a.vertices.tobytes() == b.vertices.tobytes()
        and a.faces.tobytes() == b.faces.tobytes()
        and (a.uv is b.uv is None or a.uv.tobytes() == b.uv.tobytes())
    )


def edges_through_faces(mesh: Mesh) -> int:
    """How many edges pass through a face they share no vertex with: 0 for a surface that does not cut itself."""
    from scipy.spatial import cKDTree

    x, edges, faces = mesh.vertices, mesh.topology.edges, mesh.faces
    middle, half = x[edges].mean(1), 0.5 * np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    centre = x[faces].mean(1)
    size = np.linalg.norm(x[faces] - centre[:, None], axis=2).max(1)
    found = 0
    # faces of similar size together: a few large ones must not widen the search around all the small ones
    classes = np.floor(np.log2(size)).astype(int)
    for c in np.unique(classes):
        own = np.flatnonzero(classes == c)
        near = cKDTree(centre[own]).query_ball_point(middle, half + size[own].max())
        e = np.repeat(np.arange(len(edges)), [len(k) for k in near])
        f = own[np.concatenate([np.asarray(k, int) for k in near])]
        apart = (faces[f][:, :, None] != edges[e][:, None, :]).all((1, 2))
        e, f = e[apart], f[apart]
        p, d = x[edges[e, 0]], x[edges[e, 1]] - x[edges[e, 0]]
        a, u, v = x[faces[f, 0]], x[faces[f, 1]] - x[faces[f, 0]], x[faces[f, 2]] - x[faces[f, 0]]
        n = np.cross(u, v)
        slope = (d * n).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = ((a - p) * n).sum(1) / slope
            w = p + t[:, None] * d - a
            s = (np.cross(w, v) * n).sum(1) / (n * n).sum(1)
            r = (np.cross(u, w) * n).sum(1) / (n * n).sum(1)
        found += int(((t >= 0) & (t <= 1) & (s >= 0) & (r >= 0) & (s + r <= 1)).sum())
    return found


def winding(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """(n,) how often the closed mesh winds around each point: 1 inside, 0 outside (van Oosterom and Strackee 1983)."""
    total = np.zeros(len(points))
    for i, p in enumerate(points):
        a, b, c = np.moveaxis(mesh.vertices[mesh.faces] - p, 1, 0)
        la, lb, lc = (np.sqrt((q * q).sum(1)) for q in (a, b, c))
        over = (a * np.cross(b, c)).sum(1)
        under = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        total[i] = np.arctan2(over, under).sum() / (2 * np.pi)
    return total

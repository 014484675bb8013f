"""Slices of distance fields as they are sampled, with the cells that a plane cuts: bricks, nodes, octree, BSP."""

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...fields.bsp import PlanarField
from ...fields.field import DistanceField
from ...fields.fill import FilledField
from ...fields.octree import AdaptiveField
from ...fields.sampled import Sampled
from ...structure import FieldSlice, Floats, Structure, box_edges, clamped, millimetres, moved

LEVELS = 20  # positions of the plane
SIDE, FINE = 144, 216  # pixels along the longer side; of a BSP tree, whose cells the pixels show
_COARSE = 64  # of a field that is asked part by part
_MOST_LINES = 40  # of a grid along each side
_MOST_CELLS = 6000
_cut: "weakref.WeakKeyDictionary[Sampled, tuple[int, Structure]]" = weakref.WeakKeyDictionary()  # the last one of each


def structure_of_field(field: Sampled, pose: Floats | None, level: int | None) -> Structure:
    """Return a slice of a field, in the middle by default, at right angles to z of its body."""
    level = clamped(level, LEVELS, LEVELS // 2)
    made = _cut.get(field)
    if made is None or made[0] != level:
        made = _cut[field] = level, _sliced(field, level)
    found = made[1]
    if pose is None or found.slice is None:
        return found
    there = found.slice._replace(corners=moved(found.slice.corners, pose))
    return found._replace(lines=moved(found.lines, pose), slice=there)


def _sliced(field: Sampled, level: int) -> Structure:
    box = np.stack([field.low, field.high])
    z = float(box[0, 2] + (box[1, 2] - box[0, 2]) * (level + 0.5) / (LEVELS + 1))
    points = plane_points(box, z, FINE if isinstance(field, PlanarField) else SIDE)
    distance = np.empty(points[..., 0].size)
    field.probe(points.reshape(-1, 3), distance, np.empty((len(distance), 3)))
    lines, text = _cells(field, box, z)
    step, most = _scale(field)
    marked = np.zeros(points.shape[:2], np.bool_)
    if isinstance(field, PlanarField):
        leaf = leaves_at(field, points.reshape(-1, 3)).reshape(points.shape[:2])
        marked[:, 1:] |= leaf[:, 1:] != leaf[:, :-1]
        marked[1:] |= leaf[1:] != leaf[:-1]
        text += f", {len(np.unique(leaf))} of {field.n_leaves} in this plane"
    known = FieldSlice(corners_of(box, z), distance.reshape(points.shape[:2]), marked, step, most)
    return Structure(f"slice {level} of {LEVELS} of the distance field: {text}", level, LEVELS, lines, slice=known)


def plane_points(box: Floats, z: float, side: int) -> Floats:
    """Return the centres (h,w,3) of the pixels of a plane, the first row at the greatest y."""
    size = box[1] - box[0]
    columns, rows = (max(8, round(side * float(size[k]) / float(size[:2].max()))) for k in (0, 1))
    points = np.empty((rows, columns, 3))
    points[..., 0] = box[0, 0] + (np.arange(columns) + 0.5) * size[0] / columns
    points[..., 1] = (box[1, 1] - (np.arange(rows) + 0.5) * size[1] / rows)[:, None]
    points[..., 2] = z
    return points


def corners_of(box: Floats, z: float) -> Floats:
    (x, y, _), (u, v, _) = box.tolist()
    return np.array([[x, v, z], [u, v, z], [u, y, z], [x, y, z]])


def _scale(field: Sampled) -> tuple[float, float]:
    """Return the metres of a colour, and of the fullest one."""
    size = float((field.high - field.low)[:2].max())
    if isinstance(field, DistanceField):
        return max(field.spacing, 0.005 * size), max(field.band * field.spacing, 0.03 * size)
    return 0.02 * size, 0.2 * size


def _cells(field: Sampled, box: Floats, z: float) -> tuple[Floats, str]:
    """Return the outlines (k,2,3) of the cells that the plane cuts, and what they are."""
    if isinstance(field, AdaptiveField):
        low, side, levels = field.leaves()
        cut = (low[:, 2] <= z) & (z < low[:, 2] + side)
        text = f"adaptive (octree), {len(side)} leaves on levels up to {levels.max()}, {int(cut.sum())} in this plane"
        return _squares(low[cut], side[cut], z), text
    if isinstance(field, PlanarField):
        return box_edges(box[:1], box[1:]), "planar (BSP tree), linear in each cell, dark lines between them"
    if isinstance(field, DistanceField) and field.storage == "sparse":
        grid: Any = field.grid
        brick = 4.0 * field.spacing
        at = np.argwhere(grid.index > 0)
        low = grid.origin + brick * at
        cut = (low[:, 2] <= z) & (z < low[:, 2] + brick)
        text = f"{len(at)} bricks of 4 x 4 x 4 nodes, {int(cut.sum())} in this plane"
        text += f"; cells of {millimetres(field.spacing)}, narrow band of {field.band:.3g} cells"
        return _squares(low[cut], np.full(int(cut.sum()), brick), z), text
    assert isinstance(field, (DistanceField, FilledField))
    shape = field.values.shape
    every = max(1, -(-max(shape[:2]) // _MOST_LINES))
    text = f"dense grid of {shape[0]} x {shape[1]} x {shape[2]} nodes, every {every}. line drawn"
    text += f"; cells of {millimetres(field.spacing)}, narrow band of {field.band:.3g} cells"
    text += ", filled by fast sweeping beyond it" if isinstance(field, FilledField) else ""
    return _lattice(box, every * field.spacing, z), text


def _squares(low: Floats, side: Floats, z: float) -> Floats:
    """Return the edges (4 k,2,3) of squares in a plane."""
    low, side = low[:_MOST_CELLS], side[:_MOST_CELLS]
    ring = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    corners = np.full((len(low), 4, 3), z)
    corners[..., :2] = low[:, None, :2] + side[:, None, None] * ring
    return np.stack([corners, np.roll(corners, -1, axis=1)], 2).reshape(-1, 2, 3)


def _lattice(box: Floats, h: float, z: float) -> Floats:
    """Return the lines of a grid in a plane, `h` metres apart."""
    lines = []
    for axis in (0, 1):
        count = int(float(box[1, axis] - box[0, axis]) / h * (1.0 + 1e-9)) + 1
        at = box[0, axis] + h * np.arange(count)
        ends = np.full((len(at), 2, 3), z)
        ends[..., axis] = at[:, None]
        ends[..., 1 - axis] = box[:, 1 - axis]
        lines.append(ends)
    return np.concatenate(lines)


def leaves_at(field: PlanarField, points: Floats) -> NDArray[np.int64]:
    """Return the leaf (n,) of a BSP tree that contains each of points (n,3)."""
    p = (points - field.low) / field.side
    at = np.zeros(len(p), np.int64)
    while True:
        inner = np.flatnonzero(field.child[at] > 0)
        if not len(inner):
            return at
        plane = field.linear[at[inner]].astype(np.float64)
        side = np.einsum("ij,ij->i", plane[:, :3], p[inner]) + plane[:, 3] > 0.0
        at[inner] = field.child[at[inner]] + side


def structure_of_parts(detector: Any, level: int | None) -> Structure:
    """Return a slice through the fields of the rigid parts of a skin, of which each point has the nearest, and the
    boxes of the parts."""
    level = clamped(level, LEVELS, LEVELS // 2)
    boxes = [moved(box_edges(part.box[:1], part.box[1:]), pose) for part, pose in zip(detector.fields, detector.poses)]
    lines = np.concatenate([np.zeros((0, 2, 3)), *boxes])
    ends = lines.reshape(-1, 3)
    if not len(ends):
        return Structure("distance fields of the bones: not placed before the first step", level, LEVELS)
    box = np.stack([ends.min(0), ends.max(0)])
    z = float(box[0, 2] + (box[1, 2] - box[0, 2]) * (level + 0.5) / (LEVELS + 1))
    points = plane_points(box, z, _COARSE)
    distance = detector.distance(points.reshape(-1, 3)).reshape(points.shape[:2])
    size = float((box[1] - box[0])[:2].max())
    cut = FieldSlice(corners_of(box, z), distance, np.zeros(distance.shape, np.bool_), 0.005 * size, 0.03 * size)
    text = f"slice {level} of {LEVELS} of the distance fields of {len(detector.fields)} bones, each in the box of its"
    return Structure(f"{text} bone; the nearest counts", level, LEVELS, lines, slice=cut)

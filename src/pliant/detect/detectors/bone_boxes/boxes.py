"""Bone-attached boxes along the principal axes of the skin of each bone, sized over a clip and divided into slabs.

After N. Pelechano, L. Bull and M. Slater, sections 4.1 to 4.3. The tolerances are measured over the clip, and checked
at every update: by the matrices of the bones where these determine the vertices, vertex by vertex elsewhere.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.bone_boxes import boxes as _kernels
from ....kernels.detectors.bone_boxes import poses as _poses
from ....kernels.detectors.bone_boxes import sorting as _sorting
from ....kernels.detectors.bone_boxes.boxes import ENTRIES, LANES, Boxes, Entries, Moved, Placed
from ....kernels.detectors.bone_boxes.poses import Pairs
from ....kernels.jit import worth
from .poses import known_poses, pairs_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
SLABS = 15  # per box, as in the paper
_SPARE = 0.05  # of a vertex's range in its box, and of a slab: added to both ends of the range
_SPARE_KNOWN, _MOST_KNOWN = 0.01, 0.25  # the same where poses are proved by the bones, and of a slab at most
_AGAIN = 0.25  # of a slab: added when a vertex leaves its range
_SOME = 40_000  # vertices of the skin up to which they are checked on one thread


class BoneBoxes:
    """One box for each bone that owns triangles, from poses (t,b,3,4) of the bones and `frames` of the skin (n,3).

    A triangle belongs to the bone with the largest sum of skinning weights at its corners. `bones` (k,) are the bones
    with a box; `tolerances` (k,2,3) how far the skin leaves the box of the first pose, below and above, along each axis
    of the box, metres; `widened` how often a vertex has left its range since. `within`: query distance of the slab
    lists, metres.
    """

    def __init__(
        self,
        faces: Ints,
        joints: NDArray[Any],
        weights: Floats,
        matrices: Floats,
        frames: Iterable[Floats],
        within: float,
        slabs: int = SLABS,
        bind: Floats | None = None,
    ) -> None:
        """bind (n,3): positions that the matrices move, if they alone move the skin: `follow_bones` then serves it."""
        self.within, self.slabs, self.widened = within, slabs, 0
        self.slack = self.reach = self.largest = 0.0
        self._rows: NDArray[np.int64] | None = None
        owner = _owners(faces, joints, weights)
        self.bones, box = np.unique(owner, return_inverse=True)
        self._faces, self._box = faces, box.reshape(-1).astype(np.int32)
        # entries are (box, vertex) pairs: a vertex between bones belongs to several boxes
        n, count = len(joints), len(self.bones)
        keys, entry = np.unique(self._box[:, None].astype(np.int64) * n + faces, return_inverse=True)
        self._entry = entry.reshape(-1, 3)
        self.entry_box, self.entry_vertex = (keys // n).astype(np.int32), (keys % n).astype(np.int32)
        first = np.searchsorted(self.entry_box, np.arange(count))
        self.centre = np.zeros((count, 3))
        self.axes = np.broadcast_to(np.eye(3), (count, 3, 3)).copy()
        self._first, self._many = first, np.diff(np.append(first, len(self.entry_box)))
        self.checked = 0  # vertices of the skin that were compared with their ranges at the last update
        self.frame = np.empty((count, 3, 4))
        self.placed = Placed(np.empty((count, 3, 4)), np.empty((count, 6)), np.empty((count, 4)))
        self.moved = Moved(np.empty((count, 3, 4)), np.empty(count), np.empty(count), np.empty(count))
        self.bone_pairs: Pairs | None = None
        self._measure(matrices, frames, None if bind is None else (joints, weights, bind))
        self._entries = self._make_entries()
        self._sort()

    @property
    def share(self) -> Floats:
        """(k,) fraction of all triangles in each box."""
        return np.bincount(self._box, minlength=len(self.bones)) / len(self._box)

    def transform(self, matrices: Floats) -> None:
        """Transform the boxes by the bone matrices (b,3,4)."""
        self._to(matrices)
        _kernels.transform(self.frame, self.axes, self.boxes.low, self.boxes.high, self.placed)
        self.largest = float(np.abs(self.placed.world).max())
        self._set_slack()

    def _set_slack(self) -> None:
        # bound of the rounding error of a point in box coordinates
        self.slack = 1e-14 * self.largest
        self.reach = self.within * (1.0 + 1e-12) + self.slack
        if not self.reach <= self._margin:
            self._sort()

    def follow(self, matrices: Floats, x: Floats) -> int:
        """Move the boxes with the bone matrices (b,3,4), fill `moved`, and widen ranges and lists for vertices x (n,3)
        outside their ranges; return the number of such entries."""
        before, ball, entries = self.placed.to_box.copy(), self.placed.ball.copy(), self._entries
        self.transform(matrices)
        worth(_kernels.follow, len(entries.vertex), _SOME)(self.placed.to_box, entries, x)
        total = int(_kernels.relate(before, ball, self.placed, entries, self.moved))
        self.checked = len(entries.vertex)
        if self.bone_pairs is not None:
            _poses.relative(np.ascontiguousarray(matrices), self.placed.to_box, self.bone_pairs, self.bone_pairs.now)
            self._known.room[:] = -np.inf
        return self._widen(x, total)

    def follow_bones(self, matrices: Floats, x: Floats) -> int:
        """`follow` for a skin that is exactly where the matrices move its bind pose, as it was at the last call: only
        the vertices of boxes whose pose is not near one of the clip are checked. Strays are upper bounds."""
        assert self.bone_pairs is not None
        c, boxes = len(self.bones), self.boxes
        matrices = np.ascontiguousarray(matrices)
        frames = _poses.Frames(matrices, self.bones, self.centre, self.axes, boxes.low, boxes.high, self.frame)
        before, ball = np.empty((c, 3, 4)), np.empty((c, 4))
        args = frames, self.placed, before, ball, self.moved, self.bone_pairs, self._known
        self.largest, unknown = _poses.place(*args)
        self._set_slack()
        total = self.checked = 0
        if unknown:
            failed = self._known.failed > 0
            total = int(_kernels.count_outside(self.placed.to_box, self._entries, x, failed))
            self.checked = int(self._many[failed].sum())
        return self._widen(x, total)

    def _widen(self, x: Floats, total: int) -> int:
        """Widen the ranges of the vertices of x (n,3) outside of them, if their number is not 0, and return it."""
        if total:
            q = self._coordinates(x)
            rows = np.flatnonzero((q < self.span[:, :3]).any(1) | (q > self.span[:, 3:]).any(1))
            q = q[rows]
            room = _AGAIN / self.boxes.per[self.entry_box[rows], None]
            self.span[rows, :3] = np.minimum(self.span[rows, :3], q - room)
            self.span[rows, 3:] = np.maximum(self.span[rows, 3:], q + room)
            self.widened += total
            self._sort()
            _kernels.transform(self.frame, self.axes, self.boxes.low, self.boxes.high, self.placed)
        return total

    def rest(self) -> None:
        """Set `moved` for a skin that has not moved."""
        self.moved.motion[:], self.moved.cosine[:] = np.eye(3, 4), 1.0
        self.moved.stray[:] = self.moved.travel[:] = 0.0

    def _make_entries(self) -> Entries:
        ends = np.append(self._first, len(self.entry_box))
        tasks = [
            (k, first, min(first + ENTRIES, ends[k + 1]))
            for k in range(len(self._first))
            for first in range(ends[k], ends[k + 1], ENTRIES)
        ]
        n, c = len(self.entry_box), len(tasks)
        work = np.zeros((n, 3)), np.empty(c, np.int64), np.empty(c)
        return Entries(np.array(tasks, np.int32).reshape(-1, 3), self.entry_vertex, self.span, *work)

    def _to(self, matrices: Floats) -> None:
        _kernels.frames(np.ascontiguousarray(matrices), self.bones, self.centre, self.frame)

    def _coordinates(self, x: Floats, rows: NDArray[Any] | slice = slice(None)) -> Floats:
        box, vertex = self.entry_box[rows], self.entry_vertex[rows]
        out = np.empty((len(box), 3))
        _kernels.coordinates(self.placed.to_box, box, vertex, x, out)
        return out

    def _measure(
        self, matrices: Floats, frames: Iterable[Floats], skin: tuple[NDArray[Any], Floats, Floats] | None
    ) -> None:
        """Compute axes from the first pose, ranges and tolerances from all poses, and the pairs of boxes and bones of a
        skin that they alone move (joints, weights, bind pose)."""
        none, placed = np.zeros((len(self.bones), 3)), []
        for k, (pose, x) in enumerate(zip(matrices, frames, strict=True)):
            if k == 0:
                self.centre = self._centres(pose, x)
            self._to(pose)
            _kernels.transform(self.frame, self.axes, none, none, self.placed)
            q = self._coordinates(x)
            if k == 0:
                self.axes = _main_axes(q, self._first)
                _kernels.transform(self.frame, self.axes, none, none, self.placed)
                q = self._coordinates(x)
                low, high = q.copy(), q.copy()
            placed.append(self.placed.to_box.copy())
            np.minimum(low, q, out=low)
            np.maximum(high, q, out=high)
            if k == 0:
                rest = self._around(low, high)
        whole = self._around(low, high)
        self.tolerances = np.stack([rest[0] - whole[0], whole[1] - rest[1]], 1)
        slab = (whole[1] - whole[0])[self.entry_box, :1] / self.slabs
        share = _SPARE if skin is None else _SPARE_KNOWN
        spare = share * (high - low + slab) + 1e-12 * float(np.abs(q).max())
        if skin is not None:
            self.bone_pairs, poses = pairs_of(self.entry_box, self.entry_vertex, skin, matrices, np.array(placed))
            bounds = slab[self._first, 0] * _SPARE_KNOWN, slab[self._first, 0] * _MOST_KNOWN
            self._known = known_poses(self.bone_pairs, poses, *bounds)
            spare = np.maximum(spare, self._known.spare[self.entry_box, None])
        self.span = np.concatenate([low - spare, high + spare], 1)

    def _centres(self, matrices: Floats, x: Floats) -> Floats:
        """Return the points (k,3) that the matrices map to the centroid of each bone's vertices (least squares)."""
        middle = np.add.reduceat(x[self.entry_vertex], self._first) / self._many[:, None]
        pose = matrices[self.bones]
        back = np.linalg.pinv(pose[:, :, :3])
        return np.asarray((back * (middle - pose[:, :, 3])[:, None, :]).sum(2))

    def _around(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return np.minimum.reduceat(low, self._first), np.maximum.reduceat(high, self._first)

    def _sort(self) -> None:
        """Sort triangles into slabs, and into the lists of all slabs they overlap, by the ranges of their corners."""
        count, slabs = len(self.bones), self.slabs
        low, high = self._around(self.span[:, :3], self.span[:, 3:])
        self._margin = self.within * (1.0 + 1e-9) + 1e-12 * max(self.largest, float(np.abs(self.span).max()))
        begin = low[:, 0] - self._margin
        # slabs thinner than the margin would only lengthen the lists
        per = np.minimum(slabs / (high[:, 0] - low[:, 0] + 2.0 * self._margin), 1.0 / self._margin)
        if self._rows is None:
            ranges = self._bounds(np.arange(len(self._box)))
            middle = 0.5 * (ranges[:, 0] + ranges[:, 3])
            along = (middle - begin[self._box]) * per[self._box]
            home = self._box * slabs + np.clip(along, 0, slabs - 1).astype(int)
            around_axis = np.arctan2(ranges[:, 1] + ranges[:, 4], ranges[:, 2] + ranges[:, 5])
            # dense slabs in rings, so that a group is about as long as it is wide
            thickness, round_it = 1.0 / per, 2.0 * (high - low)[:, 1:].sum(1)
            many = np.bincount(home, minlength=count * slabs).reshape(count, slabs)
            rings = np.sqrt(many * (thickness / np.maximum(LANES * round_it, 1e-300))[:, None])
            rings = np.maximum(np.rint(rings), 1.0).ravel()[home]
            ring = np.floor(np.clip(along - home % slabs, 0.0, 1.0 - 1e-9) * rings)
            self._rows = np.lexsort((around_axis, ring, home))
            self._home = np.searchsorted(home[self._rows], np.arange(count * slabs + 1)).astype(np.int32)
            self._row_box = self._box[self._rows]
        exact, bounds = self._bounds(self._rows), np.empty((len(self._rows), 6), np.float32)
        start, lists = np.empty(count * slabs + 1, np.int32), (exact, self._row_box, self._margin, begin, per, slabs)
        items = np.empty(_sorting.count_in_slabs(*lists, start), np.int32)
        _sorting.list_in_slabs(*lists, start, items)
        _sorting.round_outward(exact, bounds)
        groups, begins = _groups(self._home)
        blocks, block_begins = _groups(groups)
        around, within_groups = _around(bounds, self._home), _around(bounds, begins)
        slab_begins = _groups(slabs * np.arange(count + 1, dtype=np.int32))[1]
        lanes = (_lanes(around, slab_begins), _lanes(within_groups, block_begins), _lanes(bounds, begins))
        corners, face = self._faces[self._rows], self._rows.astype(np.int32)
        grouped = (self._home, around, groups, within_groups, blocks, *lanes)
        self.boxes = Boxes(low, high, begin, per, start, items, *grouped, bounds, corners, face, slabs)

    def _bounds(self, rows: NDArray[np.int64]) -> Floats:
        """Return the bounds (k,6) of the triangles `rows`, by the ranges of their corners."""
        out = np.empty((len(rows), 6))
        _sorting.bound_triangles(self.span, self._entry, rows, out)
        return out


def _owners(faces: Ints, joints: NDArray[Any], weights: Floats) -> NDArray[np.int64]:
    """Return the bone (m,) with the largest weight on each triangle; ties go to the lowest bone."""
    bones = int(joints.max()) + 1
    keys = np.repeat(np.arange(len(faces), dtype=np.int64), 3 * joints.shape[1]) * bones + joints[faces].ravel()
    used = weights[faces].ravel() > 0.0
    keys, index = np.unique(keys[used], return_inverse=True)
    total = np.bincount(index.reshape(-1), weights[faces].ravel()[used])
    order = np.lexsort((keys, -total, keys // bones))
    face = keys[order] // bones
    best = order[np.concatenate([[True], face[1:] != face[:-1]])]
    return np.asarray(keys[best] % bones)


def _main_axes(q: Floats, first: NDArray[Any]) -> Floats:
    """Return right-handed principal axes (k,3,3), as columns, of each group of points, the longest first."""
    axes = np.empty((len(first), 3, 3))
    for k, points in enumerate(np.split(q, first[1:])):
        _, _, v = np.linalg.svd(points - points.mean(0), full_matrices=False)
        if len(v) < 3:
            v = np.eye(3)
        v[2] *= np.sign(np.linalg.det(v))
        axes[k] = v.T
    return axes


def _around(bounds: NDArray[np.float32], first: NDArray[Any]) -> NDArray[np.float32]:
    """Return the bounding boxes (k,6) of the bounds (m,6) of rows first[i]..first[i+1]-1; infinite and inverted for
    none."""
    out = np.empty((len(first) - 1, 6), np.float32)
    _sorting.box_around(bounds, first, out)
    return out


def _groups(home: Ints) -> tuple[Ints, NDArray[np.int64]]:
    """Divide the rows home[k]..home[k+1]-1, for each k, into groups of up to LANES: the first group (s+1,) of each k,
    and the first row (g+1,) of each group."""
    many = -(-np.diff(home) // LANES)
    groups = np.append(0, np.cumsum(many))
    slab = np.repeat(np.arange(len(many)), many)
    begins = home[slab] + LANES * (np.arange(len(slab)) - groups[slab])
    return groups.astype(np.int32), np.append(begins, home[-1]).astype(np.int64)


def _lanes(bounds: NDArray[np.float32], begins: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the bounds (m,6) of rows begins[k]..begins[k+1]-1, at most LANES, side by side (k,6,LANES)."""
    out = np.empty((len(begins) - 1, 6, LANES), np.float32)
    _sorting.side_by_side(bounds, begins, out)
    return out

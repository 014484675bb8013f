"""Points that are asked about again and again: what was found for them, and how far outside they are."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import bone_lookup as _kernels
from ...kernels import bone_memory as _memory
from ...kernels import nearest as _nearest
from ...kernels.bone_boxes import CHUNK
from ...kernels.jit import worth
from ..base import Inside
from ..tree.depth import Skin
from ..winding import INSIDE
from .boxes import BoneBoxes

Floats = NDArray[np.float64]
FEW, SOME = 96, 1000  # points that are searched for, or whose sides are told, before a thread would have woken up


class Touching(NamedTuple):
    rows: NDArray[np.int64]  # (k,) points, ascending
    pairs: NDArray[np.int64]  # (k,2) nearest face and feature
    where: Floats  # (k,3) barycentrics of the nearest point
    distance: Floats  # (k,) signed
    nearest: Floats  # (k,3)
    normal: Floats  # (k,3) unit, opens the gap


class Probes:
    """Memory of points (n,3). `clear` (n,): how far (m) each is from the skin at least, if it is outside.

    What went less than that since cannot have got in, or near, so that few points must be searched for; where the last
    search ended, the next one begins.
    """

    def __init__(self, points: Floats) -> None:
        n = len(points)
        self.order = _nearest.along_curve(points)
        self.clear, self.points = np.zeros(n), points.copy()
        self._pace, self._hint = np.zeros(n), np.full(n, np.inf)
        self.looked = self.measured = self.asked = 0
        self._found, self._place = np.full((n, 3), -1, np.int64), np.empty((n, 3))
        self._wanted, self._which = np.zeros(n, np.bool_), np.empty(n, np.int64)
        self._doubts, self._hopeful = np.empty(n, np.int64), np.empty(n, np.int64)
        self._rows, self._pairs = np.empty(n, np.int64), np.empty((n, 2), np.int64)
        self._at, self._where = np.empty((n, 3)), np.empty((n, 3))
        self._distance, self._nearest, self._normal = np.empty(n), np.empty((n, 3)), np.empty((n, 3))
        self.count = 0

    def follow(self, x: Floats, boxes: BoneBoxes, moved: Floats) -> None:
        """Points go to x (n,3), and the skin of each box as moved (b,7) says."""
        at = (self.points, self.clear, self._pace)
        _memory.follow_points(x, self.order, boxes.placed.world, moved, boxes.slack, *at)

    def ask(self, boxes: BoneBoxes, skin: Skin, within: float, exact: bool, deep: bool) -> None:
        """Find the triangles of all points that are `within` a distance; `deep` also those far above points inside a
        closed skin."""
        points, placed, reach, slack, x = self.points, boxes.placed, boxes.reach, boxes.slack, skin.surface.x
        self.looked = self.measured = self.count = 0
        near = min(within * (1.0 + 1e-12) + slack, reach)
        which = self._which[: _memory.choose(self.order, self.clear, near, self._which)]
        self.asked = len(which)
        if not self.asked:
            return
        counts = _counts(self.asked)
        _kernels.look(boxes.boxes, placed, x, points, which, reach, exact, self._found, self._place, counts)
        self._count(counts)
        likely = (self._hint, self._pace, self._doubts, self._hopeful)
        m, k = _memory.doubts(which, self._found, self.clear, reach, near, slack if deep else -1.0, *likely)
        if m:
            counts = _counts(m)
            answers = (self._found, self._place, self.clear, counts)
            judge, rows = worth(_kernels.judge, m, FEW), self._doubts[:m]
            judge(boxes.boxes, placed, x, points, rows, skin.sides(points[rows]), slack, *answers)
            self._count(counts)
        if k and exact:
            counts = _counts(k)
            known = (self._pace, self.clear, self._hint, counts)
            measure = worth(_memory.measure, k, FEW)
            measure(boxes.boxes, placed, x, points, self._hopeful[:k], near, slack, *known)
            self._count(counts)
        self._wanted[:] = False
        self._wanted[which] = True
        k = _kernels.gather(
            self._wanted, points, self._found, self._place, self._rows, self._pairs, self._at, self._where
        )
        if not exact:  # then what is found need not be the nearest
            self.clear[:] = 0.0
        if not k:
            return
        pairs = self._pairs[:k]
        told = skin.tell(self._at[:k], pairs, self._where[:k], behind=True)
        self._distance[:k], self._nearest[:k], self._normal[:k] = told.distance, told.nearest, told.normal
        if exact:
            self.clear[self._rows[:k]] = np.maximum(self._distance[:k], 0.0)
        self.count = k

    def last(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the triangles that the last searches for points `which` ended at, or -1."""
        return np.asarray(self._found[which, 2])

    def _count(self, counts: NDArray[np.int64]) -> None:
        looked, measured = counts.sum(0).tolist()
        self.looked += looked
        self.measured += measured

    def within(self, distance: float) -> "Touching":
        """What is no farther than `distance`, or inside; points ascending."""
        keep = np.flatnonzero(self._distance[: self.count] <= distance)
        where, normal = self._where[keep], self._normal[keep]
        return Touching(self._rows[keep], self._pairs[keep], where, self._distance[keep], self._nearest[keep], normal)


def _counts(points: int) -> NDArray[np.int64]:
    return np.zeros((-(-points // CHUNK), 2), np.int64)


def sound(points: Floats, begin: NDArray[np.int64], boxes: BoneBoxes, skin: Skin) -> Inside:
    """Which of `points` (n,3) are inside a closed skin, and the shortest way out; rows `begin` (n,) of its triangles
    (or -1) may be near. Nothing is remembered."""
    rows = np.flatnonzero(skin.sides(points) == INSIDE)
    p, n = points[rows], len(rows)
    found, place, clear, counts = np.full((n, 3), -1, np.int64), np.zeros((n, 3)), np.zeros(n), _counts(n)
    found[:, 2] = begin[rows]
    within = np.full(n, INSIDE, np.int8)
    search = worth(_kernels.judge, n, FEW)
    search(boxes.boxes, boxes.placed, skin.surface.x, p, np.arange(n), within, boxes.slack, found, place, clear, counts)
    told = skin.tell(p, np.ascontiguousarray(found[:, :2]), place)
    deep = told.distance < 0.0
    return Inside(rows[deep], -told.distance[deep], told.nearest[deep], told.face[deep], told.normal[deep])

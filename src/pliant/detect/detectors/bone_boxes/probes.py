"""Query points with temporal coherence: their last results, and lower bounds of their distance outside the skin."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.bone_boxes import lookup as _kernels
from ....kernels.detectors.bone_boxes import memory as _memory
from ....kernels.detectors.bone_boxes.boxes import CHUNK
from ....kernels.jit import worth
from ....kernels.queries import closest_point as _nearest
from ...base import Inside
from ...queries.penetration import SkinQueries
from ...queries.winding import INSIDE
from .boxes import BoneBoxes

Floats = NDArray[np.float64]
FEW, SOME = 96, 1000  # points below which searches and sign queries, or records, run on one thread


class Touching(NamedTuple):
    rows: NDArray[np.int64]  # (k,) points, ascending
    pairs: NDArray[np.int64]  # (k,2) nearest face and feature
    where: Floats  # (k,3) barycentrics of the nearest point
    distance: Floats  # (k,) signed
    nearest: Floats  # (k,3)
    normal: Floats  # (k,3) unit contact normal


class Probes:
    """Query points (n,3) and their last results. `clear` (n,): lower bound (m) of the distance of an outside point.

    A point that has moved less than its bound cannot be inside or near, so few points must be searched. Each search
    starts from the result of the last one.
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
        """Move the points to x (n,3) and reduce their clearance by the motion of the skin in each box, moved (b,7)."""
        at = (self.points, self.clear, self._pace)
        _memory.follow_points(x, self.order, boxes.placed.world, moved, boxes.slack, *at)

    def ask(self, boxes: BoneBoxes, skin: SkinQueries, within: float, exact: bool, deep: bool) -> None:
        """Find the nearest triangle of each point closer than `within`; with `deep`, of all points inside a closed
        skin."""
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
        if not exact:  # the triangle found need not be the nearest
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
        """Return the rows of the triangles where the last searches for points `which` ended, or -1."""
        return np.asarray(self._found[which, 2])

    def _count(self, counts: NDArray[np.int64]) -> None:
        looked, measured = counts.sum(0).tolist()
        self.looked += looked
        self.measured += measured

    def within(self, distance: float) -> "Touching":
        """Return the points no farther than `distance`, or inside; in ascending order."""
        keep = np.flatnonzero(self._distance[: self.count] <= distance)
        where, normal = self._where[keep], self._normal[keep]
        return Touching(self._rows[keep], self._pairs[keep], where, self._distance[keep], self._nearest[keep], normal)


def _counts(points: int) -> NDArray[np.int64]:
    return np.zeros((-(-points // CHUNK), 2), np.int64)


def sound(points: Floats, begin: NDArray[np.int64], boxes: BoneBoxes, skin: SkinQueries) -> Inside:
    """Find which of `points` (n,3) are inside a closed skin, with penetration depth and separation direction. `begin`
    (n,): rows of triangles to start from, or -1. Stores nothing."""
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

"""Query points with temporal coherence: their last results, and lower bounds of their distance outside the skin."""

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.bone_boxes import coherence as _coherence
from ....kernels.detectors.bone_boxes import lookup as _kernels
from ....kernels.detectors.bone_boxes.boxes import CHUNK, Skin
from ....kernels.detectors.bone_boxes.lookup import ProbeArrays, Touching
from ....kernels.jit import worth
from ....kernels.queries import closest_point as _nearest
from ...base import Inside
from ...queries.penetration import SurfaceQueries
from ...queries.winding import INSIDE
from .boxes import BoneBoxes

Floats = NDArray[np.float64]
FEW, SOME = 96, 1000  # points below which searches and sign queries, or records, run on one thread


class Probes:
    """Query points (n,3) and their last results. `clear` (n,): lower bound (m) of the distance of an outside point.

    A point that has moved less than its bound cannot be inside or near, so few points must be searched. Each search
    starts from the result of the last one.
    """

    def __init__(self, points: Floats) -> None:
        n = len(points)
        self.order = _nearest.along_curve(points)
        self.clear, self.points = np.zeros(n), points.copy()
        self.visited = self.measured = self.queried = 0
        found, barycentric, pace, hint = (
            np.full((n, 3), -1, np.int64),
            np.empty((n, 3)),
            np.zeros(n),
            np.full(n, np.inf),
        )
        self._arrays = ProbeArrays(self.points, found, barycentric, self.clear, pace, hint)
        self._wanted, self._which = np.zeros(n, np.bool_), np.empty(n, np.int64)
        self._undecided, self._worth_measuring = np.empty(n, np.int64), np.empty(n, np.int64)
        self._rows, self._pairs = np.empty(n, np.int64), np.empty((n, 2), np.int64)
        self._at, self._where = np.empty((n, 3)), np.empty((n, 3))
        self._distance, self._nearest, self._normal = np.empty(n), np.empty((n, 3)), np.empty((n, 3))
        self.count = 0

    def follow(self, x: Floats, boxes: BoneBoxes, moved: Floats) -> None:
        """Move the points to x (n,3) and reduce their clearance by the motion of the skin in each box, moved (b,7)."""
        _coherence.follow_points(x, self._arrays, self.order, boxes.placed.world, moved, boxes.slack)

    def query(
        self,
        boxes: BoneBoxes,
        skin: SurfaceQueries,
        within: float,
        exact: bool,
        deep: bool,
        ignored: NDArray[np.bool_],
    ) -> None:
        """Find the nearest triangle of each point closer than `within`; with `deep`, of all points inside a closed
        skin. Nothing is found for the points `ignored` (n,), if any are given."""
        arrays, reach, slack = self._arrays, boxes.reach, boxes.slack
        posed = Skin(boxes.boxes, boxes.placed, skin.surface.x, slack)
        self.visited = self.measured = self.count = 0
        near = min(within * (1.0 + 1e-12) + slack, reach)
        which = self._which[: _coherence.choose(self.order, self.clear, near, self._which)]
        self.queried = len(which)
        if not self.queried:
            return
        counts = _counts(self.queried)
        _kernels.find_nearest(posed, arrays, which, reach, exact, counts)
        self._count(counts)
        lists = (self._undecided, self._worth_measuring)
        m, k = _coherence.undecided(arrays, which, reach, near, slack if deep else -1.0, *lists)
        if m:
            counts = _counts(m)
            classify_far, rows = worth(_kernels.classify_far, m, FEW), self._undecided[:m]
            classify_far(posed, arrays, rows, skin.signs(self.points[rows]), counts)
            self._count(counts)
        if k and exact:
            counts = _counts(k)
            worth(_coherence.measure, k, FEW)(posed, arrays, self._worth_measuring[:k], near, counts)
            self._count(counts)
        self._wanted[:] = False
        self._wanted[which] = True
        k = _kernels.gather(arrays, self._wanted, self._rows, self._pairs, self._at, self._where)
        if not exact:  # the triangle found need not be the nearest
            self.clear[:] = 0.0
        if len(ignored):
            k = self._drop(ignored, k)
        if not k:
            return
        pairs = self._pairs[:k]
        signed = skin.signed_distances_of(self._at[:k], pairs, self._where[:k], behind=True)
        self._distance[:k], self._nearest[:k], self._normal[:k] = signed.distance, signed.nearest, signed.normal
        if exact:
            self.clear[self._rows[:k]] = np.maximum(self._distance[:k], 0.0)
        self.count = k

    def _drop(self, ignored: NDArray[np.bool_], k: int) -> int:
        """Remove the points `ignored` (n,) from the k that were gathered; return the number of the others. Nothing is
        known about the clearance of those removed."""
        out = ignored[self._rows[:k]]
        self.clear[self._rows[:k][out]] = 0.0
        kept = np.flatnonzero(~out)
        for array in (self._rows, self._pairs, self._at, self._where):
            array[: len(kept)] = array[kept]
        return len(kept)

    def last(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the triangles where the last searches for points `which` ended, or -1."""
        return np.asarray(self._arrays.found[which, 2])

    def _count(self, counts: NDArray[np.int64]) -> None:
        visited, measured = counts.sum(0).tolist()
        self.visited += visited
        self.measured += measured

    def within(self, distance: float) -> Touching:
        """Return the points no farther than `distance`, or inside; in ascending order."""
        keep = np.flatnonzero(self._distance[: self.count] <= distance)
        where, normal = self._where[keep], self._normal[keep]
        return Touching(self._rows[keep], self._pairs[keep], where, self._distance[keep], self._nearest[keep], normal)


def _counts(points: int) -> NDArray[np.int64]:
    return np.zeros((-(-points // CHUNK), 2), np.int64)


def query_inside(points: Floats, begin: NDArray[np.int64], boxes: BoneBoxes, skin: SurfaceQueries) -> Inside:
    """Find which of `points` (n,3) are inside a closed skin, with penetration depth and separation direction. `begin`
    (n,): rows of triangles to start from, or -1. Stores nothing."""
    rows = np.flatnonzero(skin.signs(points) == INSIDE)
    p, n = points[rows], len(rows)
    found, barycentric, counts = np.full((n, 3), -1, np.int64), np.zeros((n, 3)), _counts(n)
    arrays = ProbeArrays(p, found, barycentric, np.zeros(n), np.zeros(n), np.zeros(n))
    found[:, 2] = begin[rows]
    within = np.full(n, INSIDE, np.int8)
    posed = Skin(boxes.boxes, boxes.placed, skin.surface.x, boxes.slack)
    worth(_kernels.classify_far, n, FEW)(posed, arrays, np.arange(n), within, counts)
    signed = skin.signed_distances_of(p, np.ascontiguousarray(found[:, :2]), barycentric)
    deep = signed.distance < 0.0
    return Inside(rows[deep], -signed.distance[deep], signed.nearest[deep], signed.face[deep], signed.normal[deep])

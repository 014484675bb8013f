"""Query points with temporal coherence: their last results, and lower bounds of their distance from the skin."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.bone_boxes import coherence as _coherence
from ....kernels.detectors.bone_boxes import lookup as _lookup
from ....kernels.detectors.bone_boxes import query as _query
from ....kernels.detectors.bone_boxes.boxes import CHUNK, Skin
from ....kernels.detectors.bone_boxes.lookup import ProbeArrays, Touching
from ....kernels.detectors.bone_boxes.query import Lists, Query
from ....kernels.jit import worth
from ....kernels.queries import closest_point as _nearest
from ....kernels.queries.surface import Surface
from ...base import Inside
from ...queries.penetration import SurfaceQueries
from ...queries.winding import INSIDE
from .boxes import BoneBoxes

Floats = NDArray[np.float64]
FEW = 256  # points below which queries run on one thread
MANY = 8192  # points from which on they are moved on several threads


class Probes:
    """Query points (n,3) and their last results.

    A point that has moved, relative to the skin, less than its distance from it is still on the same side, and as far
    away as the difference: few points must be searched, and fewer still need a ray that decides the side. Each search
    starts from the result of the last one.

    results: arrays whose first `count` rows are the points near the skin or inside it; see `touching`.
    """

    def __init__(self, points: Floats) -> None:
        n = len(points)
        self.order = _nearest.along_curve(points)
        self.points = points.copy()
        self.visited = self.measured = self.queried = self.decided = 0
        found, side = np.full((n, 3), -1, np.int64), np.ones(n, np.int8)
        self.arrays = ProbeArrays(self.points, found, np.empty((n, 3)), np.zeros(n), side, np.zeros(n))
        self._which, self._unsure = np.empty(n, np.int64), np.empty(n, np.int64)
        indices = np.empty(n, np.int64), np.empty((n, 2), np.int64)
        self.results = Touching(*indices, np.empty((n, 3)), np.empty((n, 3)), np.empty(n), *np.empty((2, n, 3)))
        self.count = 0
        self._lists = Lists(self.order, self._which, self._unsure, np.zeros(0, np.bool_))

    def follow(self, x: Floats, boxes: BoneBoxes, posed: Skin, ignored: NDArray[np.bool_]) -> None:
        """Move the points to x (n,3), and reduce their clearance by their motion relative to the skin of the boxes.
        Nothing is kept of the points `ignored` (n,), if any are given."""
        self._lists = Lists(self.order, self._which, self._unsure, ignored)
        follow = worth(_coherence.follow_points, len(x), MANY)
        follow(x, self.arrays, self.order, posed.placed.world, boxes.moved, posed.slack)

    def select(self, near: float) -> None:
        """Select the points to query: those that may be within `near` of the skin, or inside."""
        self.queried = _coherence.choose(self.order, self.arrays, near, self._which)

    def query(self, posed: Skin, surface: Surface, query: Query, synced: Callable[[], SurfaceQueries]) -> None:
        """Find the nearest triangle of each point that is near, or inside a closed skin, with signed distances.
        `synced` returns the skin with the present positions, for points whose side is not known."""
        if self.queried < FEW:
            args = posed, surface, self.arrays, self._lists, self.queried, query, self.results
            self.visited, self.measured, (k, m, self.count) = _query.query_and_collect(*args)
        else:
            which, counts = self._which[: self.queried], np.zeros((-(-self.queried // CHUNK), 2), np.int64)
            _query.query_points(posed, self.arrays, which, query, counts)
            self.visited, self.measured = counts.sum(0).tolist()
            k, m, self.count = _query.collect(posed, self.arrays, surface, self._lists, query, self.results)
        self.decided = m
        if m:
            self._decide(synced(), k, m, query.within)

    def project(self, posed: Skin, reach: float, query: Query, synced: Callable[[], SurfaceQueries]) -> None:
        """Find the nearest triangle over which each point lies, by the paper's test; nothing is remembered."""
        counts = np.zeros((-(-len(self.points) // CHUNK), 2), np.int64)
        _lookup.project(posed, self.arrays, self.order, reach, counts)
        self.queried, (self.visited, self.measured) = len(self.points), counts.sum(0).tolist()
        k, m, self.count = _query.collect(posed, self.arrays, synced().surface, self._lists, query, self.results)
        self.decided = m
        if m:
            self._decide(synced(), k, m, query.within)

    def _decide(self, skin: SurfaceQueries, k: int, m: int, within: float) -> None:
        """Compute the signed distances of the m unsure ones of k results, and keep those within the distance, or
        inside."""
        out, rows = self.results, self._unsure[:m]
        pairs, where = out.pairs[rows], out.where[rows]
        signed = skin.signed_distances_of(out.at[rows], pairs, where, behind=True)
        out.pairs[rows], out.where[rows] = pairs, where
        out.distance[rows], out.nearest[rows], out.normal[rows] = signed.distance, signed.nearest, signed.normal
        self.count = _lookup.keep_within(out, k, within)

    @property
    def touching(self) -> Touching:
        """The results, in ascending order."""
        return Touching(*(array[: self.count] for array in self.results))

    def last(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the triangles where the last searches for points `which` ended, or -1."""
        return np.asarray(self.arrays.found[which, 2])


def query_inside(points: Floats, begin: NDArray[np.int64], posed: Skin, skin: SurfaceQueries) -> Inside:
    """Find which of `points` (n,3) are inside a closed skin, with penetration depth and separation direction. `begin`
    (n,): rows of triangles to start from, or -1. Stores nothing."""
    rows = np.flatnonzero(skin.signs(points) == INSIDE)
    p, n = points[rows], len(rows)
    found, barycentric = np.full((n, 3), -1, np.int64), np.zeros((n, 3))
    found[:, 2] = begin[rows]
    _query.find_nearest(posed, p, found, barycentric)
    signed = skin.signed_distances_of(p, np.ascontiguousarray(found[:, :2]), barycentric)
    deep = signed.distance < 0.0
    return Inside(rows[deep], -signed.distance[deep], signed.nearest[deep], signed.face[deep], signed.normal[deep])

"""Queries for the pairs of features that come near during a predicted motion; several of them share a launch."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.bvh.leaf_mesh import PARTS
from ...kernels.jit import threads, worth
from ...kernels.queries import drift as _drift
from ...kernels.queries.drift import Chunks, MotionSearch, MovingSide
from ...kernels.team import COUNTERS
from ..bvh.leaf_mesh import LeafMesh, parts_of
from .contact_records import with_rounding_margin_at

if TYPE_CHECKING:
    from .proximity import NearPairs

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Pairs = tuple[Rows, Rows, Rows]
_CHUNK, _SPARE = 32, 1024  # pairs of nodes per chunk, and most of those that are divided to balance the chunks
_NO_TASKS, _NOTHING, _NO_COUNTS = np.zeros((0, 2), np.int32), np.zeros((0, 0, 3), np.int32), np.zeros(0, np.int64)


class Approach(NamedTuple):
    """The query of a `NearPairs` along the predicted displacements of its leaf meshes."""

    near: "NearPairs"
    a: MovingSide
    b: MovingSide
    search: MotionSearch
    tasks: Rows  # (k,2) pairs of nodes
    parts: int

    @classmethod
    def of(cls, near: "NearPairs", reach: float, begin: Rows, which: NDArray[np.bool_], before: Rows) -> "Approach":
        """Make the query for pairs within `reach`; see `MotionSearch` and `NearPairs.along`."""
        space, stack = near.task_space
        a, b = near.moving[0].arrays(), near.moving[1].arrays()
        whole = len(which) > 0 and (near.cones is None or near.cones.count == 0)
        search = MotionSearch(near.same, reach, begin, which, before, whole, stack)
        tasks = space[: _drift.list_tasks(a, b, search, _SPARE, space)]
        return cls(near, a, b, search, tasks, parts_of(len(tasks), _CHUNK, 1))

    def space(self) -> tuple[Rows, Counts]:
        """Space for the pairs that each part finds, and for their numbers; a query reuses that of the last one."""
        cells = self.near.capacity * PARTS
        if len(self.near.space) < cells:
            self.near.space = np.empty((cells, 3), np.int32)
        found = self.near.space[:cells].reshape(self.parts, -1, 3)
        return found, np.zeros(self.parts, np.int64)


def approaching(queries: Sequence[Approach]) -> list[Pairs]:
    """Return the pairs that each query finds, as `NearPairs.within` does; two queries at a time share a launch."""
    found: list[Pairs] = []
    for k in range(0, len(queries), 2):
        found += _both(*queries[k : k + 2])
    return found


def _both(one: Approach, two: Approach | None = None) -> list[Pairs]:
    while True:
        found, counts = one.space()
        other_found, other_counts = two.space() if two else (_NOTHING, _NO_COUNTS)
        tasks = two.tasks if two else _NO_TASKS
        parts = one.parts + (two.parts if two else 0)
        team = np.empty((1, min(threads(), parts), COUNTERS), np.int64)
        chunks = Chunks(one.tasks, found, counts, tasks, other_found, other_counts, team)
        launch = worth(_drift.approaching_pairs, team.shape[1], 2)
        launch(*one[1:4], *(two or one)[1:4], chunks)
        # the counts are complete even if a buffer overflowed: allocate enough and repeat
        fits = one.near.make_room(found, counts)
        if two is None:
            if fits:
                return [one.near.ordered(found, counts)]
        elif two.near.make_room(other_found, other_counts) and fits:
            return [one.near.ordered(found, counts), two.near.ordered(other_found, other_counts)]


def task_space(a: LeafMesh, b: LeafMesh) -> tuple[Rows, int]:
    """Return space for the pairs of nodes of a query (k,2), and how many pairs a traversal may have to store."""
    from ...kernels.bvh import motion as _motion

    (deep_a, pairs, wide_a), (deep_b, _, wide_b) = (_motion.size_of(mesh.motion.nodes) for mesh in (a, b))
    wide = max(wide_a, wide_b)
    leaves = len(a.motion.leaves)
    return np.empty((2 * pairs + leaves + _SPARE + wide + 1, 2), np.int32), (deep_a + deep_b + wide) * wide + 1


def enlarged(distance: float, sides: Sequence["Moving"]) -> float:
    """Return a distance enlarged by the rounding error of distances during the motion of these sides."""
    return with_rounding_margin_at(distance, max(side.extent() for side in sides))


class Moving:
    """One side of all queries of a `NearPairs`; remembers what does not change from one query to the next."""

    def __init__(self, mesh: LeafMesh) -> None:
        self._mesh, self._fit, self._extent = mesh, -1, 0.0
        self._motion, self._arrays = mesh.motion, _moving_side(mesh)

    def arrays(self) -> MovingSide:
        """Return the arrays for kernels."""
        motion, arrays = self._mesh.motion, self._arrays
        if motion is not self._motion or arrays.records is not self._mesh.records:
            self._motion, self._arrays = motion, _moving_side(self._mesh)
        return self._arrays

    def extent(self) -> float:
        """Return the largest absolute coordinate of a box around the mesh, at the start and at the end of the motion,
        and of its displacements."""
        motion = self._mesh.motion
        if self._fit != self._mesh.fits:
            numbers = motion.bounds[0].tolist() + motion.node_drifts[0].tolist()
            self._fit = self._mesh.fits
            self._extent = max(map(abs, numbers)) if math.isfinite(sum(numbers)) else math.inf
        return self._extent


def _moving_side(mesh: LeafMesh) -> MovingSide:
    motion = mesh.motion
    arrays = motion.nodes, motion.bounds, motion.vertex_start, motion.vertices, motion.places
    return MovingSide(mesh.records, motion.x, motion.drift, *arrays)

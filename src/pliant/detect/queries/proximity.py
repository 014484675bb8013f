"""Proximity queries: pairs of features of two leaf meshes, or of one with itself, within a distance."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh.leaf_mesh import PARTS
from ...kernels.jit import worth
from ...kernels.queries import proximity as _proximity
from ...kernels.queries.proximity import BvhSearch, LeafSide
from ..bvh.leaf_mesh import LeafMesh, parts_of
from .contact_records import NO_PAIRS, with_rounding_margin

if TYPE_CHECKING:
    from ...kernels.queries.drift import MovingSide
    from ..bvh.cones import Cones

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
_BYTES = 260  # peak memory per contact during detection
_EACH = 8  # initial buffer size in pairs per triangle
_CHUNK, _SPARE = 32, 1024  # pairs of nodes per chunk, and most of those that are divided to balance the chunks
_SPARSE = 32  # features per pair from which on pairs are sorted directly
_WORTH_THREADS = 16384  # pairs
_NONE, _ALL = np.zeros(0, np.bool_), np.zeros(0, np.int32)


class NearPairs:
    """Proximity queries of leaf meshes at their current positions.

    `b=None` tests a against itself, excluding adjacent features; `cull` then skips patches that
    provably do not touch themselves.
    """

    def __init__(
        self, a: LeafMesh, b: LeafMesh | None = None, *, cull: bool = True, max_bytes: float | None = None
    ) -> None:
        self.a, self.same = a, b is None
        self.b = a if b is None else b
        self.max_bytes = max_bytes
        self.cones = _cones(a) if cull and self.same else None
        self._begin = a.self_traversal_start if self.same else np.zeros(len(a.leaves.face), np.int32)
        self._tasks: Rows | None = None  # workspace for pairs of nodes
        self._stack = 0
        self._capacity = _EACH * max(len(self._begin), len(self.b.leaves.face)) // PARTS + 64

    def within(self, distance: float, *, drifting: bool = False) -> tuple[Rows, Rows, Rows]:
        """Return sorted pairs (k,2): vertices of a and faces of b, vertices of b and faces of a, edges.

        For self-contact the first array holds both directions. `drifting` returns a superset of the pairs that come
        this near during the predicted displacements (`LeafMesh.predict`), see kernels/queries/drift.py.
        """
        reach = self._reach(distance, drifting)
        begin = self._begin_at(reach, drifting)
        found = self._approaching(reach, begin, _NONE, _ALL) if drifting else self._traverse(reach, distance, begin)
        return self.ordered(*found)

    def around(self, which: NDArray[np.bool_], before: Rows, distance: float) -> tuple[Rows, Rows, Rows]:
        """As `within`, during the predicted displacements, for the pairs with any of the vertices `which` (n,) of a;
        `before` is `LeafMesh.count_marked` of these."""
        found = self.ordered(*self._approaching(self._reach(distance, True), self._begin, which, before))
        # both triangles of a pair may have such vertices
        return (_distinct(found[0]), found[1], _distinct(found[2])) if self.same else found

    def candidates(self, distance: float) -> tuple[Rows, Counts]:
        """Broad phase: return the candidates `found` (parts,capacity,3), each with its kind and the indices of its
        features in the leaf meshes, of which counts (parts,) are filled; a superset of the near pairs.
        """
        reach = self._reach(distance, False)
        return self._traverse(reach, _proximity.UNTESTED, self._begin_at(reach, False))

    def _reach(self, distance: float, drifting: bool) -> float:
        a, b = self.a, self.b
        drifts = [mesh.motion.drift for mesh in (a, b) if drifting and not mesh.is_static]
        return with_rounding_margin(distance, a.x, b.x, *drifts)

    def _begin_at(self, reach: float, drifting: bool) -> Rows:
        """Return the node (m,) where the traversal of each triangle of a starts."""
        if self.cones is None:
            return self._begin
        return self.cones.begin(reach, self.a.motion if drifting else None)

    def _traverse(self, reach: float, within: float, begin: Rows) -> tuple[Rows, Counts]:
        a, b = self.a, self.b
        one, two, search = LeafSide(*a.leaves, *a.at), LeafSide(*b.leaves, *b.at), BvhSearch(self.same, begin, reach)
        return self._with_space(parts_of(len(begin)), _proximity.near_pairs, one, two, search, within)

    def _approaching(self, reach: float, begin: Rows, which: NDArray[np.bool_], before: Rows) -> tuple[Rows, Counts]:
        """Find the pairs that come within `reach` during the predicted displacements."""
        from ...kernels.queries import drift as _drift

        a, b = self.a, self.b
        if self._tasks is None:
            self._tasks, self._stack = _task_space(a, b)
        one, two = _moving_side(a), _moving_side(b)
        search = _drift.MotionSearch(self.same, reach, begin, which, before, self._stack)
        tasks = self._tasks[: _drift.list_tasks(one, two, search, _SPARE, self._tasks)]
        parts = parts_of(len(tasks), _CHUNK, 1)
        launch = worth(_drift.approaching_pairs, parts, 2)
        return self._with_space(parts, launch, one, two, search, tasks)

    def _with_space(self, parts: int, launch: Callable[..., None], *query: Any) -> tuple[Rows, Counts]:
        """Run a kernel that finds pairs in `parts` chunks, with enough space for its results."""
        counts = np.zeros(parts, np.int64)
        while True:
            found = np.empty((parts, self._capacity * (PARTS // parts), 3), np.int32)
            launch(*query, found, counts)
            if counts.max() < found.shape[1]:
                return found, counts
            # the counts are complete even if the buffer overflowed: allocate enough and repeat
            self._capacity = int(counts.max() * 1.25) * parts // PARTS + 1
            advice = "reduce the detection distance or raise max_bytes"
            validate.budget(f"{counts.sum()} contacts", int(counts.sum()) * _BYTES, advice, self.max_bytes)

    def ordered(self, found: Rows, counts: Counts) -> tuple[Rows, Rows, Rows]:
        """Sort rows (kind, feature, feature) into the arrays that `within` returns."""
        a, b, total = self.a, self.b, int(counts.sum())
        if not total:
            return NO_PAIRS, NO_PAIRS, NO_PAIRS
        n_a, n_b = len(a.x), len(b.x)
        base = np.array([0, n_a, 0] if self.same else [0, n_a + n_b, n_a])
        buckets = int(base.max()) + len(a.top.edges)
        if total < buckets // _SPARSE:
            return _sorted(found, counts, base, n_a)
        start, pairs = np.zeros(buckets + 2, np.int64), np.empty((total, 2), np.int32)
        _proximity.sort_into_buckets(found, counts, base, start, pairs)
        worth(_proximity.sort_buckets, total, _WORTH_THREADS)(start, pairs)
        one, two = int(start[n_a]), int(start[base[1]])
        return pairs[:one], pairs[one:two], pairs[two:]


def _sorted(found: Rows, counts: Counts, base: Counts, n_a: int) -> tuple[Rows, Rows, Rows]:
    """As `NearPairs.ordered`, for so few pairs that sorting them takes less time than visiting all features."""
    keys = np.empty(int(counts.sum()), np.int64)
    _proximity.fill_keys(found, counts, base, keys)
    keys.sort()
    pairs = np.empty((len(keys), 2), np.int32)
    one, two = _proximity.split_keys(keys, n_a, int(base[1]), pairs)
    return pairs[:one], pairs[one:two], pairs[two:]


def _distinct(pairs: Rows) -> Rows:
    """Return sorted pairs (k,2) without repetitions."""
    new = np.ones(len(pairs), np.bool_)
    new[1:] = (pairs[1:] != pairs[:-1]).any(1)
    return pairs[new]


def _moving_side(mesh: LeafMesh) -> "MovingSide":
    from ...kernels.queries.drift import MovingSide

    leaves, motion = mesh.leaves, mesh.motion
    known = leaves.welded, leaves.face, leaves.vertex_start, leaves.vertex, leaves.edge_start, leaves.edge
    return MovingSide(*known, *motion[:8])


def _task_space(a: LeafMesh, b: LeafMesh) -> tuple[Rows, int]:
    """Return space for the pairs of nodes of a query (k,2), and how many pairs a traversal may have to store."""
    from ...kernels.bvh import motion as _motion

    (deep_a, pairs, wide_a), (deep_b, _, wide_b) = (_motion.size_of(mesh.motion.nodes) for mesh in (a, b))
    wide = max(wide_a, wide_b)
    leaves = len(a.motion.leaves)
    return np.empty((pairs + leaves + _SPARE + wide + 1, 2), np.int32), (deep_a + deep_b + wide) * wide + 1


def _cones(a: LeafMesh) -> "Cones":
    from ..bvh.cones import Cones

    return Cones(a)

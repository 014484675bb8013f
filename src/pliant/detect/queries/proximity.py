"""Proximity queries: pairs of features of two leaf meshes, or of one with itself, within a distance."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh.leaf_mesh import PARTS
from ...kernels.queries import proximity as _proximity
from ...kernels.queries.proximity import BvhSearch, LeafSide
from ..bvh.leaf_mesh import LeafMesh, parts_of
from .contact_records import NO_PAIRS
from .rounding import with_rounding_margin

if TYPE_CHECKING:
    from ..bvh.cones import Cones

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
_BYTES = 260  # peak memory per contact during detection
_EACH = 8  # initial buffer size in pairs per triangle
_CHUNK, _FEWEST = 256, 8  # triangles per task of a thread along a motion, and fewest tasks; powers of two
_SPARSE = 32  # features per pair from which on pairs are sorted directly


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
        self._capacity = _EACH * max(len(self._begin), len(self.b.leaves.face)) // PARTS + 64

    def within(self, distance: float, *, drifting: bool = False) -> tuple[Rows, Rows, Rows]:
        """Return sorted pairs (k,2): vertices of a and faces of b, vertices of b and faces of a, edges.

        For self-contact the first array holds both directions. `drifting` returns a superset of the pairs that come
        this near during the predicted displacements (`LeafMesh.predict`), see kernels/queries/drift.py.
        """
        reach = self._reach(distance, drifting)
        return self.ordered(*self._traverse(reach, distance, drifting, self._begin_at(reach, drifting)))

    def around(
        self, triangles: NDArray[np.bool_], distance: float, *, drifting: bool = False
    ) -> tuple[Rows, Rows, Rows]:
        """As `within`, for the pairs of features of which one belongs to one of the marked `triangles` (m,) of a, in
        the order of its leaves, and for some of their neighbours."""
        begin = np.where(triangles, 0, len(self.b.tree.nodes)).astype(np.int32)
        found = self.ordered(*self._traverse(self._reach(distance, drifting), distance, drifting, begin))
        # both triangles of a pair may be marked
        return (_distinct(found[0]), found[1], _distinct(found[2])) if self.same else found

    def candidates(self, distance: float) -> tuple[Rows, Counts]:
        """Broad phase: return the candidates `found` (parts,capacity,3), each with its kind and the indices of its
        features in the leaf meshes, of which counts (parts,) are filled; a superset of the near pairs.
        """
        reach = self._reach(distance, False)
        return self._traverse(reach, _proximity.UNTESTED, False, self._begin_at(reach, False))

    def _reach(self, distance: float, drifting: bool) -> float:
        a, b = self.a, self.b
        drifts = [mesh.drift.x for mesh in (a, b) if drifting and not mesh.is_static]
        return with_rounding_margin(distance, a.x, b.x, *drifts)

    def _begin_at(self, reach: float, drifting: bool) -> Rows:
        """Return the node (m,) where the traversal of each triangle of a starts."""
        if self.cones is None:
            return self._begin
        return self.cones.begin(reach, self.a.drift if drifting else None)

    def _traverse(self, reach: float, within: float, drifting: bool, begin: Rows) -> tuple[Rows, Counts]:
        a, b = self.a, self.b
        parts = parts_of(len(begin), _CHUNK, _FEWEST) if drifting else parts_of(len(begin))
        counts = np.zeros(parts, np.int64)
        one, two, search = LeafSide(*a.leaves, *a.at), LeafSide(*b.leaves, *b.at), BvhSearch(self.same, begin, reach)
        while True:
            found = np.empty((parts, self._capacity * (PARTS // parts), 3), np.int32)
            if drifting:
                from ...kernels.queries import drift as _drift

                _drift.drifting_pairs(one, a.drift, two, b.drift, b.is_static, search, found, counts)
            else:
                _proximity.near_pairs(one, two, search, within, found, counts)
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
        _proximity.sort_buckets(start, pairs)
        one, two = int(start[n_a]), int(start[base[1]])
        return pairs[:one], pairs[one:two], pairs[two:]


def _sorted(found: Rows, counts: Counts, base: Counts, n_a: int) -> tuple[Rows, Rows, Rows]:
    """As `NearPairs.ordered`, for so few pairs that sorting them takes less time than visiting all features."""
    rows = np.concatenate([found[:0, 0], *(found[part, : counts[part]] for part in np.flatnonzero(counts))])
    bucket = base[rows[:, 0]] + rows[:, 1]
    order = np.argsort(bucket << 32 | rows[:, 2])
    one, two = np.searchsorted(bucket[order], (n_a, base[1]))
    pairs = rows[order, 1:]
    return pairs[:one], pairs[one:two], pairs[two:]


def _distinct(pairs: Rows) -> Rows:
    """Return sorted pairs (k,2) without repetitions."""
    new = np.ones(len(pairs), np.bool_)
    new[1:] = (pairs[1:] != pairs[:-1]).any(1)
    return pairs[new]


def _cones(a: LeafMesh) -> "Cones":
    from ..bvh.cones import Cones

    return Cones(a)

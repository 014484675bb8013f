"""Proximity queries: pairs of features of two leaf meshes, or of one with itself, within a distance."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh.leaf_mesh import PARTS, LeafGeometry
from ...kernels.jit import worth
from ...kernels.queries import proximity as _proximity
from ...kernels.queries.proximity import BvhSearch, LeafSide
from ..bvh.leaf_mesh import LeafMesh, parts_of
from .contact_records import NO_PAIRS, with_rounding_margin

if TYPE_CHECKING:
    from ...motion.deforming import Deforming
    from ..bvh.cones import Cones
    from ..bvh.tree_options import TreeOptions
    from .approach import Approach, Moving
    from .tree_pairs import TreePairs

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
_BYTES = 260  # peak memory per contact during detection
_EACH = 8  # initial buffer size in pairs per triangle
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
        self.broad_phase: TreePairs | None = None  # of `TreeNearPairs`
        self.cones = _cones(a) if cull and self.same else None
        self._begin = a.self_traversal_start if self.same else np.zeros(len(a.leaves.face), np.int32)
        # pairs for which there is space, per part if there are PARTS of them
        self.space = np.zeros((0, 3), np.int32)  # workspace of `approaching`
        self.capacity = _EACH * max(len(self._begin), len(self.b.leaves.face)) // PARTS + 64

    def moved(self, sample: NDArray[np.float64] | None = None) -> None:
        """Take the positions that the leaf meshes have moved to; only `TreeNearPairs` keeps anything for them."""

    def within(self, distance: float, *, drifting: bool = False) -> tuple[Rows, Rows, Rows]:
        """Return sorted pairs (k,2): vertices of a and faces of b, vertices of b and faces of a, edges.

        For self-contact the first array holds both directions. `drifting`: during the predicted displacements, see
        `along`.
        """
        if drifting:
            from .approach import approaching

            return approaching([self.along(distance)])[0]
        reach = self._reach(distance)
        return self.ordered(*self._traverse(reach, distance, self._begin_at(reach)))

    def along(self, distance: float, which: NDArray[np.bool_] = _NONE, before: Rows = _ALL) -> "Approach":
        """Return the query for a superset of the pairs that come this near during the predicted displacements
        (`LeafMesh.predict`), for `approach.approaching`; unless `which` is empty, only for those with any of the
        vertices `which` (n,) of a: `before` is `LeafMesh.count_marked` of these."""
        from .approach import Approach, enlarged

        reach = enlarged(distance, self.moving)
        begin = self._begin
        if self.cones is not None:
            motion = self.a.motion
            begin = self.cones.begin_anew(reach, motion, before) if len(which) else self.cones.begin(reach, motion)
        return Approach.of(self, reach, begin, which, before)

    @functools.cached_property
    def moving(self) -> "tuple[Moving, Moving]":
        """Both sides of queries along their motion."""
        from .approach import Moving

        one = Moving(self.a)
        return one, one if self.same else Moving(self.b)

    @functools.cached_property
    def task_space(self) -> tuple[Rows, int]:
        from .approach import task_space

        return task_space(self.a, self.b)

    def candidates(self, distance: float) -> tuple[Rows, Counts]:
        """Broad phase: return the candidates `found` (parts,capacity,3), each with its kind and the indices of its
        features in the leaf meshes, of which counts (parts,) are filled; a superset of the near pairs.
        """
        reach = self._reach(distance)
        return self._traverse(reach, _proximity.UNTESTED, self._begin_at(reach))

    def _reach(self, distance: float) -> float:
        return with_rounding_margin(distance, self.a.x, self.b.x)

    def _begin_at(self, reach: float) -> Rows:
        """Return the node (m,) where the traversal of each triangle of a starts."""
        return self._begin if self.cones is None else self.cones.begin(reach)

    def _traverse(self, reach: float, within: float, begin: Rows) -> tuple[Rows, Counts]:
        at_a, at_b, begin = self._sides(reach, begin)
        one, two = LeafSide(*self.a.leaves, *at_a), LeafSide(*self.b.leaves, *at_b)
        search = BvhSearch(self.same, begin, reach)
        return self._with_space(parts_of(len(begin)), _proximity.near_pairs, one, two, search, within)

    def _sides(self, reach: float, begin: Rows) -> tuple[LeafGeometry, LeafGeometry, Rows]:
        """Return both sides, the second with the BVH to traverse, and where each traversal starts."""
        return self.a.at, self.b.at, begin

    def _with_space(self, parts: int, launch: Callable[..., None], *query: Any) -> tuple[Rows, Counts]:
        """Run a kernel that finds pairs in `parts` chunks, with enough space for its results."""
        counts = np.zeros(parts, np.int64)
        while True:
            found = np.empty((parts, self.capacity * (PARTS // parts), 3), np.int32)
            launch(*query, found, counts)
            # the counts are complete even if the buffer overflowed: allocate enough and repeat
            if self.make_room(found, counts):
                return found, counts

    def make_room(self, found: Rows, counts: Counts) -> bool:
        """Return whether `found` (parts,cap,3) had space for all pairs; if not, raise the capacity."""
        parts, most = len(counts), max(counts.tolist())
        enough = most < found.shape[1]
        if not enough or self.max_bytes is not None:
            advice = "reduce the detection distance or raise max_bytes"
            validate.budget(f"{counts.sum()} contacts", int(counts.sum()) * _BYTES, advice, self.max_bytes)
        if not enough:
            self.capacity = int(most * 1.25) * parts // PARTS + 1
        return enough

    def ordered(self, found: Rows, counts: Counts) -> tuple[Rows, Rows, Rows]:
        """Sort rows (kind, feature, feature) into the arrays that `within` returns."""
        a, b, total = self.a, self.b, sum(counts.tolist())
        if not total:
            return NO_PAIRS, NO_PAIRS, NO_PAIRS
        n_a = len(a.x)
        n = n_a if self.same else n_a + len(b.x)
        base, buckets = np.array([0, n, 0 if self.same else n_a]), n + len(a.top.edges)
        if total < buckets // _SPARSE:
            return _sorted(found, counts, base, n_a)
        start, pairs = np.zeros(buckets + 2, np.int64), np.empty((total, 2), np.int32)
        _proximity.sort_into_buckets(found, counts, base, start, pairs)
        worth(_proximity.sort_buckets, total, _WORTH_THREADS)(start, pairs)
        one, two = int(start[n_a]), int(start[base[1]])
        return pairs[:one], pairs[one:two], pairs[two:]


def near_pairs(
    a: LeafMesh,
    b: LeafMesh | None,
    within: float,
    tree: "TreeOptions",
    cull: bool,
    max_bytes: float | None,
    motion: "Deforming | None",
) -> NearPairs:
    """Return the proximity queries with a BVH of these options, for the given distance; motion: of the second side."""
    if tree.fast:
        return NearPairs(a, b, cull=cull, max_bytes=max_bytes)
    from .tree_pairs import TreeNearPairs

    return TreeNearPairs(a, b, within=within, tree=tree, cull=cull, max_bytes=max_bytes, motion=motion)


def _sorted(found: Rows, counts: Counts, base: Counts, n_a: int) -> tuple[Rows, Rows, Rows]:
    """As `NearPairs.ordered`, for so few pairs that sorting them takes less time than visiting all features."""
    keys = np.empty(int(counts.sum()), np.int64)
    _proximity.fill_keys(found, counts, base, keys)
    keys.sort()
    pairs = np.empty((len(keys), 2), np.int32)
    one, two = _proximity.split_keys(keys, n_a, int(base[1]), pairs)
    return pairs[:one], pairs[one:two], pairs[two:]


def _cones(a: LeafMesh) -> "Cones":
    from ..bvh.cones import Cones

    return Cones(a)

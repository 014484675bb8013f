"""Contacts to a quality: a sample of all pairs of leaves shows how many there are, then the most probable follow."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.stochastic import leaf_pairs as _kernels
from ....kernels.detectors.stochastic.features import FacetQuery
from ....kernels.detectors.stochastic.leaf_pairs import Leaves, Space
from ....kernels.detectors.stochastic.traversal import STEPS, StochasticBvh
from .facets import Ints

Counts = NDArray[np.int64]
STRIDE = 16  # at least one of this many pairs of leaves is in the sample
FIRST = 5  # index of the first of them; near the middle of a stride of 16, 8 and 4
HITS = 128  # of the sample, the number with contacts below which it is doubled
STEP = 256  # pairs of leaves between two estimates


class Found(NamedTuple):
    """Contacts as rows (k,3) of `add_features`, the estimated recall, and numbers of pairs of nodes and of leaves."""

    contacts: Ints
    recall: float
    visited: int
    tested: int


class LeafPairs:
    """The pairs of leaves within reach of two BVHs, or of one with itself, tested up to a quality. Reuses its buffers.

    `check(n)` is called before buffers for n contacts are allocated.
    """

    def __init__(self, a: StochasticBvh, b: StochasticBvh, batch: Ints, check: Callable[[int], None]) -> None:
        self._a, self._b, self._batch, self._check = a, b, batch, check
        self._stack = np.empty((1 << 12, 2), np.int32)
        self._leaves = _space(1 << 12)
        self._out = np.empty((1 << 14, 3), np.int32)
        self._found = 0
        self.tested = np.zeros((0, 2), np.int32)  # the pairs (k,2) that the last query tested, as nodes

    def find(self, query: FacetQuery, quality: float) -> Found:
        """Return contacts until their estimated share of all is `quality`; all of them for 1."""
        self._found = 0
        pairs, visited = self._by_probability(query)
        if quality in (0.0, 1.0):
            tested = pairs if quality == 1.0 else pairs[:0]
            self._test(query, tested)
            self.tested = tested
            return Found(self._out[: self._found], float(quality == 1.0 or not len(pairs)), visited, len(tested))
        sample, seen, stride = self._sample(query, pairs)
        # each pair of the sample stands for those around it in the order that were not tested
        unseen = (stride - 1.0) * np.append(np.cumsum(seen[::-1])[::-1], 0.0)
        others = np.flatnonzero(~sample)
        done, recall = 0, self._recall(unseen[0])
        while recall < quality and done < len(others):
            self._test(query, pairs[others[done : done + STEP]])
            done = min(done + STEP, len(others))
            recall = self._recall(unseen[others[done]] if done < len(others) else 0.0)
        self.tested = pairs[np.concatenate([np.flatnonzero(sample), others[:done]])]
        return Found(self._out[: self._found], recall, visited, done + int(sample.sum()))

    def _sample(self, query: FacetQuery, pairs: Ints) -> tuple[NDArray[np.bool_], Counts, int]:
        """Test one of `stride` pairs of leaves, evenly over their order, and more until HITS of them have contacts.
        Return the pairs tested (k,), their contacts (k,), and the stride; 1: all were tested."""
        sample, seen, stride = np.zeros(len(pairs), np.bool_), np.zeros(len(pairs), np.int64), 2 * STRIDE
        while stride > 1 and np.count_nonzero(seen) < HITS:
            stride //= 2
            rows = np.arange(FIRST % stride, len(pairs), stride)
            rows = rows[~sample[rows]]
            seen[rows] = self._test(query, pairs[rows])
            sample[rows] = True
        return sample, seen, stride

    def _recall(self, unseen: float) -> float:
        return (self._found + 1.0) / (self._found + 1.0 + unseen)

    def _by_probability(self, query: FacetQuery) -> tuple[Ints, int]:
        """Return the pairs of leaves (k,2) within reach, the most probable first, and the number of pairs visited."""
        if not (len(self._a.nodes) and len(self._b.nodes)):
            return self._leaves.pair[:0], 0
        while True:
            arguments = self._a, self._b, query.same, query.reach, self._stack, self._leaves
            count, visited = _kernels.find_leaf_pairs(*arguments)
            if count < 0:
                self._stack = np.empty((2 * len(self._stack), 2), np.int32)
            elif count > len(self._leaves.pair):
                self._leaves = _space(count + count // 4)
            else:
                break
        unlikeliness = (STEPS * (1.0 - self._leaves.probability[:count])).astype(np.uint16)
        order = np.argsort(unlikeliness, kind="stable")
        return self._leaves.pair[order], int(visited)

    def _test(self, query: FacetQuery, pairs: Ints) -> Counts:
        """Append the contacts of pairs of leaves (k,2); return the number of each (k,)."""
        counts, at = np.zeros(len(pairs), np.int64), 0
        while True:
            arguments = self._a, self._b, query, pairs, at, Space(self._batch, self._out), self._found, counts
            at, self._found = _kernels.find_contacts(*arguments)
            if at == len(pairs):
                return counts
            self._check(self._found)
            self._out = np.concatenate([self._out, np.empty_like(self._out)])


def _space(count: int) -> Leaves:
    return Leaves(np.empty((count, 2), np.int32), np.empty(count))

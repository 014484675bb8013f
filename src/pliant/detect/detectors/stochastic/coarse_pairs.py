"""Pairs that are far apart, tracked on coarse levels of the meshes and refined as they approach (Guy, Debunne 2004)."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.stochastic import descent as _descent
from .facets import Floats, Ints, Levels

RATIO = 2.0  # least distance of a pair over the median edge length of its level
HORIZON = 8.0  # median edge lengths of the coarsest level beyond which pairs are dropped
MOST = 256  # pairs that are tracked
ITERATIONS = 4096  # of descent per level and update


class CoarsePairs:
    """Vertex pairs (k,2) farther apart than `far`, each on a level: the coarsest whose edges are at most half as long
    as its distance."""

    def __init__(self, levels: Levels, same: bool, far: float) -> None:
        self._levels, self._same, self._far = levels, same, far
        self.pairs, self.level = np.zeros((0, 2), np.int32), np.zeros(0, np.int64)
        self.distance = np.zeros(0)
        self.horizon = HORIZON * float(levels.edges[-1])

    def copy(self) -> Self:
        copy = type(self)(self._levels, self._same, self._far)
        copy.pairs, copy.level, copy.distance = self.pairs.copy(), self.level.copy(), self.distance.copy()
        return copy

    def advance(self, x: Floats) -> Ints:
        """Move all pairs to local minima of the distance on their levels, refining those that came nearer, down to
        pairs within `far`, which are returned; others that moved away go to a coarser level."""
        top = len(self._levels.edges) - 1
        for level in range(top, min(top, 1) - 1, -1):
            rows = np.flatnonzero(self.level == level)
            pairs, distance = self.pairs[rows], np.zeros(len(rows))
            _descent.descend(self._levels.graphs, x, level, level, 0.0, ITERATIONS, pairs, distance)
            self.pairs[rows], self.distance[rows] = pairs, distance
            self.level[rows] = self._levels_for(distance)
        near = self.pairs[(self.distance >= 0.0) & (self.distance <= self._far)]
        pairs, distance, self.pairs, self.distance = self.pairs, self.distance, self.pairs[:0], self.distance[:0]
        self.level = self.level[:0]
        self.add(pairs, distance)
        return near

    def add(self, pairs: Ints, distance: Floats) -> None:
        """Track pairs (k,2) at these distances (k,), unless they are within `far` or beyond the horizon; of the same
        pair of coarse vertices one is kept, and at most MOST in all, the nearest."""
        kept = (distance > self._far) & (distance <= self.horizon)
        pairs = np.concatenate([self.pairs, pairs[kept]])
        distance = np.concatenate([self.distance, distance[kept]])
        level = self._levels_for(distance)
        for k in range(len(self._levels.up)):
            above = level > k
            pairs[above] = self._levels.up[k][pairs[above]]
        pairs = np.sort(pairs, 1) if self._same else pairs
        order = np.argsort(distance, kind="stable")
        _, first = np.unique(np.column_stack([level, pairs])[order], axis=0, return_index=True)
        rows = order[np.sort(first)][:MOST]
        rows = rows[pairs[rows, 0] != pairs[rows, 1]]
        self.pairs, self.distance, self.level = pairs[rows], distance[rows], level[rows]

    def _levels_for(self, distance: Floats) -> NDArray[np.int64]:
        """(k,) levels for distances (k,): 1 or coarser where there is more than one."""
        top = len(self._levels.edges) - 1
        finer = np.searchsorted(RATIO * self._levels.edges[1:], distance, side="right")
        return np.clip(finer, min(top, 1), top)

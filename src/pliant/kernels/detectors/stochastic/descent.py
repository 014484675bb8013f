"""Descent of vertex pairs to local minima of the distance between two surfaces, coarse to fine.

In each iteration first one end moves to the best of its neighbours and then the other (Raghupathi et al. 2004, the
two-step update): n + m distances instead of n m, which are computed only if neither got nearer. A coarser level is a
graph on a subset of the vertices; a pair descends there with long steps, then on finer levels (Guy and Debunne 2004).
"""

from typing import NamedTuple

import numpy as np

from ... import vec
from ...jit import kernel


class Graphs(NamedTuple):
    start: np.ndarray  # (levels,n+1) i4: neighbours of row v at a level are ring[start[level, v]:start[level, v + 1]]
    ring: np.ndarray  # i4; level 0 is the mesh, the last one the coarsest


@kernel
def choose(start, ring, rows, level, taken):
    """Choose a maximal independent set of `rows`: taken (n,) is the chosen row for each, itself or a neighbour."""
    for k in range(len(rows)):
        v = rows[k]
        if taken[v] < 0:
            taken[v] = v
            for r in range(start[level, v], start[level, v + 1]):
                if taken[ring[r]] < 0:
                    taken[ring[r]] = v


@kernel
def descend(graphs, x, level, last, stop, most, pairs, distance):
    """Move pairs (k,2) of rows of x downhill from `level` to level `last`, until no neighbour is nearer or their
    distance is below `stop`, for at most `most` iterations per level; distance (k,) becomes their distance, -1 for
    neighbours.
    """
    start, ring = graphs.start, graphs.ring
    for k in range(len(pairs)):
        here = vec.norm2(vec.sub(vec.load(x, pairs[k, 0]), vec.load(x, pairs[k, 1])))
        joined = pairs[k, 0] == pairs[k, 1]
        for lower in range(level - last + 1):
            at, turn, moved = level - lower, 0, True
            while moved and turn < most and not joined and here > stop * stop:
                moved, turn = False, turn + 1
                for side in range(2):
                    moving, fixed = pairs[k, side], pairs[k, 1 - side]
                    p, best = vec.load(x, fixed), moving
                    for r in range(start[at, moving], start[at, moving + 1]):
                        to = ring[r]
                        joined = joined or to == fixed
                        d = vec.norm2(vec.sub(vec.load(x, to), p))
                        if d < here:
                            here, best = d, to
                    if joined:
                        break
                    if best != moving:
                        pairs[k, side], moved = best, True
                if not moved and not joined:
                    # on parallel layers neither end gets nearer alone
                    i, j, first, second = pairs[k, 0], pairs[k, 1], pairs[k, 0], pairs[k, 1]
                    for r in range(start[at, i], start[at, i + 1]):
                        p = vec.load(x, ring[r])
                        for q in range(start[at, j], start[at, j + 1]):
                            d = vec.norm2(vec.sub(vec.load(x, ring[q]), p))
                            if d < here and ring[r] != ring[q]:
                                here, first, second, moved = d, ring[r], ring[q], True
                    pairs[k, 0], pairs[k, 1] = first, second
            # neighbours on a coarse level are far apart on the next
            joined = joined and (at == last or pairs[k, 0] == pairs[k, 1])
        distance[k] = -1.0 if joined else here**0.5


@kernel
def choose_near(x, rows, others, skip, between, home, ends):
    """For each of `rows` (k,) find the nearest of `others` (c,), except those in skip (k,c). Within one side, prefer
    those whose distance is at most half of that along the surface, between (c,c) in metres, by home[row]; empty for two
    sides.
    """
    for k in range(len(rows)):
        p, best, to = vec.load(x, rows[k]), np.inf, others[0]
        for c in range(len(others)):
            if skip[k, c]:
                continue
            d = vec.norm2(vec.sub(vec.load(x, others[c]), p))
            if len(between) > 0:
                distance_between = between[home[rows[k]], c]
                if 4.0 * d > distance_between * distance_between:
                    d = 1e100 * (d / (distance_between * distance_between) if distance_between > 0.0 else 1e10)
            if d < best:
                best, to = d, others[c]
        ends[k] = to

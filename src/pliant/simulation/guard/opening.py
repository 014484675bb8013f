"""Opening: pairs that start closer than the smallest gap the guard keeps are first separated to that gap.

A vertex on an edge of which it is not an end, as left by closing a T-junction, is within rounding of that edge: it
could pass through unnoticed. Slivers slightly thicker than that lock, because every rotation of the surface brings
their sides closer together. Both are opened by a few hundredths of the thickness.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...kernels.simulation import carry as _kernels
from .pairs import GuardedPairs, among

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
SWEEPS = 50  # over all pairs in one round
ROUNDS = 6  # each with new normals
TIGHT = 0.5  # of the gap that is always kept: a pair below it is opened
WANTED = 2.0  # times that gap: a pair is opened to it
SMALLEST = 1.0 / 16  # smallest fraction of a round's displacement that is tried


class OpeningGuard(Protocol):
    """The interface of the guard that opening uses."""

    def near_pairs(self, x: Floats) -> tuple[GuardedPairs, Floats, float, float]:
        """Return the near pairs at x, how far (n,) each vertex may move without meeting other pairs, the gap that is
        always kept, and the rounding error of distances."""

    def intersecting_corners(self, x: Floats) -> Rows:
        """Return the corners (k,6) of all intersecting pairs of triangles at x, by the exact test."""


def is_tight(pairs: GuardedPairs, least: float) -> bool:
    """Whether any pair needs opening."""
    return bool(pairs.gaps.min(initial=np.inf) < TIGHT * least)


def open_up(guard: OpeningGuard, free: NDArray[np.bool_], x: Floats) -> bool:
    """Move the free vertices of x until no pair is tight, as far as there is room. Return whether anything moved.

    No new intersections are created; pairs that only touch are usually separated.
    """
    moved, intersecting = False, guard.intersecting_corners(x)
    for _ in range(ROUNDS):
        pairs, radius, least, rounding = guard.near_pairs(x)
        if not is_tight(pairs, least):
            break
        u, touching = np.zeros_like(x), pairs.gaps <= 2.0 * rounding
        wanted = np.where(pairs.gaps < WANTED * least, WANTED * least, pairs.kept)
        # a pair without a separation direction gets one once its neighbours have moved
        wanted[touching & (pairs.separations(x) <= 2.0 * rounding)] = -np.inf
        _kernels.separate_displacements(pairs.features, wanted, x, radius, free, SWEEPS, u)
        u *= _kernels.shares(pairs.features, np.where(touching, -np.inf, pairs.kept), x, u, np.empty(len(wanted)))
        share = 1.0
        while share >= SMALLEST and not among(guard.intersecting_corners(x + share * u), intersecting).all():
            share *= 0.5
        if share < SMALLEST or not u.any():
            break
        x += share * u
        moved = True
    return moved

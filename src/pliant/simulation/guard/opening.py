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


class GuardView(Protocol):
    """The interface of the guard that opening uses."""

    def near(self, x: Floats) -> tuple[GuardedPairs, Floats, float, float]:
        """Return the near pairs at x, how far (n,) each vertex may move without meeting other pairs, the gap that is
        always kept, and the rounding error of distances."""

    def meeting(self, x: Floats) -> Rows:
        """Return the corners (k,6) of all intersecting pairs of triangles at x, by the exact test."""


def is_tight(walls: GuardedPairs, least: float) -> bool:
    """Whether any pair needs opening."""
    return bool(walls.gaps.min(initial=np.inf) < TIGHT * least)


def open_up(guard: GuardView, free: NDArray[np.bool_], x: Floats) -> bool:
    """Move the free vertices of x until no pair is tight, as far as there is room. Return whether anything moved.

    No new intersections are created; pairs that only touch are usually separated.
    """
    moved, met = False, guard.meeting(x)
    for _ in range(ROUNDS):
        walls, radius, least, rounding = guard.near(x)
        if not is_tight(walls, least):
            break
        u, touching = np.zeros_like(x), walls.gaps <= 2.0 * rounding
        wanted = np.where(walls.gaps < WANTED * least, WANTED * least, walls.kept)
        # a pair without a separation direction gets one once its neighbours have moved
        wanted[touching & (walls.separations(x) <= 2.0 * rounding)] = -np.inf
        _kernels.make_way(walls.features, wanted, x, radius, free, SWEEPS, u)
        u *= _kernels.shares(walls.features, np.where(touching, -np.inf, walls.kept), x, u, np.empty(len(wanted)))
        share = 1.0
        while share >= SMALLEST and not among(guard.meeting(x + share * u), met).all():
            share *= 0.5
        if share < SMALLEST or not u.any():
            break
        x += share * u
        moved = True
    return moved

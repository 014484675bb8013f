"""Opening: pairs that start nearer than the guard keeps pairs apart are moved that far apart first.

A vertex on an edge that it is no end of, as closing a T-junction leaves it, has a distance of rounding to that edge:
it could pass through without the guard seeing it. Slivers a little thicker than that lock: every turn of the surface
would bring their sides nearer to each other. Both are opened by a few hundredths of the thickness.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels import carry as _kernels
from .pairs import Walls, among

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
SWEEPS = 50  # over all pairs in one round
ROUNDS = 6  # each with new normals
TIGHT = 0.5  # of the distance that is always kept: below that a pair is opened
WANTED = 2.0  # times that distance: what it is opened to
SMALLEST = 1.0 / 16  # of a round's displacement that is still tried


class Overseer(Protocol):
    """What opening needs of the guard."""

    def near(self, x: Floats) -> tuple[Walls, Floats, float, float]:
        """All pairs that are near at x, how far (n,) each vertex may go without meeting others, the distance that is
        always kept and the rounding of distances."""

    def meeting(self, x: Floats) -> Rows:
        """Corners (k,6) of all pairs of triangles that meet at x, exactly."""


def is_tight(walls: Walls, least: float) -> bool:
    """Whether any pair needs opening."""
    return bool(walls.gaps.min(initial=np.inf) < TIGHT * least)


def open_up(guard: Overseer, free: NDArray[np.bool_], x: Floats) -> bool:
    """Move the free vertices of x until no pair is tight, as far as there is room; whether anything moved.

    Triangles that do not meet at first never do; pairs that only touch are often apart in the end.
    """
    moved, met = False, guard.meeting(x)
    for _ in range(ROUNDS):
        walls, radius, least, rounding = guard.near(x)
        if not is_tight(walls, least):
            break
        u, touching = np.zeros_like(x), walls.gaps <= 2.0 * rounding
        wanted = np.where(walls.gaps < WANTED * least, WANTED * least, walls.kept)
        # a pair without any direction gets one when its neighbours have made way
        wanted[touching & (walls.separations(x) <= 2.0 * rounding)] = -np.inf
        _kernels.make_way(*walls.named, wanted, x, radius, free, SWEEPS, u)
        u *= _kernels.shares(*walls.named, np.where(touching, -np.inf, walls.kept), x, u, np.empty(len(wanted)))
        share = 1.0
        while share >= SMALLEST and not among(guard.meeting(x + share * u), met).all():
            share *= 0.5
        if share < SMALLEST or not u.any():
            break
        x += share * u
        moved = True
    return moved

"""Distances beyond a narrow band by fast sweeping: |grad d| = 1, upwind, Gauss-Seidel in eight orders (Zhao 2005).

Rows along z are swept one after the other. Rows with the same i + j depend only on rows with adjacent sums, so threads
may share them and the result is bitwise identical to that of one thread. A row with unchanged neighbours is skipped.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .grid import corners8, trilinear

OUTSIDE, INSIDE, KNOWN = 1, 2, 4  # bits of `side`
CHUNK = 4096  # points per task of a thread


class Volume(NamedTuple):
    values: np.ndarray  # (nx,ny,nz) f4 signed distance at the nodes, nan where there is none
    jump: np.ndarray  # (nx-1,ny-1,nz-1) u1, 1 where the sign jumps without a surface; empty if it never does
    origin: np.ndarray  # (3,) metres
    h: float  # spacing, metres


@kernel
def upwind(a, b, c, h):
    """Return the u with sum of max(u - a, 0)^2 = h^2 over its neighbours a, b, c (the smaller one along each axis)."""
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    # relative to the smallest, so that a distance much greater than h loses no digits
    u, b, c = h, b - a, c - a
    if u > b:
        u = 0.5 * (b + math.sqrt(2.0 * h * h - b * b))
        if u > c:
            s = b + c
            u = (s + math.sqrt(s * s - 3.0 * (b * b + c * c - h * h))) / 3.0
    return a + u


@kernel
def relax_row(u, side, h, tolerance, i, j, forward):
    """Relax row i, j of `u` once and propagate the sides of its neighbours; return whether anything changed.

    A decrease of at most `tolerance` is stored but does not reactivate neighbouring rows.
    """
    ni, nj, nk = u.shape
    # at the ends of the grid, the neighbour from the other side is used twice
    i0, i1 = (i - 1 if i > 0 else i + 1), (i + 1 if i < ni - 1 else i - 1)
    j0, j1 = (j - 1 if j > 0 else j + 1), (j + 1 if j < nj - 1 else j - 1)
    changed, lowest = False, np.float32(0.57 * h)  # h / sqrt 3 is the least rise of a node above its neighbours
    for m in range(nk):
        k = m if forward else nk - 1 - m
        known = side[i, j, k]
        if known & KNOWN:
            continue
        k0, k1 = (k - 1 if k > 0 else k + 1), (k + 1 if k < nk - 1 else k - 1)
        a, b, c = min(u[i0, j, k], u[i1, j, k]), min(u[i, j0, k], u[i, j1, k]), min(u[i, j, k0], u[i, j, k1])
        least, old = min(a, b, c), u[i, j, k]
        if least == np.inf:
            continue
        sides = side[i0, j, k] | side[i1, j, k] | side[i, j0, k] | side[i, j1, k] | side[i, j, k0] | side[i, j, k1]
        sides = (known | sides) & (OUTSIDE | INSIDE)
        if sides != known:
            side[i, j, k] = sides
            changed = True
        # a node less than h/sqrt(3) above its lowest neighbour, as half of the nodes of a sweep are, cannot decrease
        if old <= least + lowest:
            continue
        new = np.float32(upwind(np.float64(a), np.float64(b), np.float64(c), h))
        if new < old:
            u[i, j, k] = new
            changed |= old - new > tolerance
    return changed


@kernel
def is_active(stamp, seen, i, j):
    """Return whether row i, j or an adjacent row changed since row i, j was last processed."""
    last = stamp[i, j]
    if i > 0:
        last = max(last, stamp[i - 1, j])
    if i < stamp.shape[0] - 1:
        last = max(last, stamp[i + 1, j])
    if j > 0:
        last = max(last, stamp[i, j - 1])
    if j < stamp.shape[1] - 1:
        last = max(last, stamp[i, j + 1])
    return last >= seen[i, j]


@kernel(parallel=True)
def sweep(u, side, h, tolerance, number, stamp, seen):
    """Perform one sweep over `u` (nx,ny,nz) f4 and `side`; `number`, from 1 up, selects its order.

    `stamp` and `seen` (nx,ny): the sweeps in which each row last changed, and was last processed.
    """
    ni, nj, _ = u.shape
    down_i, down_j, forward = number & 1 == 0, number & 2 != 0, number & 4 == 0
    for level in range(ni + nj - 1):
        first = max(0, level - nj + 1)
        for r in prange(first, min(level, ni - 1) + 1):
            i = ni - 1 - r if down_i else r
            j = nj - 1 - (level - r) if down_j else level - r
            if is_active(stamp, seen, i, j):
                seen[i, j] = number
                if relax_row(u, side, h, tolerance, i, j, forward):
                    stamp[i, j] = number


@kernel
def sample_range(volume, points, first, last, distance, gradient):
    """Sample signed distance and gradient at points first..last-1; nan outside the grid and where there is no value."""
    values, jump = volume.values, volume.jump
    ni, nj, nk = values.shape
    for at in range(first, last):
        x = (points[at, 0] - volume.origin[0]) / volume.h
        y = (points[at, 1] - volume.origin[1]) / volume.h
        z = (points[at, 2] - volume.origin[2]) / volume.h
        d, g = np.nan, (np.nan, np.nan, np.nan)
        # compared as floats, because the cell index of a distant point may overflow an integer
        if 0.0 <= x <= ni - 1 and 0.0 <= y <= nj - 1 and 0.0 <= z <= nk - 1:
            i, j, k = min(int(x), ni - 2), min(int(y), nj - 2), min(int(z), nk - 2)
            if jump.size == 0 or not jump[i, j, k]:
                d, g = trilinear(corners8(values, i, j, k), x - i, y - j, z - k)
        distance[at] = d
        vec.store(gradient, at, vec.scale(g, 1.0 / volume.h))


@kernel(parallel=True)
def sample_points(volume, points, distance, gradient):
    for c in prange(-(-len(points) // CHUNK)):
        sample_range(volume, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), distance, gradient)

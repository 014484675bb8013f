"""Regular grids: which cell a point is in, and trilinear interpolation with its analytic gradient."""

import math

from .jit import kernel


@kernel
def cell_of(x, origin, h):
    """Index of the cell that holds coordinate `x`. Insertion and query must both call this one:
    floor(.3/.1) is 2 and floor(.3*(1/.1)) is 3."""
    return int(math.floor((x - origin) / h))


@kernel
def trilinear(v, i, j, k, u, w, t):
    """Value and gradient (per cell) of the interpolation in cell i, j, k at fractions u, w, t; nan if a corner is."""
    # float64 from here on: differences of float32 would round, and a cell would not meet its neighbour
    c000, c001 = float(v[i, j, k]), float(v[i, j, k + 1])
    c010, c011 = float(v[i, j + 1, k]), float(v[i, j + 1, k + 1])
    c100, c101 = float(v[i + 1, j, k]), float(v[i + 1, j, k + 1])
    c110, c111 = float(v[i + 1, j + 1, k]), float(v[i + 1, j + 1, k + 1])
    # along z, then y, then x; the differences on the way are the gradient
    a00, a01 = c000 + t * (c001 - c000), c010 + t * (c011 - c010)
    a10, a11 = c100 + t * (c101 - c100), c110 + t * (c111 - c110)
    b0, b1 = a00 + w * (a01 - a00), a10 + w * (a11 - a10)
    dy0, dy1 = a01 - a00, a11 - a10
    z00, z01, z10, z11 = c001 - c000, c011 - c010, c101 - c100, c111 - c110
    z0, z1 = z00 + w * (z01 - z00), z10 + w * (z11 - z10)
    return b0 + u * (b1 - b0), (b1 - b0, dy0 + u * (dy1 - dy0), z0 + u * (z1 - z0))

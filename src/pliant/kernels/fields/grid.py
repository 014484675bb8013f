"""Regular grids: trilinear interpolation with its analytic gradient."""

import numpy as np

from ..jit import kernel


@kernel
def corners8(v, i, j, k):
    """Values at the corners of cell i, j, k, z fastest, as float64: differences of float32 would round, and
    neighbouring cells would not match. (Numba's `float` does not convert a float32.)
    """
    return (
        np.float64(v[i, j, k]),
        np.float64(v[i, j, k + 1]),
        np.float64(v[i, j + 1, k]),
        np.float64(v[i, j + 1, k + 1]),
        np.float64(v[i + 1, j, k]),
        np.float64(v[i + 1, j, k + 1]),
        np.float64(v[i + 1, j + 1, k]),
        np.float64(v[i + 1, j + 1, k + 1]),
    )


@kernel
def trilinear(c, u, w, t):
    """Value and gradient (per cell) of the interpolation of corners `c` at fractions u, w, t; nan if a corner is."""
    # along z, then y, then x; the intermediate differences give the gradient
    z00, z01, z10, z11 = c[1] - c[0], c[3] - c[2], c[5] - c[4], c[7] - c[6]
    a00, a01, a10, a11 = c[0] + t * z00, c[2] + t * z01, c[4] + t * z10, c[6] + t * z11
    y0, y1 = a01 - a00, a11 - a10
    b0, b1 = a00 + w * y0, a10 + w * y1
    z0, z1 = z00 + w * (z01 - z00), z10 + w * (z11 - z10)
    return b0 + u * (b1 - b0), (b1 - b0, y0 + u * (y1 - y0), z0 + u * (z1 - z0))

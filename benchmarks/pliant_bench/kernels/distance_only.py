"""Distances of a dense field without gradients, to measure what normals cost."""

import numpy as np

from pliant.kernels.fields.grid import corners8, trilinear
from pliant.kernels.jit import kernel


@kernel
def distances(field, points, distance):
    """As `dense.sample_range`, without the gradient."""
    values, per = field.values, 1.0 / field.h
    ni, nj, nk = values.shape
    for at in range(len(points)):
        x = (points[at, 0] - field.origin[0]) * per
        y = (points[at, 1] - field.origin[1]) * per
        z = (points[at, 2] - field.origin[2]) * per
        d = np.nan
        if 0.0 <= x < ni - 1 and 0.0 <= y < nj - 1 and 0.0 <= z < nk - 1:
            i, j, k = int(x), int(y), int(z)
            d = trilinear(corners8(values, i, j, k), x - i, y - j, z - k)[0]
        distance[at] = d

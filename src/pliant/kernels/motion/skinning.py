"""Linear blend skinning: every vertex is moved by the weighted sum of its bone matrices."""

import numpy as np

from ..jit import kernel, prange
from ..lanes import blended_point

PARTS = 64  # chunks of vertices distributed over threads


@kernel
def columns_of(matrices, columns):
    """Store the columns of the bone matrices (b,3,4) in `columns` (b,4,4), the last number of each is padding."""
    for j in range(len(matrices)):
        for k in range(4):
            for a in range(3):
                columns[j, k, a] = matrices[j, a, k]
            columns[j, k, 3] = 0.0


@kernel
def skin_range(x, joints, weights, columns, first, last, out):
    """out[i] = sum_j weights[i,j] matrices[joints[i,j]] [x[i], 1], up to the first zero weight."""
    width = joints.shape[1]
    for i in range(first, last):
        p = blended_point(columns, joints, weights, i * width, (i + 1) * width, x[i, 0], x[i, 1], x[i, 2])
        out[i, 0], out[i, 1], out[i, 2] = p[0], p[1], p[2]


@kernel(parallel=True)
def skin(x, joints, weights, matrices, out):
    """Write the skinned positions (n,3) to `out`."""
    n, columns = len(x), np.empty((len(matrices), 4, 4))
    columns_of(matrices, columns)
    for part in prange(PARTS):
        skin_range(x, joints, weights, columns, part * n // PARTS, (part + 1) * n // PARTS, out)


@kernel
def skin_poses(x, joints, weights, matrices, out):
    """Write the skinned positions of few points (n,3) for bone matrices (t,b,3,4) to `out` (t,n,3), on one thread."""
    columns = np.empty((matrices.shape[1], 4, 4))
    for t in range(len(matrices)):
        columns_of(matrices[t], columns)
        skin_range(x, joints, weights, columns, 0, len(x), out[t])

"""Linear blend skinning: every vertex is moved by the weighted sum of its bone matrices."""

from ..jit import kernel, prange

PARTS = 64  # chunks of vertices distributed over threads


@kernel
def skin_range(x, joints, weights, matrices, first, last, out):
    """out[i] = sum_j weights[i,j] matrices[joints[i,j]] [x[i], 1], up to the first zero weight."""
    width = joints.shape[1]
    for i in range(first, last):
        a, b, c = x[i, 0], x[i, 1], x[i, 2]
        u, v, w = 0.0, 0.0, 0.0
        for k in range(width):
            s = weights[i, k]
            if s == 0.0:
                break
            j = joints[i, k]
            u += s * (matrices[j, 0, 0] * a + matrices[j, 0, 1] * b + matrices[j, 0, 2] * c + matrices[j, 0, 3])
            v += s * (matrices[j, 1, 0] * a + matrices[j, 1, 1] * b + matrices[j, 1, 2] * c + matrices[j, 1, 3])
            w += s * (matrices[j, 2, 0] * a + matrices[j, 2, 1] * b + matrices[j, 2, 2] * c + matrices[j, 2, 3])
        out[i, 0], out[i, 1], out[i, 2] = u, v, w


@kernel(parallel=True)
def skin(x, joints, weights, matrices, out):
    """Write the skinned positions (n,3) to `out`."""
    n = len(x)
    for part in prange(PARTS):
        skin_range(x, joints, weights, matrices, part * n // PARTS, (part + 1) * n // PARTS, out)

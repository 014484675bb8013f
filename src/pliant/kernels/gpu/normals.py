"""Unit normals from the gradients of a field, and the rows without one."""

import math

from .card import cuda
from .jit import kernel, prange


@kernel(parallel=True)
def normalise(gradient, least, rows, count):
    """Scale rows of `gradient` (n,3) to length 1; list those shorter than `least` in `rows` and count them."""
    for i in prange(len(gradient)):
        x, y, z = gradient[i, 0], gradient[i, 1], gradient[i, 2]
        length = math.sqrt(x * x + y * y + z * z)
        if length < least:
            rows[cuda.atomic.add(count, 0, 1)] = i
        else:
            gradient[i, 0], gradient[i, 1], gradient[i, 2] = x / length, y / length, z / length

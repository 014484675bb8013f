"""Which nearest features of points are left to the host."""

from numba import cuda

from .jit import kernel, prange
from .sources import twin

CREASE = twin("gradients.stencils").CREASE


@kernel(parallel=True)
def list_open(kind, sign, distance, margin, rows, count):
    """List the points whose side no normal gives, and those of creases, in any order."""
    for i in prange(len(kind)):
        if sign[i] == 0 or abs(distance[i]) <= margin or kind[i] == CREASE:
            rows[cuda.atomic.add(count, 0, 1)] = i

"""`kernels/per_task.py` on the card: a task is one element of a loop, and its memory has a constant shape."""

import numpy as np
from numba import cuda

from pliant.kernels.gpu.simulated import SIMULATED

if SIMULATED:
    scratch = np.empty
else:
    from numba.cuda import types
    from numba.cuda.cudadecl import Cuda_local_array, registry

    scratch = cuda.local.array
    registry.register_global(scratch, types.Function(Cuda_local_array))


def chunk(elements: int) -> int:
    """The elements of one task, whatever it is on threads."""
    return 1

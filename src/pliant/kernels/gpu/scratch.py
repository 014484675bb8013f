"""Memory of one thread of the card, where kernels allocate arrays of constant shape (`sources`)."""

import numpy as np

from .card import cuda
from .jit import kernel
from .simulated import SIMULATED

if SIMULATED:
    scratch = np.empty
else:
    from numba.cuda import types
    from numba.cuda.cudadecl import Cuda_local_array, registry

    scratch = cuda.local.array
    registry.register_global(scratch, types.Function(Cuda_local_array))


@kernel
def filled(array, value):
    """The array, with all elements set to `value`."""
    for k in range(array.size):
        array.flat[k] = value
    return array

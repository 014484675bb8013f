"""`kernels/jit.py` on the card: `@kernel` compiles a function that other kernels call, `prange` shares a loop among all
threads of a launch.

A function with a parallel loop is called by every thread of the launch: what precedes the loop runs in each of them,
and the loop takes the iterations of this thread. Such functions may contain one loop, or several that are independent.
"""

import functools

from numba import cuda

from pliant.kernels.gpu.simulated import SIMULATED

COMPILED = PARALLEL = True
# link-time optimisation contracts a * b + c into one rounding
OPTIONS = {} if SIMULATED else {"lto": False, "fastmath": False}


def kernel(function=None, *, parallel=False, inline=False):
    """Compile `function` for the card when a launch first needs it."""
    if function is None:
        return functools.partial(kernel, parallel=parallel, inline=inline)
    return cuda.jit(function, device=True, **OPTIONS)


@kernel
def prange(count):
    """The iterations of this thread."""
    return range(cuda.grid(1), count, cuda.gridsize(1))

"""`kernels/jit.py` on the card: `@kernel` compiles a function that other kernels call, `prange` shares a loop among all
threads of a launch.

A function with a parallel loop is called by every thread of the launch: what precedes the loop runs in each of them,
and the loop takes the iterations of this thread. Such functions may contain one loop, or several that are independent.
"""

import contextlib
import functools

from pliant.kernels.gpu.card import cuda
from pliant.kernels.gpu.simulated import SIMULATED

COMPILED = PARALLEL = True
_jit = cuda.jit  # in the simulator, `cuda` is another module after the first launch
# link-time optimisation contracts a * b + c into one rounding
OPTIONS = {} if SIMULATED else {"lto": False, "fastmath": False}


def kernel(function=None, *, parallel=False, inline=False, registers=None):
    """Compile `function` for the card when a launch first needs it. registers: those that a thread of its launches may
    have at most; with fewer, more threads run at once, and some numbers are kept in memory."""
    if function is None:
        return functools.partial(kernel, parallel=parallel, inline=inline, registers=registers)
    compiled = _jit(function, device=True, **OPTIONS)
    compiled.registers = registers
    return compiled


@kernel
def prange(first, stop=None):
    """The iterations of this thread, of `first` in all, or of those from `first` up to `stop`."""
    if stop is None:
        return range(cuda.grid(1), first, cuda.gridsize(1))
    return range(first + cuda.grid(1), stop, cuda.gridsize(1))


if SIMULATED:
    from numba.cuda.simulator import kernel as _simulator

    _REAL, _NAMES = [cuda], "__names_of_cuda__"  # a list, because names of the module itself are replaced

    @contextlib.contextmanager
    def _swapped(function, module):
        """Let `cuda` be the simulated `module` where `function` is defined. Numba's own puts it back after every call
        of a function, although other threads of the block are still in theirs."""
        known = function.__globals__
        if _NAMES not in known:
            known[_NAMES] = [name for name, value in known.items() if value is _REAL[0]]
        for name in known[_NAMES]:
            known[name] = module
        yield

    _simulator.swapped_cuda_module = _swapped

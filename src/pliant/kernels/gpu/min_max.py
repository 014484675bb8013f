"""`min` and `max` of two numbers as the processor computes them: the first one where they compare equal, or where one
is not a number. Numba's for cards take the other zero of 0.0 and -0.0, and the number of a number and nan."""

import itertools


def replace() -> None:
    """Have numba-cuda compile them so."""
    from numba.cuda import types
    from numba.cuda.cpython.builtins import max_vararg, min_vararg
    from numba.cuda.cudaimpl import registry

    for one, two in itertools.product((types.float32, types.float64), repeat=2):
        registry.lower(max, one, two)(max_vararg)
        registry.lower(min, one, two)(min_vararg)

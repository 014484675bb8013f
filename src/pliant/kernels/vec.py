"""3-vectors as tuples: Numba keeps them in registers, whereas small arrays would be allocated."""

import math

from .jit import kernel


@kernel
def load(x, i):
    """Row `i` of an (n,3) array."""
    return (x[i, 0], x[i, 1], x[i, 2])


@kernel
def store(x, i, a):
    x[i, 0] = a[0]
    x[i, 1] = a[1]
    x[i, 2] = a[2]


@kernel
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale(a, s):
    return (a[0] * s, a[1] * s, a[2] * s)


@kernel
def madd(a, b, s):
    """a + s b"""
    return (a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s)


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel
def norm2(a):
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@kernel
def norm(a):
    """Length; scaled first, so that it neither overflows at 1e200 nor underflows at 1e-170."""
    m = max(abs(a[0]), abs(a[1]), abs(a[2]))
    if m == 0.0:
        return 0.0
    x, y, z = a[0] / m, a[1] / m, a[2] / m
    return m * math.sqrt(x * x + y * y + z * z)


@kernel
def unit(a):
    """a / |a|, or zero if |a| is zero."""
    n = norm(a)
    if n == 0.0:
        return (0.0, 0.0, 0.0)
    return (a[0] / n, a[1] / n, a[2] / n)


@kernel
def mix(a, b, t):
    """(1 - t) a + t b"""
    s = 1.0 - t
    return (s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2])

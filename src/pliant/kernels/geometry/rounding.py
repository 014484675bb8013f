"""Control of rounding: products with their exact errors (Dekker 1971), the compensated cross product, exact scaling."""

import math

from ..jit import kernel

SPLITTER = 134217729.0  # 2^27 + 1


@kernel
def two_product(a, b):
    """Product a b, rounded, and its exact error; needs |a b| in 2^-968..2^996. Must not be contracted to an FMA."""
    p = a * b
    t = SPLITTER * a
    a_1 = t - (t - a)
    a_0 = a - a_1
    t = SPLITTER * b
    b_1 = t - (t - b)
    b_0 = b - b_1
    return p, a_0 * b_0 - (((p - a_1 * b_1) - a_0 * b_1) - a_1 * b_0)


@kernel
def difference_of_products(a, b, c, d):
    """Return a b - c d, accurate to two ulp despite cancellation."""
    p, p_error = two_product(a, b)
    q, q_error = two_product(c, d)
    return (p - q) + (p_error - q_error)


@kernel
def cross_compensated(a, b):
    """Cross product with every component accurate to two ulp, for inputs near 1."""
    return (
        difference_of_products(a[1], b[2], a[2], b[1]),
        difference_of_products(a[2], b[0], a[0], b[2]),
        difference_of_products(a[0], b[1], a[1], b[0]),
    )


@kernel
def largest(a):
    """Largest absolute component."""
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@kernel
def largest_coordinate(x):
    """Largest absolute value in x (n,3); inf if one is not a number."""
    most = 0.0
    for i in range(len(x)):
        m = max(abs(x[i, 0]), abs(x[i, 1]), abs(x[i, 2]))
        if not m <= most:
            most = m if m == m else math.inf
    return most


@kernel
def power_of_two_below(m):
    """Largest power of two <= m, for m > 0: dividing by it leaves the mantissa unchanged."""
    return math.ldexp(1.0, math.frexp(m)[1] - 1)


@kernel
def scale_down(a, k):
    """The vector a divided by k."""
    return (a[0] / k, a[1] / k, a[2] / k)

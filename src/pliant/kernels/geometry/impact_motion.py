"""The gap between two moving features as one expression, and how long one direction proves it open.

All vertices move on straight lines. Both queries are one: where does g(t, u, v) = a(t) - u b(t) - v c(t) vanish, with
a, b, c linear in t and (u, v) in a triangle (vertex and face) or a square (edges)? A motion is the tuple (a, b, c at
the start, a, b, c at the end). For a fixed direction n, n.g at each corner of the triangle or square is linear in t.

Rounding, with e = 2^-53, s the largest coordinate of a, b, c at both ends and |n| <= 1 on every axis: a coordinate of
a, b, c has an error of e s, its product with n 11 e s, after interpolation to t 48 e s, u b 51 e s, the sum of three
165 e s. MARGIN is 256 e. Where n is not scaled to 1, the bound is multiplied by its largest coordinate instead.
"""

from ..jit import kernel
from ..vec import dot, madd, scale, sub
from .edge import closest_on_edges
from .rounding import largest
from .triangle import nearest2

MARGIN = 2.0**-45
ZERO = (0.0, 0.0, 0.0)


@kernel
def relative_motion(start, end, face):
    """Relative motion of vertex p and face q r s, or of the edges p q and r s; `start` and `end` hold these points."""
    p_0, q_0, r_0, s_0 = start
    p_1, q_1, r_1, s_1 = end
    if face:
        return sub(p_0, q_0), sub(r_0, q_0), sub(s_0, q_0), sub(p_1, q_1), sub(r_1, q_1), sub(s_1, q_1)
    return sub(p_0, r_0), sub(p_0, q_0), sub(s_0, r_0), sub(p_1, r_1), sub(p_1, q_1), sub(s_1, r_1)


@kernel
def larger(a, b):
    """max() of two numbers that are not nan: one instruction, whereas the built-in also tests for nan."""
    return a if a > b else b


@kernel
def size_of(motion):
    """Return (largest coordinate of all, of b and c alone)."""
    a_0, b_0, c_0, a_1, b_1, c_1 = motion
    b_c = larger(larger(largest(b_0), largest(c_0)), larger(largest(b_1), largest(c_1)))
    return larger(b_c, larger(largest(a_0), largest(a_1))), b_c


@kernel
def at(x_0, x_1, t):
    return madd(x_0, sub(x_1, x_0), t)


@kernel
def combine(a, b, c, u, v):
    return madd(madd(a, b, -u), c, -v)


@kernel
def moved(motion, t):
    """a, b, c at time t."""
    a_0, b_0, c_0, a_1, b_1, c_1 = motion
    return at(a_0, a_1, t), at(b_0, b_1, t), at(c_0, c_1, t)


@kernel
def nearest_gap(motion, face, t):
    """Shortest g at time t."""
    a, b, c = moved(motion, t)
    if face:
        _, _, _, u, v = nearest2(a, ZERO, b, c)
    else:
        u, v = closest_on_edges(a, sub(a, b), ZERO, c)
    return combine(a, b, c, u, v)


@kernel
def direction(n):
    """n scaled to a largest coordinate of 1, or zero if it is too short to divide by."""
    m = largest(n)
    if m < 1e-290:
        return ZERO
    return scale(n, 1.0 / m)


@kernel
def least(n, a, b, c, face):
    """Least n.g over all (u, v)."""
    a_n, b_n, c_n = dot(n, a), dot(n, b), dot(n, c)
    if face:
        return a_n - larger(larger(b_n, c_n), 0.0)
    return a_n - larger(b_n, 0.0) - larger(c_n, 0.0)


@kernel
def reached(f_0, f_1, t, keep):
    """Time at which the line from f_0 to f_1 decreases to `keep`: 2 if it does not, t if it is not above it at t."""
    if not f_0 + t * (f_1 - f_0) > keep:
        return t
    return (f_0 - keep) / (f_0 - f_1) if f_1 < keep else 2.0


@kernel
def free_until(n, motion, face, t, keep):
    """Time until which n.g stays above `keep` from t on: t if it is not above, 2 if it is until the end."""
    n = direction(n)
    a_0, b_0, c_0 = dot(n, motion[0]), dot(n, motion[1]), dot(n, motion[2])
    a_1, b_1, c_1 = dot(n, motion[3]), dot(n, motion[4]), dot(n, motion[5])
    until = min(reached(a_0, a_1, t, keep), reached(a_0 - b_0, a_1 - b_1, t, keep))
    until = min(until, reached(a_0 - c_0, a_1 - c_1, t, keep))
    if not face:
        until = min(until, reached(a_0 - b_0 - c_0, a_1 - b_1 - c_1, t, keep))
    return max(until, t)

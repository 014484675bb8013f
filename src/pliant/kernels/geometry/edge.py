"""Segments: nearest point on a segment, nearest points of two segments.

All distances use only differences of the inputs. Rounding these moves the ends by half an ulp of the coordinates, and a
distance changes by no more than its ends do; the only quantity that amplifies rounding is the direction of the cross
product of nearly parallel edges, which `cross_compensated` therefore computes.
"""

import math

from ..jit import kernel
from ..vec import add, cross, dot, madd, norm2, scale, sub
from .rounding import cross_compensated, largest, power_of_two_below, scale_down


@kernel
def clamp(t):
    return min(max(t, 0.0), 1.0)


@kernel
def foot(r, e):
    """Parameter of the point nearest to r on the segment from 0 to e: 0 at its start (also when e is zero), 1 at e."""
    e_2 = norm2(e)
    if 1e-250 < e_2 < 1e250:
        return clamp(dot(r, e) / e_2)
    if largest(e) == 0.0 or largest(r) == 0.0:
        return 0.0
    m_e, m_r = power_of_two_below(largest(e)), power_of_two_below(largest(r))
    e = (e[0] / m_e, e[1] / m_e, e[2] / m_e)
    r = (r[0] / m_r, r[1] / m_r, r[2] / m_r)
    t = dot(r, e) / norm2(e)
    if t <= 0.0:
        return 0.0
    return clamp(t * (m_r / m_e))


@kernel
def closest_on_segment(p, a, b):
    """Return t in [0,1] such that a + t (b - a) is the point nearest to p; 0 for a zero-length segment."""
    return foot(sub(p, a), sub(b, a))


@kernel
def point_segment_distance(p, a, b):
    """Distance of p from the segment ab, metres."""
    r, e = sub(p, a), sub(b, a)
    m = max(largest(r), largest(e))
    if m == 0.0:
        return 0.0
    k = power_of_two_below(m)
    return k * to_segment(scale_down(r, k), scale_down(e, k))


@kernel
def to_segment(r, e):
    """Distance of r from the segment 0 to e, for numbers near 1."""
    return math.sqrt(norm2(madd(r, e, -foot(r, e))))


@kernel
def closest_on_edges(a, b, c, d):
    """Return (s, t) in [0,1] such that a + s (b - a) and c + t (d - c) are nearest points of two segments.

    Parallel edges (to an angle of 1e-15) give the midpoint of their overlap, so that small motions along them change
    the result little; a zero-length edge has the parameter 0.
    """
    u, v, r = sub(b, a), sub(d, c), sub(c, a)
    n = cross(u, v)
    n_2, u_2, v_2 = norm2(n), norm2(u), norm2(v)
    if n_2 > 1e-8 * u_2 * v_2 and 1e-250 < n_2 < 1e250:
        return _resolve(u, v, r, u_2, v_2, dot(cross(r, v), n) / n_2)
    return _nearly_parallel(u, v, r)


@kernel
def _resolve(u, v, r, u_2, v_2, s):
    """Clamp s, solve for t; clamp t, solve for s again (Ericson, Real-Time Collision Detection, 5.1.9)."""
    s = clamp(s)
    t = (s * dot(u, v) - dot(v, r)) / v_2
    if t < 0.0:
        return clamp(dot(u, r) / u_2), 0.0
    if t > 1.0:
        return clamp(dot(u, add(r, v)) / u_2), 1.0
    return s, t


@kernel
def _nearly_parallel(u, v, r):
    m = max(largest(u), largest(v), largest(r))
    if m == 0.0:
        return 0.0, 0.0
    k = power_of_two_below(m)
    u, v, r = scale_down(u, k), scale_down(v, k), scale_down(r, k)
    u_2, v_2 = norm2(u), norm2(v)
    if u_2 < 1e-120:
        return 0.0, foot(scale(r, -1.0), v)
    if v_2 < 1e-120:
        return foot(r, u), 0.0
    n = cross_compensated(u, v)
    n_2 = norm2(n)
    if n_2 > 1e-30 * u_2 * v_2:
        return _resolve(u, v, r, u_2, v_2, dot(cross(r, v), n) / n_2)
    s_c, s_d = dot(u, r) / u_2, dot(u, add(r, v)) / u_2
    low, high = max(0.0, min(s_c, s_d)), min(1.0, max(s_c, s_d))
    s = clamp(0.5 * (low + high))
    if low > high:
        s = 0.0 if high < 0.0 else 1.0
    return s, foot(madd(scale(r, -1.0), u, s), v)


@kernel
def edge_edge_distance(a, b, c, d):
    """Distance of the segments ab and cd, accurate to 1e-14 of the largest coordinate; metres."""
    u, v, r = sub(b, a), sub(d, c), sub(c, a)
    m = max(largest(u), largest(v), largest(r))
    if m == 0.0:
        return 0.0
    k = power_of_two_below(m)
    u, v, r = scale_down(u, k), scale_down(v, k), scale_down(r, k)
    back = scale(r, -1.0)
    best = min(to_segment(r, u), to_segment(add(r, v), u), to_segment(back, v), to_segment(add(back, u), v))
    n = cross_compensated(u, v)
    n_2, v_2 = norm2(n), norm2(v)
    # for flatter pairs, an end of one edge is as near as the crossing
    if n_2 > 1e-32 * norm2(u) * v_2 and n_2 > 1e-250:
        s = dot(cross(r, v), n) / n_2
        # t follows from s: s is uncertain for nearly parallel edges, but a mismatched pair would be wrong
        t = (s * dot(u, v) - dot(v, r)) / v_2
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            best = min(best, abs(dot(n, r)) / math.sqrt(n_2))
    return k * best

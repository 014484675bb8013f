"""Triangles: nearest point by Voronoi regions, distance, normal, solid angle.

Regions after Ericson (Real-Time Collision Detection, 5.1.5), but with the areas computed from the normal instead of
from products of dot products, which keeps them accurate for points far from small triangles. Slivers, degenerate
triangles and extreme scales use a second, compensated method.
"""

import math

from ..jit import kernel
from ..vec import cross, dot, madd, norm2, scale, sub, unit
from .edge import foot
from .rounding import cross_compensated, largest, power_of_two_below, scale_down

# Voronoi regions: FACE; VERTEX + k is corner k of a, b, c; EDGE + k runs from corner k to corner k + 1.
FACE = 0
VERTEX = 1
EDGE = 4


@kernel
def normal(a, b, c):
    """(b - a) x (c - a): its length is twice the area, and corners seen from its side run counter-clockwise."""
    return cross(sub(b, a), sub(c, a))


@kernel
def unit_normal(a, b, c):
    """Unit normal, accurate for slivers too; zero only for triangles without area."""
    e, f = sub(b, a), sub(c, a)
    m = max(largest(e), largest(f))
    if m == 0.0:
        return (0.0, 0.0, 0.0)
    k = power_of_two_below(m)
    return unit(cross_compensated(scale_down(e, k), scale_down(f, k)))


@kernel
def solid_angle(p, a, b, c):
    """Signed solid angle of the triangle seen from p, positive from behind (van Oosterom and Strackee 1983).

    The sum over a closed mesh is 4 pi inside and 0 outside.
    """
    a, b, c = sub(a, p), sub(b, p), sub(c, p)
    l_a, l_b, l_c = math.sqrt(norm2(a)), math.sqrt(norm2(b)), math.sqrt(norm2(c))
    d = l_a * l_b * l_c + dot(a, b) * l_c + dot(b, c) * l_a + dot(c, a) * l_b
    return 2.0 * math.atan2(dot(a, cross(b, c)), d)


@kernel
def nearest2(p, a, b, c):
    """Return (d2, feature, u, v, w): squared distance of p, Voronoi region, barycentrics of the nearest point."""
    e, f, r = sub(b, a), sub(c, a), sub(p, a)
    n = cross(e, f)
    n_2, e_2, f_2, ef = norm2(n), norm2(e), norm2(f), dot(e, f)
    l_2 = max(e_2, f_2, e_2 + f_2 - 2.0 * ef)
    if not (n_2 > 1e-6 * l_2 * l_2 and 1e-200 < n_2 < 1e200):
        d, feature, u, v, w = _nearest_robustly(r, e, f)
        return d * d, feature, u, v, w
    re, rf = dot(r, e), dot(r, f)
    if re <= 0.0 and rf <= 0.0:
        return norm2(r), VERTEX, 1.0, 0.0, 0.0
    if re >= e_2 and rf - ef <= re - e_2:
        return norm2(sub(r, e)), VERTEX + 1, 0.0, 1.0, 0.0
    if rf >= f_2 and re - ef <= rf - f_2:
        return norm2(sub(r, f)), VERTEX + 2, 0.0, 0.0, 1.0
    w = dot(n, cross(e, r))
    if w <= 0.0 and re >= 0.0 and re <= e_2:
        t = re / e_2
        return norm2(madd(r, e, -t)), EDGE, 1.0 - t, t, 0.0
    v = dot(n, cross(r, f))
    if v <= 0.0 and rf >= 0.0 and rf <= f_2:
        t = rf / f_2
        return norm2(madd(r, f, -t)), EDGE + 2, 1.0 - t, 0.0, t
    u = n_2 - v - w
    from_b, from_c = (rf - ef) - (re - e_2), (re - ef) - (rf - f_2)
    if u <= 0.0 and from_b >= 0.0 and from_c >= 0.0:
        t = from_b / (from_b + from_c)
        return norm2(madd(madd(r, e, t - 1.0), f, -t)), EDGE + 1, 0.0, 1.0 - t, t
    # only rounding can make one negative here
    u, v, w = max(u, 0.0), max(v, 0.0), max(w, 0.0)
    total = u + v + w
    v, w = v / total, w / total
    return norm2(madd(madd(r, e, -v), f, -w)), FACE, max(1.0 - v - w, 0.0), v, w


@kernel
def closest_on_triangle(p, a, b, c):
    """Return (u, v, w, feature): barycentric coordinates in [0,1] of the nearest point to p, and its Voronoi region."""
    _, feature, u, v, w = nearest2(p, a, b, c)
    return u, v, w, feature


@kernel
def point_triangle_distance(p, a, b, c):
    """Distance of p from the closed triangle, accurate to 1e-14 of the largest coordinate; any triangle; metres."""
    return _nearest_robustly(sub(p, a), sub(b, a), sub(c, a))[0]


@kernel
def _nearest_robustly(r, e, f):
    """Return (d, feature, u, v, w) of the point r and the triangle 0, e, f of any shape and scale."""
    m = max(largest(r), largest(e), largest(f))
    if m == 0.0:
        return 0.0, VERTEX, 1.0, 0.0, 0.0
    k = power_of_two_below(m)
    r, e, f = scale_down(r, k), scale_down(e, k), scale_down(f, k)
    g, r_b = sub(f, e), sub(r, e)
    s, t, q = foot(r, e), foot(r_b, g), foot(r, f)
    d_ab, d_bc, d_ca = norm2(madd(r, e, -s)), norm2(madd(r_b, g, -t)), norm2(madd(r, f, -q))
    if d_ab <= d_bc and d_ab <= d_ca:
        d, k_1, u, v, w = d_ab, 0, 1.0 - s, s, 0.0
    elif d_bc <= d_ca:
        d, k_1, u, v, w = d_bc, 1, 0.0, 1.0 - t, t
    else:
        d, k_1, u, v, w = d_ca, 2, 1.0 - q, 0.0, q
    d = math.sqrt(d)
    feature = EDGE + k_1
    if u == 1.0:
        feature, v, w = VERTEX, 0.0, 0.0
    elif v == 1.0:
        feature, u, w = VERTEX + 1, 0.0, 0.0
    elif w == 1.0:
        feature, u, v = VERTEX + 2, 0.0, 0.0

    # the face, relative to its longest edge: the only side whose slab contains the triangle, so that a point beyond the
    # tip of a sliver is classified by its parameter and not by an area that rounds to zero
    e_2, f_2, g_2 = norm2(e), norm2(f), norm2(g)
    if e_2 >= f_2 and e_2 >= g_2:
        h, u_f, v_f, w_f = _over(r, e, f)
    elif g_2 >= f_2:
        h, v_f, w_f, u_f = _over(r_b, g, scale(e, -1.0))
    else:
        h, w_f, u_f, v_f = _over(sub(r, f), scale(f, -1.0), scale(g, -1.0))
    if 0.0 <= h < d:
        return k * h, FACE, u_f, v_f, w_f
    return k * d, feature, u, v, w


@kernel
def _over(r, e, f):
    """Return (height, u, v, w) of r over the triangle 0, e, f, or -1 if its foot point is outside; e is longest."""
    n = cross_compensated(e, f)
    n_2, e_2 = norm2(n), norm2(e)
    # for triangles narrower than an ulp, an edge is as near as the face
    if n_2 > 1e-32 * e_2 * e_2 and n_2 > 1e-250:
        t, w = dot(r, e) / e_2, dot(n, cross(e, r)) / n_2
        v = t - w * (dot(e, f) / e_2)
        u = 1.0 - v - w
        if 0.0 <= t <= 1.0 and u >= 0.0 and v >= 0.0 and w >= 0.0:
            return abs(dot(n, r)) / math.sqrt(n_2), u, v, w
    return -1.0, 0.0, 0.0, 0.0

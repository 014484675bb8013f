"""Exact triangle-triangle intersection of closed sets: touching counts, coplanar and degenerate triangles are included.

Two triangles intersect if and only if an edge of one meets the other: their intersection is a point, a segment or a
polygon, and its corners lie on edges. Only signs of `predicates` decide, so nothing here has a tolerance.
"""

from ..jit import kernel
from ..vec import add, cross, dot, load, scale, sub
from . import box
from .predicates import drop, orient2d, orient3d
from .rounding import largest


@kernel
def triangles_intersect(p_0, p_1, p_2, q_0, q_1, q_2):
    """Whether two closed triangles without a common vertex index have a point in common."""
    low_p, high_p = box.of_triangle(p_0, p_1, p_2)
    low_q, high_q = box.of_triangle(q_0, q_1, q_2)
    if not box.overlap(low_p, high_p, low_q, high_q):
        return False
    a, b, c = orient3d(q_0, q_1, q_2, p_0), orient3d(q_0, q_1, q_2, p_1), orient3d(q_0, q_1, q_2, p_2)
    if a == b == c != 0:
        return False
    d, e, f = orient3d(p_0, p_1, p_2, q_0), orient3d(p_0, p_1, p_2, q_1), orient3d(p_0, p_1, p_2, q_2)
    if d == e == f != 0:
        return False
    return (
        _meets(p_0, p_1, a, b, q_0, q_1, q_2)
        or _meets(p_1, p_2, b, c, q_0, q_1, q_2)
        or _meets(p_2, p_0, c, a, q_0, q_1, q_2)
        or _meets(q_0, q_1, d, e, p_0, p_1, p_2)
        or _meets(q_1, q_2, e, f, p_0, p_1, p_2)
        or _meets(q_2, q_0, f, d, p_0, p_1, p_2)
    )


@kernel
def triangles_intersect_beyond_vertex(s, p_1, p_2, q_1, q_2):
    """Whether the triangles s p_1 p_2 and s q_1 q_2 have more in common than their shared vertex s.

    From s, their intersection continues until it leaves one of them, through the edge opposite to s.
    """
    return _reaches(s, p_1, p_2, q_1, q_2) or _reaches(s, q_1, q_2, p_1, p_2)


@kernel
def triangles_intersect_beyond_edge(a, b, c, d):
    """Whether the triangles a b c and a b d have more in common than their shared edge: only if folded flat."""
    side_c, side_d = 0, 0
    for axis in range(3):
        one = orient2d(drop(a, axis), drop(b, axis), drop(c, axis))
        two = orient2d(drop(a, axis), drop(b, axis), drop(d, axis))
        if one * two < 0:  # on two sides of a plane through the edge: open, the most common case
            return False
        if side_c == 0 and side_d == 0:
            side_c, side_d = one, two
    if orient3d(a, b, c, d) != 0:
        return False
    if side_c != 0 or side_d != 0:
        return side_c == side_d
    # both without area: segments on one line, or from one point if a equals b
    for axis in range(3):
        if orient2d(drop(a, axis), drop(c, axis), drop(d, axis)) != 0:
            return False
    for k in range(3):
        low, high = min(a[k], b[k]), max(a[k], b[k])
        if (c[k] < low and d[k] < low) or (c[k] > high and d[k] > high):
            return True
    return False


@kernel
def faces_intersect(x, f, g):
    """Whether two faces of one mesh intersect in a way that a mesh must not; f, g are 3-tuples of rows of x (n,3)."""
    return corners_intersect(
        f, g, load(x, f[0]), load(x, f[1]), load(x, f[2]), load(x, g[0]), load(x, g[1]), load(x, g[2])
    )


@kernel
def corners_intersect(f, g, p_0, p_1, p_2, q_0, q_1, q_2):
    """Whether two faces of one mesh, given by their corners p and q, intersect in a way that a mesh must not.

    The 3-tuples f and g of vertex indices only determine which corners are shared.
    No common index: a common point. One: a common point besides that vertex. Two: folded flat onto each other. Three:
    always. A face that repeats an index is not a face and intersects nothing.
    """
    shared, i, j, k, m = 0, 0, 0, 0, 0  # corner i of f is corner j of g; k and m are the sums of all such corners
    for p in range(3):
        for q in range(3):
            if f[p] == g[q]:
                shared, i, j, k, m = shared + 1, p, q, k + p, m + q
    if f[0] == f[1] or f[1] == f[2] or f[2] == f[0] or g[0] == g[1] or g[1] == g[2] or g[2] == g[0]:
        return False
    if shared == 0:
        return not surely_disjoint(p_0, p_1, p_2, q_0, q_1, q_2) and triangles_intersect(p_0, p_1, p_2, q_0, q_1, q_2)
    if shared == 1:
        s, p_1, p_2 = cyclic_order(p_0, p_1, p_2, i)
        _, q_1, q_2 = cyclic_order(q_0, q_1, q_2, j)
        if surely_disjoint_beyond_vertex(s, p_1, p_2, q_1, q_2):
            return False
        return triangles_intersect_beyond_vertex(s, p_1, p_2, q_1, q_2)
    if shared == 2:
        # the corners of a face are 0 + 1 + 2 = 3, so the one not shared is the difference
        c, a, b = cyclic_order(p_0, p_1, p_2, 3 - k)
        return triangles_intersect_beyond_edge(a, b, c, cyclic_order(q_0, q_1, q_2, 3 - m)[0])
    return True


@kernel
def cyclic_order(a, b, c, k):
    """The corners of a triangle in cyclic order, from corner k on."""
    if k == 0:
        return a, b, c
    if k == 1:
        return b, c, a
    return c, a, b


@kernel
def surely_disjoint(p_0, p_1, p_2, q_0, q_1, q_2):
    """True only if two triangles are disjoint, and nearly always then: no exact arithmetic is needed."""
    u, v = sub(q_1, q_0), sub(q_2, q_0)
    a, b, c = sub(p_0, q_0), sub(p_1, q_0), sub(p_2, q_0)
    # along the line between centres; two sums of three rounded products differ by less than 31 ulp of the largest
    d = sub(add(add(a, b), c), add(u, v))
    size = max(largest(u), largest(v), largest(a), largest(b), largest(c))
    gap = min(dot(d, a), dot(d, b), dot(d, c)) - max(0.0, dot(d, u), dot(d, v))
    if gap > 5e-15 * largest(d) * size + 1e-300:
        return True
    if _beyond(u, v, a, b, c):
        return True
    return _beyond(sub(p_1, p_0), sub(p_2, p_0), sub(q_0, p_0), sub(q_1, p_0), sub(q_2, p_0))


@kernel
def surely_disjoint_beyond_vertex(s, p_1, p_2, q_1, q_2):
    """True only if the triangles s p_1 p_2 and s q_1 q_2 have only s in common, and nearly always then."""
    a, b, u, v = sub(p_1, s), sub(p_2, s), sub(q_1, s), sub(q_2, s)
    size_p, size_q = max(largest(a), largest(b)), max(largest(u), largest(v))
    if size_p == 0.0 or size_q == 0.0:
        return False
    d = sub(scale(add(a, b), 1.0 / size_p), scale(add(u, v), 1.0 / size_q))
    margin = 2e-15 * largest(d)
    if min(dot(d, a), dot(d, b)) > margin * size_p + 1e-300 and max(dot(d, u), dot(d, v)) < -margin * size_q - 1e-300:
        return True
    return _beyond(u, v, a, b, b) or _beyond(a, b, u, v, v)


@kernel
def _beyond(u, v, a, b, c):
    """True only if a, b and c lie strictly on one side of the plane through 0, u and v.

    The six products of a sum carry 8 roundings each, together less than 6e-15 of the largest; 1e-250 is more than
    underflow can add below 1e60.
    """
    n = cross(u, v)
    d, e, f = dot(n, a), dot(n, b), dot(n, c)
    size = max(largest(a), largest(b), largest(c))
    margin = 6e-15 * largest(u) * largest(v) * size + 1e-250
    return size < 1e60 and (min(d, e, f) > margin or max(d, e, f) < -margin)


@kernel
def segment_meets_triangle(p, q, a, b, c):
    """Whether the closed segment pq and the closed triangle abc have a point in common; p = q tests a point."""
    return _meets(p, q, orient3d(a, b, c, p), orient3d(a, b, c, q), a, b, c)


@kernel
def segments_meet(p, q, a, b):
    """Whether the closed segments pq and ab have a point in common."""
    if orient3d(p, q, a, b) != 0:
        return False
    for axis in range(3):
        found, meet = _meet_flat(drop(p, axis), drop(q, axis), drop(a, axis), drop(b, axis))
        if found:
            return meet
    # all on one line, where boxes decide
    low_p, high_p = box.of_segment(p, q)
    low_a, high_a = box.of_segment(a, b)
    return box.overlap(low_p, high_p, low_a, high_a)


@kernel
def _reaches(s, p, q, a, b):
    """Whether the edge pq meets the triangle s a b elsewhere than in s."""
    if not segments_meet(s, s, p, q):
        return segment_meets_triangle(p, q, s, a, b)
    return (p != s and segment_meets_triangle(p, p, s, a, b)) or (q != s and segment_meets_triangle(q, q, s, a, b))


@kernel
def _meets(p, q, side_p, side_q, a, b, c):
    """segment_meets_triangle, given the sides of the plane abc that p and q are on."""
    if side_p * side_q > 0:
        return False
    if side_p == 0 and side_q == 0:
        return _meets_in_plane(p, q, a, b, c)
    s, t, r = orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)
    return s * t >= 0 and t * r >= 0 and r * s >= 0


@kernel
def _meets_in_plane(p, q, a, b, c):
    """segment_meets_triangle for a segment in the plane of the triangle, or a triangle without a plane."""
    for axis in range(3):
        d, e, f = drop(a, axis), drop(b, axis), drop(c, axis)
        orientation = orient2d(d, e, f)
        if orientation != 0:
            g, h = drop(p, axis), drop(q, axis)
            return (
                _inside(g, d, e, f, orientation)
                or _inside(h, d, e, f, orientation)
                or _meet_flat(g, h, d, e)[1]
                or _meet_flat(g, h, e, f)[1]
                or _meet_flat(g, h, f, d)[1]
            )
    return segments_meet(p, q, a, b) or segments_meet(p, q, b, c) or segments_meet(p, q, c, a)


@kernel
def _inside(p, a, b, c, orientation):
    return (
        orient2d(a, b, p) * orientation >= 0
        and orient2d(b, c, p) * orientation >= 0
        and orient2d(c, a, p) * orientation >= 0
    )


@kernel
def _meet_flat(p, q, a, b):
    """Return (not all on one line, meet) of two segments in the plane; if collinear, `meet` is undecided: False."""
    s, t, u, v = orient2d(p, q, a), orient2d(p, q, b), orient2d(a, b, p), orient2d(a, b, q)
    if s == 0 and t == 0 and u == 0 and v == 0:
        return False, False
    return True, s * t <= 0 and u * v <= 0

"""Do two triangles meet? Exactly, as closed sets: touching counts, coplanar and degenerate triangles are included.

Two triangles meet exactly when an edge of one meets the other: what they have in common is a point, a segment or a
polygon, and its corners lie on edges. Only signs of `predicates` decide, so nothing here has a tolerance.
"""

from . import box
from .jit import kernel
from .predicates import drop, orient2d, orient3d
from .vec import load


@kernel
def triangles_intersect(p_0, p_1, p_2, q_0, q_1, q_2):
    """True where two closed triangles without a common vertex index have a point in common."""
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
def triangles_cross_at_vertex(s, p_1, p_2, q_1, q_2):
    """True where the triangles s p_1 p_2 and s q_1 q_2 have more in common than their shared vertex s.

    From s, whatever they share goes on until it leaves one of them, through the edge opposite to s.
    """
    return _reaches(s, p_1, p_2, q_1, q_2) or _reaches(s, q_1, q_2, p_1, p_2)


@kernel
def triangles_cross_at_edge(a, b, c, d):
    """True where the triangles a b c and a b d have more in common than their shared edge: only when folded flat."""
    if orient3d(a, b, c, d) != 0:
        return False
    for axis in range(3):
        side_c = orient2d(drop(a, axis), drop(b, axis), drop(c, axis))
        side_d = orient2d(drop(a, axis), drop(b, axis), drop(d, axis))
        if side_c != 0 or side_d != 0:
            return side_c == side_d
    # both without area: segments along one line, or from one point when a equals b
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
    """True where two faces of one mesh meet in a way that a mesh may not; f, g are 3-tuples of rows of x (n,3).

    No common index: a common point. One: a common point besides that vertex. Two: folded flat onto each other.
    Three: always. A face that repeats an index is no face and meets nothing.
    """
    if f[0] == f[1] or f[1] == f[2] or f[2] == f[0] or g[0] == g[1] or g[1] == g[2] or g[2] == g[0]:
        return False
    shared, i, j, k, m = 0, 0, 0, 0, 0  # corner i of f is corner j of g; k and m add up all such corners
    for p in range(3):
        for q in range(3):
            if f[p] == g[q]:
                shared, i, j, k, m = shared + 1, p, q, k + p, m + q
    if shared == 0:
        return triangles_intersect(
            load(x, f[0]), load(x, f[1]), load(x, f[2]), load(x, g[0]), load(x, g[1]), load(x, g[2])
        )
    if shared == 1:
        return triangles_cross_at_vertex(
            load(x, f[i]),
            load(x, f[(i + 1) % 3]),
            load(x, f[(i + 2) % 3]),
            load(x, g[(j + 1) % 3]),
            load(x, g[(j + 2) % 3]),
        )
    if shared == 2:
        # the corners of a face are 0 + 1 + 2 = 3, so the one not shared is what is missing
        k, m = 3 - k, 3 - m
        return triangles_cross_at_edge(load(x, f[(k + 1) % 3]), load(x, f[(k + 2) % 3]), load(x, f[k]), load(x, g[m]))
    return True


@kernel
def segment_meets_triangle(p, q, a, b, c):
    """True where the closed segment pq and the closed triangle abc have a point in common; p = q asks for a point."""
    return _meets(p, q, orient3d(a, b, c, p), orient3d(a, b, c, q), a, b, c)


@kernel
def segments_meet(p, q, a, b):
    """True where the closed segments pq and ab have a point in common."""
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
    """True where the edge pq meets the triangle s a b elsewhere than in s."""
    if not segments_meet(s, s, p, q):
        return segment_meets_triangle(p, q, s, a, b)
    return (p != s and segment_meets_triangle(p, p, s, a, b)) or (q != s and segment_meets_triangle(q, q, s, a, b))


@kernel
def _meets(p, q, side_p, side_q, a, b, c):
    """segment_meets_triangle, knowing the sides of the plane abc that p and q are on."""
    if side_p * side_q > 0:
        return False
    if side_p == 0 and side_q == 0:
        return _meets_within(p, q, a, b, c)
    s, t, r = orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)
    return s * t >= 0 and t * r >= 0 and r * s >= 0


@kernel
def _meets_within(p, q, a, b, c):
    """The segment lies in the plane of the triangle, or the triangle has no plane."""
    for axis in range(3):
        d, e, f = drop(a, axis), drop(b, axis), drop(c, axis)
        turn = orient2d(d, e, f)
        if turn != 0:
            g, h = drop(p, axis), drop(q, axis)
            return (
                _inside(g, d, e, f, turn)
                or _inside(h, d, e, f, turn)
                or _meet_flat(g, h, d, e)[1]
                or _meet_flat(g, h, e, f)[1]
                or _meet_flat(g, h, f, d)[1]
            )
    return segments_meet(p, q, a, b) or segments_meet(p, q, b, c) or segments_meet(p, q, c, a)


@kernel
def _inside(p, a, b, c, turn):
    return orient2d(a, b, p) * turn >= 0 and orient2d(b, c, p) * turn >= 0 and orient2d(c, a, p) * turn >= 0


@kernel
def _meet_flat(p, q, a, b):
    """(not all on one line, meet) of two segments in the plane; for points on one line `meet` is not decided: False."""
    s, t, u, v = orient2d(p, q, a), orient2d(p, q, b), orient2d(a, b, p), orient2d(a, b, q)
    if s == 0 and t == 0 and u == 0 and v == 0:
        return False, False
    return True, s * t <= 0 and u * v <= 0

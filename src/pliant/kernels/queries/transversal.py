"""Classify two triangles that intersect: do they cross, or merely touch? Exactly, by the signs of `predicates`.

They cross if their intersection is a segment with corners of each strictly on both sides of the plane of the other. All
other intersections are touching: coplanar triangles, a corner on a face, an edge in a face, two edges at one point.
"""

from ..geometry.predicates import orient3d
from ..geometry.triangle_pair import cyclic_order
from ..jit import kernel
from ..vec import load


@kernel
def side_of(a, b, c):
    """Side of three signs: 1 or -1 if none is on the other side, 0 if all are in the plane, 2: on both."""
    low, high = min(a, b, c), max(a, b, c)
    if low < 0 < high:
        return 2
    return low + high if low == 0 or high == 0 else low


@kernel
def _alone(signs):
    """The corner that is alone on its side; for signs that are on both sides."""
    a, b, c = signs
    for s in (1, -1):
        if (a == s) + (b == s) + (c == s) == 1:
            return 0 if a == s else 1 if b == s else 2
    return 0


@kernel
def share_a_segment(p, signs_p, q, signs_q):
    """Whether two triangles with corners on both sides of each other's planes have more than a point in common.

    p and q are their corners, `signs_p` and `signs_q` the sides on which these lie. Both intersect the common line of
    the planes in an interval; two signs decide whether these overlap (Guigue, Devillers 2003, Fast and robust
    triangle-triangle overlap test).
    """
    i, j = _alone(signs_p), _alone(signs_q)
    p_0, p_1, p_2 = cyclic_order(p[0], p[1], p[2], i)
    q_0, q_1, q_2 = cyclic_order(q[0], q[1], q[2], j)
    if signs_p[i] < 0:
        q_1, q_2 = q_2, q_1
    if signs_q[j] < 0:
        p_1, p_2 = p_2, p_1
    return orient3d(p_0, p_1, q_0, q_1) < 0 and orient3d(p_0, p_2, q_2, q_0) < 0


@kernel
def classify_crossings(x, faces, y, others, pairs, crosses, sides):
    """For intersecting `pairs` (k,2) of faces on x and y: whether they cross (k,), and on which side of the plane of
    the second the first lies, and vice versa (k,2), as by `side_of`.
    """
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        p_0, p_1, p_2 = load(x, faces[i, 0]), load(x, faces[i, 1]), load(x, faces[i, 2])
        q_0, q_1, q_2 = load(y, others[j, 0]), load(y, others[j, 1]), load(y, others[j, 2])
        a, b, c = orient3d(q_0, q_1, q_2, p_0), orient3d(q_0, q_1, q_2, p_1), orient3d(q_0, q_1, q_2, p_2)
        d, e, f = orient3d(p_0, p_1, p_2, q_0), orient3d(p_0, p_1, p_2, q_1), orient3d(p_0, p_1, p_2, q_2)
        sides[k, 0], sides[k, 1] = side_of(a, b, c), side_of(d, e, f)
        crosses[k] = False
        if sides[k, 0] == 2 and sides[k, 1] == 2:
            crosses[k] = share_a_segment((p_0, p_1, p_2), (a, b, c), (q_0, q_1, q_2), (d, e, f))

"""First contact by bisection of (t, u, v), for the few queries that advancement does not settle.

For fixed n and t, the least and greatest n.g in a box (t, u, v) are sums of one term in u and one in v; over t they
occur at the ends. So a direction n for which n.g excludes zero at both ends of a box rules out the whole box. The
directions are g at the middle of the box, the normals of the parallelepiped that g maps a small box to, and the axes,
which leaves few boxes of a bisection (Snyder 1992; Wang et al. 2021, A large-scale benchmark and an inclusion-based
algorithm for continuous collision detection). Boxes below the tolerance count as contact, and so do those that exceed
the budget or the stack. g, `motion` and a, b, c are those of `impact_motion`.
"""

import math

import numpy as np

from ..jit import kernel
from ..vec import cross, dot, madd, sub
from .impact_motion import at, combine, direction
from .rounding import largest

BUDGET = 60_000  # boxes; measured 0.1 to 0.2 us each
DEPTH = 192  # boxes on the stack


@kernel
def separates(n, motion, box, margin):
    """Whether n.g keeps one sign in a box (t_0, t_1, u_0, u_1, v_0, v_1); proved with a rounding bound."""
    n = direction(n)
    a_0, b_0, c_0 = dot(n, motion[0]), dot(n, motion[1]), dot(n, motion[2])
    a_1, b_1, c_1 = dot(n, motion[3]) - a_0, dot(n, motion[4]) - b_0, dot(n, motion[5]) - c_0
    t = box[0]
    a, b, c = a_0 + t * a_1, b_0 + t * b_1, c_0 + t * c_1
    low = a - max(box[2] * b, box[3] * b) - max(box[4] * c, box[5] * c)
    high = a - min(box[2] * b, box[3] * b) - min(box[4] * c, box[5] * c)
    if not (low > margin or high < -margin):
        return False
    t = box[1]
    a, b, c = a_0 + t * a_1, b_0 + t * b_1, c_0 + t * c_1
    if low > margin:
        return a - max(box[2] * b, box[3] * b) - max(box[4] * c, box[5] * c) > margin
    return a - min(box[2] * b, box[3] * b) - min(box[4] * c, box[5] * c) < -margin


@kernel
def widths(motion, box):
    """Upper bounds of the variation of g in a box along t, u and v."""
    a_0, b_0, c_0, a_1, b_1, c_1 = motion
    da, db, dc = sub(a_1, a_0), sub(b_1, b_0), sub(c_1, c_0)
    t, u, v = box[1] - box[0], box[3] - box[2], box[5] - box[4]
    slope = largest(combine(da, db, dc, box[2] + 0.5 * u, box[4] + 0.5 * v))
    slope += 0.5 * (u * largest(db) + v * largest(dc))
    b = max(largest(madd(b_0, db, box[0])), largest(madd(b_0, db, box[1])))
    c = max(largest(madd(c_0, dc, box[0])), largest(madd(c_0, dc, box[1])))
    return t * slope, u * b, v * c


@kernel
def untouched(motion, box, margin):
    """Whether one of seven directions proves that g does not vanish in the box."""
    a_0, b_0, c_0, a_1, b_1, c_1 = motion
    t, u, v = 0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3]), 0.5 * (box[4] + box[5])
    a, b, c = at(a_0, a_1, t), at(b_0, b_1, t), at(c_0, c_1, t)
    if separates(combine(a, b, c, u, v), motion, box, margin) or separates(cross(b, c), motion, box, margin):
        return True
    slope = combine(sub(a_1, a_0), sub(b_1, b_0), sub(c_1, c_0), u, v)
    if separates(cross(slope, b), motion, box, margin) or separates(cross(slope, c), motion, box, margin):
        return True
    if separates((1.0, 0.0, 0.0), motion, box, margin) or separates((0.0, 1.0, 0.0), motion, box, margin):
        return True
    return separates((0.0, 0.0, 1.0), motion, box, margin)


@kernel
def push(stack, top, box, axis, start, stop):
    """Push the box, limited to start..stop along one axis, onto the stack; return the new height."""
    for k in range(6):
        stack[top, k] = box[k]
    stack[top, 2 * axis], stack[top, 2 * axis + 1] = start, stop
    return top + 1


@kernel
def first_contact(motion, face, t, tolerance, margin):
    """Return a time, t or later, before which nothing touches, or inf if nothing does: bisection, earlier times first.

    After a contact at some time only boxes before 9/10 of that time matter, so that the search does not follow the
    whole line along which two edges meet. The stack is allocated here: passing an array would cost every candidate a
    reference count, even those that never reach this function.
    """
    stack = np.empty((DEPTH, 6))
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4], stack[0, 5] = t, 1.0, 0.0, 1.0, 0.0, 1.0
    top, left, latest = 1, BUDGET, math.inf
    while top > 0 and left > 0:
        top, left = top - 1, left - 1
        r = stack[top]
        box = (r[0], min(r[1], latest), r[2], r[3], r[4], r[5])
        if box[0] >= latest or (face and box[2] + box[4] > 1.0) or untouched(motion, box, margin):
            continue
        w = widths(motion, box)
        axis = 0 if w[0] >= max(w[1], w[2]) else (1 if w[1] >= w[2] else 2)
        if w[axis] <= tolerance or top + 2 > len(stack):
            latest = min(latest, max(t, 0.9 * box[0]))
            continue
        start, stop = box[2 * axis], box[2 * axis + 1]
        middle = 0.5 * (start + stop)
        top = push(stack, top, box, axis, middle, stop)
        top = push(stack, top, box, axis, start, middle)
    for k in range(top):
        latest = min(latest, stack[k, 0])
    return latest

"""When a moving vertex meets a moving face, or two moving edges meet: never missed, never late.

All vertices move on straight lines. Both questions are one: where does g(t, u, v) = a(t) - u b(t) - v c(t) vanish, with
a, b, c linear in t? For fixed n, t the least and largest n.g are sums of one term in u and one in v; in t they lie at
the ends. So a direction n that keeps n.g off zero at both ends of a box (t, u, v) rules the whole box out. Directions:

- of the nearest points: n.g at each corner is a line in t, and nothing touches until the first one reaches zero. Going
  there and asking again is conservative advancement (Mirtich 1996) without bounds on speeds;
- of the box: the axes and the normals of the parallelepiped that g maps a small box to, which leaves few boxes of a
  bisection (Snyder 1992; Wang et al. 2021, A large-scale benchmark and an inclusion-based algorithm for continuous
  collision detection). What is left below the tolerance counts as contact, and so does what the budget leaves over.

Rounding, with e = 2^-53, s the largest coordinate of a, b, c at both ends and |n| <= 1 on every axis: a coordinate of
a, b, c errs by e s, its product with n by 11 e s, after going to t by 48 e s, u b by 51 e s, the sum of three by
165 e s. MARGIN is 256 e.
"""

import math

import numpy as np

from .edge import closest_on_edges, largest
from .jit import kernel, prange
from .predicates import orient3d
from .triangle import closest_on_triangle
from .vec import cross, dot, load, madd, sub

MARGIN = 2.0**-45
BUDGET = 60_000  # boxes; measured 0.1 to 0.2 us each
STEPS = 24
ROWS = 64  # of a chunk
ZERO = (0.0, 0.0, 0.0)


@kernel
def relative_motion(p_0, p_1, i, face):
    """(a, b, c at the start, a, b, c at the end) of query i; `face`: vertex a b c, otherwise edges a b and c d."""
    x, y = p_0[i], p_1[i]
    k = 1 if face else 2
    a_0, a_1 = sub(load(x, 0), load(x, k)), sub(load(y, 0), load(y, k))
    c_0, c_1 = sub(load(x, 3), load(x, k)), sub(load(y, 3), load(y, k))
    if face:
        return a_0, sub(load(x, 2), load(x, 1)), c_0, a_1, sub(load(y, 2), load(y, 1)), c_1
    return a_0, sub(load(x, 0), load(x, 1)), c_0, a_1, sub(load(y, 0), load(y, 1)), c_1


@kernel
def swept_apart(p_0, p_1, i, face):
    """Whether a plane across an axis separates the two features all the time: comparisons alone, hence exact."""
    x, y = p_0[i], p_1[i]
    split = 1 if face else 2
    for axis in range(3):
        low, high = min(x[0, axis], y[0, axis]), max(x[0, axis], y[0, axis])
        for k in range(1, split):
            low, high = min(low, x[k, axis], y[k, axis]), max(high, x[k, axis], y[k, axis])
        above, below = True, True
        for k in range(split, 4):
            above = above and x[k, axis] > high and y[k, axis] > high
            below = below and x[k, axis] < low and y[k, axis] < low
        if above or below:
            return True
    return False


@kernel
def passes_by(p_0, p_1, i):
    """Whether a vertex goes past a face that stands still: the signs of determinants, hence exact."""
    x, y = p_0[i], p_1[i]
    for k in range(4):
        for axis in range(3):
            # the signs are proved down to this size only
            tiny = 0.0 < abs(x[k, axis]) < 1e-150 or 0.0 < abs(y[k, axis]) < 1e-150
            if tiny or (k > 0 and x[k, axis] != y[k, axis]):
                return False
    p, q, a, b, c = load(x, 0), load(y, 0), load(x, 1), load(x, 2), load(x, 3)
    if orient3d(a, b, c, p) * orient3d(a, b, c, q) > 0:
        return True
    r, s, t = orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)
    return min(r, s, t) < 0 < max(r, s, t)


@kernel
def at(x_0, x_1, t):
    return madd(x_0, sub(x_1, x_0), t)


@kernel
def combine(a, b, c, u, v):
    return madd(madd(a, b, -u), c, -v)


@kernel
def nearest_gap(motion, face, t):
    """The shortest g at time t."""
    a_0, b_0, c_0, a_1, b_1, c_1 = motion
    a, b, c = at(a_0, a_1, t), at(b_0, b_1, t), at(c_0, c_1, t)
    if face:
        _, u, v, _ = closest_on_triangle(a, ZERO, b, c)
    else:
        u, v = closest_on_edges(a, sub(a, b), ZERO, c)
    return combine(a, b, c, u, v)


@kernel
def direction(n):
    """n with its largest coordinate 1, or zero where it is too short to divide by."""
    m = largest(n)
    if m < 1e-290:
        return ZERO
    return (n[0] / m, n[1] / m, n[2] / m)


@kernel
def separates(n, motion, box, margin):
    """Whether n.g keeps one sign in a box (t_0, t_1, u_0, u_1, v_0, v_1); proved, not estimated."""
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
def free_until(n, motion, face, t, keep):
    """Up to when n.g stays above `keep` from time t on: t where it is not, 2 where it is to the end."""
    n = direction(n)
    a_0, b_0, c_0 = dot(n, motion[0]), dot(n, motion[1]), dot(n, motion[2])
    a_1, b_1, c_1 = dot(n, motion[3]), dot(n, motion[4]), dot(n, motion[5])
    until = 2.0
    for k in range(3 if face else 4):
        f_0, f_1 = a_0, a_1
        if k & 1:
            f_0, f_1 = f_0 - b_0, f_1 - b_1
        if k & 2:
            f_0, f_1 = f_0 - c_0, f_1 - c_1
        if not f_0 + t * (f_1 - f_0) > keep:
            return t
        if f_1 < keep:
            until = min(until, (f_0 - keep) / (f_0 - f_1))
    return max(until, t)


@kernel
def advance(motion, face, t, keep):
    """A time after t before which nothing touches, 2 where nothing does at all; `keep` is at least two margins."""
    for _ in range(STEPS):
        gap = nearest_gap(motion, face, t)
        until = free_until(gap, motion, face, t, keep)
        if until < 1.0:
            # near contact the shortest gap is mostly rounding, and the normal of both features is not
            n = cross(at(motion[1], motion[4], t), at(motion[2], motion[5], t))
            s = 1.0 if dot(n, gap) > 0.0 else -1.0
            until = max(until, free_until((s * n[0], s * n[1], s * n[2]), motion, face, t, keep))
        slow = until - t <= 1e-3 * until
        t = until
        if slow or t > 1.0:
            break
    return t


@kernel
def widths(motion, box):
    """How far g goes in a box along t, u and v, at most."""
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
    return off_axis(motion, box, margin)


@kernel
def off_axis(motion, box, margin):
    if separates((1.0, 0.0, 0.0), motion, box, margin) or separates((0.0, 1.0, 0.0), motion, box, margin):
        return True
    return separates((0.0, 0.0, 1.0), motion, box, margin)


@kernel
def push(stack, top, box, axis, start, stop):
    """The box, from start to stop along one axis, on top of the stack; the new height."""
    for k in range(6):
        stack[top, k] = box[k]
    stack[top, 2 * axis], stack[top, 2 * axis + 1] = start, stop
    return top + 1


@kernel
def first_contact(motion, face, t, tolerance, margin, stack):
    """A time after t before which nothing touches, or inf where nothing does: bisection, earlier halves first.

    After a contact at some time only boxes before 9/10 of it matter, so that edges which meet along a line do not have
    all of that line searched.
    """
    top, left, cut = push(stack, 0, (t, 1.0, 0.0, 1.0, 0.0, 1.0), 0, t, 1.0), BUDGET, math.inf
    while top > 0 and left > 0:
        top, left = top - 1, left - 1
        r = stack[top]
        box = (r[0], min(r[1], cut), r[2], r[3], r[4], r[5])
        if box[0] >= cut or (face and box[2] + box[4] > 1.0) or untouched(motion, box, margin):
            continue
        w = widths(motion, box)
        axis = 0 if w[0] >= max(w[1], w[2]) else (1 if w[1] >= w[2] else 2)
        if w[axis] <= tolerance or top + 2 > len(stack):
            cut = min(cut, max(t, 0.9 * box[0]))
            continue
        start, stop = box[2 * axis], box[2 * axis + 1]
        middle = 0.5 * (start + stop)
        top = push(stack, top, box, axis, middle, stop)
        top = push(stack, top, box, axis, start, middle)
    for k in range(top):
        cut = min(cut, stack[k, 0])
    return cut


@kernel
def impact(motion, face, farthest, tolerance, stack):
    """(hit, time) of one query; `farthest` is the largest coordinate of its points."""
    size = max(largest(motion[1]), largest(motion[2]), largest(motion[4]), largest(motion[5]))
    margin = MARGIN * max(size, largest(motion[0]), largest(motion[3])) + 1e-300
    if off_axis(motion, (0.0, 1.0, 0.0, 1.0, 0.0, 1.0), margin):
        return False, 1.0
    d = largest(nearest_gap(motion, face, 0.0))
    if not d > 4.0 * margin:
        return True, 0.0
    # the gap kept must outlive the rounding of positions to which the caller advances
    keep = max(2.0 * margin, 2.0**-50 * farthest, min(0.5 * tolerance * size, 1e-3 * d))
    t = advance(motion, face, 0.0, keep)
    if t > 1.0:
        return False, 1.0
    found = first_contact(motion, face, t, max(16.0 * margin, min(tolerance * size, 0.125 * d)), margin, stack)
    if found > 1.0:
        return False, 1.0
    if found > t:
        t = advance(motion, face, found, keep)
    return t <= 1.0, min(t, 1.0)


@kernel
def impact_range(p_0, p_1, face, tolerance, first, last, hit, time):
    stack = np.empty((192, 6))
    for i in range(first, last):
        if swept_apart(p_0, p_1, i, face):
            hit[i], time[i] = False, 1.0
            continue
        farthest = 0.0
        for k in range(4):
            farthest = max(farthest, largest(load(p_0[i], k)), largest(load(p_1[i], k)))
        hit[i], time[i] = impact(relative_motion(p_0, p_1, i, face), face, farthest, tolerance, stack)
        if hit[i] and face and passes_by(p_0, p_1, i):
            hit[i], time[i] = False, 1.0


@kernel(parallel=True)
def impacts(p_0, p_1, face, tolerance, hit, time):
    """hit and time of every row; p_0, p_1 (n,4,3)."""
    n = len(p_0)
    for chunk in prange((n + ROWS - 1) // ROWS):
        first = chunk * ROWS
        impact_range(p_0, p_1, face, tolerance, first, min(first + ROWS, n), hit, time)

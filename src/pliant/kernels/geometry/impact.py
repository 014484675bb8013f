"""Conservative time of impact of a moving vertex and a moving face, or of two moving edges: no contact is missed.

    first_touch(start, end, face, until, tolerance) -> time

It takes the four points (tuples) at the start and at the end, of a vertex and a face (FACE) or of two edges (EDGES),
and returns the time of the first contact, 0..1, or inf if there is none before `until`. It is designed for loops that
compute the minimum over many queries: such a loop passes the least time found so far (inf at first). The time T of a
query does not depend on `until`: the steps towards T are the same for every `until` and only increase, and as soon as
one reaches `until` the result is inf. So a query with a T below `until` returns exactly T, the others cannot be the
minimum, and the minimum depends neither on the order nor on threads.

Stages, each for the queries that the previous one leaves (g is the gap of impact_motion.py; the percentage is of the
candidates of a folded moving cloth):

- two directions, between the centroids at the start and the common normal at the end: where n.g is positive at both
  ends of the motion, it is positive throughout (95 to 100 %);
- advancement: the direction between nearest points proves the gap open until the line of the first corner reaches zero;
  advancing to that time and repeating is conservative advancement (Mirtich 1996) without bounds on speeds;
- a transversal crossing ends the search: the result is the time already proved free, and the crossing found at most an
  eighth later only shows that no further search is needed;
- bisection (impact_search.py).
"""

import math

import numpy as np

from ..jit import kernel, prange
from ..vec import cross, dot, scale, sub
from .impact_motion import MARGIN, at, combine, free_until, least, moved, nearest_gap, relative_motion, size_of
from .impact_search import first_contact
from .predicates import orient3d
from .rounding import largest

STEPS = 24
ROWS = 64  # rows per task of a thread
# NumPy booleans, because Numba compiles everything twice for the literals True and False
FACE, EDGES = np.True_, np.False_
LATEST = 0.875  # of the time of a crossing: a free time at least this late is accepted


@kernel
def positive(n, motion, face, margin):
    """Whether n.g is positive at both ends, hence throughout; proved with a rounding bound. n of any length."""
    k = margin * largest(n) + 1e-300
    if not least(n, motion[0], motion[1], motion[2], face) > k:
        return False
    # below this nothing has overflowed
    return least(n, motion[3], motion[4], motion[5], face) > k and k < 1e280


@kernel
def stays_apart(motion, face):
    """Whether the direction between the centroids at the start, or the common normal at the end, proves separation.

    The normal is taken at the end, when approaching features are nearer: this settles 95 instead of 92 % of the edges
    of a folded cloth in fast motion.
    """
    a, b, c = motion[0], motion[1], motion[2]
    margin = 2.0 * MARGIN * size_of(motion)[0]
    third = 1.0 / 3.0 if face else 0.5
    if positive(combine(a, b, c, third, third), motion, face, margin):
        return True
    n = cross(motion[4], motion[5])
    return positive(scale(n, 1.0 if dot(n, motion[3]) > 0.0 else -1.0), motion, face, margin)


@kernel
def advance(motion, face, t, gap, keep, until):
    """Return a time after t before which nothing touches, 2 if nothing ever does; `keep` is at least two margins.

    `gap` is the shortest g at t. The search ends when `until` is reached.
    """
    for _ in range(STEPS):
        free = free_until(gap, motion, face, t, keep)
        if free < 1.0:
            # near contact the shortest gap is mostly rounding error, unlike the common normal of the features
            n = cross(at(motion[1], motion[4], t), at(motion[2], motion[5], t))
            free = max(free, free_until(scale(n, 1.0 if dot(n, gap) > 0.0 else -1.0), motion, face, t, keep))
        slow = free - t <= 1e-3 * free
        t = free
        if slow or t > 1.0 or t >= until:
            break
        gap = nearest_gap(motion, face, t)
    return t


@kernel
def foot(a, b, c, n):
    """Return (u, v) where g is parallel to n = b x c; negative if there is no such point."""
    n_2 = dot(n, n)
    if n_2 == 0.0:
        return -1.0, -1.0
    return dot(n, cross(a, c)) / n_2, dot(n, cross(b, a)) / n_2


@kernel
def crosses_soon(motion, face, t, margin):
    """Whether the features pass through each other after t, at a time of which t is at least the fraction LATEST.

    The volume a.(b x c) changes sign, so all points are coplanar in between; the foot points of the common normal are
    inside both features before and after, by four times their motion.
    """
    a, b, c = moved(motion, t)
    n = cross(b, c)
    u, v = foot(a, b, c, n)
    slope = combine(sub(motion[3], motion[0]), sub(motion[4], motion[1]), sub(motion[5], motion[2]), u, v)
    f, rate = dot(n, a), dot(n, slope)
    if not f * rate < 0.0:
        return False
    later = t - 2.0 * f / rate
    if not (later <= 1.0 and t >= LATEST * later):
        return False
    a, b, c = moved(motion, later)
    n = cross(b, c)
    r, s = foot(a, b, c, n)
    past = dot(n, a) if f < 0.0 else -dot(n, a)
    room = 1e-6 + 4.0 * (abs(r - u) + abs(s - v))
    rim = max(u + v, r + s) if face else max(u, v, r, s)
    return past > 64.0 * margin * largest(b) * largest(c) and min(u, v, r, s) > room and rim < 1.0 - room


@kernel
def search(motion, face, farthest, until, tolerance):
    """Time of contact of queries that `stays_apart` does not settle; `farthest` is the largest coordinate."""
    extent, size = size_of(motion)
    margin = MARGIN * extent + 1e-300
    gap = nearest_gap(motion, face, 0.0)
    d = largest(gap)
    if not d > 4.0 * margin:
        return 0.0
    # the remaining gap must exceed the rounding of positions that the caller advances to this time
    keep = max(2.0 * margin, 2.0**-50 * farthest, min(0.5 * tolerance * size, 1e-3 * d))
    t = advance(motion, face, 0.0, gap, keep, until)
    if t > 1.0 or t >= until:
        return math.inf
    if crosses_soon(motion, face, t, margin):
        return t
    found = first_contact(motion, face, t, max(16.0 * margin, min(tolerance * size, 0.125 * d)), margin)
    if found > 1.0:
        return math.inf
    if found > t:
        t = advance(motion, face, found, nearest_gap(motion, face, found), keep, until)
    return t if t <= 1.0 and t < until else math.inf


@kernel
def first_touch(start, end, face, until, tolerance):
    """Time of contact of vertex p and face q r s, or of the edges p q and r s; `start` and `end` hold these points."""
    motion = relative_motion(start, end, face)
    if stays_apart(motion, face):
        return math.inf
    farthest = 0.0
    for p in start:
        farthest = max(farthest, largest(p))
    for p in end:
        farthest = max(farthest, largest(p))
    return search(motion, face, farthest, until, tolerance)


@kernel
def row(x, i):
    """The four points of row i of an (n,4,3) array."""
    return (
        (x[i, 0, 0], x[i, 0, 1], x[i, 0, 2]),
        (x[i, 1, 0], x[i, 1, 1], x[i, 1, 2]),
        (x[i, 2, 0], x[i, 2, 1], x[i, 2, 2]),
        (x[i, 3, 0], x[i, 3, 1], x[i, 3, 2]),
    )


@kernel
def swept_apart(p_0, p_1, i, face):
    """Whether a plane perpendicular to an axis separates the two features throughout: comparisons only, hence exact."""
    split = 1 if face else 2
    for axis in range(3):
        low, high = p_0[i, 0, axis], p_0[i, 0, axis]
        for k in range(split):
            low = min(low, p_0[i, k, axis], p_1[i, k, axis])
            high = max(high, p_0[i, k, axis], p_1[i, k, axis])
        above, below = True, True
        for k in range(split, 4):
            above = above and min(p_0[i, k, axis], p_1[i, k, axis]) > high
            below = below and max(p_0[i, k, axis], p_1[i, k, axis]) < low
        if above or below:
            return True
    return False


@kernel
def passes_by(p_0, p_1, i):
    """Whether a vertex passes beside a static face; exact, by the signs of determinants."""
    for k in range(4):
        for axis in range(3):
            x, y = p_0[i, k, axis], p_1[i, k, axis]
            # the signs are proved only down to this size
            if 0.0 < abs(x) < 1e-150 or 0.0 < abs(y) < 1e-150 or (k > 0 and x != y):
                return False
    p, a, b, c = row(p_0, i)
    q = row(p_1, i)[0]
    if orient3d(a, b, c, p) * orient3d(a, b, c, q) > 0:
        return True
    r, s, t = orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)
    return min(r, s, t) < 0 < max(r, s, t)


@kernel(parallel=True)
def impacts(p_0, p_1, face, tolerance, hit, time):
    """Fill hit and time of every row; p_0, p_1 (n,4,3)."""
    n = len(p_0)
    for chunk in prange((n + ROWS - 1) // ROWS):
        for i in range(chunk * ROWS, min((chunk + 1) * ROWS, n)):
            t = first_touch(row(p_0, i), row(p_1, i), face, math.inf, tolerance)
            if t <= 1.0 and (swept_apart(p_0, p_1, i, face) or (face and passes_by(p_0, p_1, i))):
                t = math.inf
            hit[i], time[i] = t <= 1.0, min(t, 1.0)

"""Time of impact by the conventional cubic; for comparison, because it can miss contacts.

Four points are coplanar at the roots of a cubic in t (Provot 1997, Collision and self-collision handling in cloth model
dedicated to design garments); a root counts if the features are then within the tolerance of each other. For motion
within a plane the polynomial vanishes and gives no information; multiple roots are lost to rounding.
"""

import math

from ..jit import kernel
from ..vec import add, cross, dot, norm, sub
from .impact import row
from .impact_motion import nearest_gap, relative_motion
from .rounding import largest


@kernel
def coefficients(motion):
    """Return (k_0, k_1, k_2, k_3): k_0 + k_1 t + k_2 t^2 + k_3 t^3 is the volume a.(b x c) at time t."""
    a, b, c, a_1, b_1, c_1 = motion
    da, db, dc = sub(a_1, a), sub(b_1, b), sub(c_1, c)
    n_0, n_1, n_2 = cross(b, c), add(cross(db, c), cross(b, dc)), cross(db, dc)
    return dot(a, n_0), dot(da, n_0) + dot(a, n_1), dot(da, n_1) + dot(a, n_2), dot(da, n_2)


@kernel
def value(k, t):
    return k[0] + t * (k[1] + t * (k[2] + t * k[3]))


@kernel
def turns(k):
    """The two extrema of the cubic, in order; 1 in place of those outside 0..1."""
    c, b, a = k[1], 2.0 * k[2], 3.0 * k[3]
    disc = b * b - 4.0 * a * c
    if disc < 0.0:
        return 1.0, 1.0
    q = -0.5 * (b + math.copysign(math.sqrt(disc), b))
    r = q / a if a != 0.0 else 1.0
    s = c / q if q != 0.0 else 1.0
    r = r if 0.0 < r < 1.0 else 1.0
    s = s if 0.0 < s < 1.0 else 1.0
    return min(r, s), max(r, s)


@kernel
def root_between(k, start, stop):
    """Root in a monotonic interval, or -1, by bisection."""
    f = value(k, start)
    if f == 0.0:
        return start
    if not f * value(k, stop) <= 0.0:
        return -1.0
    for _ in range(60):
        middle = 0.5 * (start + stop)
        if f * value(k, middle) > 0.0:
            start = middle
        else:
            stop = middle
    return stop


@kernel
def cubic_impact(motion, face, tolerance):
    """Return (hit, time) of one query."""
    k = coefficients(motion)
    within = tolerance * max(largest(motion[1]), largest(motion[2]), largest(motion[4]), largest(motion[5]))
    r, s = turns(k)
    for start, stop in ((0.0, r), (r, s), (s, 1.0)):
        t = root_between(k, start, stop)
        if t >= 0.0 and norm(nearest_gap(motion, face, t)) <= within:
            return True, t
    return False, 1.0


@kernel
def cubic_impacts(p_0, p_1, face, tolerance, hit, time):
    """Fill hit and time of every row; p_0, p_1 (n,4,3)."""
    for i in range(len(p_0)):
        hit[i], time[i] = cubic_impact(relative_motion(row(p_0, i), row(p_1, i), face), face, tolerance)

"""Bounds within which all pairs that may meet are known, around the predicted motion of the vertices.

A motion that is within these bounds at its start and at its end is so throughout, if it is straight: positions and
times within a distance of a straight line are a convex set.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

TINY = 1e-300
PARTS = 16  # chunks of vertices distributed over threads
ROUNDING_FACTOR = 1.0 - 1e-9  # scales allowed displacements and radii, as a margin for rounding


class Bounds(NamedTuple):
    """Where all pairs that may meet are known: every vertex within `radius` of its predicted position, all at one
    common time 0..1; metres."""

    start: np.ndarray  # (n,3) predicted positions at time 0
    displacement: np.ndarray  # (n,3) from then to time 1
    radius: np.ndarray  # (n,)


@kernel
def predicted(bounds, i, t):
    """Predicted position of vertex i at time t."""
    return vec.madd(vec.load(bounds.start, i), vec.load(bounds.displacement, i), t)


class MovingTriangles(NamedTuple):
    """Triangles of cloth, and the predicted displacements of their corners."""

    corners: np.ndarray  # (m,3) i4
    x: np.ndarray  # (n,3) positions
    drift: np.ndarray  # (n,3) displacements, or empty
    before: np.ndarray  # empty, or (m+1,) i4: how many of the triangles 0..q-1 are meant; all if it is empty


@kernel
def bound_by_distance(triangles, around, drift, reach, share, radius):
    """Lower radius (n,) of the corners of triangles to `share` of their boxes' distance from a body, or of `reach`.

    around (6,) is the box of the body; pairs of its features and triangles within reach are among the contacts. drift
    (6,) are the predicted displacements of the body. Return the least distance, at least reach.
    """
    corners, x, moves, before = triangles
    least = math.inf
    for q in range(len(corners)):
        if len(before) > 0 and before[q + 1] == before[q]:
            continue
        d_2, i, j, h = 0.0, corners[q, 0], corners[q, 1], corners[q, 2]
        for k in range(3):
            up, down = around[k] - max(x[i, k], x[j, k], x[h, k]), min(x[i, k], x[j, k], x[h, k]) - around[k + 3]
            if len(moves) > 0:
                u, v, w = moves[i, k], moves[j, k], moves[h, k]
                up += min(drift[k] - max(u, v, w), 0.0)
                down += min(min(u, v, w) - drift[k + 3], 0.0)
            d = max(up, down, 0.0)
            d_2 += d * d
        d = max(math.sqrt(d_2), reach)
        least = min(least, d)
        radius[i], radius[j], radius[h] = (
            min(radius[i], share * d),
            min(radius[j], share * d),
            min(radius[h], share * d),
        )
    return least


@kernel
def within_ball(rows, bounds, base, t, target, fraction):
    """Set fraction (n,) of each of `rows` to the part of its path from `base` to `target` on which it stays in its ball
    at time t."""
    for r in range(len(rows)):
        i = rows[r]
        start = vec.load(base, i)
        off, way = vec.sub(start, predicted(bounds, i, t)), vec.sub(vec.load(target, i), start)
        b, way_2 = vec.dot(off, way), vec.norm2(way)
        room_2 = (ROUNDING_FACTOR * bounds.radius[i]) ** 2 - vec.norm2(off)
        fraction[i] = 1.0
        if not way_2 + 2.0 * b <= room_2:
            # the greater root of |off + f way| = radius; written so that nothing cancels and nan becomes zero
            root = math.sqrt(b * b + way_2 * max(room_2, 0.0))
            f = max(room_2, 0.0) / (b + root) if b >= 0.0 else (root - b) / way_2
            fraction[i] = ROUNDING_FACTOR * f if 0.0 <= f < 1.0 else 0.0


@kernel
def advance(rows, fraction, start, target, x):
    """Move x from `start` towards `target` by the fraction of each vertex; return how many of `rows` do not arrive."""
    left = 0
    for r in range(len(rows)):
        i = rows[r]
        left += fraction[i] < 1.0
        to = vec.load(target, i)
        vec.store(x, i, to if fraction[i] >= 1.0 else vec.mix(vec.load(start, i), to, fraction[i]))
    return left


@kernel
def farthest(rows, x, y):
    """Greatest displacement of any of `rows` from x to y."""
    most = 0.0
    for r in range(len(rows)):
        most = max(most, vec.norm2(vec.sub(vec.load(y, rows[r]), vec.load(x, rows[r]))))
    return math.sqrt(most)


@kernel
def progress(rows, bounds, x):
    """Return the sums over `rows` of d.(x - start) and of d.d, where d is the predicted displacement; their ratio is
    the progress."""
    covered, whole = 0.0, 0.0
    for r in range(len(rows)):
        d = vec.load(bounds.displacement, rows[r])
        covered += vec.dot(d, vec.sub(vec.load(x, rows[r]), vec.load(bounds.start, rows[r])))
        whole += vec.norm2(d)
    return covered, whole


@kernel
def time_along(rows, bounds, x):
    """Return the time 0..1 at which the predicted motion of `rows` is nearest to x."""
    covered, whole = progress(rows, bounds, x)
    return min(max(covered / whole, 0.0), 1.0) if whole > 0.0 else 0.0


@kernel
def leaves_bounds(rows, bounds, x, t, share):
    """Return whether any of `rows` is farther than `share` of its radius from its predicted position at time t."""
    factor = ROUNDING_FACTOR * share
    for r in range(len(rows)):
        i = rows[r]
        if not vec.norm2(vec.sub(vec.load(x, i), predicted(bounds, i, t))) <= (factor * bounds.radius[i]) ** 2:
            return True
    return False


@kernel
def follows_prediction(rows, bounds, x, t):
    """Return whether all of `rows` are within their balls at time t, or at that at which their predicted motion is
    nearest to x."""
    if not leaves_bounds(rows, bounds, x, t, 1.0):
        return True
    return not leaves_bounds(rows, bounds, x, time_along(rows, bounds, x), 1.0)


@kernel(parallel=True)
def any_leaves_bounds(rows, bounds, x, t, share):
    """As `leaves_bounds`; threads share the rows."""
    n, leaves = len(rows), np.empty(PARTS, np.bool_)
    for c in prange(PARTS):
        leaves[c] = leaves_bounds(rows[c * n // PARTS : (c + 1) * n // PARTS], bounds, x, t, share)
    return leaves.any()


@kernel
def outside_bounds(rows, bounds, x, t, share, most, outside):
    """Mark in `outside` (n,) those of `rows` that are farther than `share` of their radius from their predicted
    position at time t. Return their number, or len(rows) + 1 if any is farther than `most`.
    """
    count = 0
    outside[:] = False
    for r in range(len(rows)):
        i = rows[r]
        d_2 = vec.norm2(vec.sub(vec.load(x, i), predicted(bounds, i, t)))
        if not d_2 <= most * most:
            return len(rows) + 1
        outside[i] = d_2 > (ROUNDING_FACTOR * share * bounds.radius[i]) ** 2
        count += outside[i]
    return count


@kernel
def turn_towards(outside, bounds, base, x, t, overshoot):
    """Predict the motion of the vertices `outside` anew: from `base` to beyond x at time t > 0, by the fraction
    `overshoot` of how far x deviates, but at most of their radius, so that an accelerating vertex catches up with its
    prediction.
    """
    radius = bounds.radius
    for i in range(len(outside)):
        if not outside[i]:
            continue
        a, b = vec.load(base, i), vec.load(x, i)
        off = vec.sub(b, predicted(bounds, i, t))
        b = vec.madd(b, off, overshoot * min(1.0, radius[i] / max(vec.norm(off), TINY)))
        vec.store(bounds.start, i, a)
        vec.store(bounds.displacement, i, vec.scale(vec.sub(b, a), 1.0 / t))


@kernel
def fastest(rows, others, x, displacement, box, reach):
    """Greatest displacement, relative to the mean of those of `others`, of any of `rows` that can come within reach of
    a box (6,)."""
    most, most_2, mean = 0.0, 0.0, (0.0, 0.0, 0.0)
    for r in range(len(others)):
        mean = vec.madd(mean, vec.load(displacement, others[r]), 1.0 / len(others))
    for r in range(len(rows)):
        i = rows[r]
        p = vec.load(x, i)
        d = vec.sub(vec.load(displacement, i), mean)
        inside = True
        for k in range(3):
            inside &= (max(p[k], p[k] + d[k]) > box[k] - reach) & (min(p[k], p[k] + d[k]) < box[k + 3] + reach)
        d_2 = vec.norm2(d)
        if inside and not d_2 < (1.0 - 1e-9) * most_2:  # others are shorter; lengths take a division
            most, most_2 = max(most, vec.norm(d)), max(most_2, d_2)
    return most


@kernel
def expect_motion(rows, velocities, soft, weights, motion):
    """Write displacements of `rows` to motion (n,3): the velocity times weights[0] and, of the rows soft[0]..soft[1]-1,
    its change since the former velocity times weights[1]. Return the greatest speed and the greatest displacement; inf
    if one is not finite.
    """
    v, former = velocities
    fastest, farthest = 0.0, 0.0
    for r in range(len(rows)):
        i = rows[r]
        u = vec.load(v, i)
        d = vec.scale(u, weights[0])
        if soft[0] <= i < soft[1]:
            d = vec.add(d, vec.scale(vec.sub(u, vec.load(former, i)), weights[1]))
        vec.store(motion, i, d)
        speed, length = vec.norm2(u), vec.norm2(d)
        if not speed <= fastest:
            fastest = speed if speed == speed else math.inf
        if not length <= farthest:
            farthest = length if length == length else math.inf
    return math.sqrt(fastest), math.sqrt(farthest)


@kernel
def largest(rows, x):
    """Greatest absolute coordinate of any of the `rows` of x (n,3)."""
    most = 0.0
    for r in range(len(rows)):
        most = max(most, abs(x[rows[r], 0]), abs(x[rows[r], 1]), abs(x[rows[r], 2]))
    return most


@kernel
def mark_with_any(which, rows, out):
    """Mark in `out` (k,) the rows (k,c) that have any of the vertices `which` (n,); return their number."""
    count = 0
    for k in range(len(rows)):
        out[k] = False
        for c in range(rows.shape[1]):
            out[k] |= which[rows[k, c]]
        count += out[k]
    return count

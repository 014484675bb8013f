"""How far vertices may move before anything can touch, and motion limited to that.

Vertices move on straight lines from the positions of the detection pass. Two features that are separated along the
same direction n at the start and at the end are separated throughout, by a plane with normal n that moves linearly: so
a pair is safe if neither its start nor its end positions overlap along n. A pair whose end positions do is kept apart
by a static plane: along n each side may use less than half of the gap, and then the pair stays safe even if its
vertices move less far in the end. Any n is valid; the one between nearest points leaves the most room. Pairs that were
farther apart than `reach` cannot touch while no vertex has moved half of that. No time of impact is needed.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import first_side, normal_of, vertices_of
from ..geometry.edge import closest_on_edges
from ..geometry.triangle import closest_on_triangle, unit_normal
from ..jit import kernel
from ..kinds import VERTEX_FACE

SHARE = 0.45  # of a distance that each side may use: together they leave a tenth
STILL = 0.9  # the same if the other side does not move
TINY = 1e-300
KEPT = 1.0 - 1e-9  # of a displacement; margin for rounding


class FeaturePairs(NamedTuple):
    """Pairs of features that are kept apart along their normals."""

    vertices: np.ndarray  # (k,4) i4 those of the first feature, then those of the second
    kinds: np.ndarray  # (k,) u1 VERTEX_FACE or EDGE_EDGE
    normals: np.ndarray  # (k,3) unit, from the second feature to the first


@kernel
def span(vertices, c, split, n, x, o):
    """Least n.(x - o) of the first side of pair c, and the greatest of the second; o is nearby, which avoids
    cancellation where coordinates are large.
    """
    low, high = math.inf, -math.inf
    for k in range(4):
        h = vec.dot(n, vec.sub(vec.load(x, vertices[c, k]), o))
        if k < split:
            low = min(low, h)
        else:
            high = max(high, h)
    return low, high


@kernel
def room_of(pairs, x, least, rounding, gaps, room, kept):
    """Compute for each pair (k,) the gap along its normal, how far the vertices of each side may move towards the
    other, and the gap that is kept.

    A gap of `least` metres is never used up, so that rounding does not matter. A pair that is closer from the start
    keeps its gap minus `rounding`, or the whole gap if that would be too much.
    """
    vertices, kinds, normals = pairs
    for c in range(len(room)):
        split = first_side(kinds[c])
        low, high = span(vertices, c, split, vec.load(normals, c), x, vec.load(x, vertices[c, 0]))
        gaps[c], room[c] = low - high, SHARE * max(low - high - least, 0.0)
        kept[c] = least if low - high >= least else low - high - (rounding if low - high > 2.0 * rounding else 0.0)


@kernel
def gap_along(vertices, c, split, n, x):
    """Gap of a pair along n of any length; -inf if n is zero."""
    length = vec.norm(n)
    if not length > 0.0:
        return -math.inf, n
    n = vec.scale(n, 1.0 / length)
    low, high = span(vertices, c, split, n, x, vec.load(x, vertices[c, 0]))
    return low - high, n


@kernel
def touching_normals(pairs, x, gaps, rounding):
    """For pairs with a gap of at most `rounding`, whose nearest points define no direction, find a direction along
    which their sides overlap by no more: a face normal, an edge, or a perpendicular of an edge.

    Of several, the one along which the centroids of the sides are farthest apart is used. Where coplanar faces surround
    a vertex that lies on an edge without being its end, as after closing a T-junction, it lies within their plane.
    """
    vertices, kinds, normals = pairs
    for c in range(len(gaps)):
        if gaps[c] > rounding:
            continue
        split = first_side(kinds[c])
        p, a = vec.load(x, vertices[c, 0]), vec.load(x, vertices[c, 1])
        b, d = vec.load(x, vertices[c, 2]), vec.load(x, vertices[c, 3])
        if kinds[c] == VERTEX_FACE:
            up = unit_normal(a, b, d)
            one, two, three = vec.cross(vec.sub(b, a), up), vec.cross(vec.sub(d, b), up), vec.cross(vec.sub(a, d), up)
            four, between = up, vec.sub(p, vec.scale(vec.add(a, vec.add(b, d)), 1.0 / 3.0))
        else:
            u, v = vec.sub(a, p), vec.sub(d, b)
            up, three, four = vec.cross(u, v), u, v
            one = vec.madd(u, v, -vec.dot(u, v) / max(vec.norm2(v), TINY))
            two = vec.madd(v, u, -vec.dot(u, v) / max(vec.norm2(u), TINY))
            between = vec.scale(vec.sub(vec.add(p, a), vec.add(b, d)), 0.5)
        n = vec.load(normals, c)
        best, most = gaps[c], vec.dot(n, between)
        for direction in (up, one, two, three, four):
            for sign in (1.0, -1.0):
                gap, unit = gap_along(vertices, c, split, vec.scale(direction, sign), x)
                apart = vec.dot(unit, between)
                if (gap >= -rounding and (apart > most or best < -rounding)) or (best < -rounding and gap > best):
                    best, most, n = gap, apart, unit
        vec.store(normals, c, n)


@kernel
def limit(pairs, room, kept, start, target, fraction, held):
    """Lower `fraction` (n,), the share of its path from `start` to `target` of each vertex, until all pairs are safe.

    held (k,) is initially False; a pair whose end positions are not `kept` apart becomes held. Return the number of
    held pairs. Every pass but the last holds one more pair, so there are at most k + 1.
    """
    vertices, kinds, normals = pairs
    count, more = 0, True
    while more:
        more = False
        for c in range(len(room)):
            if held[c]:
                continue
            n, o = vec.load(normals, c), vec.load(start, vertices[c, 0])
            split = first_side(kinds[c])
            low, high = math.inf, -math.inf
            for k in range(4):
                i = vertices[c, k]
                a = vec.load(start, i)
                h = vec.dot(n, vec.sub(a, o)) + fraction[i] * vec.dot(n, vec.sub(vec.load(target, i), a))
                if k < split:
                    low = min(low, h)
                else:
                    high = max(high, h)
            if low - high >= kept[c]:
                continue
            # shortening a path may invalidate a pair previously found safe, so all pairs are re-tested
            held[c], more = True, True
            count += 1
            for k in range(4):
                i = vertices[c, k]
                along = vec.dot(n, vec.sub(vec.load(target, i), vec.load(start, i)))
                along = -along if k < split else along
                if along * fraction[i] > room[c]:
                    fraction[i] = KEPT * room[c] / along
    return count


@kernel
def refresh(contacts, x, offset, near):
    """Update nearest points, normal and distance at positions x of the contacts that may be nearer than `offset`, and
    mark these in `near` (k,); a pair that changed sides has a negative distance. Return their number.

    The gap along the normal is at most the distance: where it is greater than `offset`, nothing is computed.
    """
    count = 0
    for c in range(len(contacts)):
        contact = contacts[c]
        n = normal_of(contact)
        i, j, k, h = vertices_of(contact)
        a, b, d, e = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, h)
        s, t, u = vec.dot(n, vec.sub(b, a)), vec.dot(n, vec.sub(d, a)), vec.dot(n, vec.sub(e, a))
        face = contact["kind"] == VERTEX_FACE
        near[c] = not (-max(s, t, u) if face else min(s, 0.0) - max(t, u)) > offset
        if not near[c]:
            continue
        count += 1
        w = contact["weights"]
        if face:
            u, v, t, _ = closest_on_triangle(a, b, d, e)
            w[1], w[2], w[3] = -u, -v, -t
        else:
            s, t = closest_on_edges(a, b, d, e)
            w[0], w[1], w[2], w[3] = 1.0 - s, s, t - 1.0, -t
        gap = vec.madd(vec.madd(vec.madd(vec.scale(a, w[0]), b, w[1]), d, w[2]), e, w[3])
        length = math.sqrt(vec.norm2(gap))
        side = 1.0 if vec.dot(gap, n) >= 0.0 else -1.0
        if length > 1e-12 * (abs(a[0]) + abs(a[1]) + abs(a[2])) + 1e-300:
            contact["normal"][0], contact["normal"][1] = side * gap[0] / length, side * gap[1] / length
            contact["normal"][2] = side * gap[2] / length
        contact["distance"] = side * length
    return count


@kernel
def bound_by_distance(corners, boxes, around, drifts, drift, reach, share, radius):
    """Lower radius (n,) of the corners of all triangles to `share` of their boxes' distance from a body, or of `reach`.

    around (6,) is the box of the body; pairs of its features and triangles within reach are among the contacts. drifts
    (m,6) and drift (6,) are the predicted displacements of both, or empty. Return the least distance, at least reach.
    """
    least = math.inf
    for q in range(len(corners)):
        d_2 = 0.0
        for k in range(3):
            up, down = around[k] - boxes[q, k + 3], boxes[q, k] - around[k + 3]
            if len(drifts) > 0:
                up += min(drift[k] - drifts[q, k + 3], 0.0)
                down += min(drifts[q, k] - drift[k + 3], 0.0)
            d = max(up, down, 0.0)
            d_2 += d * d
        d = max(math.sqrt(d_2), reach)
        least = min(least, d)
        for k in range(3):
            i = corners[q, k]
            radius[i] = min(radius[i], share * d)
    return least


@kernel
def within_ball(rows, radius, start, target, fraction):
    """Share (n,) of its path that each of `rows` may move without leaving the ball around its `start`."""
    for r in range(len(rows)):
        i = rows[r]
        length = math.sqrt(vec.norm2(vec.sub(vec.load(target, i), vec.load(start, i))))
        fraction[i] = KEPT * radius[i] / length if length > KEPT * radius[i] else 1.0


@kernel
def advance(rows, fraction, start, target, x):
    """Move x towards `target` by the share of each vertex; return how many of `rows` have not arrived."""
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
def may_approach(contacts, displacement, reach, near):
    """Mark the pairs that are nearer than `reach` or may become so along `displacement` (n,3): the gap along the normal
    is at least the lesser of its values at the start and at the end.
    """
    for c in range(len(contacts)):
        contact = contacts[c]
        n = normal_of(contact)
        split = first_side(contact["kind"])
        low, high = math.inf, -math.inf
        for k in range(4):
            h = vec.dot(n, vec.load(displacement, contact["vertices"][k]))
            if k < split:
                low = min(low, h)
            else:
                high = max(high, h)
        near[c] = not contact["distance"] + min(low - high, 0.0) > reach


@kernel
def progress(rows, start, displacement, x):
    """Sums of the predicted `displacement` times that of `rows` from `start` to x, and of its square: their ratio is
    the progress.
    """
    covered, whole = 0.0, 0.0
    for r in range(len(rows)):
        d = vec.load(displacement, rows[r])
        covered += vec.dot(d, vec.sub(vec.load(x, rows[r]), vec.load(start, rows[r])))
        whole += vec.norm2(d)
    return covered, whole


@kernel
def leaves_bounds(rows, radius, start, displacement, x, t):
    """Return whether any of `rows` is outside its ball around the predicted position after the share t of its path."""
    for r in range(len(rows)):
        i = rows[r]
        middle = vec.madd(vec.load(start, i), vec.load(displacement, i), t)
        if not vec.norm2(vec.sub(vec.load(x, i), middle)) <= (KEPT * radius[i]) ** 2:
            return True
    return False


@kernel
def outside_bounds(rows, radius, start, displacement, x, t, most, outside):
    """Mark in `outside` (n,) those of `rows` for which `leaves_bounds` holds. Return their number, or a greater
    one than that of all rows if any is farther than `most` from its predicted position.
    """
    count = 0
    outside[:] = False
    for r in range(len(rows)):
        i = rows[r]
        d_2 = vec.norm2(vec.sub(vec.load(x, i), vec.madd(vec.load(start, i), vec.load(displacement, i), t)))
        if not d_2 <= most * most:
            return len(rows) + 1
        outside[i] = d_2 > (KEPT * radius[i]) ** 2
        count += outside[i]
    return count


@kernel
def turn_towards(outside, radius, start, x, t, overshoot, displacement):
    """Change the predicted `displacement` of the vertices `outside` so that at time t > 0 they are beyond x by the
    fraction `overshoot` of how far x deviates, but at most of their radius: a vertex that accelerates comes back to it.
    """
    for i in range(len(outside)):
        if not outside[i]:
            continue
        d = vec.load(displacement, i)
        off = vec.sub(vec.sub(vec.load(x, i), vec.load(start, i)), vec.scale(d, t))
        more = 1.0 + overshoot * min(1.0, radius[i] / max(vec.norm(off), TINY))
        vec.store(displacement, i, vec.madd(d, off, more / t))


@kernel
def fastest(rows, others, x, displacement, box, reach):
    """Greatest displacement relative to `others` among those of `rows` that can come within reach of a box (6,)."""
    most, mean = 0.0, (0.0, 0.0, 0.0)
    for r in range(len(others)):
        mean = vec.madd(mean, vec.load(displacement, others[r]), 1.0 / len(others))
    for r in range(len(rows)):
        i = rows[r]
        p = vec.load(x, i)
        d = vec.sub(vec.load(displacement, i), mean)
        inside = True
        for k in range(3):
            inside &= (max(p[k], p[k] + d[k]) > box[k] - reach) & (min(p[k], p[k] + d[k]) < box[k + 3] + reach)
        if inside:
            most = max(most, vec.norm(d))
    return most

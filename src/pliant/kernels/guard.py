"""How far vertices may go before anything can touch, and going no farther.

Vertices go on straight lines from where they were seen. Two features that a plane separates at the start and at the end
are separated all the way, by a plane that moves evenly with them: so a pair is safe if along some direction n its ends
do not overlap. A pair whose ends do is held by a plane that stands still: along n each side may use up less than half
of the gap, and then the pair stays safe however much less far its vertices go in the end. Any n will do; the one
between nearest points leaves the most room. Pairs that were farther apart than `reach` cannot touch while no vertex has
moved half of that. No time of impact is needed.
"""

import math

from . import vec
from .edge import closest_on_edges
from .jit import kernel
from .triangle import closest_on_triangle, unit_normal

SHARE = 0.45  # of a distance that each side may use up: two of them leave a tenth
STILL = 0.9  # and where the other side does not move
TINY = 1e-300
KEPT = 1.0 - 1e-9  # of a way; what rounding may add to it


@kernel
def span(vertices, c, split, n, x, o):
    """Least n.(x - o) of the first side of pair c, and the greatest of the second; o is near, so that offsets from the
    origin cost no digits."""
    low, high = math.inf, -math.inf
    for k in range(4):
        h = vec.dot(n, vec.sub(vec.load(x, vertices[c, k]), o))
        if k < split:
            low = min(low, h)
        else:
            high = max(high, h)
    return low, high


@kernel
def room_of(vertices, kinds, normals, x, least, rounding, gaps, room, kept):
    """(k,) the gap of each pair along its normal, how far the vertices of each side may go towards the other, and what
    is kept.

    What `least` metres keep apart is not used up, so that rounding never matters. A pair that is nearer from the start
    keeps the gap that it has, less `rounding`, or all of it where that would be too much.
    """
    for c in range(len(room)):
        split = 1 if kinds[c] == 0 else 2
        low, high = span(vertices, c, split, vec.load(normals, c), x, vec.load(x, vertices[c, 0]))
        gaps[c], room[c] = low - high, SHARE * max(low - high - least, 0.0)
        kept[c] = least if low - high >= least else low - high - (rounding if low - high > 2.0 * rounding else 0.0)


@kernel
def gap_along(vertices, c, split, n, x):
    """The gap of a pair along n, which need not have length 1; -inf where n has none."""
    length = vec.norm(n)
    if not length > 0.0:
        return -math.inf, n
    n = vec.scale(n, 1.0 / length)
    low, high = span(vertices, c, split, n, x, vec.load(x, vertices[c, 0]))
    return low - high, n


@kernel
def touching_normals(vertices, kinds, normals, x, gaps, rounding):
    """Give pairs whose gap is no more than `rounding`, so that nearest points have no direction between them, a
    direction along which their sides overlap by no more: of a face, or of or across an edge.

    Of several the one along which the centroids of the sides are farthest apart: where faces around a vertex that lies
    on an edge it is no end of are coplanar, as closing a T-junction leaves them, that is the one within their plane.
    """
    for c in range(len(gaps)):
        if gaps[c] > rounding:
            continue
        split = 1 if kinds[c] == 0 else 2
        p, a = vec.load(x, vertices[c, 0]), vec.load(x, vertices[c, 1])
        b, d = vec.load(x, vertices[c, 2]), vec.load(x, vertices[c, 3])
        if split == 1:
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
        for way in (up, one, two, three, four):
            for sign in (1.0, -1.0):
                gap, unit = gap_along(vertices, c, split, vec.scale(way, sign), x)
                apart = vec.dot(unit, between)
                if (gap >= -rounding and (apart > most or best < -rounding)) or (best < -rounding and gap > best):
                    best, most, n = gap, apart, unit
        vec.store(normals, c, n)


@kernel
def limit(vertices, kinds, normals, room, kept, seen, target, part, held):
    """Lower part (n,), the share of its way from `seen` to `target` that each vertex may go, until all pairs are safe.

    held (k,) begins as False; a pair whose ends are not `kept` apart becomes held. Returns how many. Every pass but the
    last holds one pair more, so there are at most k + 1.
    """
    count, more = 0, True
    while more:
        more = False
        for c in range(len(room)):
            if held[c]:
                continue
            n, o = vec.load(normals, c), vec.load(seen, vertices[c, 0])
            split = 1 if kinds[c] == 0 else 2
            low, high = math.inf, -math.inf
            for k in range(4):
                i = vertices[c, k]
                a = vec.load(seen, i)
                h = vec.dot(n, vec.sub(a, o)) + part[i] * vec.dot(n, vec.sub(vec.load(target, i), a))
                if k < split:
                    low = min(low, h)
                else:
                    high = max(high, h)
            if low - high >= kept[c]:
                continue
            # a vertex that goes less far may bring a pair that was safe in danger: hence once more
            held[c], more = True, True
            count += 1
            for k in range(4):
                i = vertices[c, k]
                along = vec.dot(n, vec.sub(vec.load(target, i), vec.load(seen, i)))
                along = -along if k < split else along
                if along * part[i] > room[c]:
                    part[i] = KEPT * room[c] / along
    return count


@kernel
def refresh(contacts, x):
    """Nearest points, normal and distance at positions x; a pair that changed sides has a negative distance."""
    for c in range(len(contacts)):
        contact = contacts[c]
        i, j = contact["vertices"][0], contact["vertices"][1]
        k, h = contact["vertices"][2], contact["vertices"][3]
        a, b, d, e = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, h)
        w = contact["weights"]
        if contact["kind"] == 0:
            u, v, t, _ = closest_on_triangle(a, b, d, e)
            w[1], w[2], w[3] = -u, -v, -t
        else:
            s, t = closest_on_edges(a, b, d, e)
            w[0], w[1], w[2], w[3] = 1.0 - s, s, t - 1.0, -t
        gap = vec.madd(vec.madd(vec.madd(vec.scale(a, w[0]), b, w[1]), d, w[2]), e, w[3])
        n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
        length = math.sqrt(vec.norm2(gap))
        side = 1.0 if vec.dot(gap, n) >= 0.0 else -1.0
        if length > 1e-12 * (abs(a[0]) + abs(a[1]) + abs(a[2])) + 1e-300:
            contact["normal"][0], contact["normal"][1] = side * gap[0] / length, side * gap[1] / length
            contact["normal"][2] = side * gap[2] / length
        contact["distance"] = side * length


@kernel
def far_from(corners, boxes, around, drifts, drift, reach, share, radius):
    """Lower radius (n,) of the corners of all triangles to `share` of their boxes' distance from a body, or of `reach`.

    around (6,) is the box of the body, whose features are farther than reach from those of the triangles unless they
    are among the contacts. drifts (m,6) and drift (6,) are the ways that both are expected to go, or there are none.
    Returns the least of the distances, no less than reach.
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
def within_ball(rows, radius, seen, target, part):
    """The share (n,) of its way that each of `rows` may go without leaving the ball around where it was seen."""
    for r in range(len(rows)):
        i = rows[r]
        length = math.sqrt(vec.norm2(vec.sub(vec.load(target, i), vec.load(seen, i))))
        part[i] = KEPT * radius[i] / length if length > KEPT * radius[i] else 1.0


@kernel
def go(rows, part, seen, target, x):
    """Bring x towards `target` by each vertex' own part; returns how many of `rows` are not there yet."""
    left = 0
    for r in range(len(rows)):
        i = rows[r]
        left += part[i] < 1.0
        to = vec.load(target, i)
        vec.store(x, i, to if part[i] >= 1.0 else vec.mix(vec.load(seen, i), to, part[i]))
    return left


@kernel
def farthest(rows, x, y):
    """The longest way of any of `rows` from x to y."""
    most = 0.0
    for r in range(len(rows)):
        most = max(most, vec.norm2(vec.sub(vec.load(y, rows[r]), vec.load(x, rows[r]))))
    return math.sqrt(most)


@kernel
def come_near(contacts, way, reach, near):
    """Which pairs are nearer than `reach`, or may be on their `way` (n,3): along the normal, the gap is never less than
    the lesser of what it is now and what it will be."""
    for c in range(len(contacts)):
        contact = contacts[c]
        n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
        split = 1 if contact["kind"] == 0 else 2
        low, high = math.inf, -math.inf
        for k in range(4):
            h = vec.dot(n, vec.load(way, contact["vertices"][k]))
            if k < split:
                low = min(low, h)
            else:
                high = max(high, h)
        near[c] = not contact["distance"] + min(low - high, 0.0) > reach


@kernel
def progress(rows, seen, way, x):
    """Sums of `way` times how far rows went from `seen` to x, and of its square: their ratio is the part of it."""
    gone, whole = 0.0, 0.0
    for r in range(len(rows)):
        d = vec.load(way, rows[r])
        gone += vec.dot(d, vec.sub(vec.load(x, rows[r]), vec.load(seen, rows[r])))
        whole += vec.norm2(d)
    return gone, whole


@kernel
def strays(rows, radius, seen, way, x, t):
    """Whether any of `rows` is outside of its ball around what it would be after the part t of its way."""
    for r in range(len(rows)):
        i = rows[r]
        middle = vec.madd(vec.load(seen, i), vec.load(way, i), t)
        if not vec.norm2(vec.sub(vec.load(x, i), middle)) <= (KEPT * radius[i]) ** 2:
            return True
    return False


@kernel
def fastest(rows, others, x, way, box, reach):
    """The longest way, relative to that of `others`, of those of `rows` that can come within reach of a box (6,)."""
    most, mean = 0.0, (0.0, 0.0, 0.0)
    for r in range(len(others)):
        mean = vec.madd(mean, vec.load(way, others[r]), 1.0 / len(others))
    for r in range(len(rows)):
        i = rows[r]
        p = vec.load(x, i)
        d = vec.sub(vec.load(way, i), mean)
        inside = True
        for k in range(3):
            inside &= (max(p[k], p[k] + d[k]) > box[k] - reach) & (min(p[k], p[k] + d[k]) < box[k + 3] + reach)
        if inside:
            most = max(most, vec.norm(d))
    return most

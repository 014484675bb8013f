"""How far vertices may move before anything can touch, and motion limited to that.

Vertices move on straight lines from the positions at which the pairs were measured. Two features that are separated
along the same direction n at the start and at the end are separated throughout, by a plane with normal n that moves
linearly: so a pair is safe if neither its start nor its end positions overlap along n. A pair whose end positions do is
kept apart by a static plane: along n each side may use less than half of the gap, and then the pair stays safe even if
its vertices move less far in the end. Any n is valid; the one between nearest points leaves the most room. Pairs that
stay farther apart than `reach` during the predicted motion cannot touch while no vertex deviates from it by half of
that. No time of impact is needed.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import first_side, normal_of, vertices_of
from ..geometry.edge import closest_on_edges
from ..geometry.triangle import closest_on_triangle, unit_normal
from ..jit import kernel, prange
from ..kinds import VERTEX_FACE
from ..queries.contact_records import ROWS, gap_normal_and_distance
from .bounds import ROUNDING_FACTOR, follows_prediction

SHARE = 0.45  # of a distance that each side may use: together they leave a tenth
STILL = 0.9  # share of the distance if the other side does not move
TINY = 1e-300
TURNS = 64  # to find a direction that separates two features on their ways


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
def separate(pairs, x, least, rounding, margins):
    """Compute the rows of margins (3,k), gaps, room and what is kept, of all pairs, see `room_of`; return the least
    gap."""
    room_of(pairs, x, least, rounding, margins[0], margins[1], margins[2])
    closest = math.inf
    for c in range(len(margins[0])):
        closest = min(closest, margins[0, c])
    return closest


@kernel
def copy_features(contacts, first, pairs):
    """Copy the features and normals of `contacts` to the rows of `pairs` from `first` on."""
    vertices, kinds, normals = pairs.vertices, pairs.kinds, pairs.normals
    for c in range(len(contacts)):
        v, n = contacts[c]["vertices"], contacts[c]["normal"]
        kinds[first + c] = contacts[c]["kind"]
        for k in range(4):
            vertices[first + c, k] = v[k]
        for k in range(3):
            normals[first + c, k] = n[k]


@kernel
def guard_contacts(one, two, x, least, rounding, pairs, margins):
    """Fill `pairs` with the contacts `one` and `two`, which were found at x, and `separate` them."""
    copy_features(one, 0, pairs)
    copy_features(two, len(one), pairs)
    return separate(pairs, x, least, rounding, margins)


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

    Of several, the one along which the centroids of the sides are farthest apart is used. At a T-junction of
    coplanar faces, where a vertex lies inside an edge, the direction lies within their plane.
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
def all_separated(pairs, kept, start, target):
    """Return whether all pairs are `kept` apart along their normals when all vertices move from `start` to `target`."""
    vertices, kinds, normals = pairs
    for c in range(len(kept)):
        n, o = vec.load(normals, c), vec.load(start, vertices[c, 0])
        split = first_side(kinds[c])
        low, high = math.inf, -math.inf
        for k in range(4):
            a = vec.load(start, vertices[c, k])
            h = vec.dot(n, vec.sub(a, o)) + vec.dot(n, vec.sub(vec.load(target, vertices[c, k]), a))
            if k < split:
                low = min(low, h)
            else:
                high = max(high, h)
        if not low - high >= kept[c]:
            return False
    return True


@kernel
def reaches(rows, bounds, target, t, pairs, kept, base):
    """Return whether `rows` are within their bounds at `target`, see `follows_prediction`, and whether, if so, all
    pairs stay separated on the way there from `base`."""
    follows = follows_prediction(rows, bounds, target, t)
    return follows, follows and all_separated(pairs, kept, base, target)


@kernel
def limit(pairs, room, kept, start, target, fraction, held):
    """Lower `fraction` (n,), the share of its path from `start` to `target` of each vertex, until all pairs are safe.

    held (k,) marks the pairs that are held already; a pair whose end positions are not `kept` apart becomes held.
    Return the number of newly held pairs. Every pass but the last holds one more pair, so there are at most k + 1.
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
                    fraction[i] = ROUNDING_FACTOR * room[c] / along
    return count


@kernel
def least_apart(split, points, n):
    """Of the unit directions from vertices of the second feature of a pair to those of the first, the first `split` of
    four points, the one that is least along n."""
    worst, least = (0.0, 0.0, 0.0), math.inf
    for i in range(split):
        for j in range(split, 4):
            way = vec.sub(points[i], points[j])
            length = vec.norm(way)
            way = vec.scale(way, 1.0 / length if length > 0.0 else 0.0)
            along = vec.dot(n, way)
            if along < least:
                worst, least = way, along
    return worst, least


@kernel
def passed_around(split, former, points):
    """Whether a direction is found along which the features of a pair are separated on all straight ways from `former`
    to `points`: then they have passed around each other without meeting."""
    n = (0.0, 0.0, 0.0)
    for _ in range(TURNS):  # each turns it towards what it separates least
        one, least = least_apart(split, former, n)
        two, other = least_apart(split, points, n)
        if min(least, other) > 1e-12:
            return True
        n = vec.add(n, one if least <= other else two)
    return False


@kernel
def refresh(contacts, former, x, offset, near):
    """Update nearest points, normal and distance at positions x of the contacts that may be nearer than `offset`, and
    mark these in `near` (k,); a pair that changed sides on its way from the positions `former` has a negative distance.
    Return their number.

    The gap turns by more than a right angle also where a feature moves around the end of another: this is not a change
    of sides.

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
        side = 1.0
        if vec.dot(gap, n) < 0.0:
            before = vec.load(former, i), vec.load(former, j), vec.load(former, k), vec.load(former, h)
            side = 1.0 if passed_around(first_side(contact["kind"]), before, (a, b, d, e)) else -1.0
        if length > 1e-12 * (abs(a[0]) + abs(a[1]) + abs(a[2])) + 1e-300:
            contact["normal"][0], contact["normal"][1] = side * gap[0] / length, side * gap[1] / length
            contact["normal"][2] = side * gap[2] / length
        contact["distance"] = side * length
    return count


@kernel
def raise_anchors(contacts, by, at_most_closed):
    """Move the anchors of contacts `by` metres along their normals: gaps become smaller by this. at_most_closed: by no
    more than the present distance, so that no gap becomes negative, or by nothing where it is."""
    for c in range(len(contacts)):
        contact = contacts[c]
        step = min(max(contact["distance"], 0.0), by) if at_most_closed else by
        for k in range(3):
            contact["anchor"][k] += step * contact["normal"][k]


@kernel
def take_resolvable(contacts, near, free, least, out):
    """Copy those of the contacts `near` (k,) to out (k,) whose `free` vertices (n,) have squared weights that sum up to
    `least` or more; return their number."""
    count = 0
    for c in range(len(contacts)):
        if not near[c]:
            continue
        w, total = contacts[c]["weights"], 0.0
        i, j, k, h = vertices_of(contacts[c])
        total += w[0] * w[0] * free[i]
        total += w[1] * w[1] * free[j]
        total += w[2] * w[2] * free[k]
        total += w[3] * w[3] * free[h]
        if total >= least:
            out[count] = contacts[c]
            count += 1
    return count


@kernel
def take_near(contacts, former, x, offset, free, least, out):
    """Update the contacts that may be nearer than `offset` at x, see `refresh`, and copy those of them that `free`
    vertices can resolve to out (k,), see `take_resolvable`; return their number."""
    near = np.empty(len(contacts), np.bool_)
    if refresh(contacts, former, x, offset, near) == 0:
        return 0
    return take_resolvable(contacts, near, free, least, out)


@kernel
def take_guarded(contacts, given_up, out):
    """Copy the contacts of which no pair of vertex and body is `given_up` [vertex, body] to out (k,), in their order;
    return their number."""
    count = 0
    for c in range(len(contacts)):
        v, bodies, split = contacts[c]["vertices"], contacts[c]["bodies"], first_side(contacts[c]["kind"])
        out[count], kept = contacts[c], True
        for k in range(4):
            kept &= not given_up[v[k], bodies[1 if k < split else 0]]
        count += kept
    return count


@kernel
def nearest_points(kind, a, b, c, d):
    """Nearest points of two features with these vertices, and the weights of the vertices in their difference."""
    if kind == VERTEX_FACE:
        u, v, w, _ = closest_on_triangle(a, b, c, d)
        return a, vec.add(vec.scale(b, u), vec.add(vec.scale(c, v), vec.scale(d, w))), (1.0, -u, -v, -w)
    s, t = closest_on_edges(a, b, c, d)
    return vec.mix(a, b, s), vec.mix(c, d, t), (1.0 - s, s, t - 1.0, -t)


@kernel(parallel=True)
def measure_contacts(contacts, x):
    """Compute nearest points, normals and distances of all contacts at x, as a detection pass does."""
    for g in prange(-(-len(contacts) // ROWS)):
        for c in range(g * ROWS, min(len(contacts), (g + 1) * ROWS)):
            i, j, k, h = vertices_of(contacts[c])
            points = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, h)
            p, q, weights = nearest_points(contacts[c]["kind"], points[0], points[1], points[2], points[3])
            n, distance, _ = gap_normal_and_distance(p, q, 1.0)
            normal, shares = contacts[c]["normal"], contacts[c]["weights"]
            normal[0], normal[1], normal[2] = n
            contacts[c]["distance"] = distance
            shares[0], shares[1], shares[2], shares[3] = weights


@kernel(parallel=True)
def measure_normals(pairs, x):
    """Compute the normals of all pairs at x."""
    vertices, kinds, normals = pairs.vertices, pairs.kinds, pairs.normals
    for g in prange(-(-len(kinds) // ROWS)):
        for c in range(g * ROWS, min(len(kinds), (g + 1) * ROWS)):
            i, j, k, h = vertices[c, 0], vertices[c, 1], vertices[c, 2], vertices[c, 3]
            points = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, h)
            p, q, _ = nearest_points(kinds[c], points[0], points[1], points[2], points[3])
            n, _, _ = gap_normal_and_distance(p, q, 1.0)
            vec.store(normals, c, n)

"""How far vertices may go before anything can touch, and going no farther.

A pair of features at distance d cannot touch while none of its vertices has moved half of d. So what is near gives each
vertex a bound, and any motion within the bounds leaves everything free of intersections; no time of impact is needed.
"""

import math

from . import vec
from .edge import closest_on_edges
from .jit import kernel
from .triangle import closest_on_triangle

SHARE = 0.45  # of a distance that each side may use up: two of them leave a tenth
KEPT = 1.0 - 1e-9  # of a bound; what rounding may add to it


@kernel
def bounds_of(contacts, bound):
    """Lower bound (n,) to SHARE of the distance of every contact a vertex takes part in, whatever its weight."""
    for c in range(len(contacts)):
        d = SHARE * max(contacts[c]["distance"], 0.0)
        for k in range(4):
            i = contacts[c]["vertices"][k]
            if i >= 0:
                bound[i] = min(bound[i], d)


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
def share_of_way(rows, seen, target, bound):
    """The largest part of the way from `seen` to `target` that all of `rows` can go within their bounds."""
    part = 1.0
    for r in range(len(rows)):
        i = rows[r]
        length = math.sqrt(vec.norm2(vec.sub(vec.load(target, i), vec.load(seen, i))))
        if length > KEPT * bound[i]:
            part = min(part, KEPT * bound[i] / length)
    return part


@kernel
def go(rows, driven, part, seen, target, bound, x):
    """Move x towards `target` as far as bounds allow: `driven` all by the same part, `rows` each as far as it can.

    Returns how many of `rows` are not there yet.
    """
    for r in range(len(driven)):
        i = driven[r]
        to = vec.load(target, i)
        vec.store(x, i, to if part >= 1.0 else vec.mix(vec.load(seen, i), to, part))
    left = 0
    for r in range(len(rows)):
        i = rows[r]
        a, b = vec.load(seen, i), vec.load(target, i)
        length = math.sqrt(vec.norm2(vec.sub(b, a)))
        if length > KEPT * bound[i]:
            left += 1
            b = vec.mix(a, b, KEPT * bound[i] / length)
        vec.store(x, i, b)
    return left


@kernel
def farthest(rows, x, y):
    """The longest way of any of `rows` from x to y."""
    most = 0.0
    for r in range(len(rows)):
        most = max(most, vec.norm2(vec.sub(vec.load(y, rows[r]), vec.load(x, rows[r]))))
    return math.sqrt(most)

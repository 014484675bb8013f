"""Temporal coherence for point queries: the remaining clearance of points, and which points to query.

A point that moves, relative to the skin, by less than its distance from it stays on its side and keeps the difference
as clearance. The skin of a box moves rigidly, by R, and strays from that by at most s. A point that a box carries from
p to R p and that is at p' instead has moved by |p' - R p| + s relative to the skin of this box, however far both have
gone. On straight paths of all points, along which sides are proved, the distance is at least the old one times the
cosine of half the angle of R, minus that.
"""

import math

import numpy as np

from ... import vec
from ...jit import kernel, prange
from .boxes import CHUNK

TASK = 16 * CHUNK  # points that a thread moves at a time


@kernel
def follow_range(x, probes, nearby, world, moved, slack, buffer):
    """Move the points `nearby` (k,) to x (n,3) while the skin of the boxes moved, and reduce their clearance by their
    pace, an upper bound of the relative displacement.

    Boxes farther away than the greatest clearance plus the displacements cannot have passed a point or be nearest. The
    points are copied by component to the buffer (8, k or more) first, so that the loop over them is vectorised.
    """
    points, clear, pace, n = probes.points, probes.clear, probes.pace, len(nearby)
    x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    to_x, to_y, to_z, at_x, at_y, at_z, most, least = buffer
    far, step = 0.0, 0.0
    for t in range(n):
        i = nearby[t]
        p, q = vec.load(x, i), vec.load(points, i)
        x_0, y_0, z_0 = min(x_0, p[0]), min(y_0, p[1]), min(z_0, p[2])
        x_1, y_1, z_1 = max(x_1, p[0]), max(y_1, p[1]), max(z_1, p[2])
        far, step = max(far, clear[i]), max(step, vec.norm2(vec.sub(p, q)))
        to_x[t], to_y[t], to_z[t] = p
        at_x[t], at_y[t], at_z[t] = q
        most[t], least[t] = 0.0, clear[i]
    step = math.sqrt(step)
    for b in range(len(world)):
        g = far + step + moved.travel[b] + slack
        apart = (world[b, 0] - g > x_1) | (world[b, 1] - g > y_1) | (world[b, 2] - g > z_1)
        apart |= (world[b, 3] + g < x_0) | (world[b, 4] + g < y_0) | (world[b, 5] + g < z_0)
        if apart:
            continue
        stray, turn, reach = moved.stray[b] + 4.0 * slack, 1.0 - moved.cosine[b], step + moved.travel[b] + slack
        m = moved.motion[b]
        a_0, a_1, a_2, a_3 = m[0, 0], m[0, 1], m[0, 2], m[0, 3]
        b_0, b_1, b_2, b_3 = m[1, 0], m[1, 1], m[1, 2], m[1, 3]
        c_0, c_1, c_2, c_3 = m[2, 0], m[2, 1], m[2, 2], m[2, 3]
        for t in range(n):
            u = to_x[t] - (a_0 * at_x[t] + a_1 * at_y[t] + a_2 * at_z[t] + a_3)
            v = to_y[t] - (b_0 * at_x[t] + b_1 * at_y[t] + b_2 * at_z[t] + b_3)
            w = to_z[t] - (c_0 * at_x[t] + c_1 * at_y[t] + c_2 * at_z[t] + c_3)
            x_gap = max(max(world[b, 0] - to_x[t], to_x[t] - world[b, 3]), 0.0)
            y_gap = max(max(world[b, 1] - to_y[t], to_y[t] - world[b, 4]), 0.0)
            z_gap = max(max(world[b, 2] - to_z[t], to_z[t] - world[b, 5]), 0.0)
            g = least[t] + reach
            near = x_gap * x_gap + y_gap * y_gap + z_gap * z_gap <= g * g * (1.0 + 1e-12)
            pace_t = (math.sqrt(u * u + v * v + w * w) + stray + turn * least[t]) * (1.0 + 1e-12)
            most[t] = max(most[t], pace_t if near else 0.0)
    for t in range(n):
        i = nearby[t]
        pace[i] = most[t]
        clear[i] = max(clear[i] - pace[i] - slack, 0.0)
        vec.store(points, i, vec.load(x, i))


@kernel(parallel=True)
def follow_points(x, probes, order, world, moved, slack):
    """Apply `follow_range` to all points, spatial neighbours together."""
    n = len(order)
    for task in prange(-(-n // TASK)):
        buffer = np.empty((8, CHUNK))
        for first in range(task * TASK, min(n, (task + 1) * TASK), CHUNK):
            follow_range(x, probes, order[first : min(n, first + CHUNK)], world, moved, slack, buffer)


@kernel
def midpoints(edges, x, out):
    for e in range(len(edges)):
        vec.store(out, e, vec.mix(vec.load(x, edges[e, 0]), vec.load(x, edges[e, 1]), 0.5))


@kernel
def propagate_clearance(edges, ends, middles, near):
    """Propagate clearance from the ends of an edge to its midpoint, if that may be `near`: an end that is outside, and
    clear of the skin by more than half the edge length, proves that the midpoint is outside and clear by the
    difference.
    """
    clear, side = middles.clear, middles.side
    for e in range(len(edges)):
        if clear[e] > near:
            continue
        i, j = edges[e, 0], edges[e, 1]
        known = max(ends.clear[i] if ends.side[i] > 0 else 0.0, ends.clear[j] if ends.side[j] > 0 else 0.0)
        if known > clear[e]:
            d = vec.sub(vec.load(ends.points, i), vec.load(ends.points, j))
            known -= 0.5 * (1.0 + 1e-9) * math.sqrt(vec.norm2(d))
            if known > clear[e]:
                clear[e], side[e] = known, 1


@kernel
def choose(order, probes, near, which):
    """Select, in order, the points that may be near or inside; the others have no result. Return their number."""
    clear, side, found = probes.clear, probes.side, probes.found
    count = 0
    for t in range(len(order)):
        i = order[t]
        which[count] = i
        wanted = (clear[i] <= near) | (side[i] < 0)
        if not wanted:
            found[i, 0] = -1
        count += wanted
    return count

"""Temporal coherence for point queries: the remaining clearance of points outside a skin, and which points to query."""

import math

import numpy as np

from ... import vec
from ...jit import kernel, prange
from .boxes import CHUNK, Boxes, Placed, Skin
from .lookup import search_one

# measuring the clearance of a point outside pays off if the result stays valid for several steps
WORTH = 3.0  # displacements per step beyond `near`; for a smaller clearance, a new query costs no more
# the search radius is at most LASTS displacements per step beyond `near`, and MOST times `near`
LASTS, MOST = 16.0, 20.0
GROWTH = 0.25  # of a displacement per step: assumed growth of the clearance after each step


@kernel
def farther(d, low, high):
    """The greater distance of d from the ends of the interval."""
    return max(d - low, high - d)


@kernel
def follow_range(x, probes, order, first, last, world, moved, slack):
    """Move points order[first:last] to x (n,3) while the skin of each box moved by moved (b,7), and reduce their
    clearance by an upper bound of the relative displacement, their pace.

    Boxes farther away than the greatest clearance plus the displacements cannot have passed a point or be nearest.
    """
    points, clear, pace = probes.points, probes.clear, probes.pace
    x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    far, step = 0.0, 0.0
    for t in range(first, last):
        p, q = vec.load(x, order[t]), vec.load(points, order[t])
        x_0, y_0, z_0 = min(x_0, p[0]), min(y_0, p[1]), min(z_0, p[2])
        x_1, y_1, z_1 = max(x_1, p[0]), max(y_1, p[1]), max(z_1, p[2])
        far, step = max(far, clear[order[t]]), max(step, vec.norm2(vec.sub(p, q)))
    step, no_box = math.sqrt(step), True
    u_0, v_0, w_0, u_1, v_1, w_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for b in range(len(world)):
        g = far + step + moved[b, 6] + slack
        apart = (world[b, 0] - g > x_1) | (world[b, 1] - g > y_1) | (world[b, 2] - g > z_1)
        apart |= (world[b, 3] + g < x_0) | (world[b, 4] + g < y_0) | (world[b, 5] + g < z_0)
        if not apart:
            no_box = False
            u_0, v_0, w_0 = min(u_0, moved[b, 0]), min(v_0, moved[b, 1]), min(w_0, moved[b, 2])
            u_1, v_1, w_1 = max(u_1, moved[b, 3]), max(v_1, moved[b, 4]), max(w_1, moved[b, 5])
    for t in range(first, last):
        i = order[t]
        p = vec.load(x, i)
        d = vec.sub(p, vec.load(points, i))
        gone = 0.0 if no_box else vec.norm((farther(d[0], u_0, u_1), farther(d[1], v_0, v_1), farther(d[2], w_0, w_1)))
        clear[i], pace[i] = max(clear[i] - gone * (1.0 + 1e-12) - slack, 0.0), gone
        vec.store(points, i, p)


@kernel
def follow_points(x, probes, order, world, moved, slack):
    """Apply `follow_range` to all points, spatial neighbours together."""
    for first in range(0, len(order), CHUNK):
        last = min(len(order), first + CHUNK)
        follow_range(x, probes, order, first, last, world, moved, slack)


@kernel
def midpoints(edges, x, out):
    for e in range(len(edges)):
        vec.store(out, e, vec.mix(vec.load(x, edges[e, 0]), vec.load(x, edges[e, 1]), 0.5))


@kernel
def propagate_clearance(edges, ends, clear_ends, clear):
    """Propagate clearance from the ends of an edge: an end that is clear of the skin by more than half the edge length
    proves that the midpoint is outside and clear by the difference.
    """
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        known = max(clear_ends[i], clear_ends[j])
        if known > clear[e]:
            length = vec.norm(vec.sub(vec.load(ends, i), vec.load(ends, j)))
            clear[e] = max(clear[e], known - 0.5 * (1.0 + 1e-9) * length)


@kernel
def choose(order, clear, near, which):
    """Select, in order, the points that may be near. Return their number."""
    count = 0
    for t in range(len(order)):
        which[count] = order[t]
        count += clear[order[t]] <= near
    return count


@kernel
def undecided(probes, which, reach, near, slack, out, worth_measuring):
    """Of the points without a result, list in `out` those not known to be outside. The others are clear by reach; those
    whose estimated clearance is much greater than `near` are listed in `worth_measuring`. Return both numbers.
    """
    found, clear, pace, hint = probes.found, probes.clear, probes.pace, probes.hint
    count, more = 0, 0
    for t in range(len(which)):
        i = which[t]
        if found[i, 0] >= 0:
            hint[i] = 0.0
            continue
        if clear[i] <= slack:
            out[count] = i
            count += 1
            continue
        clear[i] = max(clear[i], reach)
        hint[i] += GROWTH * pace[i]
        worth = near + WORTH * pace[i]
        if clear[i] < worth < min(hint[i], MOST * near):
            worth_measuring[more] = i
            more += 1
    return count, more


@kernel
def measure_range(skin, probes, which, first, last, near):
    """Compute lower bounds of the clearance of points which[first:last], known to be outside."""
    points, clear, pace, hint, slack = probes.points, probes.clear, probes.pace, probes.hint, skin.slack
    balls, count = np.empty((last - first, 4)), 0
    visited, measured = 0, 0
    for t in range(first, last):
        i = which[t]
        p, bound = vec.load(points, i), 0.0
        for k in range(count):
            bound = max(bound, balls[k, 3] - vec.norm(vec.sub(p, vec.load(balls, k))) - slack)
        if bound <= near + WORTH * pace[i]:
            most = min(near + LASTS * pace[i], MOST * near)
            found = search_one(skin, p, -1, most)
            bound = math.sqrt(found[0]) - slack
            visited, measured = visited + found[7], measured + found[8]
            balls[count, 3] = bound
            vec.store(balls, count, p)
            count += 1
        clear[i], hint[i] = max(clear[i], bound), bound
    return visited, measured


@kernel(parallel=True)
def measure(skin, probes, which, near, counts):
    """Apply `measure_range` to all of `which`; counts (chunks,2)."""
    boxes = Boxes(*skin.boxes)  # a parallel loop takes no tuples within tuples
    placed = Placed(*skin.placed)
    x, slack = skin.x, skin.slack
    n = len(which)
    for c in prange(-(-n // CHUNK)):
        last = min(n, (c + 1) * CHUNK)
        posed = Skin(boxes, placed, x, slack)
        counts[c, 0], counts[c, 1] = measure_range(posed, probes, which, c * CHUNK, last, near)

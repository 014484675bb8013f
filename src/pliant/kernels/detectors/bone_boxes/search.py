"""Searches in bone-attached boxes: the triangle nearest to a point, and its winding number by a ray.

Boxes lie in their bounding spheres, the triangles of a slab and those of a group in boxes, each triangle in its own:
every volume that is farther away than the best distance so far, or that the ray misses, is culled.
"""

import math

import numpy as np

from ... import vec
from ...box_lanes import LANES, boxes_within, lowest
from ...geometry.triangle import nearest2
from ...jit import kernel
from ...queries.rays import crossing, is_above

SINGLE = 2.0**-23  # relative rounding error of box coordinates in single precision, doubled
RAY = 1e5  # times the rounding error of positions: margin of the boxes that a ray must miss
PARALLEL = 1e-10  # component of a unit direction below which it is parallel to a face of a box


@kernel
def boxes_near(world, points, which, first, last, reach, near):
    """Collect the boxes within `reach` of the AABB of the points which[first:last]; return their number."""
    x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for t in range(first, last):
        p = vec.load(points, which[t])
        x_0, y_0, z_0 = min(x_0, p[0]), min(y_0, p[1]), min(z_0, p[2])
        x_1, y_1, z_1 = max(x_1, p[0]), max(y_1, p[1]), max(z_1, p[2])
    count = 0
    for b in range(len(world)):
        apart = (world[b, 0] - reach > x_1) | (world[b, 1] - reach > y_1) | (world[b, 2] - reach > z_1)
        apart |= (world[b, 3] + reach < x_0) | (world[b, 4] + reach < y_0) | (world[b, 5] + reach < z_0)
        near[count] = b
        count += not apart
    return count


@kernel
def single(q, slack):
    """Return q in single precision, and a margin that exceeds its rounding error by the given slack."""
    margin = np.float32(slack + SINGLE * max(abs(q[0]), abs(q[1]), abs(q[2])))
    return (np.float32(q[0]), np.float32(q[1]), np.float32(q[2])), margin


@kernel
def single_above(best):
    """Return a bound in single precision that no squared gap of a box within the distance sqrt(best) exceeds."""
    return np.float32(best * (1.0 + 16.0 * SINGLE))


@kernel
def in_box(to_box, b, p):
    """Box coordinates of the point p in box b."""
    x = to_box[b, 0, 0] * p[0] + to_box[b, 0, 1] * p[1] + to_box[b, 0, 2] * p[2] + to_box[b, 0, 3]
    y = to_box[b, 1, 0] * p[0] + to_box[b, 1, 1] * p[1] + to_box[b, 1, 2] * p[2] + to_box[b, 1, 3]
    return x, y, to_box[b, 2, 0] * p[0] + to_box[b, 2, 1] * p[1] + to_box[b, 2, 2] * p[2] + to_box[b, 2, 3]


@kernel
def outside_box2(low, high, b, q, slack):
    """Lower bound of the squared distance of q from box b."""
    x = max(max(low[b, 0] - q[0], q[0] - high[b, 0]) - slack, 0.0)
    y = max(max(low[b, 1] - q[1], q[1] - high[b, 1]) - slack, 0.0)
    z = max(max(low[b, 2] - q[2], q[2] - high[b, 2]) - slack, 0.0)
    return x * x + y * y + z * z


@kernel
def first_guess(ball, p):
    """Return the box whose bounding sphere is nearest to p."""
    best, guess = np.inf, 0
    for b in range(len(ball)):
        gap = math.sqrt(vec.norm2((ball[b, 0] - p[0], ball[b, 1] - p[1], ball[b, 2] - p[2]))) - ball[b, 3]
        if gap < best:
            best, guess = gap, b
    return guess


@kernel
def box_gap2(p, a, b, c, slack):
    """Lower bound of the squared distance of p from the AABB of the triangle abc."""
    x = max(max(min(a[0], b[0], c[0]) - p[0], p[0] - max(a[0], b[0], c[0])) - slack, 0.0)
    y = max(max(min(a[1], b[1], c[1]) - p[1], p[1] - max(a[1], b[1], c[1])) - slack, 0.0)
    z = max(max(min(a[2], b[2], c[2]) - p[2], p[2] - max(a[2], b[2], c[2])) - slack, 0.0)
    return x * x + y * y + z * z


@kernel
def least_beyond(gaps, row, limit, least):
    """The least of `least` and those of gaps[row] (LANES,) above the limit."""
    for k in range(LANES):
        if gaps[row, k] > limit:
            least = min(least, gaps[row, k])
    return least


@kernel(inline=True)
def search_one(skin, p, row, most, enough, near, gaps):
    """Find the nearest triangle in the boxes `near` (k,), starting from `row`; if that is -1, the nearest within
    `most`, which may be infinite. gaps (3,LANES) f4 is workspace. Return its squared distance (or `most` squared), face
    (or -1), feature, row and barycentric coordinates as in `ProbeArrays`, and the numbers of triangles visited and
    measured. Ties go to the lower face, so that the result does not depend on the start and on the order of boxes.

    Volumes farther away than `enough` are not opened: where they might contain the nearest triangle, the face is -1 and
    the squared distance is a lower bound, above the square of `enough`.
    """
    boxes, placed, x, slack = skin
    corners, face, slabs, home = boxes.corners, boxes.face, boxes.slabs, boxes.home
    groups, blocks, per_box = boxes.groups, boxes.blocks, -(-boxes.slabs // LANES)
    visited, measured, b_face, b_feature, b_row = 0, 0, np.int64(-1), np.int64(0), np.int64(-1)
    best, b_u, b_v, b_w = most * most, 0.0, 0.0, 0.0
    if row < 0 and best == np.inf:
        row = np.int64(home[first_guess(placed.ball, p) * slabs])
    if row >= 0:
        a, c, d = vec.load(x, corners[row, 0]), vec.load(x, corners[row, 1]), vec.load(x, corners[row, 2])
        d_2, feature, u, v, w = nearest2(p, a, c, d)
        if d_2 <= best:
            best, b_face, b_feature, b_row = d_2, np.int64(face[row]), np.int64(feature), row
            b_u, b_v, b_w = u, v, w
    beyond, closed = np.float32(np.inf), single_above(enough * enough)
    for t in range(len(near)):
        b = near[t]
        q = in_box(placed.to_box, b, p)
        if outside_box2(boxes.low, boxes.high, b, q, slack) > best:
            continue
        s_q, margin = single(q, slack)
        limit = min(single_above(best), closed)
        for j in range(b * per_box, (b + 1) * per_box):
            slabs_near = boxes_within(boxes.slab_lanes, j, s_q, margin, limit, gaps, 0)
            beyond = least_beyond(gaps, 0, limit, beyond)
            while slabs_near != 0:
                k = lowest(slabs_near)
                slabs_near &= slabs_near - 1
                s = (j - b * per_box) * LANES + k
                if s >= slabs or gaps[0, k] > limit:
                    continue
                s += b * slabs
                for m in range(blocks[s], blocks[s + 1]):
                    groups_near = boxes_within(boxes.group_lanes, m, s_q, margin, limit, gaps, 1)
                    beyond = least_beyond(gaps, 1, limit, beyond)
                    while groups_near != 0:
                        k = lowest(groups_near)
                        groups_near &= groups_near - 1
                        g = groups[s] + LANES * (m - blocks[s]) + k
                        if g >= groups[s + 1] or gaps[1, k] > limit:
                            continue
                        first = home[s] + LANES * (g - groups[s])
                        stop = min(home[s + 1] - first, LANES)
                        visited += stop
                        rows_near = boxes_within(boxes.lanes, g, s_q, margin, limit, gaps, 2) & ((1 << stop) - 1)
                        beyond = least_beyond(gaps, 2, limit, beyond)
                        while rows_near != 0:
                            k = lowest(rows_near)
                            rows_near &= rows_near - 1
                            r = first + k
                            a, c, d = vec.load(x, corners[r, 0]), vec.load(x, corners[r, 1]), vec.load(x, corners[r, 2])
                            if gaps[2, k] > limit or box_gap2(p, a, c, d, slack) > best:
                                continue
                            measured += 1
                            d_2, feature, u, v, w = nearest2(p, a, c, d)
                            f = np.int64(face[r])
                            if d_2 < best or (d_2 == best and (f < b_face or b_face < 0)):
                                best, b_face, b_feature, b_row = d_2, f, np.int64(feature), np.int64(r)
                                b_u, b_v, b_w, limit = u, v, w, min(single_above(d_2), closed)
    if beyond < best and beyond > closed:
        best, b_face = np.float64(beyond) * (1.0 - 16.0 * SINGLE), np.int64(-1)
    return best, b_face, b_feature, b_row, b_u, b_v, b_w, visited, measured


@kernel
def is_hit(bounds, k, q, slope, slack):
    """Whether a ray from q may meet box k of `bounds` (n,6); `slope`: the inverse of its direction, infinite along axes
    to which it is parallel."""
    enter, leave = 0.0, np.inf
    for a in range(3):
        low, high = bounds[k, a] - slack - q[a], bounds[k, a + 3] + slack - q[a]
        if slope[a] == np.inf:
            if low > 0.0 or high < 0.0:
                return False
            continue
        one, two = low * slope[a], high * slope[a]
        enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
    return enter <= leave


@kernel
def inverse(a):
    """The inverse of a component of a unit direction."""
    return 1.0 / a if abs(a) >= PARALLEL else np.inf


@kernel
def wind_one(skin, axis, p):
    """Return the number of faces through which a ray along the axis from p exits, minus those it enters, as
    `queries.rays` counts them: the winding number in a closed skin."""
    boxes, placed, x, slack = skin
    to_box, world, home, groups, slabs = placed.to_box, placed.world, boxes.home, boxes.groups, boxes.slabs
    u, v, total, slack = (axis + 1) % 3, (axis + 2) % 3, 0, RAY * slack
    start = (p[u], p[v], p[axis])
    for b in range(len(world)):
        beside = (start[0] < world[b, u] - slack) | (start[0] > world[b, u + 3] + slack)
        beside |= (start[1] < world[b, v] - slack) | (start[1] > world[b, v + 3] + slack)
        if beside | (start[2] > world[b, axis + 3] + slack):
            continue
        q = in_box(to_box, b, p)
        slope = (inverse(to_box[b, 0, axis]), inverse(to_box[b, 1, axis]), inverse(to_box[b, 2, axis]))
        for s in range(b * slabs, (b + 1) * slabs):
            if home[s] == home[s + 1] or not is_hit(boxes.around, s, q, slope, slack):
                continue
            for g in range(groups[s], groups[s + 1]):
                if is_hit(boxes.group_bounds, g, q, slope, slack):
                    first = home[s] + LANES * (g - groups[s])
                    total += count_rows(boxes.corners, x, axis, start, first, min(first + LANES, home[s + 1]))
    return total


@kernel
def count_rows(corners, x, axis, start, first, last):
    """Count the exits minus the entries of a ray through the triangles first..last-1."""
    u, v, total = (axis + 1) % 3, (axis + 2) % 3, 0
    for r in range(first, last):
        i, j, k = corners[r, 0], corners[r, 1], corners[r, 2]
        beside = (start[0] < min(x[i, u], x[j, u], x[k, u])) | (start[0] > max(x[i, u], x[j, u], x[k, u]))
        beside |= (start[1] < min(x[i, v], x[j, v], x[k, v])) | (start[1] > max(x[i, v], x[j, v], x[k, v]))
        if beside | (start[2] > max(x[i, axis], x[j, axis], x[k, axis])):
            continue
        a, b, c = (x[i, u], x[i, v], x[i, axis]), (x[j, u], x[j, v], x[j, axis]), (x[k, u], x[k, v], x[k, axis])
        facing = crossing(a, b, c, start)
        if facing != 0 and is_above(a, b, c, start, facing):
            total += facing
    return total

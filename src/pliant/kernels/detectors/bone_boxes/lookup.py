"""Point queries against bone-attached boxes: slabs give the triangles to test; distant points use a nearest search."""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...geometry.triangle import nearest2
from ...jit import kernel, prange
from ...kinds import MIDPOINT_FIELD
from ...queries.contact_records import write, write_vertices
from .boxes import CHUNK, Boxes, Placed, Skin, over_plane


class ProbeArrays(NamedTuple):
    """Query points and their last results."""

    points: np.ndarray  # (n,3)
    found: np.ndarray  # (n,3) nearest face (or -1), feature, row of the triangle where the last search ended (or -1)
    barycentric: np.ndarray  # (n,3) barycentric coordinates of the nearest point
    clear: np.ndarray  # (n,) lower bound of the distance of a point outside the skin, metres
    pace: np.ndarray  # (n,) displacement of the last step, relative to the skin
    hint: np.ndarray  # (n,) estimated clearance


class Touching(NamedTuple):
    """Points near the skin or inside it."""

    rows: np.ndarray  # (k,) points, ascending
    pairs: np.ndarray  # (k,2) nearest face and feature
    where: np.ndarray  # (k,3) barycentric coordinates of the nearest point
    distance: np.ndarray  # (k,) signed
    nearest: np.ndarray  # (k,3)
    normal: np.ndarray  # (k,3) unit contact normal


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
def single_below(a):
    """Round a down to single precision: comparisons of equal types are twice as fast."""
    return np.float32(a - 1.2e-7 * abs(a))


@kernel
def single_above(a):
    return np.float32(a + 1.2e-7 * abs(a))


@kernel
def find_nearest_range(skin, probes, which, first, last, reach, exact):
    """Find the nearest triangles within `reach` of the points which[first:last]; where there is none, the row of the
    triangle is unchanged. Return the numbers of triangles visited and measured. Ties go to the lower face, so that the
    result does not depend on the order of boxes and lists.
    """
    boxes, placed, x, points, found, barycentric = (
        skin.boxes,
        skin.placed,
        skin.x,
        probes.points,
        probes.found,
        probes.barycentric,
    )
    to_box, low, high, begin, per, start = placed.to_box, boxes.low, boxes.high, boxes.begin, boxes.per, boxes.start
    items, bounds, corners, face, slabs = boxes.items, boxes.bounds, boxes.corners, boxes.face, boxes.slabs
    near = np.empty(len(to_box) + 1, np.int32)
    count = boxes_near(placed.world, points, which, first, last, reach, near)
    visited, measured = 0, 0
    for t in range(first, last):
        i = which[t]
        p = vec.load(points, i)
        best, b_face, b_feature, b_row = reach * reach, np.int64(-1), np.int64(0), np.int64(-1)
        b_u, b_v, b_w = 0.0, 0.0, 0.0
        for m in range(count):
            b = near[m]
            q_0 = to_box[b, 0, 0] * p[0] + to_box[b, 0, 1] * p[1] + to_box[b, 0, 2] * p[2] + to_box[b, 0, 3]
            if not low[b, 0] - reach <= q_0 <= high[b, 0] + reach:
                continue
            q_1 = to_box[b, 1, 0] * p[0] + to_box[b, 1, 1] * p[1] + to_box[b, 1, 2] * p[2] + to_box[b, 1, 3]
            q_2 = to_box[b, 2, 0] * p[0] + to_box[b, 2, 1] * p[1] + to_box[b, 2, 2] * p[2] + to_box[b, 2, 3]
            if not (low[b, 1] - reach <= q_1 <= high[b, 1] + reach and low[b, 2] - reach <= q_2 <= high[b, 2] + reach):
                continue
            s = b * slabs + min(max(int((q_0 - begin[b]) * per[b]), 0), slabs - 1)
            visited += start[s + 1] - start[s]
            l_0, l_1, l_2 = single_below(q_0 - reach), single_below(q_1 - reach), single_below(q_2 - reach)
            h_0, h_1, h_2 = single_above(q_0 + reach), single_above(q_1 + reach), single_above(q_2 + reach)
            for k in range(start[s], start[s + 1]):
                r = items[k]
                apart = (bounds[r, 1] > h_1) | (bounds[r, 4] < l_1) | (bounds[r, 2] > h_2)
                if apart | (bounds[r, 5] < l_2) | (bounds[r, 0] > h_0) | (bounds[r, 3] < l_0):
                    continue
                measured += 1
                a, c, d = vec.load(x, corners[r, 0]), vec.load(x, corners[r, 1]), vec.load(x, corners[r, 2])
                d_2, feature, u, v, w = nearest2(p, a, c, d) if exact else over_plane(p, a, c, d)
                f = np.int64(face[r])
                if d_2 < best or (d_2 == best and f < b_face):
                    best, b_face, b_feature, b_row = d_2, f, np.int64(feature), np.int64(r)
                    b_u, b_v, b_w = u, v, w
        found[i, 0], found[i, 1] = b_face, b_feature
        found[i, 2] = b_row if b_row >= 0 else found[i, 2]  # else unchanged: a search may start there
        barycentric[i, 0], barycentric[i, 1], barycentric[i, 2] = b_u, b_v, b_w
    return visited, measured


@kernel(parallel=True)
def find_nearest(skin, probes, which, reach, exact, counts):
    """Apply `find_nearest_range` to all of `which`; counts (chunks,2)."""
    boxes = Boxes(*skin.boxes)  # a parallel loop takes no tuples within tuples
    placed = Placed(*skin.placed)
    x, slack = skin.x, skin.slack
    n = len(which)
    for c in prange(-(-n // CHUNK)):
        last = min(n, (c + 1) * CHUNK)
        posed = Skin(boxes, placed, x, slack)
        counts[c, 0], counts[c, 1] = find_nearest_range(posed, probes, which, c * CHUNK, last, reach, exact)


@kernel
def gap2(x_0, y_0, z_0, x_1, y_1, z_1, q, slack):
    """Lower bound of the squared distance of q from a box. Scalars are cheaper to pass than arrays."""
    x = max(max(x_0 - q[0], q[0] - x_1) - slack, 0.0)
    y = max(max(y_0 - q[1], q[1] - y_1) - slack, 0.0)
    z = max(max(z_0 - q[2], q[2] - z_1) - slack, 0.0)
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
def search_one(skin, p, row, most):
    """Find the nearest triangle within `most` (which may be infinite), starting from `row` (or -1). Return its squared
    distance (or that of `most`), face, feature, row and barycentric coordinates as in `ProbeArrays`, and the counts.

    Boxes lie in their bounding spheres, the triangles of a slab in its box, a triangle in its own box: every volume
    farther away than the best distance so far is culled.
    """
    boxes, placed, x, slack = skin
    to_box, ball, around, home, bounds = placed.to_box, placed.ball, boxes.around, boxes.home, boxes.bounds
    corners, face, low, high, slabs = boxes.corners, boxes.face, boxes.low, boxes.high, boxes.slabs
    visited, measured, b_face, b_feature, b_row = 0, 0, np.int64(-1), np.int64(0), np.int64(-1)
    best, b_u, b_v, b_w = most * most, 0.0, 0.0, 0.0
    if row >= 0 or best == np.inf:
        b_row = row if row >= 0 else np.int64(home[first_guess(ball, p) * slabs])
        a, c, d = vec.load(x, corners[b_row, 0]), vec.load(x, corners[b_row, 1]), vec.load(x, corners[b_row, 2])
        best, feature, b_u, b_v, b_w = nearest2(p, a, c, d)
        b_face, b_feature = np.int64(face[b_row]), np.int64(feature)
    root = math.sqrt(best) + slack
    for b in range(len(ball)):
        far = root + ball[b, 3] + slack
        if vec.norm2((p[0] - ball[b, 0], p[1] - ball[b, 1], p[2] - ball[b, 2])) > far * far:
            continue
        q_0 = to_box[b, 0, 0] * p[0] + to_box[b, 0, 1] * p[1] + to_box[b, 0, 2] * p[2] + to_box[b, 0, 3]
        q_1 = to_box[b, 1, 0] * p[0] + to_box[b, 1, 1] * p[1] + to_box[b, 1, 2] * p[2] + to_box[b, 1, 3]
        q_2 = to_box[b, 2, 0] * p[0] + to_box[b, 2, 1] * p[1] + to_box[b, 2, 2] * p[2] + to_box[b, 2, 3]
        q = (q_0, q_1, q_2)
        if gap2(low[b, 0], low[b, 1], low[b, 2], high[b, 0], high[b, 1], high[b, 2], q, slack) > best:
            continue
        for s in range(b * slabs, (b + 1) * slabs):
            x_0, y_0, z_0 = around[s, 0], around[s, 1], around[s, 2]
            if not gap2(x_0, y_0, z_0, around[s, 3], around[s, 4], around[s, 5], q, slack) <= best:
                continue
            visited += home[s + 1] - home[s]
            for r in range(home[s], home[s + 1]):
                x_0, y_0, z_0 = bounds[r, 0], bounds[r, 1], bounds[r, 2]
                if gap2(x_0, y_0, z_0, bounds[r, 3], bounds[r, 4], bounds[r, 5], q, slack) > best:
                    continue
                measured += 1
                a, c, d = vec.load(x, corners[r, 0]), vec.load(x, corners[r, 1]), vec.load(x, corners[r, 2])
                d_2, feature, u, v, w = nearest2(p, a, c, d)
                f = np.int64(face[r])
                if d_2 < best or (d_2 == best and f < b_face):
                    best, b_face, b_feature, b_row = d_2, f, np.int64(feature), np.int64(r)
                    b_u, b_v, b_w, root = u, v, w, math.sqrt(d_2) + slack
    return best, b_face, b_feature, b_row, b_u, b_v, b_w, visited, measured


@kernel
def classify_far_range(skin, probes, which, first, last, sign):
    """Handle points which[first:last] without a triangle within reach. Points inside the skin (`sign` (k,) is -1) get
    their nearest triangle; for the others `clear` becomes a lower bound of the distance to the skin.

    A measured point outside whose clearance exceeds the distance to its neighbour bounds the neighbour's clearance too,
    so that few points are searched. Return the numbers of triangles visited and measured.
    """
    points, found, barycentric, clear, slack = probes.points, probes.found, probes.barycentric, probes.clear, skin.slack
    balls, count = np.empty((last - first, 4)), 0
    visited, measured = 0, 0
    for t in range(first, last):
        i = which[t]
        p, bound = vec.load(points, i), 0.0
        for k in range(count if sign[t] >= 0 else 0):
            bound = max(bound, balls[k, 3] - vec.norm(vec.sub(p, vec.load(balls, k))))
        if bound > slack:
            clear[i] = bound - slack
            continue
        d_2, f, feature, row, u, v, w, one, two = search_one(skin, p, found[i, 2], np.inf)
        visited, measured = visited + one, measured + two
        found[i, 0], found[i, 1], found[i, 2] = f, feature, row
        vec.store(barycentric, i, (u, v, w))
        if sign[t] >= 0:
            found[i, 0], clear[i] = -1, math.sqrt(d_2)
            balls[count, 3] = clear[i]
            vec.store(balls, count, p)
            count += 1
    return visited, measured


@kernel(parallel=True)
def classify_far(skin, probes, which, sign, counts):
    """Apply `classify_far_range` to all of `which`; counts (chunks,2)."""
    boxes = Boxes(*skin.boxes)  # a parallel loop takes no tuples within tuples
    placed = Placed(*skin.placed)
    x, slack = skin.x, skin.slack
    n = len(which)
    for c in prange(-(-n // CHUNK)):
        last = min(n, (c + 1) * CHUNK)
        posed = Skin(boxes, placed, x, slack)
        counts[c, 0], counts[c, 1] = classify_far_range(posed, probes, which, c * CHUNK, last, sign)


@kernel
def gather(probes, wanted, rows, pairs, at, where):
    """Collect the points (ascending) with a result: rows, face and feature, positions, barycentric coordinates."""
    points, found, barycentric = probes.points, probes.found, probes.barycentric
    count = 0
    for i in range(len(points)):
        if wanted[i] and found[i, 0] >= 0:
            rows[count], pairs[count, 0], pairs[count, 1] = i, found[i, 0], found[i, 1]
            vec.store(at, count, vec.load(points, i))
            vec.store(where, count, vec.load(barycentric, i))
            count += 1
    return count


@kernel
def fill_midpoints(touching, ends, faces, v, owners, out):
    """Write records of edge midpoints against the nearest point of the skin, which has the velocity of the skin."""
    first, bodies = owners
    rows, pairs, where, distance, nearest, normal = touching
    for c in range(len(out)):
        e, f = rows[c], pairs[c, 0]
        record = out[c]
        write(record, MIDPOINT_FIELD, e, f, bodies, vec.load(normal, c), distance[c])
        write_vertices(record, ends[e, 0] + first[0], ends[e, 1] + first[0], -1, -1, (0.5, 0.5, 0.0, 0.0))
        for a in range(3):
            record["anchor"][a] = nearest[c, a]
            for k in range(3):
                record["anchor_velocity"][a] += where[c, k] * v[faces[f, k] + first[1], a]


@kernel(parallel=True)
def nearest_brute_force(x, faces, points, found, distance):
    """Test every point against every triangle, for comparison: the nearest face and its distance."""
    for i in prange(len(points)):
        p, best, face = vec.load(points, i), np.inf, -1
        for f in range(len(faces)):
            d_2 = nearest2(p, vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2]))[0]
            if d_2 < best:
                best, face = d_2, f
        found[i], distance[i] = face, math.sqrt(best)

"""Point queries against bone-attached boxes: results, records of them, and the paper's test of the lists of slabs."""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...geometry.triangle import nearest2
from ...jit import kernel, prange
from ...kinds import MIDPOINT_FIELD, VERTEX_FACE
from ...queries.closest_point import Signed, sign_range
from ...queries.contact_records import face_contact, write, write_vertices
from ...queries.surface import touching as is_touching
from .boxes import CHUNK, Boxes, Placed, Skin, over_plane
from .search import boxes_near, wind_one


class ProbeArrays(NamedTuple):
    """Query points and their last results."""

    points: np.ndarray  # (n,3)
    found: np.ndarray  # (n,3) nearest face (or -1), feature, row of the triangle where the last search ended (or -1)
    barycentric: np.ndarray  # (n,3) barycentric coordinates of the nearest point
    clear: np.ndarray  # (n,) lower bound of the distance from the skin, metres
    side: np.ndarray  # (n,) i1 -1 inside a closed skin, 1 elsewhere; unknown where the clearance is 0
    pace: np.ndarray  # (n,) displacement of the last step, relative to the skin


class Touching(NamedTuple):
    """Points near the skin or inside it."""

    rows: np.ndarray  # (k,) points, ascending
    pairs: np.ndarray  # (k,2) nearest face and feature
    at: np.ndarray  # (k,3) positions
    where: np.ndarray  # (k,3) barycentric coordinates of the nearest point
    distance: np.ndarray  # (k,) signed
    nearest: np.ndarray  # (k,3)
    normal: np.ndarray  # (k,3) unit contact normal


@kernel
def single_below(a):
    """Round a down to single precision: comparisons of equal types are twice as fast."""
    return np.float32(a - 1.2e-7 * abs(a))


@kernel
def single_above(a):
    return np.float32(a + 1.2e-7 * abs(a))


@kernel
def project_range(skin, probes, which, first, last, reach):
    """Find the nearest triangles within `reach` of the points which[first:last] that lie over them, see `over_plane`.
    Return the numbers of triangles visited and measured. Ties go to the lower face, so that the result does not depend
    on the order of boxes and lists.
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
                d_2, feature, u, v, w = over_plane(p, a, c, d)
                f = np.int64(face[r])
                if d_2 < best or (d_2 == best and f < b_face):
                    best, b_face, b_feature, b_row = d_2, f, np.int64(feature), np.int64(r)
                    b_u, b_v, b_w = u, v, w
        found[i, 0], found[i, 1], found[i, 2] = b_face, b_feature, b_row
        barycentric[i, 0], barycentric[i, 1], barycentric[i, 2] = b_u, b_v, b_w
    return visited, measured


@kernel(parallel=True)
def project(skin, probes, which, reach, counts):
    """Apply `project_range` to all of `which`; counts (chunks,2)."""
    boxes = Boxes(*skin.boxes)  # a parallel loop takes no tuples within tuples
    placed = Placed(*skin.placed)
    x, slack = skin.x, skin.slack
    n = len(which)
    for c in prange(-(-n // CHUNK)):
        last = min(n, (c + 1) * CHUNK)
        posed = Skin(boxes, placed, x, slack)
        counts[c, 0], counts[c, 1] = project_range(posed, probes, which, c * CHUNK, last, reach)


@kernel
def gather(skin, probes, surface, ignored, query, out, unsure):
    """Collect the points (ascending) with a result, except those `ignored` (n,), if any are given, and fill `out` for
    those whose side is known: outside, or inside with a nearest face beyond which is outside. The others, and all
    unless `query.sided`, are listed in `unsure`. Return both numbers."""
    points, found, side, barycentric = probes.points, probes.found, probes.side, probes.barycentric
    rows, pairs, at, where, nearest, normal = out.rows, out.pairs, out.at, out.where, out.nearest, out.normal
    count, more, sides = 0, 0, np.empty(len(points), np.int8)
    for i in range(len(points)):
        if found[i, 0] < 0 or (len(ignored) > 0 and ignored[i]):
            continue
        rows[count], pairs[count, 0], pairs[count, 1], sides[count] = i, found[i, 0], found[i, 1], side[i]
        vec.store(at, count, vec.load(points, i))
        vec.store(where, count, vec.load(barycentric, i))
        count += 1
    if query.sided:
        sign_range(surface, at, 0, count, pairs, where, sides, Signed(out.distance, nearest, normal))
    for k in range(count):
        known = query.sided
        if known:
            p, q = vec.load(at, k), vec.load(nearest, k)
            known = not is_touching(vec.sub(p, q), p, q)
            if known and sides[k] < 0:
                known = wind_one(skin, query.axis, vec.madd(q, vec.load(normal, k), query.beyond)) <= 0
        if not known:
            unsure[more] = k
            more += 1
    return count, more


@kernel
def keep_within(out, count, within):
    """Keep the first `count` rows of `out` that are no farther than `within`, or inside. Return their number."""
    kept = 0
    for k in range(count):
        if not out.distance[k] <= within:
            continue
        out.rows[kept], out.distance[kept] = out.rows[k], out.distance[k]
        out.pairs[kept, 0], out.pairs[kept, 1] = out.pairs[k, 0], out.pairs[k, 1]
        for array in (out.at, out.where, out.nearest, out.normal):
            vec.store(array, kept, vec.load(array, k))
        kept += 1
    return kept


@kernel
def fill_vertices(touching, x, x_b, faces, owners, out, degenerate):
    """Write records of vertices (n,3) and the nearest triangles of a skin x_b, as `contact_records.fill_faces` does for
    pairs. Return the numbers of degenerate gaps and of points inside."""
    bodies, first, inside, flat = owners.bodies, owners.first, 0, 0
    for m in range(len(out)):
        v, f, sign = touching.rows[m], touching.pairs[m, 0], -1.0 if touching.distance[m] < 0.0 else 1.0
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        n, distance, degenerate[m], weights = face_contact(
            vec.load(x, v), vec.load(x_b, i), vec.load(x_b, j), vec.load(x_b, k), sign
        )
        write(out[m], VERTEX_FACE, v, f, bodies, n, distance)
        write_vertices(out[m], v + first[0], i + first[1], j + first[1], k + first[1], weights)
        inside, flat = inside + (sign < 0.0), flat + degenerate[m]
    return flat, inside


@kernel
def fill_midpoints(touching, ends, faces, v, owners, out):
    """Write records of edge midpoints against the nearest point of the skin, which has the velocity of the skin."""
    first, bodies = owners
    rows, pairs, _, where, distance, nearest, normal = touching
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

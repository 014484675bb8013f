"""Broad and narrow phase for pairs of features that come near under their predicted motion: the traversals of
proximity.py, extended by predicted displacements.

Every vertex is predicted to move along a straight line by its drift. Only the motion of two features *relative to each
other* matters: falling or sliding cloth keeps its distance from its neighbours. Along a direction n, the gap of two
features is at all times at least the lesser of its values at the start and at the end, because the least n.x of the one
minus the greatest of the other is concave in time. The directions tested are the axes, the normal of a triangle (of any
triangle: both are measured along it), and that between nearest points.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..bvh.leaf_mesh import EDGE_WELD_0, EDGE_WELD_1, VERTEX_WELD
from ..bvh.volumes import lower, upper
from ..jit import kernel, prange
from ..kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from .proximity import (
    BATCH,
    STRIDE,
    Batch,
    flush_edges,
    flush_faces,
    load,
    new_batches,
    normal_span,
)

MEETS = 1024  # pairs of triangles processed together
GROUP = 8  # consecutive triangles that first search the BVH together, for the first leaf near any of them


class Drift(NamedTuple):
    """Predicted displacements of a surface, metres."""

    x: np.ndarray  # (n,3) of each vertex
    boxes: np.ndarray  # (m,6) least and greatest over the corners of each triangle
    nodes: np.ndarray  # (k,6) the same over the triangles of each BVH node
    ends: np.ndarray  # (k,6) box of each BVH node at the end of the motion


@kernel
def update_leaf(corners, faces, drift, q, i):
    """Compute the bounds of the drifts of triangle q, and those of its node i."""
    x, boxes, around, ends = drift.x, drift.boxes, drift.nodes, drift.ends
    g, h, j = corners[q, 0], corners[q, 1], corners[q, 2]
    for k in range(3):
        u, v, w = x[g, k], x[h, k], x[j, k]
        low, high = min(u, v, w), max(u, v, w)
        boxes[q, k], boxes[q, k + 3], around[i, k], around[i, k + 3] = low, high, low, high
        u, v, w = faces[q, k] + u, faces[q, k + 3] + v, faces[q, k + 6] + w
        ends[i, k], ends[i, k + 3] = min(u, v, w), max(u, v, w)


@kernel
def enclose_children(nodes, i, boxes):
    """Compute row i of `boxes` (k,6) from those of the children of node i."""
    x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    j, stop = np.int64(i + 1), np.int64(nodes[i]["skip"])
    while j < stop:
        x_0, y_0, z_0 = min(x_0, boxes[j, 0]), min(y_0, boxes[j, 1]), min(z_0, boxes[j, 2])
        x_1, y_1, z_1 = max(x_1, boxes[j, 3]), max(y_1, boxes[j, 4]), max(z_1, boxes[j, 5])
        j = np.int64(nodes[j]["skip"])
    boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3], boxes[i, 4], boxes[i, 5] = x_0, y_0, z_0, x_1, y_1, z_1


@kernel
def update_node(nodes, i, drift):
    """Compute the bounds of node i from those of its children."""
    enclose_children(nodes, i, drift.nodes)
    enclose_children(nodes, i, drift.ends)


@kernel(parallel=True)
def update_drift(tree, corners, faces, drift, before):
    """Compute the bounds of the drifts of triangles with these `corners` (m,3) at the positions `faces` (m,9): of all
    if `before` is empty, or where drifts have changed: before (m+1,) is how many triangles 0..q-1 have."""
    nodes, parts, crown, everywhere = tree.nodes, tree.parts, tree.crown, len(before) == 0
    for p in prange(len(parts)):
        root = nodes[parts[p]]
        if everywhere or before[root.first + root.count] > before[root.first]:
            for i in range(root.skip - 1, parts[p] - 1, -1):
                first = nodes[i].first
                if everywhere or before[first + nodes[i].count] > before[first]:
                    if nodes[i].skip == i + 1:
                        update_leaf(corners, faces, drift, first, i)
                    else:
                        update_node(nodes, i, drift)
    for c in range(len(crown)):
        update_node(nodes, crown[c], drift)


class Batches(NamedTuple):
    """Batches that a traversal fills before they are processed."""

    meets: np.ndarray  # (MEETS,2) i4 triangles of a and b
    closer: np.ndarray  # (MEETS,) upper bound of how much closer they come to each other, metres
    faces: Batch  # vertex, face, kind
    edges: Batch  # edge, edge, kind
    filled: np.ndarray  # (2,) i8 number of faces and of edges


@kernel
def all_batches():
    faces, edges = new_batches()
    return Batches(np.empty((MEETS, 2), np.int32), np.empty(MEETS), faces, edges, np.zeros(2, np.int64))


@kernel
def flush_meets(a, b, same, batches, n, within, out, count):
    """Expand n pairs of triangles into pairs of features; each full batch is tested, and near pairs are kept."""
    meets, filled = batches.meets, batches.filled
    faces, edges, extra_f, extra_e = batches.faces.pairs, batches.edges.pairs, batches.faces.extra, batches.edges.extra
    n_f, n_e = filled[0], filled[1]
    # the same expansion as in `proximity.near_range`, written out because it is the innermost loop of both
    for m in range(n):
        p, q, extra = meets[m, 0], meets[m, 1], batches.closer[m]
        i_0, i_1, i_2 = a.welded[p, 0], a.welded[p, 1], a.welded[p, 2]
        j_0, j_1, j_2 = b.welded[q, 0], b.welded[q, 1], b.welded[q, 2]
        for v in range(a.vertex_start[p], a.vertex_start[p + 1]):
            i = a.vertex[v, VERTEX_WELD]
            faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = v, q, VERTEX_TO_FACE
            extra_f[n_f] = extra
            n_f += (i != j_0) & (i != j_1) & (i != j_2) & (b.face[q] >= 0)
        for v in range(b.vertex_start[q], b.vertex_start[q + 1]):
            j = b.vertex[v, VERTEX_WELD]
            faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = v, p, FACE_TO_VERTEX
            extra_f[n_f] = extra
            n_f += (j != i_0) & (j != i_1) & (j != i_2) & (a.face[p] >= 0)
        for e in range(a.edge_start[p], a.edge_start[p + 1]):
            i, j = a.edge[e, EDGE_WELD_0], a.edge[e, EDGE_WELD_1]
            for f in range(b.edge_start[q], b.edge_start[q + 1]):
                k, h = b.edge[f, EDGE_WELD_0], b.edge[f, EDGE_WELD_1]
                edges[n_e, 0], edges[n_e, 1], edges[n_e, 2] = e, f, EDGE_TO_EDGE
                extra_e[n_e] = extra
                n_e += (i != k) & (i != h) & (j != k) & (j != h)
        if n_f > BATCH - 6:
            count = flush_faces(a, b, batches.faces, n_f, within, out, count)
            n_f = 0
        if n_e > BATCH - 9:
            count = flush_edges(a, b, same, batches.edges, n_e, within, out, count)
            n_e = 0
    filled[0], filled[1] = n_f, n_e
    return count


@kernel
def flush_rest(a, b, same, batches, n, within, out, count):
    """Process all remaining batches at the end of a traversal."""
    count = flush_meets(a, b, same, batches, n, within, out, count)
    n_f, n_e = batches.filled[0], batches.filled[1]
    batches.filled[0], batches.filled[1] = 0, 0
    count = flush_faces(a, b, batches.faces, n_f, within, out, count)
    return flush_edges(a, b, same, batches.edges, n_e, within, out, count)


@kernel
def along(n, a, b, c):
    """Least and greatest of three displacements along n."""
    a, b, c = vec.dot(n, a), vec.dot(n, b), vec.dot(n, c)
    return min(a, b, c), max(a, b, c)


@kernel
def moved(faces, x, corners, p):
    """Corners of triangle p at the end of its motion."""
    return (
        vec.add(load(faces, p, 0), vec.load(x, corners[p, 0])),
        vec.add(load(faces, p, 3), vec.load(x, corners[p, 1])),
        vec.add(load(faces, p, 6), vec.load(x, corners[p, 2])),
    )


@kernel
def box_at_end(faces, x, corners, p, reach):
    """Box of triangle p at the end of its motion, enlarged by reach: low, high."""
    a, b, c = moved(faces, x, corners, p)
    return (
        (min(a[0], b[0], c[0]) - reach, min(a[1], b[1], c[1]) - reach, min(a[2], b[2], c[2]) - reach),
        (max(a[0], b[0], c[0]) + reach, max(a[1], b[1], c[1]) + reach, max(a[2], b[2], c[2]) + reach),
    )


@kernel
def box_at_start(boxes, p, reach):
    return (
        (boxes[p, 0] - reach, boxes[p, 1] - reach, boxes[p, 2] - reach),
        (boxes[p, 3] + reach, boxes[p, 4] + reach, boxes[p, 5] + reach),
    )


@kernel
def apart(w, e, low, high, low_end, high_end):
    """Whether a box, w (6,) at the start and e (6,) at the end, is beyond another at both times in the same direction
    of an axis, and thus at all times between."""
    x = ((w[0] > high[0]) & (e[0] > high_end[0])) | ((w[3] < low[0]) & (e[3] < low_end[0]))
    y = ((w[1] > high[1]) & (e[1] > high_end[1])) | ((w[4] < low[1]) & (e[4] < low_end[1]))
    z = ((w[2] > high[2]) & (e[2] > high_end[2])) | ((w[5] < low[2]) & (e[5] < low_end[2]))
    return x | y | z


@kernel
def beyond(w, low, high):
    """Whether two boxes are apart."""
    return w[0] > high[0] or w[3] < low[0] or w[1] > high[1] or w[4] < low[1] or w[2] > high[2] or w[5] < low[2]


@kernel
def beyond_plane(w, n, low, high):
    """Whether a box is below `low` or above `high` along n."""
    a = n[0] * w[0], n[0] * w[3]
    b = n[1] * w[1], n[1] * w[4]
    c = n[2] * w[2], n[2] * w[5]
    least = min(a[0], a[1]) + min(b[0], b[1]) + min(c[0], c[1])
    most = max(a[0], a[1]) + max(b[0], b[1]) + max(c[0], c[1])
    return least > high or most < low


@kernel
def still_range(a, drift_a, b, search, first, last, out):
    """As near_range, for pairs that are or come nearer than `reach`, and some more: an upper bound of the displacement
    of their triangles relative to each other is added. b is static.
    """
    same, begin, reach = search.same, search.begin, search.reach
    nodes, boxes, corners, u_a = b.nodes, a.boxes, b.faces, drift_a.boxes
    faces, x_a, i_a = a.faces, drift_a.x, a.corners
    total, count, n = len(nodes), 0, 0
    while first < last and begin[first] >= total:
        first += 1
    if first == last:
        return 0
    batches = all_batches()
    meets, closer = batches.meets, batches.closer
    low, high = np.empty((GROUP, 3)), np.empty((GROUP, 3))
    for group in range(first, last, GROUP):
        # no triangle of the group is near a node that their common box does not meet
        around_low, around_high = (math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf)
        for p in range(group, min(group + GROUP, last)):
            if begin[p] < total:
                one = box_at_start(boxes, p, reach)
                two = box_at_end(faces, x_a, i_a, p, reach)
                one = lower(one[0], two[0]), upper(one[1], two[1])
                vec.store(low, p - group, one[0])
                vec.store(high, p - group, one[1])
                around_low, around_high = lower(around_low, one[0]), upper(around_high, one[1])
        hit = np.int64(0) if around_low[0] < math.inf else np.int64(total)
        while hit < total:
            if beyond(nodes[hit]["bounds"], around_low, around_high):
                hit = np.int64(nodes[hit]["skip"])
                continue
            if nodes[hit]["skip"] == hit + 1:
                break
            hit += 1
        for p in range(group, min(group + GROUP, last)):
            if begin[p] >= total or hit >= total:
                continue
            p_low, p_high = vec.load(low, p - group), vec.load(high, p - group)
            n_0, n_1, n_2, bottom, top = normal_span(load(faces, p, 0), load(faces, p, 3), load(faces, p, 6))
            normal = (n_0, n_1, n_2)
            moves = vec.load(x_a, i_a[p, 0]), vec.load(x_a, i_a[p, 1]), vec.load(x_a, i_a[p, 2])
            down, up = along(normal, moves[0], moves[1], moves[2])
            up, down = top + max(up, 0.0) + reach, bottom + min(down, 0.0) - reach
            length = vec.norm((max(-u_a[p, 0], u_a[p, 3]), max(-u_a[p, 1], u_a[p, 4]), max(-u_a[p, 2], u_a[p, 5])))
            at = max(np.int64(begin[p]), hit)
            while at < total:
                node = nodes[at]
                w = node["bounds"]
                if beyond(w, p_low, p_high) or beyond_plane(w, normal, down, up):
                    at = np.int64(node["skip"])
                    continue
                at += 1
                if node["skip"] > at:
                    continue
                q = node["first"]
                h_0 = vec.dot(normal, load(corners, q, 0))
                h_1 = vec.dot(normal, load(corners, q, 3))
                h_2 = vec.dot(normal, load(corners, q, 6))
                if min(h_0, h_1, h_2) > up or max(h_0, h_1, h_2) < down:
                    continue
                meets[n, 0], meets[n, 1], closer[n] = p, q, length
                n += 1
                if n == MEETS:
                    count = flush_meets(a, b, same, batches, n, reach, out, count)
                    n = 0
    return flush_rest(a, b, same, batches, n, reach, out, count)


@kernel
def drifting_range(a, drift_a, b, drift_b, search, first, last, out):
    """As still_range, with the displacements of both sides relative to each other."""
    same, begin, reach = search.same, search.begin, search.reach
    nodes, boxes, corners, u_a, u_b, ends = b.nodes, a.boxes, b.faces, drift_a.boxes, drift_b.boxes, drift_b.ends
    faces, x_a, i_a, x_b, i_b = a.faces, drift_a.x, a.corners, drift_b.x, b.corners
    total, count, n = len(nodes), 0, 0
    while first < last and begin[first] >= total:
        first += 1
    if first == last:
        return 0
    batches = all_batches()
    meets, closer = batches.meets, batches.closer
    for group in range(first, last, GROUP):
        # no triangle of the group is near a node behind all of theirs that their common box does not meet
        low, high = (math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf)
        low_end, high_end, behind = low, high, np.int64(-1)
        for p in range(group, min(group + GROUP, last)):
            if begin[p] < total:
                one, two = box_at_start(boxes, p, reach), box_at_end(faces, x_a, i_a, p, reach)
                low, high = lower(low, one[0]), upper(high, one[1])
                low_end, high_end = lower(low_end, two[0]), upper(high_end, two[1])
                behind = max(behind, np.int64(begin[p]))
        hit = behind if behind >= 0 else np.int64(total)
        while hit < total:
            if apart(nodes[hit]["bounds"], ends[hit], low, high, low_end, high_end):
                hit = np.int64(nodes[hit]["skip"])
                continue
            if nodes[hit]["skip"] == hit + 1:
                break
            hit += 1
        for p in range(group, min(group + GROUP, last)):
            at = np.int64(begin[p])
            if at >= behind:
                at = max(at, hit)
            if at >= total:
                continue
            one, two = box_at_start(boxes, p, reach), box_at_end(faces, x_a, i_a, p, reach)
            p_low, p_high, p_low_end, p_high_end = one[0], one[1], two[0], two[1]
            n_0, n_1, n_2, bottom, top = normal_span(load(faces, p, 0), load(faces, p, 3), load(faces, p, 6))
            normal = (n_0, n_1, n_2)
            moves = vec.load(x_a, i_a[p, 0]), vec.load(x_a, i_a[p, 1]), vec.load(x_a, i_a[p, 2])
            down, up = along(normal, moves[0], moves[1], moves[2])
            while at < total:
                if apart(nodes[at]["bounds"], ends[at], p_low, p_high, p_low_end, p_high_end):
                    at = np.int64(nodes[at]["skip"])
                    if at >= behind:
                        at = max(at, hit)
                    continue
                q = nodes[at]["first"]
                at += 1
                inner = nodes[at - 1]["skip"] > at
                if at >= behind:
                    at = max(at, hit)
                if inner:
                    continue
                h_0 = vec.dot(normal, load(corners, q, 0))
                h_1 = vec.dot(normal, load(corners, q, 3))
                h_2 = vec.dot(normal, load(corners, q, 6))
                moves = vec.load(x_b, i_b[q, 0]), vec.load(x_b, i_b[q, 1]), vec.load(x_b, i_b[q, 2])
                least, most = along(normal, moves[0], moves[1], moves[2])
                above = min(h_0, h_1, h_2) - top + min(least - up, 0.0) > reach
                if above or max(h_0, h_1, h_2) - bottom + max(most - down, 0.0) < -reach:
                    continue
                meets[n, 0], meets[n, 1] = p, q
                r_0, r_3 = u_b[q, 0] - u_a[p, 3], u_b[q, 3] - u_a[p, 0]
                r_1, r_4 = u_b[q, 1] - u_a[p, 4], u_b[q, 4] - u_a[p, 1]
                r_2, r_5 = u_b[q, 2] - u_a[p, 5], u_b[q, 5] - u_a[p, 2]
                closer[n] = vec.norm((max(-r_0, r_3), max(-r_1, r_4), max(-r_2, r_5)))
                n += 1
                if n == MEETS:
                    count = flush_meets(a, b, same, batches, n, reach, out, count)
                    n = 0
    return flush_rest(a, b, same, batches, n, reach, out, count)


@kernel(parallel=True)
def drifting_pairs(a, drift_a, b, drift_b, still, search, out, counts):
    """As near_pairs, for pairs that come near, in len(out) chunks, a power of two. A static b (`still`) takes less."""
    m, parts = len(search.begin), len(out)
    for c in prange(parts):
        part = c * STRIDE % parts
        first, last = part * m // parts, (part + 1) * m // parts
        if still:
            counts[part] = still_range(a, drift_a, b, search, first, last, out[part])
        else:
            counts[part] = drifting_range(a, drift_a, b, drift_b, search, first, last, out[part])

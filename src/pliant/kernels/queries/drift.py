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
from ..bvh.leaf_mesh import EDGE_WELD_0, EDGE_WELD_1, PARTS, VERTEX_WELD
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


class Drift(NamedTuple):
    """Predicted displacements of a surface, metres."""

    x: np.ndarray  # (n,3) of each vertex
    boxes: np.ndarray  # (m,6) least and greatest over the corners of each triangle
    nodes: np.ndarray  # (k,6) the same over the triangles of each BVH node
    spread: np.ndarray  # (k,) upper bound of how much closer two corners below a node can come to each other


@kernel
def update_drift(leaves, nodes, drift):
    """Compute the bounds of the drifts x."""
    corners, x, boxes, around, spread = leaves.corners, drift.x, drift.boxes, drift.nodes, drift.spread
    for q in range(len(corners)):
        i, j, h = corners[q, 0], corners[q, 1], corners[q, 2]
        for k in range(3):
            u, v, w = x[i, k], x[j, k], x[h, k]
            boxes[q, k], boxes[q, k + 3] = min(u, v, w), max(u, v, w)
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        if node.skip == i + 1:
            for k in range(6):
                around[i, k] = boxes[node.first, k]
        else:
            for k in range(3):
                around[i, k], around[i, k + 3] = np.inf, -np.inf
            j = i + 1
            while j < node.skip:
                for k in range(3):
                    around[i, k] = min(around[i, k], around[j, k])
                    around[i, k + 3] = max(around[i, k + 3], around[j, k + 3])
                j = nodes[j].skip
        wide = vec.norm2((around[i, 3] - around[i, 0], around[i, 4] - around[i, 1], around[i, 5] - around[i, 2]))
        spread[i] = math.sqrt(wide) * (1.0 + 1e-9)


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
def still_range(a, drift_a, b, search, first, last, out):
    """As near_range, for pairs that are or come nearer than `reach`, and some more: an upper bound of the displacement
    of their triangles relative to each other is added. b is static.
    """
    same, begin, reach = search.same, search.begin, search.reach
    nodes, boxes, corners, u_a = b.nodes, a.boxes, b.faces, drift_a.boxes
    faces, x_a, i_a = a.faces, drift_a.x, a.corners
    total, count, n = len(nodes), 0, 0
    batches = all_batches()
    meets, closer = batches.meets, batches.closer
    for p in range(first, last):
        if begin[p] >= total:
            continue
        x_0, x_1 = boxes[p, 0] + min(u_a[p, 0], 0.0) - reach, boxes[p, 3] + max(u_a[p, 3], 0.0) + reach
        y_0, y_1 = boxes[p, 1] + min(u_a[p, 1], 0.0) - reach, boxes[p, 4] + max(u_a[p, 4], 0.0) + reach
        z_0, z_1 = boxes[p, 2] + min(u_a[p, 2], 0.0) - reach, boxes[p, 5] + max(u_a[p, 5], 0.0) + reach
        n_0, n_1, n_2, bottom, top = normal_span(load(faces, p, 0), load(faces, p, 3), load(faces, p, 6))
        moves = vec.load(x_a, i_a[p, 0]), vec.load(x_a, i_a[p, 1]), vec.load(x_a, i_a[p, 2])
        low, high = along((n_0, n_1, n_2), moves[0], moves[1], moves[2])
        high, low = top + max(high, 0.0) + reach, bottom + min(low, 0.0) - reach
        length = vec.norm((max(-u_a[p, 0], u_a[p, 3]), max(-u_a[p, 1], u_a[p, 4]), max(-u_a[p, 2], u_a[p, 5])))
        at = np.int64(begin[p])
        while at < total:
            node = nodes[at]
            w = node["bounds"]
            if w[0] > x_1 or w[3] < x_0 or w[1] > y_1 or w[4] < y_0 or w[2] > z_1 or w[5] < z_0:
                at = np.int64(node["skip"])
                continue
            at += 1
            if node["skip"] > at:
                continue
            q = node["first"]
            h_0 = n_0 * corners[q, 0] + n_1 * corners[q, 1] + n_2 * corners[q, 2]
            h_1 = n_0 * corners[q, 3] + n_1 * corners[q, 4] + n_2 * corners[q, 5]
            h_2 = n_0 * corners[q, 6] + n_1 * corners[q, 7] + n_2 * corners[q, 8]
            if min(h_0, h_1, h_2) > high or max(h_0, h_1, h_2) < low:
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
    nodes, boxes, corners, u_a, u_b = b.nodes, a.boxes, b.faces, drift_a.boxes, drift_b.nodes
    faces, x_a, i_a, x_b, i_b = a.faces, drift_a.x, a.corners, drift_b.x, b.corners
    total, count, n = len(nodes), 0, 0
    batches = all_batches()
    meets, closer = batches.meets, batches.closer
    for p in range(first, last):
        if begin[p] >= total:
            continue
        x_0, y_0, z_0 = boxes[p, 0] - reach, boxes[p, 1] - reach, boxes[p, 2] - reach
        x_1, y_1, z_1 = boxes[p, 3] + reach, boxes[p, 4] + reach, boxes[p, 5] + reach
        n_0, n_1, n_2, bottom, top = normal_span(load(faces, p, 0), load(faces, p, 3), load(faces, p, 6))
        normal = (n_0, n_1, n_2)
        moves = vec.load(x_a, i_a[p, 0]), vec.load(x_a, i_a[p, 1]), vec.load(x_a, i_a[p, 2])
        low, high = along(normal, moves[0], moves[1], moves[2])
        at = np.int64(begin[p])
        while at < total:
            w = nodes[at]["bounds"]
            # displacement of b relative to a
            r_0, r_3 = u_b[at, 0] - u_a[p, 3], u_b[at, 3] - u_a[p, 0]
            r_1, r_4 = u_b[at, 1] - u_a[p, 4], u_b[at, 4] - u_a[p, 1]
            r_2, r_5 = u_b[at, 2] - u_a[p, 5], u_b[at, 5] - u_a[p, 2]
            apart = (w[0] + min(r_0, 0.0) > x_1) | (w[3] + max(r_3, 0.0) < x_0)
            apart |= (w[1] + min(r_1, 0.0) > y_1) | (w[4] + max(r_4, 0.0) < y_0)
            apart |= (w[2] + min(r_2, 0.0) > z_1) | (w[5] + max(r_5, 0.0) < z_0)
            if apart:
                at = np.int64(nodes[at]["skip"])
                continue
            at += 1
            if nodes[at - 1]["skip"] > at:
                continue
            q = nodes[at - 1]["first"]
            h_0 = vec.dot(normal, load(corners, q, 0))
            h_1 = vec.dot(normal, load(corners, q, 3))
            h_2 = vec.dot(normal, load(corners, q, 6))
            moves = vec.load(x_b, i_b[q, 0]), vec.load(x_b, i_b[q, 1]), vec.load(x_b, i_b[q, 2])
            least, most = along(normal, moves[0], moves[1], moves[2])
            above = min(h_0, h_1, h_2) - top + min(least - high, 0.0) > reach
            if above or max(h_0, h_1, h_2) - bottom + max(most - low, 0.0) < -reach:
                continue
            meets[n, 0], meets[n, 1] = p, q
            closer[n] = vec.norm((max(-r_0, r_3), max(-r_1, r_4), max(-r_2, r_5)))
            n += 1
            if n == MEETS:
                count = flush_meets(a, b, same, batches, n, reach, out, count)
                n = 0
    return flush_rest(a, b, same, batches, n, reach, out, count)


@kernel(parallel=True)
def drifting_pairs(a, drift_a, b, drift_b, still, search, out, counts):
    """As near_pairs, for pairs that come near; a static b (`still`) takes less time."""
    m = len(search.begin)
    for c in prange(PARTS):
        part = c * STRIDE % PARTS
        first, last = part * m // PARTS, (part + 1) * m // PARTS
        if still:
            counts[part] = still_range(a, drift_a, b, search, first, last, out[part])
        else:
            counts[part] = drifting_range(a, drift_a, b, drift_b, search, first, last, out[part])

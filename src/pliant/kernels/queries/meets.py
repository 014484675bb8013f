"""Pairs of triangles that may come near: their pairs of features, and the distances of these in batches."""

from typing import NamedTuple

import numpy as np

from ..bvh.leaf_mesh import EDGES, FACE, FEATURES, WELDED
from ..jit import kernel
from ..kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from .proximity import BATCH, Batch, edge_distances, face_distances, keep_near, new_batches

MEETS = 256  # pairs of triangles processed together
COLUMN = 0b1001001  # bits of one corner of the second triangle, for all of the first


class Batches(NamedTuple):
    """Batches that a traversal fills before they are processed."""

    meets: np.ndarray  # (MEETS,2) i4 triangles of a and b
    closer: np.ndarray  # (MEETS,) upper bound of how much closer they come to each other, metres
    faces: Batch  # row of the vertex, triangle, kind
    edges: Batch  # edge, edge, kind
    ends: np.ndarray  # (BATCH,4) i4 rows of the ends of both edges
    filled: np.ndarray  # (3,) i8 number of meets, of faces and of edges


@kernel
def all_batches():
    faces, edges = new_batches()
    ends = np.empty((BATCH, 4), np.int32)
    return Batches(np.empty((MEETS, 2), np.int32), np.empty(MEETS), faces, edges, ends, np.zeros(3, np.int64))


@kernel
def store_point(p, k, m, x, i):
    p[k, m], p[k + 1, m], p[k + 2, m] = x[i, 0], x[i, 1], x[i, 2]


@kernel
def flush_faces(a, b, batch, n, within, out, count):
    """Compute the distances of n vertex-face pairs (row, triangle, kind) and append those that are near."""
    pairs, p = batch.pairs, batch.p
    for m in range(n):
        i, q = pairs[m, 0], pairs[m, 1]
        if pairs[m, 2] == VERTEX_TO_FACE:
            store_point(p, 0, m, a.x, i)
            for k in range(3):
                store_point(p, 3 + 3 * k, m, b.x, b.records[q, k])
            pairs[m, 1] = b.records[q, FACE]
        else:
            store_point(p, 0, m, b.x, i)
            for k in range(3):
                store_point(p, 3 + 3 * k, m, a.x, a.records[q, k])
            pairs[m, 1] = a.records[q, FACE]
    face_distances(p, n, within, batch.extra, batch.d_2, batch.decided)
    return keep_near(batch, n, within, VERTEX_TO_FACE, out, count)


@kernel
def flush_edges(a, b, search, batches, n, out, count):
    """Compute the distances of n edge-edge pairs and append those that are near."""
    batch, ends, same, within = batches.edges, batches.ends, search.same, search.reach
    pairs, p = batch.pairs, batch.p
    for m in range(n):
        store_point(p, 0, m, a.x, ends[m, 0])
        store_point(p, 3, m, a.x, ends[m, 1])
        store_point(p, 6, m, b.x, ends[m, 2])
        store_point(p, 9, m, b.x, ends[m, 3])
        e, f = pairs[m, 0], pairs[m, 1]
        # within one mesh the lower edge comes first, whichever was found first
        pairs[m, 0], pairs[m, 1] = (f, e) if same and f < e else (e, f)
    edge_distances(p, n, within, batch.extra, batch.d_2, batch.decided)
    return keep_near(batch, n, within, EDGE_TO_EDGE, out, count)


@kernel
def any_marked(which, records, q):
    return which[records[q, 0]] | which[records[q, 1]] | which[records[q, 2]]


@kernel
def common_corners(one, p, two, q):
    """Bit 3 k + h is set if corner k of triangle p is welded to corner h of triangle q."""
    bits = 0
    for k in range(3):
        for h in range(3):
            bits |= (1 if one[p, WELDED + k] == two[q, WELDED + h] else 0) << (3 * k + h)
    return bits


@kernel
def flush_meets(a, b, search, batches, out, count):
    """Expand pairs of triangles into pairs of features; each full batch is tested, and near pairs are kept."""
    meets, filled, which, same, within = batches.meets, batches.filled, search.which, search.same, search.reach
    faces, edges, extra_f, extra_e = batches.faces.pairs, batches.edges.pairs, batches.faces.extra, batches.edges.extra
    n_f, n_e, every, one, two, ends = filled[1], filled[2], len(which) == 0, a.records, b.records, batches.ends
    for m in range(filled[0]):
        p, q, extra = meets[m, 0], meets[m, 1], batches.closer[m]
        has_p, has_q, common = one[p, FEATURES], two[q, FEATURES], common_corners(one, p, two, q)
        some_p, some_q = every or any_marked(which, one, p), every or (same and any_marked(which, two, q))
        # always written, kept by incrementing: a branch would be mispredicted half of the time
        for v in range(has_p & 3):
            k = has_p >> (4 + 2 * v) & 3
            faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = one[p, k], q, VERTEX_TO_FACE
            extra_f[n_f] = extra
            n_f += (common & (7 << (3 * k)) == 0) & (two[q, FACE] >= 0) & (some_q or which[one[p, k]])
        for v in range(has_q & 3):
            k = has_q >> (4 + 2 * v) & 3
            faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = two[q, k], p, FACE_TO_VERTEX
            extra_f[n_f] = extra
            good = some_p or (same and which[two[q, k]])
            n_f += (common & (COLUMN << k) == 0) & (one[p, FACE] >= 0) & good
        for e in range(has_p >> 2 & 3):
            k = has_p >> (10 + 2 * e) & 3
            h = 0 if k == 2 else k + 1
            i, j = one[p, k], one[p, h]
            at_ends, some = common & (7 << (3 * k) | 7 << (3 * h)), every or which[i] or which[j]
            for f in range(has_q >> 2 & 3):
                k = has_q >> (10 + 2 * f) & 3
                h = 0 if k == 2 else k + 1
                edges[n_e, 0], edges[n_e, 1], edges[n_e, 2] = one[p, EDGES + e], two[q, EDGES + f], EDGE_TO_EDGE
                ends[n_e, 0], ends[n_e, 1], ends[n_e, 2], ends[n_e, 3] = i, j, two[q, k], two[q, h]
                extra_e[n_e] = extra
                good = some or (same and (which[two[q, k]] or which[two[q, h]]))
                n_e += (at_ends & (COLUMN << k | COLUMN << h) == 0) & good
        if n_f > BATCH - 6:
            count = flush_faces(a, b, batches.faces, n_f, within, out, count)
            n_f = 0
        if n_e > BATCH - 9:
            count = flush_edges(a, b, search, batches, n_e, out, count)
            n_e = 0
    filled[0], filled[1], filled[2] = 0, n_f, n_e
    return count


@kernel
def flush_rest(a, b, search, batches, out, count):
    """Process all remaining batches at the end of a traversal."""
    count = flush_meets(a, b, search, batches, out, count)
    count = flush_faces(a, b, batches.faces, batches.filled[1], search.reach, out, count)
    return flush_edges(a, b, search, batches, batches.filled[2], out, count)

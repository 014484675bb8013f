"""All vertex-face and edge-edge pairs within a distance: BVH traversal from every triangle.

Every vertex and every edge is assigned to one of its triangles, so that a pair of features occurs in exactly one pair
of triangles (representative triangles: Curtis, Tamstorf, Manocha 2008) and nothing is found twice.

A traversal only records the features of triangles whose boxes overlap. Their distances are computed in batches of
BATCH pairs, in one vectorised loop over columns; the few pairs within rounding error of the threshold are recomputed
one by one.
"""

from typing import NamedTuple

import numpy as np

from ..bvh.leaf_mesh import EDGE_INDEX, EDGE_WELD_0, EDGE_WELD_1, VERTEX_ROW, VERTEX_WELD
from ..geometry.edge import clamp, edge_edge_distance
from ..geometry.triangle import point_triangle_distance
from ..jit import kernel, prange
from ..kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from ..vec import cross, dot, sub, unit

BUCKETS = 64  # buckets per task of a thread
STRIDE = 37  # consecutive chunks go to different threads: the first triangles of a self-traversal have the most work
TINY = 1e-200  # replaces a zero denominator; such small values are never reliable
# Times the squared lengths L^2 of a pair. An error of 4e-13 in a unit normal (the largest of a face that is not flat)
# changes a distance by 4e-13 L and its square d by 8e-13 L sqrt(d). At the threshold, d = within^2, the margin
# 1e-8 (d + within^2) + 1e-17 L^2 is at least 2 sqrt(2e-8 * 1e-17) L sqrt(d) = 8.9e-13 L sqrt(d).
UNCERTAINTY = 1e-17
BATCH = 256  # pairs per batch
UNTESTED = -1.0  # as `within`: no distance test, all candidates are kept


class LeafSide(NamedTuple):
    """One side of a query: the fields of `LeafArrays`, then those of `LeafGeometry`, because parallel loops take no
    nested tuples. `corners` to `edge` are indices; `nodes` is the BVH; `boxes` to `vertices` are coordinates, metres:
    `faces`, `edges` and `vertices` hold positions, not indices.
    """

    corners: np.ndarray
    welded: np.ndarray
    face: np.ndarray
    vertex_start: np.ndarray
    vertex: np.ndarray
    edge_start: np.ndarray
    edge: np.ndarray
    nodes: np.ndarray
    boxes: np.ndarray
    faces: np.ndarray
    edges: np.ndarray
    vertices: np.ndarray


class BvhSearch(NamedTuple):
    """How the triangles of one side traverse the BVH of the other."""

    same: bool  # whether both sides are one mesh
    # (m,) node where each traversal starts: 0 or, within one mesh, the node after its own leaf or proved patch;
    # len(nodes) for triangles that are not searched
    begin: np.ndarray
    reach: float  # metres: the distance up to which pairs are found, plus a bound of the rounding error


class Batch(NamedTuple):
    """Pairs of features that a traversal collects before their distances are computed."""

    pairs: np.ndarray  # (BATCH,3) i4 feature, feature, kind
    p: np.ndarray  # (12,BATCH) coordinates of their four points
    extra: np.ndarray  # (BATCH,) added to `within` for each pair, metres: 0, or how much closer it can come (drift.py)
    d_2: np.ndarray  # (BATCH,) squared distances
    decided: np.ndarray  # (BATCH,) bool: whether rounding cannot change the decision


@kernel
def edge_distances(p, n, within, extra, d_2, decided):
    """Squared distances of edges a-b and c-d, p (12,BATCH); not `decided` where rounding could change the decision
    whether they are at most `within` + extra[m].
    """
    for m in range(n):
        w_2 = (within + extra[m]) * (within + extra[m])
        u_0, u_1, u_2 = p[3, m] - p[0, m], p[4, m] - p[1, m], p[5, m] - p[2, m]
        v_0, v_1, v_2 = p[9, m] - p[6, m], p[10, m] - p[7, m], p[11, m] - p[8, m]
        r_0, r_1, r_2 = p[0, m] - p[6, m], p[1, m] - p[7, m], p[2, m] - p[8, m]
        a, e, b = (
            u_0 * u_0 + u_1 * u_1 + u_2 * u_2,
            v_0 * v_0 + v_1 * v_1 + v_2 * v_2,
            u_0 * v_0 + u_1 * v_1 + u_2 * v_2,
        )
        c, f = u_0 * r_0 + u_1 * r_1 + u_2 * r_2, v_0 * r_0 + v_1 * r_1 + v_2 * r_2
        k = a * e - b * b
        s = clamp((b * f - c * e) / max(k, TINY))
        t = clamp((b * s + f) / max(e, TINY))
        # s again, because t may have been clamped; otherwise this changes nothing
        s = clamp((b * t - c) / max(a, TINY))
        g_0, g_1, g_2 = r_0 + s * u_0 - t * v_0, r_1 + s * u_1 - t * v_1, r_2 + s * u_2 - t * v_2
        d = g_0 * g_0 + g_1 * g_1 + g_2 * g_2
        size = a + e + r_0 * r_0 + r_1 * r_1 + r_2 * r_2
        d_2[m] = d
        decided[m] = (k > 1e-8 * a * e) & (k > 1e-200) & (abs(d - w_2) > 1e-8 * (d + w_2) + UNCERTAINTY * size)


@kernel
def face_distances(p, n, within, extra, d_2, decided):
    """Squared distances of points v from triangles a b c, p (12,BATCH): the least of three edges and the plane."""
    for m in range(n):
        w_2 = (within + extra[m]) * (within + extra[m])
        r_0, r_1, r_2 = p[0, m] - p[3, m], p[1, m] - p[4, m], p[2, m] - p[5, m]
        e_0, e_1, e_2 = p[6, m] - p[3, m], p[7, m] - p[4, m], p[8, m] - p[5, m]
        f_0, f_1, f_2 = p[9, m] - p[3, m], p[10, m] - p[4, m], p[11, m] - p[5, m]
        ee, ff, ef = (
            e_0 * e_0 + e_1 * e_1 + e_2 * e_2,
            f_0 * f_0 + f_1 * f_1 + f_2 * f_2,
            e_0 * f_0 + e_1 * f_1 + e_2 * f_2,
        )
        re, rf = r_0 * e_0 + r_1 * e_1 + r_2 * e_2, r_0 * f_0 + r_1 * f_1 + r_2 * f_2
        gg = ee + ff - 2.0 * ef
        s, t = clamp(re / max(ee, TINY)), clamp(rf / max(ff, TINY))
        q = clamp((rf - ef - re + ee) / max(gg, TINY))
        x, y, z = r_0 - s * e_0, r_1 - s * e_1, r_2 - s * e_2
        d = x * x + y * y + z * z
        x, y, z = r_0 - t * f_0, r_1 - t * f_1, r_2 - t * f_2
        d = min(d, x * x + y * y + z * z)
        x, y, z = r_0 - e_0 - q * (f_0 - e_0), r_1 - e_1 - q * (f_1 - e_1), r_2 - e_2 - q * (f_2 - e_2)
        d = min(d, x * x + y * y + z * z)
        n_0, n_1, n_2 = e_1 * f_2 - e_2 * f_1, e_2 * f_0 - e_0 * f_2, e_0 * f_1 - e_1 * f_0
        nn = n_0 * n_0 + n_1 * n_1 + n_2 * n_2
        w = n_0 * (e_1 * r_2 - e_2 * r_1) + n_1 * (e_2 * r_0 - e_0 * r_2) + n_2 * (e_0 * r_1 - e_1 * r_0)
        v = n_0 * (r_1 * f_2 - r_2 * f_1) + n_1 * (r_2 * f_0 - r_0 * f_2) + n_2 * (r_0 * f_1 - r_1 * f_0)
        h = n_0 * r_0 + n_1 * r_1 + n_2 * r_2
        over = (v >= 0.0) & (w >= 0.0) & (v + w <= nn)
        d = min(d, h * h / max(nn, TINY) if over else d)
        longest = max(ee, ff, gg)
        size = longest + r_0 * r_0 + r_1 * r_1 + r_2 * r_2
        d_2[m] = d
        flat = (nn <= 1e-6 * longest * longest) | (nn < 1e-200)
        decided[m] = ~flat & (abs(d - w_2) > 1e-8 * (d + w_2) + UNCERTAINTY * size)


@kernel
def new_batches():
    """Two batches, of vertex-face and of edge-edge pairs; they share the workspace for distances."""
    p, d_2, decided = np.empty((12, BATCH)), np.empty(BATCH), np.empty(BATCH, np.bool_)
    faces, edges = np.empty((BATCH, 3), np.int32), np.empty((BATCH, 3), np.int32)
    return Batch(faces, p, np.zeros(BATCH), d_2, decided), Batch(edges, p, np.zeros(BATCH), d_2, decided)


@kernel
def keep_near(batch, n, within, kind, out, count):
    """Append the near ones of the first n pairs to out; its last row is spare; pairs beyond it are only counted."""
    pairs, p, extra, d_2, decided, room = batch.pairs, batch.p, batch.extra, batch.d_2, batch.decided, len(out)
    for m in range(n):
        near = d_2[m] <= (within + extra[m]) * (within + extra[m])
        if not decided[m]:
            a, b, c, d = point(p, 0, m), point(p, 3, m), point(p, 6, m), point(p, 9, m)
            near = (
                edge_edge_distance(a, b, c, d) if kind == EDGE_TO_EDGE else point_triangle_distance(a, b, c, d)
            ) <= within + extra[m]
        # always written, kept by incrementing: a branch would be mispredicted half of the time
        k = min(count, room - 1)
        out[k, 0], out[k, 1], out[k, 2] = pairs[m, 2], pairs[m, 0], pairs[m, 1]
        count += near
    return count


@kernel
def keep_all(pairs, n, out, count):
    """Append the first n `pairs` without a test, by their indices in the leaf meshes; otherwise as `keep_near`."""
    room = len(out)
    for m in range(n):
        k = min(count, room - 1)
        out[k, 0], out[k, 1], out[k, 2] = pairs[m, 2], pairs[m, 0], pairs[m, 1]
        count += 1
    return count


@kernel
def point(p, k, m):
    return (p[k, m], p[k + 1, m], p[k + 2, m])


@kernel
def flush_faces(a, b, batch, n, within, out, count):
    """Compute the distances of n vertex-face pairs (vertex, face, kind) and append those that are near."""
    pairs, p = batch.pairs, batch.p
    if within < 0.0:
        return keep_all(pairs, n, out, count)
    for m in range(n):
        v, q = pairs[m, 0], pairs[m, 1]
        if pairs[m, 2] == VERTEX_TO_FACE:
            for k in range(3):
                p[k, m] = a.vertices[v, k]
            for k in range(9):
                p[3 + k, m] = b.faces[q, k]
            pairs[m, 0], pairs[m, 1] = a.vertex[v, VERTEX_ROW], b.face[q]
        else:
            for k in range(3):
                p[k, m] = b.vertices[v, k]
            for k in range(9):
                p[3 + k, m] = a.faces[q, k]
            pairs[m, 0], pairs[m, 1] = b.vertex[v, VERTEX_ROW], a.face[q]
    face_distances(p, n, within, batch.extra, batch.d_2, batch.decided)
    return keep_near(batch, n, within, VERTEX_TO_FACE, out, count)


@kernel
def flush_edges(a, b, same, batch, n, within, out, count):
    """Compute the distances of n edge-edge pairs and append those that are near."""
    pairs, p = batch.pairs, batch.p
    if within < 0.0:
        return keep_all(pairs, n, out, count)
    for m in range(n):
        e, f = pairs[m, 0], pairs[m, 1]
        for k in range(6):
            p[k, m], p[6 + k, m] = a.edges[e, k], b.edges[f, k]
        e, f = a.edge[e, EDGE_INDEX], b.edge[f, EDGE_INDEX]
        # within one mesh the lower edge comes first, whichever was found first
        pairs[m, 0], pairs[m, 1] = (f, e) if same and f < e else (e, f)
    edge_distances(p, n, within, batch.extra, batch.d_2, batch.decided)
    return keep_near(batch, n, within, EDGE_TO_EDGE, out, count)


@kernel
def load(x, i, k):
    return (x[i, k], x[i, k + 1], x[i, k + 2])


@kernel
def normal_span(a, b, c):
    """Unit normal of a triangle, and the least and greatest n.x of its own corners; all zero if it is degenerate.

    Any unit vector is a valid separating axis as long as both triangles are projected onto it. The normal of a sliver
    or of a triangle without area is rounding noise; its corners then lie far apart along it, so a single plane offset
    for all three would not bound them.
    """
    n = cross(sub(b, a), sub(c, a))
    if max(abs(n[0]), abs(n[1]), abs(n[2])) < 1e-290:  # too few digits are left to normalise it
        return 0.0, 0.0, 0.0, 0.0, 0.0
    n = unit(n)
    r, s, t = dot(n, a), dot(n, b), dot(n, c)
    return n[0], n[1], n[2], min(r, s, t), max(r, s, t)


@kernel
def near_range(a, b, search, within, first, last, out):
    """Find the near feature pairs between triangles first..last-1 of a and all of b; write kind and features to out
    (cap,3) while there is space. Return their number; fewer than cap means that all of them were written. One loop,
    because a call that takes arrays costs more than the whole body.

    `within` = UNTESTED skips the distance test: all recorded pairs are written, by their indices in the leaf meshes,
    for callers with a test of their own.
    """
    nodes, boxes, corners, begin, reach = b.nodes, a.boxes, b.faces, search.begin, search.reach
    total, count, n_f, n_e = len(nodes), 0, 0, 0
    face_batch, edge_batch = new_batches()
    faces, edges = face_batch.pairs, edge_batch.pairs
    for p in range(first, last):
        if begin[p] >= total:
            continue
        x_0, y_0, z_0 = boxes[p, 0] - reach, boxes[p, 1] - reach, boxes[p, 2] - reach
        x_1, y_1, z_1 = boxes[p, 3] + reach, boxes[p, 4] + reach, boxes[p, 5] + reach
        i_0, i_1, i_2 = a.welded[p, 0], a.welded[p, 1], a.welded[p, 2]
        corner = load(a.faces, p, 0), load(a.faces, p, 3), load(a.faces, p, 6)
        n_0, n_1, n_2, low, high = normal_span(corner[0], corner[1], corner[2])
        low, high = low - reach, high + reach
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
            # the normal of a triangle culls more than boxes for cloth resting on a surface
            h_0 = n_0 * corners[q, 0] + n_1 * corners[q, 1] + n_2 * corners[q, 2]
            h_1 = n_0 * corners[q, 3] + n_1 * corners[q, 4] + n_2 * corners[q, 5]
            h_2 = n_0 * corners[q, 6] + n_1 * corners[q, 7] + n_2 * corners[q, 8]
            if min(h_0, h_1, h_2) > high or max(h_0, h_1, h_2) < low:
                continue
            j_0, j_1, j_2 = b.welded[q, 0], b.welded[q, 1], b.welded[q, 2]
            for v in range(a.vertex_start[p], a.vertex_start[p + 1]):
                i = a.vertex[v, VERTEX_WELD]
                faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = v, q, VERTEX_TO_FACE
                n_f += (i != j_0) & (i != j_1) & (i != j_2) & (b.face[q] >= 0)
            for v in range(b.vertex_start[q], b.vertex_start[q + 1]):
                j = b.vertex[v, VERTEX_WELD]
                faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = v, p, FACE_TO_VERTEX
                n_f += (j != i_0) & (j != i_1) & (j != i_2) & (a.face[p] >= 0)
            for e in range(a.edge_start[p], a.edge_start[p + 1]):
                i, j = a.edge[e, EDGE_WELD_0], a.edge[e, EDGE_WELD_1]
                for f in range(b.edge_start[q], b.edge_start[q + 1]):
                    k, h = b.edge[f, EDGE_WELD_0], b.edge[f, EDGE_WELD_1]
                    edges[n_e, 0], edges[n_e, 1], edges[n_e, 2] = e, f, EDGE_TO_EDGE
                    n_e += (i != k) & (i != h) & (j != k) & (j != h)
            if n_f > BATCH - 6:
                count = flush_faces(a, b, face_batch, n_f, within, out, count)
                n_f = 0
            if n_e > BATCH - 9:
                count = flush_edges(a, b, search.same, edge_batch, n_e, within, out, count)
                n_e = 0
    count = flush_faces(a, b, face_batch, n_f, within, out, count)
    return flush_edges(a, b, search.same, edge_batch, n_e, within, out, count)


@kernel(parallel=True)
def near_pairs(a, b, search, within, out, counts):
    """Each chunk of triangles writes to its own rows of `out` (parts,cap,3); counts (parts,) may exceed the space. The
    number of parts is a power of two."""
    m, parts = len(search.begin), len(counts)
    for c in prange(parts):
        part = c * STRIDE % parts
        first, last = part * m // parts, (part + 1) * m // parts
        counts[part] = near_range(a, b, search, within, first, last, out[part])


@kernel
def sort_into_buckets(found, counts, base, start, pairs):
    """Sort pairs (kind, i, j) of found (parts,cap,3) by bucket base[kind] + i: bucket k is pairs[start[k]:start[k+1]].

    start (buckets+2,) is initially zero.
    """
    for part in range(len(found)):
        for m in range(counts[part]):
            start[base[found[part, m, 0]] + found[part, m, 1] + 2] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for part in range(len(found)):
        for m in range(counts[part]):
            k = base[found[part, m, 0]] + found[part, m, 1] + 1
            to = start[k]
            pairs[to, 0], pairs[to, 1] = found[part, m, 1], found[part, m, 2]
            start[k] = to + 1


@kernel
def fill_keys(found, counts, base, keys):
    """Write the keys (k,) by which pairs (kind, i, j) of found (parts,cap,3) are sorted: base[kind] + i, then j."""
    n = 0
    for part in range(len(found)):
        for m in range(counts[part]):
            keys[n] = (base[found[part, m, 0]] + found[part, m, 1]) << 32 | found[part, m, 2]
            n += 1


@kernel
def split_keys(keys, n_a, first_edge, pairs):
    """Write the pairs (k,2) of sorted `keys`; return how many of their buckets are below n_a, and below `first_edge`,
    where those of further vertices, and of edges, begin."""
    one, two = 0, 0
    for k in range(len(keys)):
        bucket = keys[k] >> 32
        one += bucket < n_a
        two += bucket < first_edge
        first = 0 if bucket < n_a else (n_a if bucket < first_edge else first_edge)
        pairs[k, 0], pairs[k, 1] = bucket - first, keys[k] & 0xFFFFFFFF
    return one, two


@kernel(parallel=True)
def sort_buckets(start, pairs):
    """Sort the second features in every bucket; buckets are short, so by insertion."""
    n = len(start) - 2
    for c in prange(-(-n // BUCKETS)):
        for k in range(c * BUCKETS, min(n, (c + 1) * BUCKETS)):
            for m in range(start[k] + 1, start[k + 1]):
                j, to = pairs[m, 1], m
                while to > start[k] and pairs[to - 1, 1] > j:
                    pairs[to, 1] = pairs[to - 1, 1]
                    to -= 1
                pairs[to, 1] = j

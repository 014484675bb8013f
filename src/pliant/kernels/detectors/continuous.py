"""Continuous collision detection: contacts during a motion, by BVH traversal with boxes around whole motions.

The traversal is that of proximity.py: every vertex and every edge is assigned to one of its triangles, so a pair of
features occurs once. Here the boxes contain a feature at the start and at the end, hence throughout. Two triangles with
overlapping boxes are mostly layers that stay separated: if one is beside the other along the normal of the first, at
the start and at the end, so are all their features. Of the others, the features with overlapping boxes are recorded,
and their times of impact are computed in batches of LOT pairs.

One loop serves two queries. The least time of all: the time found so far bounds the search of the next pair, and the
minimum does not depend on the order (see impact.py). All pairs that touch: each with its own time.
"""

import math
from typing import NamedTuple

import numpy as np

from ..bvh.leaf_mesh import PARTS
from ..geometry.edge import largest
from ..geometry.impact import EDGES, FACE, first_touch
from ..geometry.impact_cubic import cubic_impact
from ..geometry.impact_motion import MARGIN, relative_motion
from ..jit import kernel, prange
from ..queries.proximity import STRIDE
from ..vec import cross, dot, sub

BATCH = 512  # pairs per batch
LEAST, ALL, ALL_BY_CUBIC = 0, 1, 2  # kinds of queries
THERE, ACROSS, BACK = 0, 1, 2  # vertex of a and face of b; two edges; vertex of b and face of a


class Swath(NamedTuple):
    """Volume swept by a leaf mesh: positions at the start, followed by those at the end."""

    nodes: np.ndarray  # BVH of boxes with one triangle per leaf
    boxes: np.ndarray  # (m,6) around the motions of the triangles: low, high
    faces: np.ndarray  # (m,18) corners, side by side; all in leaf order
    edges: np.ndarray  # (k,12) ends
    edge_boxes: np.ndarray  # (k,6)
    vertices: np.ndarray  # (n,6)
    vertex_boxes: np.ndarray  # (n,6)


@kernel(parallel=True)
def settle_motion(skin, x_0, x_1, swath):
    """Update corners, ends and boxes of a leaf mesh that moves from x_0 to x_1; the BVH is refitted afterwards."""
    corners, edge, vertex = skin.corners, skin.edge, skin.vertex
    _, boxes, faces, edges, edge_boxes, vertices, vertex_boxes = swath
    for c in prange(PARTS):
        for q in range(c * len(corners) // PARTS, (c + 1) * len(corners) // PARTS):
            i, j, h = corners[q, 0], corners[q, 1], corners[q, 2]
            for k in range(3):
                r, s, t, u, v, w = x_0[i, k], x_0[j, k], x_0[h, k], x_1[i, k], x_1[j, k], x_1[h, k]
                faces[q, k], faces[q, 3 + k], faces[q, 6 + k] = r, s, t
                faces[q, 9 + k], faces[q, 12 + k], faces[q, 15 + k] = u, v, w
                boxes[q, k], boxes[q, k + 3] = min(r, s, t, u, v, w), max(r, s, t, u, v, w)
        for e in range(c * len(edge) // PARTS, (c + 1) * len(edge) // PARTS):
            for k in range(3):
                r, s, u, v = x_0[edge[e, 1], k], x_0[edge[e, 2], k], x_1[edge[e, 1], k], x_1[edge[e, 2], k]
                edges[e, k], edges[e, 3 + k], edges[e, 6 + k], edges[e, 9 + k] = r, s, u, v
                edge_boxes[e, k], edge_boxes[e, 3 + k] = min(r, s, u, v), max(r, s, u, v)
        for v in range(c * len(vertex) // PARTS, (c + 1) * len(vertex) // PARTS):
            for k in range(3):
                r, u = x_0[vertex[v, 0], k], x_1[vertex[v, 0], k]
                vertices[v, k], vertices[v, 3 + k] = r, u
                vertex_boxes[v, k], vertex_boxes[v, 3 + k] = min(r, u), max(r, u)


@kernel
def touch(start, end, face, ask, until, tolerance):
    """Time of contact of one pair, or inf."""
    if ask == ALL_BY_CUBIC:
        hit, t = cubic_impact(relative_motion(start, end, face), face, tolerance)
        return t if hit else math.inf
    return first_touch(start, end, face, until, tolerance)


@kernel
def point(x, i, k):
    return (x[i, k], x[i, k + 1], x[i, k + 2])


@kernel
def keep(kind, i, j, t, out, times, count):
    """Append a pair that touches while there is space; count it in any case."""
    if count < len(out):
        out[count, 0], out[count, 1], out[count, 2] = kind, i, j
        times[count] = t
    return count + 1


@kernel
def ask_faces(kind, points, faces, pairs, n, ask, tolerance, out, times, count, until):
    """Return (count, least time) after n pairs of a row of `points` (n,6) and one of `faces` (m,18), by index."""
    (names, points), (face_names, faces) = points, faces
    for m in range(n):
        v, q = pairs[m, 0], pairs[m, 1]
        start = point(points, v, 0), point(faces, q, 0), point(faces, q, 3), point(faces, q, 6)
        end = point(points, v, 3), point(faces, q, 9), point(faces, q, 12), point(faces, q, 15)
        t = touch(start, end, FACE, ask, math.inf if ask else until, tolerance)
        if t <= 1.0:
            until = min(until, t)
            count = keep(kind, names[v, 0], face_names[q], t, out, times, count)
    return count, until


@kernel
def ask_edges(one, two, same, pairs, n, ask, tolerance, out, times, count, until):
    """Return (count, least time) after n pairs of rows of edges (k,12), with their indices."""
    (names_a, edges_a), (names_b, edges_b) = one, two
    for m in range(n):
        e, f = pairs[m, 0], pairs[m, 1]
        # within one mesh the lower edge comes first, whichever was found first
        if same and names_b[f, 0] < names_a[e, 0]:
            e, f = f, e
        start = point(edges_a, e, 0), point(edges_a, e, 3), point(edges_b, f, 0), point(edges_b, f, 3)
        end = point(edges_a, e, 6), point(edges_a, e, 9), point(edges_b, f, 6), point(edges_b, f, 9)
        t = touch(start, end, EDGES, ask, math.inf if ask else until, tolerance)
        if t <= 1.0:
            until = min(until, t)
            count = keep(ACROSS, names_a[e, 0], names_b[f, 0], t, out, times, count)
    return count, until


@kernel
def ask_all(a, at_a, b, at_b, same, batches, sizes, ask, tolerance, out, times, count, until):
    """Return (count, least time) after the pairs in `lots` (3,LOT,2), `sizes` of each kind."""
    points, faces = (a.vertex, at_a.vertices), (b.face, at_b.faces)
    count, until = ask_faces(THERE, points, faces, batches[0], sizes[0], ask, tolerance, out, times, count, until)
    points, faces = (b.vertex, at_b.vertices), (a.face, at_a.faces)
    count, until = ask_faces(BACK, points, faces, batches[2], sizes[2], ask, tolerance, out, times, count, until)
    one, two = (a.edge, at_a.edges), (b.edge, at_b.edges)
    return ask_edges(one, two, same, batches[1], sizes[1], ask, tolerance, out, times, count, until)


@kernel
def box(x, i):
    return (x[i, 0], x[i, 1], x[i, 2], x[i, 3], x[i, 4], x[i, 5])


@kernel
def grown(w, k):
    return (w[0] - k, w[1] - k, w[2] - k, w[3] + k, w[4] + k, w[5] + k)


@kernel
def meet(u, w):
    """Whether two boxes overlap; without branches, which would be mispredicted half of the time."""
    x, y, z = (u[0] <= w[3]) & (w[0] <= u[3]), (u[1] <= w[4]) & (w[1] <= u[4]), (u[2] <= w[5]) & (w[2] <= u[5])
    return x & y & z


@kernel
def corners(faces, q):
    """Corners of triangle q, at the start and at the end."""
    a_0, b_0, c_0 = point(faces, q, 0), point(faces, q, 3), point(faces, q, 6)
    return a_0, b_0, c_0, point(faces, q, 9), point(faces, q, 12), point(faces, q, 15)


@kernel
def span(n, o_0, o_1, x):
    """Least and greatest n.(x - o) of the corners x of a triangle, at the start and at the end."""
    r, s, t = dot(n, sub(x[0], o_0)), dot(n, sub(x[1], o_0)), dot(n, sub(x[2], o_0))
    u, v, w = dot(n, sub(x[3], o_1)), dot(n, sub(x[4], o_1)), dot(n, sub(x[5], o_1))
    return min(r, s, t), max(r, s, t), min(u, v, w), max(u, v, w)


@kernel
def beside(x, y, k):
    """Whether spans are separated by k, in the same order at both ends of the motion, hence throughout."""
    above, below = y[0] > x[1] + k and y[2] > x[3] + k, y[1] < x[0] - k and y[3] < x[2] - k
    return above or below


@kernel
def extent(w):
    return max(w[3] - w[0], w[4] - w[1], w[5] - w[2])


@kernel
def sweep_range(a, at_a, b, at_b, same, begin, slack, ask, tolerance, first, last, out, times):
    """Return (count, least time) of triangles first..last-1 of a with those of b. Pairs that touch are written to out
    (cap,3) and times (cap,) while there is space; with LEAST only those that were the least when found. One loop,
    because a call that takes arrays costs more than the whole body.

    begin (m,) is the node of b where each triangle's traversal starts; slack bounds the rounding of positions.
    """
    nodes, total, count, until = at_b.nodes, len(at_b.nodes), 0, math.inf
    batches, n_t, n_e, n_b = np.empty((3, BATCH, 2), np.int32), 0, 0, 0
    there, edges, back = batches[THERE], batches[ACROSS], batches[BACK]
    # more than the distance at which impact.py reports a contact, so that both agree on all features
    sure = 2.0 * tolerance + 16.0 * MARGIN
    for p in range(first, last):
        own, x = grown(box(at_a.boxes, p), slack), corners(at_a.faces, p)
        n = cross(sub(x[4], x[3]), sub(x[5], x[3]))
        own_span, own_extent, wide = span(n, x[0], x[3], x), extent(own), largest(n)
        i_0, i_1, i_2 = a.welded[p, 0], a.welded[p, 1], a.welded[p, 2]
        at = np.int64(begin[p])
        while at < total:
            node = nodes[at]
            w = node["bounds"]
            if w[0] > own[3] or w[3] < own[0] or w[1] > own[4] or w[4] < own[1] or w[2] > own[5] or w[5] < own[2]:
                at = np.int64(node["skip"])
                continue
            at += 1
            if node["skip"] > at:
                continue
            q, other = node["first"], grown((w[0], w[1], w[2], w[3], w[4], w[5]), slack)
            gap = wide * (sure * (own_extent + extent(other)) + slack) + 1e-300
            if beside(own_span, span(n, x[0], x[3], corners(at_b.faces, q)), gap):
                continue
            j_0, j_1, j_2 = b.welded[q, 0], b.welded[q, 1], b.welded[q, 2]
            for v in range(a.vertex_start[p], a.vertex_start[p + 1]):
                i, there[n_t, 0], there[n_t, 1] = a.vertex[v, 1], v, q
                near = meet(box(at_a.vertex_boxes, v), other) & (b.face[q] >= 0)
                n_t += near & (i != j_0) & (i != j_1) & (i != j_2)
            for v in range(b.vertex_start[q], b.vertex_start[q + 1]):
                j, back[n_b, 0], back[n_b, 1] = b.vertex[v, 1], v, p
                near = meet(box(at_b.vertex_boxes, v), own) & (a.face[p] >= 0)
                n_b += near & (j != i_0) & (j != i_1) & (j != i_2)
            for e in range(a.edge_start[p], a.edge_start[p + 1]):
                i, j, edge_box = a.edge[e, 3], a.edge[e, 4], grown(box(at_a.edge_boxes, e), slack)
                for f in range(b.edge_start[q], b.edge_start[q + 1]):
                    k, h, edges[n_e, 0], edges[n_e, 1] = b.edge[f, 3], b.edge[f, 4], e, f
                    n_e += meet(box(at_b.edge_boxes, f), edge_box) & (i != k) & (i != h) & (j != k) & (j != h)
            if max(n_t, n_e, n_b) > BATCH - 9:
                sizes = (n_t, n_e, n_b)
                count, until = ask_all(a, at_a, b, at_b, same, batches, sizes, ask, tolerance, out, times, count, until)
                n_t, n_e, n_b = 0, 0, 0
    return ask_all(a, at_a, b, at_b, same, batches, (n_t, n_e, n_b), ask, tolerance, out, times, count, until)


@kernel(parallel=True)
def sweep(a, at_a, b, at_b, same, begin, slack, ask, tolerance, out, times, counts, least):
    """Each chunk of triangles writes to its own rows of `out` (PARTS,cap,3) and `times`; counts (PARTS,) may exceed the
    space. least (PARTS,): the least time of each chunk, inf if nothing touches.
    """
    m = len(begin)
    for c in prange(PARTS):
        part = c * STRIDE % PARTS
        first, last = part * m // PARTS, (part + 1) * m // PARTS
        counts[part], least[part] = sweep_range(
            a, at_a, b, at_b, same, begin, slack, ask, tolerance, first, last, out[part], times[part]
        )

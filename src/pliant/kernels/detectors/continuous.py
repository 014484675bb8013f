"""Continuous collision detection: contacts during a motion, by BVH traversal with boxes around whole motions.

The traversal is that of proximity.py: every vertex and every edge is assigned to one of its triangles, so a pair of
features occurs once. Here the boxes contain a feature at the start and at the end, hence throughout. Two triangles with
overlapping boxes are mostly layers that stay separated: if the normal of one separates them at the start and at the
end, it separates all their features. Of the other pairs, the features with overlapping boxes are recorded, and their
times of impact are computed in batches of BATCH pairs.

One loop serves two queries. For the least time of all pairs, the time found so far bounds the search of the next pair,
and the minimum does not depend on the order (see impact.py). The other query returns all pairs that touch, each with
its own time.
"""

import math
from typing import NamedTuple

import numpy as np

from ..bvh.leaf_mesh import (
    EDGE_INDEX,
    EDGE_ROW_0,
    EDGE_ROW_1,
    EDGE_WELD_0,
    EDGE_WELD_1,
    PARTS,
    VERTEX_ROW,
    VERTEX_WELD,
    LeafArrays,
)
from ..geometry.impact import EDGES, FACE, first_touch
from ..geometry.impact_cubic import cubic_impact
from ..geometry.impact_motion import MARGIN, relative_motion
from ..geometry.rounding import largest
from ..jit import kernel, prange
from ..kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from ..queries.proximity import STRIDE
from ..vec import cross, dot, sub

BATCH = 512  # pairs per batch
LEAST, ALL, ALL_BY_CUBIC = 0, 1, 2  # kinds of queries


class SweptGeometry(NamedTuple):
    """Volume swept by a leaf mesh: positions at the start, followed by those at the end."""

    nodes: np.ndarray  # BVH of boxes with one triangle per leaf
    boxes: np.ndarray  # (m,6) around the motions of the triangles: low, high
    faces: np.ndarray  # (m,18) corners, side by side; all in leaf order
    edges: np.ndarray  # (k,12) ends
    edge_boxes: np.ndarray  # (k,6)
    vertices: np.ndarray  # (n,6)
    vertex_boxes: np.ndarray  # (n,6)
    # (nodes,12) box at the start, and box of the velocities, of the triangles below each node; no rows if not used
    node_motion: np.ndarray


class MovingSide(NamedTuple):
    """One side of a query."""

    leaves: LeafArrays
    swept: SweptGeometry


class ImpactQuery(NamedTuple):
    same: bool  # whether both sides are one mesh
    mode: int  # LEAST, ALL or ALL_BY_CUBIC
    tolerance: float  # distance that counts as contact, relative to the largest edge of a pair
    slack: float  # bound of the rounding error of positions, metres
    velocity_cones: bool  # whether nodes that do not approach a triangle are skipped by `SweptGeometry.node_motion`


class Batch(NamedTuple):
    """Candidates whose times of impact are computed together."""

    pairs: np.ndarray  # (BATCH,2) i4 features
    size: int  # number of pairs


class HitBuffer(NamedTuple):
    """Pairs that touch, with their times; a full buffer takes no more."""

    pairs: np.ndarray  # (cap,3) i4 kind (see kinds.py) and the two features
    times: np.ndarray  # (cap,)


@kernel(parallel=True)
def update_motion(leaves, x_0, x_1, swept):
    """Update corners, ends and boxes of a leaf mesh that moves from x_0 to x_1; the BVH is refitted afterwards."""
    corners, edge, vertex = leaves.corners, leaves.edge, leaves.vertex
    boxes, faces, edges, vertices = swept.boxes, swept.faces, swept.edges, swept.vertices
    edge_boxes, vertex_boxes = swept.edge_boxes, swept.vertex_boxes
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
                i, j = edge[e, EDGE_ROW_0], edge[e, EDGE_ROW_1]
                r, s, u, v = x_0[i, k], x_0[j, k], x_1[i, k], x_1[j, k]
                edges[e, k], edges[e, 3 + k], edges[e, 6 + k], edges[e, 9 + k] = r, s, u, v
                edge_boxes[e, k], edge_boxes[e, 3 + k] = min(r, s, u, v), max(r, s, u, v)
        for v in range(c * len(vertex) // PARTS, (c + 1) * len(vertex) // PARTS):
            for k in range(3):
                r, u = x_0[vertex[v, VERTEX_ROW], k], x_1[vertex[v, VERTEX_ROW], k]
                vertices[v, k], vertices[v, 3 + k] = r, u
                vertex_boxes[v, k], vertex_boxes[v, 3 + k] = min(r, u), max(r, u)


@kernel
def touch(start, end, face, query, until):
    """Time of contact of one pair, or inf; with ALL it does not depend on `until`."""
    if query.mode == ALL_BY_CUBIC:
        hit, t = cubic_impact(relative_motion(start, end, face), face, query.tolerance)
        return t if hit else math.inf
    before = math.inf if query.mode == ALL else until
    return first_touch(start, end, face, before, query.tolerance)


@kernel
def point(x, i, k):
    return (x[i, k], x[i, k + 1], x[i, k + 2])


@kernel
def keep(kind, i, j, t, hits, count):
    """Append a pair that touches while there is space; count it in any case."""
    pairs, times = hits
    if count < len(pairs):
        pairs[count, 0], pairs[count, 1], pairs[count, 2] = kind, i, j
        times[count] = t
    return count + 1


@kernel
def face_impacts(kind, points, faces, query, batch, hits, count, until):
    """Return (count, least time) after pairs of rows of `points` (n,6) and `faces` (m,18), with their indices."""
    (names, points), (face_names, faces), pairs = points, faces, batch.pairs
    for m in range(batch.size):
        v, q = pairs[m, 0], pairs[m, 1]
        start = point(points, v, 0), point(faces, q, 0), point(faces, q, 3), point(faces, q, 6)
        end = point(points, v, 3), point(faces, q, 9), point(faces, q, 12), point(faces, q, 15)
        t = touch(start, end, FACE, query, until)
        if t <= 1.0:
            until = min(until, t)
            count = keep(kind, names[v, VERTEX_ROW], face_names[q], t, hits, count)
    return count, until


@kernel
def edge_impacts(one, two, query, batch, hits, count, until):
    """Return (count, least time) after pairs of rows of edges (k,12), with their indices."""
    (names_a, edges_a), (names_b, edges_b), pairs = one, two, batch.pairs
    for m in range(batch.size):
        e, f = pairs[m, 0], pairs[m, 1]
        # within one mesh the lower edge comes first, whichever was found first
        if query.same and names_b[f, EDGE_INDEX] < names_a[e, EDGE_INDEX]:
            e, f = f, e
        start = point(edges_a, e, 0), point(edges_a, e, 3), point(edges_b, f, 0), point(edges_b, f, 3)
        end = point(edges_a, e, 6), point(edges_a, e, 9), point(edges_b, f, 6), point(edges_b, f, 9)
        t = touch(start, end, EDGES, query, until)
        if t <= 1.0:
            until = min(until, t)
            count = keep(EDGE_TO_EDGE, names_a[e, EDGE_INDEX], names_b[f, EDGE_INDEX], t, hits, count)
    return count, until


@kernel
def batch_impacts(one, two, query, batches, sizes, hits, count, until):
    """Return (count, least time) after the pairs in `batches` (3,BATCH,2), `sizes` of each kind."""
    (a, at_a), (b, at_b) = one, two
    there, across, back = Batch(batches[0], sizes[0]), Batch(batches[1], sizes[1]), Batch(batches[2], sizes[2])
    points, faces = (a.vertex, at_a.vertices), (b.face, at_b.faces)
    count, until = face_impacts(VERTEX_TO_FACE, points, faces, query, there, hits, count, until)
    points, faces = (b.vertex, at_b.vertices), (a.face, at_a.faces)
    count, until = face_impacts(FACE_TO_VERTEX, points, faces, query, back, hits, count, until)
    return edge_impacts((a.edge, at_a.edges), (b.edge, at_b.edges), query, across, hits, count, until)


@kernel
def box(x, i):
    return (x[i, 0], x[i, 1], x[i, 2], x[i, 3], x[i, 4], x[i, 5])


@kernel
def grown(w, k):
    return (w[0] - k, w[1] - k, w[2] - k, w[3] + k, w[4] + k, w[5] + k)


@kernel
def overlap(u, w):
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
def lower(a, b, c):
    return (min(a[0], b[0], c[0]), min(a[1], b[1], c[1]), min(a[2], b[2], c[2]))


@kernel
def upper(a, b, c):
    return (max(a[0], b[0], c[0]), max(a[1], b[1], c[1]), max(a[2], b[2], c[2]))


@kernel
def motion_of(x):
    """Box at the start, low and high, and box of the velocities of a triangle with `corners` x; metres, and metres per
    step."""
    a, b, c = x[0], x[1], x[2]
    u, v, w = sub(x[3], a), sub(x[4], b), sub(x[5], c)
    low, high, slowest, fastest = lower(a, b, c), upper(a, b, c), lower(u, v, w), upper(u, v, w)
    return (
        low[0], low[1], low[2], high[0], high[1], high[2],
        slowest[0], slowest[1], slowest[2], fastest[0], fastest[1], fastest[2],
    )  # fmt: skip


@kernel
def stay_apart(u, motion, i, gap):
    """Whether the triangle with motion `u` stays farther than `gap` from all below node i along a coordinate axis: it
    is at the start, and still would be at the end of the least favourable velocities."""
    for k in range(3):
        above, below = u[k] - motion[i, 3 + k], motion[i, k] - u[3 + k]
        if above > gap and above + (u[6 + k] - motion[i, 9 + k]) > gap:
            return True
        if below > gap and below + (motion[i, 6 + k] - u[9 + k]) > gap:
            return True
    return False


@kernel
def fit_node_motion(nodes, faces, motion):
    """Fill `motion` (nodes,12) of a BVH with one triangle per leaf, from the corners `faces` (m,18); see
    `SweptGeometry`."""
    for i in range(len(nodes) - 1, -1, -1):
        end = nodes[i]["skip"]
        if end == i + 1:
            own = motion_of(corners(faces, nodes[i]["first"]))
            for k in range(12):
                motion[i, k] = own[k]
            continue
        for k in range(12):
            motion[i, k] = motion[i + 1, k]
        child = nodes[i + 1]["skip"]
        while child < end:
            for k in range(3):
                motion[i, k] = min(motion[i, k], motion[child, k])
                motion[i, 3 + k] = max(motion[i, 3 + k], motion[child, 3 + k])
                motion[i, 6 + k] = min(motion[i, 6 + k], motion[child, 6 + k])
                motion[i, 9 + k] = max(motion[i, 9 + k], motion[child, 9 + k])
            child = nodes[child]["skip"]


@kernel
def gap_of(tolerance):
    """More than the distance, relative to the sizes of a pair, at which impact.py reports a contact, so that the tests
    of whole triangles agree with those of all features."""
    return 2.0 * tolerance + 16.0 * MARGIN


@kernel
def sweep_range(one, two, query, begin, first, last, hits):
    """Return (count, least time, tested pairs of triangles) of triangles first..last-1 of one side with those of the
    other. Pairs that touch are written to `hits` while there is space; with LEAST only those that were the least when
    found. One loop, because a call that takes arrays costs more than the whole body.

    begin (m,) is the node of the second side where each triangle's traversal starts.
    """
    (a, at_a), (b, at_b), slack = one, two, query.slack
    nodes, total, count, until, tested = at_b.nodes, len(at_b.nodes), 0, math.inf, 0
    cones, motion = query.velocity_cones, at_b.node_motion
    batches, n_t, n_e, n_b = np.empty((3, BATCH, 2), np.int32), 0, 0, 0
    there, edges, back = batches[VERTEX_TO_FACE], batches[EDGE_TO_EDGE], batches[FACE_TO_VERTEX]
    least_gap = gap_of(query.tolerance)
    for p in range(first, last):
        own, x = grown(box(at_a.boxes, p), slack), corners(at_a.faces, p)
        n = cross(sub(x[4], x[3]), sub(x[5], x[3]))
        own_span, own_extent, wide, own_motion = span(n, x[0], x[3], x), extent(own), largest(n), motion_of(x)
        i_0, i_1, i_2 = a.welded[p, 0], a.welded[p, 1], a.welded[p, 2]
        at = np.int64(begin[p])
        while at < total:
            node = nodes[at]
            w = node["bounds"]
            if w[0] > own[3] or w[3] < own[0] or w[1] > own[4] or w[4] < own[1] or w[2] > own[5] or w[5] < own[2]:
                at = np.int64(node["skip"])
                continue
            if cones and stay_apart(own_motion, motion, at, least_gap * (own_extent + extent(w)) + 4.0 * slack):
                at = np.int64(node["skip"])
                continue
            at += 1
            if node["skip"] > at:
                continue
            tested += 1
            q, other = node["first"], grown((w[0], w[1], w[2], w[3], w[4], w[5]), slack)
            gap = wide * (least_gap * (own_extent + extent(other)) + slack) + 1e-300
            if beside(own_span, span(n, x[0], x[3], corners(at_b.faces, q)), gap):
                continue
            j_0, j_1, j_2 = b.welded[q, 0], b.welded[q, 1], b.welded[q, 2]
            for v in range(a.vertex_start[p], a.vertex_start[p + 1]):
                i, there[n_t, 0], there[n_t, 1] = a.vertex[v, VERTEX_WELD], v, q
                near = overlap(box(at_a.vertex_boxes, v), other) & (b.face[q] >= 0)
                n_t += near & (i != j_0) & (i != j_1) & (i != j_2)
            for v in range(b.vertex_start[q], b.vertex_start[q + 1]):
                j, back[n_b, 0], back[n_b, 1] = b.vertex[v, VERTEX_WELD], v, p
                near = overlap(box(at_b.vertex_boxes, v), own) & (a.face[p] >= 0)
                n_b += near & (j != i_0) & (j != i_1) & (j != i_2)
            for e in range(a.edge_start[p], a.edge_start[p + 1]):
                i, j = a.edge[e, EDGE_WELD_0], a.edge[e, EDGE_WELD_1]
                edge_box = grown(box(at_a.edge_boxes, e), slack)
                for f in range(b.edge_start[q], b.edge_start[q + 1]):
                    k, h = b.edge[f, EDGE_WELD_0], b.edge[f, EDGE_WELD_1]
                    edges[n_e, 0], edges[n_e, 1] = e, f
                    n_e += overlap(box(at_b.edge_boxes, f), edge_box) & (i != k) & (i != h) & (j != k) & (j != h)
            if max(n_t, n_e, n_b) > BATCH - 9:
                count, until = batch_impacts(one, two, query, batches, (n_t, n_e, n_b), hits, count, until)
                n_t, n_e, n_b = 0, 0, 0
    count, until = batch_impacts(one, two, query, batches, (n_t, n_e, n_b), hits, count, until)
    return count, until, tested


@kernel(parallel=True)
def sweep(one, two, query, begin, hits, counts, least, tested):
    """Each chunk of triangles writes to its own rows of `hits` (parts,cap,3) and (parts,cap); counts (parts,) may
    exceed the space. least (parts,): the least time of each chunk, inf if nothing touches; tested (parts,): the pairs
    of triangles it reached. The number of parts is a power of two.
    """
    a = LeafArrays(*one.leaves)  # a parallel loop takes no tuples within tuples
    at_a = SweptGeometry(*one.swept)
    b = LeafArrays(*two.leaves)
    at_b = SweptGeometry(*two.swept)
    m, parts = len(begin), len(counts)
    for c in prange(parts):
        part = c * STRIDE % parts
        first, last = part * m // parts, (part + 1) * m // parts
        own = HitBuffer(hits.pairs[part], hits.times[part])
        counts[part], least[part], tested[part] = sweep_range(
            MovingSide(a, at_a), MovingSide(b, at_b), query, begin, first, last, own
        )

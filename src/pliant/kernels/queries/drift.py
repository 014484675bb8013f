"""Broad and narrow phase for pairs of features that come near under their predicted motion.

Every vertex is predicted to move along a straight line by its drift. Only the motion of two features *relative to each
other* matters: falling or sliding cloth keeps its distance from its neighbours. Along a direction n, the gap of two
features is at all times at least the lesser of its values at the start and at the end, because the least n.x of the one
minus the greatest of the other is concave in time. The directions tested are the axes, the normal of a triangle (of any
triangle: both are measured along it), and that between nearest points.

Two BVHs are traversed together, from pairs of nodes to pairs of leaves and of triangles. Which pairs are found does not
depend on the nodes: their boxes contain those of their triangles, so they are separated only if all of these are.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..bvh.leaf_mesh import EDGE_INDEX, EDGE_ROW_0, EDGE_ROW_1, EDGE_WELD_0, EDGE_WELD_1, VERTEX_ROW, VERTEX_WELD
from ..bvh.motion import COUNT, END, FIRST, SKIP
from ..bvh.volumes import lower, upper
from ..jit import kernel, prange
from ..kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from .proximity import BATCH, Batch, edge_distances, face_distances, keep_near, new_batches, normal_span

MEETS = 256  # pairs of triangles processed together
SPLIT = 64  # pairs of nodes with more than 1/SPLIT of all triangles become several tasks


class MovingSide(NamedTuple):
    """One side of a query: fields of `LeafArrays` and of `MotionBvh`; parallel loops take no nested tuples."""

    welded: np.ndarray
    face: np.ndarray
    vertex_start: np.ndarray
    vertex: np.ndarray
    edge_start: np.ndarray
    edge: np.ndarray
    x: np.ndarray
    drift: np.ndarray
    corners: np.ndarray
    boxes: np.ndarray
    nodes: np.ndarray
    bounds: np.ndarray


class MotionSearch(NamedTuple):
    """How the BVHs of two moving sides are searched."""

    same: bool  # whether both sides are one mesh
    still: bool  # whether the second side does not move
    reach: float  # metres: the distance up to which pairs are found, plus a bound of the rounding error
    # (m,) i4 within one mesh: the node of its BVH after the proved patch of each triangle, or after its own leaf
    begin: np.ndarray
    which: np.ndarray  # empty, or (n,): vertices of the first side of which every pair has at least one
    before: np.ndarray  # empty, or (m+1,) i4: how many of its triangles 0..p-1 have such a vertex
    stack: int  # pairs of nodes that a traversal may have to store


class Batches(NamedTuple):
    """Batches that a traversal fills before they are processed."""

    meets: np.ndarray  # (MEETS,2) i4 triangles of a and b
    closer: np.ndarray  # (MEETS,) upper bound of how much closer they come to each other, metres
    faces: Batch  # vertex, face, kind
    edges: Batch  # edge, edge, kind
    filled: np.ndarray  # (3,) i8 number of meets, of faces and of edges


@kernel
def all_batches():
    faces, edges = new_batches()
    return Batches(np.empty((MEETS, 2), np.int32), np.empty(MEETS), faces, edges, np.zeros(3, np.int64))


@kernel
def store_point(p, k, m, x, i):
    p[k, m], p[k + 1, m], p[k + 2, m] = x[i, 0], x[i, 1], x[i, 2]


@kernel
def flush_faces(a, b, batch, n, within, out, count):
    """Compute the distances of n vertex-face pairs (vertex, face, kind) and append those that are near."""
    pairs, p = batch.pairs, batch.p
    for m in range(n):
        v, q = pairs[m, 0], pairs[m, 1]
        if pairs[m, 2] == VERTEX_TO_FACE:
            i = a.vertex[v, VERTEX_ROW]
            store_point(p, 0, m, a.x, i)
            for k in range(3):
                store_point(p, 3 + 3 * k, m, b.x, b.corners[q, k])
            pairs[m, 0], pairs[m, 1] = i, b.face[q]
        else:
            i = b.vertex[v, VERTEX_ROW]
            store_point(p, 0, m, b.x, i)
            for k in range(3):
                store_point(p, 3 + 3 * k, m, a.x, a.corners[q, k])
            pairs[m, 0], pairs[m, 1] = i, a.face[q]
    face_distances(p, n, within, batch.extra, batch.d_2, batch.decided)
    return keep_near(batch, n, within, VERTEX_TO_FACE, out, count)


@kernel
def flush_edges(a, b, same, batch, n, within, out, count):
    """Compute the distances of n edge-edge pairs and append those that are near."""
    pairs, p = batch.pairs, batch.p
    for m in range(n):
        e, f = pairs[m, 0], pairs[m, 1]
        store_point(p, 0, m, a.x, a.edge[e, EDGE_ROW_0])
        store_point(p, 3, m, a.x, a.edge[e, EDGE_ROW_1])
        store_point(p, 6, m, b.x, b.edge[f, EDGE_ROW_0])
        store_point(p, 9, m, b.x, b.edge[f, EDGE_ROW_1])
        e, f = a.edge[e, EDGE_INDEX], b.edge[f, EDGE_INDEX]
        # within one mesh the lower edge comes first, whichever was found first
        pairs[m, 0], pairs[m, 1] = (f, e) if same and f < e else (e, f)
    edge_distances(p, n, within, batch.extra, batch.d_2, batch.decided)
    return keep_near(batch, n, within, EDGE_TO_EDGE, out, count)


@kernel
def any_marked(which, corners, q):
    return which[corners[q, 0]] | which[corners[q, 1]] | which[corners[q, 2]]


@kernel
def flush_meets(a, b, search, batches, out, count):
    """Expand pairs of triangles into pairs of features; each full batch is tested, and near pairs are kept."""
    meets, filled, which, same, within = batches.meets, batches.filled, search.which, search.same, search.reach
    faces, edges, extra_f, extra_e = batches.faces.pairs, batches.edges.pairs, batches.faces.extra, batches.edges.extra
    n_f, n_e, every = filled[1], filled[2], len(which) == 0
    # the same expansion as in `proximity.near_range`, written out because it is the innermost loop of both
    for m in range(filled[0]):
        p, q, extra = meets[m, 0], meets[m, 1], batches.closer[m]
        i_0, i_1, i_2 = a.welded[p, 0], a.welded[p, 1], a.welded[p, 2]
        j_0, j_1, j_2 = b.welded[q, 0], b.welded[q, 1], b.welded[q, 2]
        some_p, some_q = every or any_marked(which, a.corners, p), every or (same and any_marked(which, b.corners, q))
        for v in range(a.vertex_start[p], a.vertex_start[p + 1]):
            i = a.vertex[v, VERTEX_WELD]
            faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = v, q, VERTEX_TO_FACE
            extra_f[n_f] = extra
            good = some_q or which[a.vertex[v, VERTEX_ROW]]
            n_f += (i != j_0) & (i != j_1) & (i != j_2) & (b.face[q] >= 0) & good
        for v in range(b.vertex_start[q], b.vertex_start[q + 1]):
            j = b.vertex[v, VERTEX_WELD]
            faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = v, p, FACE_TO_VERTEX
            extra_f[n_f] = extra
            good = some_p or (same and which[b.vertex[v, VERTEX_ROW]])
            n_f += (j != i_0) & (j != i_1) & (j != i_2) & (a.face[p] >= 0) & good
        for e in range(a.edge_start[p], a.edge_start[p + 1]):
            i, j = a.edge[e, EDGE_WELD_0], a.edge[e, EDGE_WELD_1]
            some = every or which[a.edge[e, EDGE_ROW_0]] or which[a.edge[e, EDGE_ROW_1]]
            for f in range(b.edge_start[q], b.edge_start[q + 1]):
                k, h = b.edge[f, EDGE_WELD_0], b.edge[f, EDGE_WELD_1]
                edges[n_e, 0], edges[n_e, 1], edges[n_e, 2] = e, f, EDGE_TO_EDGE
                extra_e[n_e] = extra
                good = some or (same and (which[b.edge[f, EDGE_ROW_0]] or which[b.edge[f, EDGE_ROW_1]]))
                n_e += (i != k) & (i != h) & (j != k) & (j != h) & good
        if n_f > BATCH - 6:
            count = flush_faces(a, b, batches.faces, n_f, within, out, count)
            n_f = 0
        if n_e > BATCH - 9:
            count = flush_edges(a, b, same, batches.edges, n_e, within, out, count)
            n_e = 0
    filled[0], filled[1], filled[2] = 0, n_f, n_e
    return count


@kernel
def flush_rest(a, b, search, batches, out, count):
    """Process all remaining batches at the end of a traversal."""
    count = flush_meets(a, b, search, batches, out, count)
    count = flush_faces(a, b, batches.faces, batches.filled[1], search.reach, out, count)
    return flush_edges(a, b, search.same, batches.edges, batches.filled[2], search.reach, out, count)


@kernel
def along(n, a, b, c):
    """Least and greatest of three vectors along n."""
    a, b, c = vec.dot(n, a), vec.dot(n, b), vec.dot(n, c)
    return min(a, b, c), max(a, b, c)


@kernel
def corners_of(x, corners, p):
    """Rows of x (n,3) of the three corners of triangle p."""
    return vec.load(x, corners[p, 0]), vec.load(x, corners[p, 1]), vec.load(x, corners[p, 2])


@kernel
def range_of(x, corners, p):
    """Least and greatest components of rows of x (n,3) over the corners of triangle p."""
    a, b, c = corners_of(x, corners, p)
    return lower(a, lower(b, c)), upper(a, upper(b, c))


@kernel
def separated_throughout(a, i, b, j, reach):
    """Whether boxes i of a and j of b (k,12) are farther apart than `reach` at both times in the same direction of an
    axis, and thus at all times between."""
    x = ((b[j, 0] > a[i, 3] + reach) & (b[j, 6] > a[i, 9] + reach)) | (
        (b[j, 3] < a[i, 0] - reach) & (b[j, 9] < a[i, 6] - reach)
    )
    y = ((b[j, 1] > a[i, 4] + reach) & (b[j, 7] > a[i, 10] + reach)) | (
        (b[j, 4] < a[i, 1] - reach) & (b[j, 10] < a[i, 7] - reach)
    )
    z = ((b[j, 2] > a[i, 5] + reach) & (b[j, 8] > a[i, 11] + reach)) | (
        (b[j, 5] < a[i, 2] - reach) & (b[j, 11] < a[i, 8] - reach)
    )
    return x | y | z


@kernel
def beyond_plane(w, j, n, low, high):
    """Whether row j of boxes is below `low` or above `high` along n."""
    a = n[0] * w[j, 0], n[0] * w[j, 3]
    b = n[1] * w[j, 1], n[1] * w[j, 4]
    c = n[2] * w[j, 2], n[2] * w[j, 5]
    least = min(a[0], a[1]) + min(b[0], b[1]) + min(c[0], c[1])
    most = max(a[0], a[1]) + max(b[0], b[1]) + max(c[0], c[1])
    return least > high or most < low


@kernel
def size_of(w, j):
    """Sum of the lengths of the sides of row j of boxes."""
    return (w[j, 3] - w[j, 0]) + (w[j, 4] - w[j, 1]) + (w[j, 5] - w[j, 2])


@kernel
def children_of(nodes, k, other, of_first, stack, top):
    """Put pairs of the children of node k and another node on the stack, the children first if `of_first`; return its
    height."""
    child, stop = np.int64(k + 1), np.int64(nodes[k, SKIP])
    while child < stop:
        stack[top, 0], stack[top, 1] = (child, other) if of_first else (other, child)
        top += 1
        child = np.int64(nodes[child, SKIP])
    return top


@kernel
def search_tasks(a, b, search, tasks, part, parts, out):
    """Find the near pairs of the triangles of every pair of nodes part, part + parts, ... of `tasks`; return their
    number. One loop with the arrays as local variables, because a call that takes tuples of arrays costs more than the
    whole body."""
    batches, stack = all_batches(), np.empty((search.stack, 2), np.int32)
    meets, closer, filled = batches.meets, batches.closer, batches.filled
    before, reach, still = search.before, search.reach, search.still
    nodes_a, bounds_a, boxes_a, corners_a, x_a, u_a = a.nodes, a.bounds, a.boxes, a.corners, a.x, a.drift
    nodes_b, bounds_b, boxes_b, corners_b, x_b, u_b = b.nodes, b.bounds, b.boxes, b.corners, b.x, b.drift
    some, count, n = len(before) > 0, 0, 0
    once = search.same and not some  # every pair of triangles in one order only
    normal, bottom, lid, down, up = (0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0
    for task in range(part, len(tasks), parts):
        stack[0, 0], stack[0, 1] = tasks[task, 0], tasks[task, 1]
        top = 1
        while top > 0:
            top -= 1
            i, j = np.int64(stack[top, 0]), np.int64(stack[top, 1])
            first = nodes_a[i, FIRST]
            last = first + nodes_a[i, COUNT]
            if (some and before[last] == before[first]) or separated_throughout(bounds_a, i, bounds_b, j, reach):
                continue
            if nodes_a[i, SKIP] > i + 1:
                if nodes_b[j, SKIP] == j + 1 or size_of(bounds_a, i) >= size_of(bounds_b, j):
                    top = children_of(nodes_a, i, j, True, stack, top)
                else:
                    top = children_of(nodes_b, j, i, False, stack, top)
                continue
            stop = np.int64(nodes_b[j, SKIP])
            for p in range(first, last):
                if some and before[p + 1] == before[p]:
                    continue
                at, fresh = j, True
                while at < stop:
                    if separated_throughout(boxes_a, p, bounds_b, at, reach):
                        at = np.int64(nodes_b[at, SKIP])
                        continue
                    if fresh:
                        r, s, t = corners_of(x_a, corners_a, p)
                        n_0, n_1, n_2, bottom, lid = normal_span(r, s, t)
                        normal = (n_0, n_1, n_2)
                        r, s, t = corners_of(u_a, corners_a, p)
                        down, up = along(normal, r, s, t)
                        fresh = False
                    below, above = bottom + min(down, 0.0) - reach, lid + max(up, 0.0) + reach
                    if still and beyond_plane(bounds_b, at, normal, below, above):
                        at = np.int64(nodes_b[at, SKIP])
                        continue
                    if nodes_b[at, SKIP] > at + 1:
                        at += 1
                        continue
                    begin = nodes_b[at, FIRST]
                    end = begin + nodes_b[at, COUNT]
                    at += 1
                    for q in range(max(begin, p + 1) if once else begin, end):
                        if separated_throughout(boxes_a, p, boxes_b, q, reach):
                            continue
                        r, s, t = corners_of(x_b, corners_b, q)
                        h_0, h_1 = along(normal, r, s, t)
                        least, most = 0.0, 0.0
                        if not still:
                            r, s, t = corners_of(u_b, corners_b, q)
                            least, most = along(normal, r, s, t)
                        if h_0 - lid + min(least - up, 0.0) > reach or h_1 - bottom + max(most - down, 0.0) < -reach:
                            continue
                        meets[n, 0], meets[n, 1] = p, q
                        low, high = range_of(u_a, corners_a, p)
                        if not still:
                            least_b, most_b = range_of(u_b, corners_b, q)
                            low, high = vec.sub(least_b, high), vec.sub(most_b, low)
                        closer[n] = vec.norm((max(-low[0], high[0]), max(-low[1], high[1]), max(-low[2], high[2])))
                        n += 1
                        if n == MEETS:
                            filled[0] = n
                            count = flush_meets(a, b, search, batches, out, count)
                            n = 0
    filled[0] = n
    return flush_rest(a, b, search, batches, out, count)


@kernel
def list_tasks(a, b, search, spare, tasks):
    """Write pairs of nodes that together have all near pairs of triangles to tasks (k,2); return their number.

    Within one mesh: leaves with themselves, and the children of each node with each other, except in proved patches.
    Pairs with many triangles are divided into up to `spare` more.
    """
    stack, n, top = np.empty((search.stack, 2), np.int32), 0, 0
    nodes_a, bounds_a, nodes_b, bounds_b = a.nodes, a.bounds, b.nodes, b.bounds
    before, begin, reach, next_node = search.before, search.begin, search.reach, np.int64(0)
    some, most = len(before) > 0, (len(a.boxes) + len(b.boxes)) // SPLIT
    if len(nodes_a) == 0 or len(nodes_b) == 0:
        return 0
    if not search.same or some:
        stack[0, 0], stack[0, 1], top, next_node = 0, 0, 1, np.int64(len(nodes_a))
    while True:
        while top > 0:
            top -= 1
            i, j = np.int64(stack[top, 0]), np.int64(stack[top, 1])
            first, count_a, count_b = nodes_a[i, FIRST], nodes_a[i, COUNT], nodes_b[j, COUNT]
            if (some and before[first + count_a] == before[first]) or separated_throughout(
                bounds_a, i, bounds_b, j, reach
            ):
                continue
            leaf_a, leaf_b = nodes_a[i, SKIP] == i + 1, nodes_b[j, SKIP] == j + 1
            if (leaf_a and leaf_b) or count_a + count_b <= most or spare <= 0:
                tasks[n, 0], tasks[n, 1] = i, j
                n += 1
                continue
            spare += top
            if leaf_b or (not leaf_a and count_a >= count_b):
                top = children_of(nodes_a, i, j, True, stack, top)
            else:
                top = children_of(nodes_b, j, i, False, stack, top)
            spare -= top
        if next_node == len(nodes_a):
            return n
        i = next_node
        if begin[nodes_a[i, FIRST]] >= nodes_a[i, END]:
            next_node = np.int64(nodes_a[i, SKIP])
            continue
        next_node += 1
        if nodes_a[i, SKIP] == i + 1:
            tasks[n, 0], tasks[n, 1] = i, i
            n += 1
        child = i + 1
        while child < nodes_a[i, SKIP]:
            other = np.int64(nodes_a[child, SKIP])
            while other < nodes_a[i, SKIP]:
                stack[top, 0], stack[top, 1] = child, other
                top += 1
                other = np.int64(nodes_a[other, SKIP])
            child = np.int64(nodes_a[child, SKIP])


@kernel(parallel=True)
def approaching_pairs(a, b, search, tasks, out, counts):
    """Find the pairs of features that come near. Each part of the tasks writes kind and features to its own rows of
    `out` (parts,cap,3); counts (parts,) may exceed the space."""
    parts = len(out)
    for part in prange(parts):
        counts[part] = search_tasks(a, b, search, tasks, part, parts, out[part])

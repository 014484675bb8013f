"""Broad and narrow phase for pairs of features that come near under their predicted motion.

Every vertex is predicted to move along a straight line by its drift. Only the motion of two features *relative to each
other* matters: falling or sliding cloth keeps its distance from its neighbours. Along a direction n, the gap of two
features is at all times at least the lesser of its values at the start and at the end, because the least n.x of the one
minus the greatest of the other is concave in time. The directions tested are the axes, the normal of a triangle (of any
triangle: both are measured along it), and that between nearest points.

Two BVHs are traversed together, from pairs of nodes to pairs of leaves and of triangles. A leaf is also separated from
the nodes of another mesh along the mean normal of its triangles.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..bvh.leaf_copy import (
    POINTS,
    beyond_sides,
    beyond_slab,
    box_triangles,
    copy_points,
    near_columns,
    point_of,
    slab_of,
)
from ..bvh.motion import BLOCK, COUNT, END, FIRST, SKIP
from ..bvh.volumes import lower, upper
from ..jit import kernel, prange
from ..team import claim, clear
from .meets import MEETS, all_batches, flush_meets, flush_rest
from .proximity import normal_span

SPLIT = 64  # pairs of nodes with more than 1/SPLIT of all triangles become several tasks


class MovingSide(NamedTuple):
    """One side of a query: `LeafMesh.records`, and fields of `MotionBvh`; parallel loops take no nested tuples."""

    records: np.ndarray
    x: np.ndarray
    drift: np.ndarray
    nodes: np.ndarray
    bounds: np.ndarray
    points_start: np.ndarray  # `MotionBvh.vertex_start` and `vertices`
    points: np.ndarray
    places: np.ndarray


class MotionSearch(NamedTuple):
    """How the BVHs of two moving sides are searched."""

    same: bool  # whether both sides are one mesh
    reach: float  # metres: the distance up to which pairs are found, plus a bound of the rounding error
    # (m,) i4 within one mesh: the node of its BVH after the proved patch of each triangle, or after its own leaf
    begin: np.ndarray
    which: np.ndarray  # empty, or (n,): vertices of the first side of which every pair has at least one
    before: np.ndarray  # empty, or (m+1,) i4: how many of its triangles 0..p-1 have such a vertex
    whole: bool  # within one mesh: whether the traversal begins with its root, because no patch is proved
    stack: int  # pairs of nodes that a traversal may have to store


class Chunks(NamedTuple):
    """The work of two searches, in parts that threads share, and what they find."""

    tasks: np.ndarray  # (k,2) i4 pairs of nodes
    found: np.ndarray  # (parts,cap,3) i4 kind and features
    counts: np.ndarray  # (parts,) i8
    other_tasks: np.ndarray
    other_found: np.ndarray
    other_counts: np.ndarray
    team: np.ndarray  # (1,threads,COUNTERS) i8


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
def plane_of(points, i, j, h):
    """Unit normal of the triangle of three columns of `points` at the start, zero if it is degenerate, and the least
    and greatest positions of its corners along it at the start and at the end."""
    n_0, n_1, n_2, low, high = normal_span(point_of(points, i, 0), point_of(points, j, 0), point_of(points, h, 0))
    n = (n_0, n_1, n_2)
    r = vec.dot(n, point_of(points, i, 0)) + vec.dot(n, point_of(points, i, 3))
    s = vec.dot(n, point_of(points, j, 0)) + vec.dot(n, point_of(points, j, 3))
    t = vec.dot(n, point_of(points, h, 0)) + vec.dot(n, point_of(points, h, 3))
    return n_0, n_1, n_2, low, high, min(r, s, t), max(r, s, t)


@kernel
def displacements(points, i, j, h):
    """Least and greatest components of the displacements of three columns of `points`."""
    a, b, c = point_of(points, i, 3), point_of(points, j, 3), point_of(points, h, 3)
    return lower(a, lower(b, c)), upper(a, upper(b, c))


@kernel
def search_tasks(a, b, search, tasks, part, parts, out):
    """Find the near pairs of the triangles of every pair of nodes part, part + parts, ... of `tasks`; return their
    number. One loop with the arrays as local variables, because a call that takes tuples of arrays costs more than the
    whole body."""
    batches, stack = all_batches(), np.empty((search.stack, 2), np.int32)
    meets, closer, filled = batches.meets, batches.closer, batches.filled
    before, reach, same, some = search.before, search.reach, search.same, len(search.before) > 0
    nodes_a, bounds_a, rows_a, start_a, places_a, x_a, u_a = (
        a.nodes, a.bounds, a.points, a.points_start, a.places, a.x, a.drift,
    )  # fmt: skip
    nodes_b, bounds_b, rows_b, start_b, places_b, x_b, u_b = (
        b.nodes, b.bounds, b.points, b.points_start, b.places, b.x, b.drift,
    )  # fmt: skip
    points_a, points_b = np.empty((6, POINTS)), np.empty((6, POINTS))
    boxes_a, boxes_b, own = np.empty((12, BLOCK)), np.empty((12, BLOCK)), np.empty(12)
    planes, known = np.empty((7, BLOCK)), np.empty(BLOCK, np.bool_)
    count, n, copied = 0, 0, np.int64(-1)
    normal, slab, slab_end = (0.0, 0.0, 0.0), (0.0, 0.0), (0.0, 0.0)
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
            leaf_a, leaf_b = nodes_a[i, SKIP] == i + 1, nodes_b[j, SKIP] == j + 1
            if not leaf_a and (leaf_b or size_of(bounds_a, i) >= size_of(bounds_b, j)):
                top = children_of(nodes_a, i, j, True, stack, top)
                continue
            if leaf_a and copied != i:
                size = copy_points(x_a, u_a, rows_a[start_a[i] : start_a[i + 1]], points_a)
                box_triangles(points_a, places_a[first:last], boxes_a)
                known[:], copied = False, i
                if not same:
                    normal, slab, slab_end = slab_of(points_a, size, places_a[first:last])
            if leaf_a and not same and beyond_slab(bounds_b[j], normal, slab, slab_end, reach):
                continue
            if not leaf_b:
                top = children_of(nodes_b, j, i, False, stack, top)
                continue
            near_a = near_columns(boxes_a, bounds_b[j], reach)
            if near_a == 0:
                continue
            size, boxed = copy_points(x_b, u_b, rows_b[start_b[j] : start_b[j + 1]], points_b), False
            whole = (1 << size) - 1
            begin, end = nodes_b[j, FIRST], nodes_b[j, FIRST] + nodes_b[j, COUNT]
            for p in range(first, last):
                k = p - first
                if not near_a >> k & 1 or (some and before[p + 1] == before[p]):
                    continue
                c_0, c_1, c_2 = places_a[p, 0], places_a[p, 1], places_a[p, 2]
                if not known[k]:
                    known[k], plane = True, plane_of(points_a, c_0, c_1, c_2)
                    for h in range(7):
                        planes[h, k] = plane[h]
                face = planes[0, k], planes[1, k], planes[2, k]
                span, span_end = (planes[3, k], planes[4, k]), (planes[5, k], planes[6, k])
                above, below = beyond_sides(points_b, size, face, span, span_end, reach)
                if above == whole or below == whole:
                    continue
                if not boxed:
                    box_triangles(points_b, places_b[begin:end], boxes_b)
                    boxed = True
                for h in range(12):
                    own[h] = boxes_a[h, k]
                near_b = near_columns(boxes_b, own, reach)
                if near_b == 0:
                    continue
                least, most = displacements(points_a, c_0, c_1, c_2)
                for q in range(begin, end):
                    if not near_b >> (q - begin) & 1 or (
                        same and q <= p and (q == p or not some or before[q + 1] > before[q])
                    ):
                        continue  # every pair of triangles in one order only
                    d_0, d_1, d_2 = np.int64(places_b[q, 0]), np.int64(places_b[q, 1]), np.int64(places_b[q, 2])
                    if (
                        (above >> d_0 & above >> d_1 & above >> d_2) | (below >> d_0 & below >> d_1 & below >> d_2)
                    ) & 1:
                        continue
                    low, high = displacements(points_b, d_0, d_1, d_2)
                    low, high = vec.sub(low, most), vec.sub(high, least)
                    meets[n, 0], meets[n, 1] = p, q
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

    Within one mesh: leaves with themselves, and the children of each node with each other, except in proved patches;
    if only pairs with marked vertices are searched, in both orders. Pairs with many triangles are divided into up to
    `spare` more.
    """
    stack, n, top = np.empty((search.stack, 2), np.int32), 0, 0
    nodes_a, bounds_a, nodes_b, bounds_b = a.nodes, a.bounds, b.nodes, b.bounds
    before, begin, reach, next_node = search.before, search.begin, search.reach, np.int64(0)
    some, most = len(before) > 0, (len(a.places) + len(b.places)) // SPLIT
    if len(nodes_a) == 0 or len(nodes_b) == 0:
        return 0
    if not search.same or search.whole:
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
        first = nodes_a[i, FIRST]
        if begin[first] >= nodes_a[i, END] or (some and before[first + nodes_a[i, COUNT]] == before[first]):
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
                if some:
                    stack[top, 0], stack[top, 1] = other, child
                    top += 1
                other = np.int64(nodes_a[other, SKIP])
            child = np.int64(nodes_a[child, SKIP])


@kernel
def search_chunks(a, b, search, c, d, other, chunks, t):
    """Search the parts that thread t claims."""
    n, m = len(chunks.counts), len(chunks.other_counts)
    k = claim(chunks.team, 0, t, n + m)
    while k >= 0:
        if k < n:
            chunks.counts[k] = search_tasks(a, b, search, chunks.tasks, k, n, chunks.found[k])
        else:
            h = k - n
            chunks.other_counts[h] = search_tasks(c, d, other, chunks.other_tasks, h, m, chunks.other_found[h])
        k = claim(chunks.team, 0, t, n + m)


@kernel(parallel=True)
def approaching_pairs(a, b, search, c, d, other, chunks):
    """Find the pairs of features that come near, of a and b and, in the same launch, of c and d. Each part of the tasks
    writes kind and features to its own rows of `found`; `counts` may exceed the space."""
    clear(chunks.team)
    for t in prange(0, chunks.team.shape[1]):
        search_chunks(a, b, search, c, d, other, chunks, t)

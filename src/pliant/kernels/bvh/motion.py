"""BVH over the straight motion of triangles: boxes at the start and at the end, for queries along a predicted motion.

Its leaves are blocks of at most BLOCK triangles, the largest such nodes of the BVH of a leaf mesh: boxes of smaller
nodes would cost more to fit than they cull. A box that contains two others at the start and at the end contains them at
all times in between.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .volumes import lower, upper

BLOCK = 12  # most triangles of a leaf; below the fewest triangles of a patch (`Cones`)
TASKS = 64  # leaves per task of a thread
SKIP, FIRST, COUNT, NODE, END = 0, 1, 2, 3, 4  # columns of `MotionBvh.nodes`


NOTHING = (math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf)  # a box around nothing


class MotionBvh(NamedTuple):
    """Triangles in the leaf order of a BVH, moving linearly, and boxes around them; metres."""

    x: np.ndarray  # (n,3) positions of the vertices at the start
    drift: np.ndarray  # (n,3) their displacements
    corners: np.ndarray  # (m,3) i4 rows of the vertices of the triangles
    # (k,5) i4 depth first: node after the subtree, first triangle, their number, node of the BVH, node after that
    nodes: np.ndarray
    bounds: np.ndarray  # (k,12) of the nodes: low and high at the start, low and high at the end
    vertex_start: np.ndarray  # (k+1,) i4: leaf i has the vertices vertex_start[i]..vertex_start[i+1]-1
    vertices: np.ndarray  # (v,) i4 their rows
    places: np.ndarray  # (m,3) u1 which vertices of its leaf are the corners of each triangle
    leaves: np.ndarray  # (l,) i4 nodes without children
    inner: np.ndarray  # (k-l,) i4 the others, children before parents
    node_drifts: np.ndarray  # (nodes of the BVH,6) least and greatest displacements of the vertices below each node


@kernel
def select_nodes(nodes, block, out):
    """Write the rows of `MotionBvh.nodes` for a BVH with these nodes to out (k,5), or nothing if it is empty; return
    their number."""
    n, i, last = 0, 0, len(nodes)
    while i < last:
        if len(out) > 0:
            out[n, FIRST], out[n, COUNT], out[n, NODE], out[n, END] = nodes[i].first, nodes[i].count, i, nodes[i].skip
        n += 1
        i = nodes[i].skip if nodes[i].count <= block else i + 1
    for k in range(len(out) - 1, -1, -1):
        skip = k + 1
        while skip < n and out[skip, FIRST] < out[k, FIRST] + out[k, COUNT]:
            skip = out[skip, SKIP]
        out[k, SKIP] = skip
    return n


@kernel
def list_vertices(nodes, corners, start, rows, places):
    """Fill `MotionBvh.vertex_start`, `vertices` (3m,) and `places`; return the number of vertices."""
    n = 0
    for i in range(len(nodes)):
        start[i] = n
        first, count = nodes[i, FIRST], nodes[i, COUNT] if nodes[i, SKIP] == i + 1 else 0
        for q in range(first, first + count):
            for c in range(3):
                k = start[i]
                while k < n and rows[k] != corners[q, c]:
                    k += 1
                rows[k], places[q, c] = corners[q, c], k - start[i]
                n = max(n, k + 1)
    start[len(nodes)] = n
    return n


@kernel
def enclose(box, rows, q, h):
    """The box around a box (low, high) and columns h..h+5 of row q of `rows`."""
    low, high = box
    return (
        (min(low[0], rows[q, h]), min(low[1], rows[q, h + 1]), min(low[2], rows[q, h + 2])),
        (max(high[0], rows[q, h + 3]), max(high[1], rows[q, h + 4]), max(high[2], rows[q, h + 5])),
    )


@kernel
def store(box, rows, q, h):
    low, high = box
    rows[q, h], rows[q, h + 1], rows[q, h + 2] = low
    rows[q, h + 3], rows[q, h + 4], rows[q, h + 5] = high


@kernel
def fit_leaves(bvh, before, start, stop):
    """Fit the boxes of leaves start..stop-1. One loop with the arrays as local variables: calls that take a tuple of
    arrays would cost more than their bodies."""
    x, drift, nodes, vertex_start, vertices = bvh.x, bvh.drift, bvh.nodes, bvh.vertex_start, bvh.vertices
    leaves, bounds, node_drifts, everywhere = bvh.leaves, bvh.bounds, bvh.node_drifts, len(before) == 0
    for g in range(start, stop):
        i = leaves[g]
        first = nodes[i, FIRST]
        if not everywhere and before[first + nodes[i, COUNT]] == before[first]:
            continue
        around, around_end, moves = NOTHING, NOTHING, NOTHING
        for k in range(vertex_start[i], vertex_start[i + 1]):
            p, d = vec.load(x, vertices[k]), vec.load(drift, vertices[k])
            q = vec.add(p, d)
            around = lower(around[0], p), upper(around[1], p)
            around_end = lower(around_end[0], q), upper(around_end[1], q)
            moves = lower(moves[0], d), upper(moves[1], d)
        store(around, bounds, i, 0)
        store(around_end, bounds, i, 6)
        store(moves, node_drifts, nodes[i, NODE], 0)


@kernel
def fit_inner(bvh, before):
    """Fit the boxes of the nodes that are no leaves, children before parents."""
    nodes, inner, bounds, node_drifts, everywhere = bvh.nodes, bvh.inner, bvh.bounds, bvh.node_drifts, len(before) == 0
    for k in range(len(inner)):
        i = inner[k]
        first = nodes[i, FIRST]
        if not everywhere and before[first + nodes[i, COUNT]] == before[first]:
            continue
        around, around_end, moves = NOTHING, NOTHING, NOTHING
        j, stop = np.int64(i + 1), np.int64(nodes[i, SKIP])
        while j < stop:
            around, around_end = enclose(around, bounds, j, 0), enclose(around_end, bounds, j, 6)
            moves = enclose(moves, node_drifts, nodes[j, NODE], 0)
            j = np.int64(nodes[j, SKIP])
        store(around, bounds, i, 0)
        store(around_end, bounds, i, 6)
        store(moves, node_drifts, nodes[i, NODE], 0)


@kernel(parallel=True)
def fit_motion(bvh, before):
    """Fit all boxes to the motion or, unless `before` is empty, those whose triangles have changed: before (m+1,) is
    how many of the triangles 0..q-1 have."""
    n = len(bvh.leaves)
    for c in prange(-(-n // TASKS)):
        fit_leaves(bvh, before, c * TASKS, min(n, (c + 1) * TASKS))
    fit_inner(bvh, before)


@kernel
def count_marked(which, corners, before):
    """Write to before (m+1,) how many of the triangles 0..q-1 have any of the vertices `which` (n,) as a corner."""
    before[0] = 0
    for q in range(len(corners)):
        marked = which[corners[q, 0]] | which[corners[q, 1]] | which[corners[q, 2]]
        before[q + 1] = before[q] + marked


@kernel
def size_of(nodes):
    """Depth of a BVH with these `nodes` (k,5), the number of pairs of siblings, and the greatest number of siblings."""
    depth, deepest, pairs, most = np.zeros(len(nodes), np.int32), 0, 0, 1
    for i in range(len(nodes)):
        deepest, children, j = max(deepest, depth[i]), 0, np.int64(i + 1)
        while j < nodes[i, SKIP]:
            depth[j] = depth[i] + 1
            pairs, children = pairs + children, children + 1
            j = np.int64(nodes[j, SKIP])
        most = max(most, children)
    return deepest + 1, pairs, most

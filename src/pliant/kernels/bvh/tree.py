"""BVH in depth-first order: node i's first child is i + 1, and `skip` is the node after its subtree.

So a traversal needs no stack (go on to i + 1, or to skip[i]), any arity takes the same code, and a subtree is a range
of the array. `bounds` holds the bounding volume; its length determines the kind (see volumes.py).
"""

from typing import NamedTuple

import numpy as np

from ..jit import COMPILED, kernel, prange

CHUNK = 512  # elements per task of a thread


class Tree(NamedTuple):
    nodes: np.ndarray  # (n,) records of `node_type`, depth first
    order: np.ndarray  # (m,) i4 elements in leaf order
    items: np.ndarray  # (m,k) volumes of the elements, in that order
    parts: np.ndarray  # (p,) i4 roots of the subtrees distributed over threads, each a range of nodes
    crown: np.ndarray  # (c,) i4 the nodes above them, children before parents


def node_type(k):
    """A node whose volume is k numbers. A box with its links fills one cache line of 64 bytes."""
    return np.dtype(
        [("bounds", "f8", k), ("skip", "i4"), ("first", "i4"), ("count", "i4"), ("spare", "i4")], align=True
    )


def new_nodes(n, k):
    """n nodes with volumes of k numbers; without the compiler only record arrays allow access to fields by name."""
    nodes = np.zeros(n, node_type(k))
    return nodes if COMPILED else nodes.view(np.recarray)


@kernel
def link(first, count, leaf, skip):
    """Compute `skip` of nodes in depth-first order that contain the elements first..first+count-1.

    A node with more than `leaf` elements has children; the next node that begins where it ends follows them.
    """
    for i in range(len(first) - 1, -1, -1):
        skip[i] = i + 1
        if count[i] > leaf:
            j = i + 1
            while j < len(first) and first[j] < first[i] + count[i]:
                j = skip[j]
            skip[i] = j


@kernel
def share(small, skip, parts, crown):
    """List the topmost `small` (n,) nodes in `parts` and those above them in `crown`; return both numbers."""
    i, p, c = 0, 0, 0
    while i < len(skip):
        if small[i]:
            parts[p] = i
            i, p = skip[i], p + 1
        else:
            crown[c] = i
            i, c = i + 1, c + 1
    return p, c


@kernel
def merge_boxes(nodes, items, i):
    """Compute the box of node i from its children or elements."""
    node = nodes[i]
    x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    if node.skip == i + 1:
        for q in range(node.first, node.first + node.count):
            x_0, y_0, z_0 = min(x_0, items[q, 0]), min(y_0, items[q, 1]), min(z_0, items[q, 2])
            x_1, y_1, z_1 = max(x_1, items[q, 3]), max(y_1, items[q, 4]), max(z_1, items[q, 5])
    else:
        j = i + 1
        while j < node.skip:
            b = nodes[j].bounds
            x_0, y_0, z_0 = min(x_0, b[0]), min(y_0, b[1]), min(z_0, b[2])
            x_1, y_1, z_1 = max(x_1, b[3]), max(y_1, b[4]), max(z_1, b[5])
            j = nodes[j].skip
    b = node.bounds
    b[0], b[1], b[2], b[3], b[4], b[5] = x_0, y_0, z_0, x_1, y_1, z_1


@kernel(parallel=True)
def refit_boxes(tree):
    """Refit the boxes of all nodes to `items`, children before parents."""
    nodes, items, parts, crown = tree.nodes, tree.items, tree.parts, tree.crown
    for p in prange(len(parts)):
        for i in range(nodes[parts[p]].skip - 1, parts[p] - 1, -1):
            merge_boxes(nodes, items, i)
    for c in range(len(crown)):
        merge_boxes(nodes, items, crown[c])


@kernel(parallel=True)
def boxes_of_faces(x, y, faces, order, items):
    """Boxes of triangles that move from corners `x` to corners `y` (the same array if nothing moves)."""
    for chunk in prange(-(-len(order) // CHUNK)):
        for q in range(chunk * CHUNK, min(len(order), (chunk + 1) * CHUNK)):
            f = order[q]
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            for a in range(3):
                items[q, a] = min(x[i, a], x[j, a], x[k, a], y[i, a], y[j, a], y[k, a])
                items[q, a + 3] = max(x[i, a], x[j, a], x[k, a], y[i, a], y[j, a], y[k, a])


@kernel
def refit_range(nodes, items, order, x, faces, first, last):
    """Refit nodes first..last-1, whole subtrees, and the boxes of the triangles in their leaves at corners `x`; in one
    pass, so that data is read while it is cached.
    """
    for i in range(last - 1, first - 1, -1):
        x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
        skip = nodes[i]["skip"]
        if skip == i + 1:
            for q in range(nodes[i]["first"], nodes[i]["first"] + nodes[i]["count"]):
                f = order[q]
                a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
                u, v = min(x[a, 0], x[b, 0], x[c, 0]), max(x[a, 0], x[b, 0], x[c, 0])
                items[q, 0], items[q, 3], x_0, x_1 = u, v, min(x_0, u), max(x_1, v)
                u, v = min(x[a, 1], x[b, 1], x[c, 1]), max(x[a, 1], x[b, 1], x[c, 1])
                items[q, 1], items[q, 4], y_0, y_1 = u, v, min(y_0, u), max(y_1, v)
                u, v = min(x[a, 2], x[b, 2], x[c, 2]), max(x[a, 2], x[b, 2], x[c, 2])
                items[q, 2], items[q, 5], z_0, z_1 = u, v, min(z_0, u), max(z_1, v)
        j = np.int64(i + 1)
        while j < skip:
            w = nodes[j]["bounds"]
            x_0, y_0, z_0 = min(x_0, w[0]), min(y_0, w[1]), min(z_0, w[2])
            x_1, y_1, z_1 = max(x_1, w[3]), max(y_1, w[4]), max(z_1, w[5])
            j = np.int64(nodes[j]["skip"])
        w = nodes[i]["bounds"]
        w[0], w[1], w[2], w[3], w[4], w[5] = x_0, y_0, z_0, x_1, y_1, z_1


@kernel(parallel=True)
def refit_faces(tree, x, faces):
    """Refit the boxes of all nodes and of all triangles at corners `x`."""
    nodes, items, order, parts, crown = tree.nodes, tree.items, tree.order, tree.parts, tree.crown
    for p in prange(len(parts)):
        refit_range(nodes, items, order, x, faces, parts[p], np.int64(nodes[parts[p]]["skip"]))
    for c in range(len(crown)):
        merge_boxes(nodes, items, crown[c])

"""BVH refitting: kernels for AABBs, whose trees are refitted every step, and those for bounding volumes of any kind.

The kernels for AABBs read the records of the nodes. Those for all kinds take the arrays `bounds` and `links` of fit.py,
which fits the volume of one node.
"""

import numpy as np

from ..jit import kernel, prange
from .fit import fit_node

CHUNK = 512  # elements per task of a thread


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


@kernel(parallel=True)
def refit_volumes(bounds, links, items, kind, parts, crown):
    """Refit the volumes of all nodes to `items`, children before parents."""
    for p in prange(len(parts)):
        for i in range(links[parts[p], links.shape[1] - 4] - 1, parts[p] - 1, -1):
            fit_node(bounds, links, items, kind, i, False)
    for c in range(len(crown)):
        fit_node(bounds, links, items, kind, crown[c], False)


@kernel
def nodes_to_half_depth(links, top, whole):
    """List nodes down to half the depth, children before parents, and mark the lowest; return their number."""
    n, at = len(links), links.shape[1] - 4
    depth, deepest = np.zeros(n, np.int32), 0
    for i in range(n):
        deepest = max(deepest, depth[i])
        j = i + 1
        while j < links[i, at]:
            depth[j] = depth[i] + 1
            j = links[j, at]
    count = 0
    for i in range(n - 1, -1, -1):
        if depth[i] <= deepest // 2:
            top[count], whole[count] = i, depth[i] == deepest // 2
            count += 1
    return count


@kernel
def refit_some(bounds, links, items, kind, top, whole, stamp, now):
    """Refit the nodes `top` to their elements if `whole`, else to their children."""
    for k in range(len(top)):
        fit_node(bounds, links, items, kind, top[k], whole[k])
        stamp[top[k]] = now

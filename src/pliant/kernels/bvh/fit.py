"""Fitting a BVH: the bounding volume of a node from those below it, and refits of all nodes.

One implementation serves all kinds of volumes; AABBs, the most frequent kind, have a faster one.

`bounds` (n,k+2) and `links` (n,2k+4) are the records of a BVH's nodes viewed as floats and as integers (`flat` in
detect/bvh/tree.py), the volume first and the links last; so k is a value, not a type, and all kinds are compiled once.
"""

import numpy as np

from .. import vec
from ..geometry.eigen import principal_axes
from ..jit import kernel, prange
from .face_lanes import refit_range
from .volumes import CHUNK, EPS, SLABS, SPHERE, TINY, add_products, enlarged_to_contain, lower, store_oriented, upper


@kernel
def enclose_slabs(rows, links, j, stop, chained, out, i):
    """Least and greatest of the rows from j up to stop, consecutive or, if `chained`, from sibling to sibling."""
    at, h = links.shape[1] - 4, (links.shape[1] - 4) // 4
    for s in range(h):
        out[i, s], out[i, s + h] = np.inf, -np.inf
    while j < stop:
        for s in range(h):
            out[i, s], out[i, s + h] = min(out[i, s], rows[j, s]), max(out[i, s + h], rows[j, s + h])
        j = links[j, at] if chained else j + 1


@kernel
def enclose_spheres(rows, links, first, stop, chained, out, i):
    """A sphere around spheres: grown over one after the other, then the least radius about that centre."""
    at = links.shape[1] - 4
    middle, r = vec.load(rows, first), rows[first, 3]
    j = first
    while j < stop:
        p = vec.load(rows, j)
        d = vec.norm(vec.sub(p, middle))
        if d + rows[j, 3] > r:
            # the farthest point of the other sphere, through its centre
            far = vec.madd(p, vec.sub(p, middle), rows[j, 3] / d) if d > 0.0 else vec.add(p, (rows[j, 3], 0.0, 0.0))
            middle, r = enlarged_to_contain(middle, r, far) if d > 0.0 else (p, rows[j, 3])
        j = links[j, at] if chained else j + 1
    r, j = 0.0, first
    while j < stop:
        r = max(r, vec.norm(vec.sub(vec.load(rows, j), middle)) + rows[j, 3])
        j = links[j, at] if chained else j + 1
    out[i, 0], out[i, 1], out[i, 2] = middle
    out[i, 3] = r * (1.0 + 8.0 * EPS) + TINY


@kernel
def axis_of(rows, j, a):
    return (rows[j, 6 + 3 * a], rows[j, 7 + 3 * a], rows[j, 8 + 3 * a])


@kernel
def axes_of_boxes(rows, links, first, stop, chained):
    """The mean of the centres, and the principal axes of the corners of the boxes."""
    at = links.shape[1] - 4
    origin, middle, n, size = vec.load(rows, first), (0.0, 0.0, 0.0), 0, 0.0
    j = first
    while j < stop:
        d = vec.sub(vec.load(rows, j), origin)
        middle, n = vec.add(middle, d), n + 1
        size = max(size, abs(d[0]), abs(d[1]), abs(d[2]), rows[j, 3], rows[j, 4], rows[j, 5])
        j = links[j, at] if chained else j + 1
    middle = vec.scale(middle, 1.0 / n)
    m, j = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), first
    unit = 1.0 / size if size > TINY else 0.0
    while j < stop:
        # corners c +- h u +- ...: the sum of their products is that of c and of each h u
        m = add_products(m, vec.scale(vec.sub(vec.sub(vec.load(rows, j), origin), middle), unit))
        for a in range(3):
            m = add_products(m, vec.scale(axis_of(rows, j, a), rows[j, 3 + a] * unit))
        j = links[j, at] if chained else j + 1
    return vec.add(origin, middle), principal_axes(m[0], m[1], m[2], m[3], m[4], m[5])


@kernel
def half_along(rows, j, axis, more):
    """Extent of OBB j, its half extents enlarged by `more`, from its centre along an axis."""
    r = 0.0
    for a in range(3):
        r += (rows[j, 3 + a] + more) * abs(vec.dot(axis_of(rows, j, a), axis))
    return r


@kernel
def enclose_oriented(rows, links, first, stop, chained, out, i):
    at = links.shape[1] - 4
    middle, axes = axes_of_boxes(rows, links, first, stop, chained)
    low, high = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
    j = first
    while j < stop:
        d = vec.sub(vec.load(rows, j), middle)
        p = (vec.dot(d, axes[0]), vec.dot(d, axes[1]), vec.dot(d, axes[2]))
        r = (half_along(rows, j, axes[0], 0.0), half_along(rows, j, axes[1], 0.0), half_along(rows, j, axes[2], 0.0))
        low, high = lower(low, vec.sub(p, r)), upper(high, vec.add(p, r))
        j = links[j, at] if chained else j + 1
    middle = store_oriented(out, i, middle, axes, low, high)
    j = first
    while j < stop:
        d = vec.sub(vec.load(rows, j), middle)
        size = abs(d[0]) + abs(d[1]) + abs(d[2]) + rows[j, 3] + rows[j, 4] + rows[j, 5]
        for a in range(3):
            r = abs(vec.dot(d, axes[a])) + half_along(rows, j, axes[a], 0.0) + 16.0 * EPS * size + TINY
            out[i, 3 + a] = max(out[i, 3 + a], r)
        j = links[j, at] if chained else j + 1


@kernel
def fit_node(bounds, links, items, kind, i, whole):
    """Fit the volume of node i to its children, or to its elements if it is a leaf or `whole` is set."""
    at = links.shape[1] - 4
    skip, first, count = links[i, at], links[i, at + 1], links[i, at + 2]
    chained = skip > i + 1 and not whole
    rows = bounds if chained else items
    j, stop = (i + 1, skip) if chained else (first, first + count)
    if kind == SLABS:
        enclose_slabs(rows, links, j, stop, chained, bounds, i)
    elif kind == SPHERE:
        enclose_spheres(rows, links, j, stop, chained, bounds, i)
    else:
        enclose_oriented(rows, links, j, stop, chained, bounds, i)


@kernel
def farthest(x, y):
    """Greatest displacement from a row of `x` to the same row of `y`, rounded up; inf if a number is not finite."""
    most = 0.0
    for i in range(len(x)):
        d = vec.norm(vec.sub(vec.load(x, i), vec.load(y, i)))
        if not d <= most:
            most = d if d == d else np.inf
    return most * (1.0 + 8.0 * EPS)


@kernel
def surface_sum(bounds, kind):
    """Sum of the surface areas of all volumes, up to a factor: an estimate of the traversal cost."""
    total = 0.0
    for i in range(len(bounds)):
        if kind == SPHERE:
            total += bounds[i, 3] * bounds[i, 3]
        else:
            h = bounds.shape[1] // 2 - 1
            if kind == SLABS:
                x, y, z = bounds[i, h] - bounds[i, 0], bounds[i, h + 1] - bounds[i, 1], bounds[i, h + 2] - bounds[i, 2]
            else:
                x, y, z = bounds[i, 3], bounds[i, 4], bounds[i, 5]
            total += x * y + y * z + z * x
    return total


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


@kernel(parallel=True)
def refit_faces(tree, x):
    """Refit the boxes of all nodes and of all triangles at corners `x`, at least two."""
    nodes, items, faces, parts, crown = tree.nodes, tree.items, tree.faces, tree.parts, tree.crown
    for p in prange(len(parts)):
        refit_range(nodes, items, x, faces, np.int64(len(x)), np.int64(parts[p]), np.int64(nodes[parts[p]]["skip"]))
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
    """Refit the nodes `top`, leaves and `whole` ones to their elements, others to their children; stamp them `now`."""
    for k in range(len(top)):
        fit_node(bounds, links, items, kind, top[k], whole[k])
        stamp[top[k]] = now

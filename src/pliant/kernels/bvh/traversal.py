"""Broad phase: pairs of elements with overlapping volumes, by traversal of two BVHs, or of one with itself.

The larger of two volumes is opened first. Outdated volumes are refitted when the traversal first reaches them: from the
elements below, or from the volumes of the components of a blended shape and their weights. The pair searches of
detect/bvh (`find_pairs`, `MovingTree`, `BlendTree`) use it; queries of leaf meshes have traversals of their own
(queries/proximity.py).
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .fit import axis_of, fit_node, half_along
from .volumes import EPS, SLABS, SPHERE

CURRENT, FROM_ITEMS, BLENDED = 0, 1, 2


class TraversedBvh(NamedTuple):
    bounds: np.ndarray  # (n,k+2) the nodes as floats, their volumes first
    links: np.ndarray  # (n,2k+4) i4 the nodes as integers; from 2k on skip, first, count
    items: np.ndarray  # (m,k) volumes of the elements, in leaf order
    order: np.ndarray  # (m,) i4 elements
    kind: int  # SLABS, SPHERE or ORIENTED
    refit_mode: int  # CURRENT, or how to refit outdated volumes
    stamp: np.ndarray  # (n,) i4 when a node's volume was computed
    now: int  # the stamp of current volumes
    weights: np.ndarray  # (t,) of the components of a blended shape
    node_parts: np.ndarray  # (t,n,k) volumes of each component
    item_parts: np.ndarray  # (t,m,k)


class BroadPhaseQuery(NamedTuple):
    """A broad-phase query: two BVHs, or one with itself, and the gaps up to which volumes count as overlapping."""

    a: TraversedBvh
    b: TraversedBvh
    same: bool  # whether b is a; then each pair is found once
    # (h,) k-DOP: allowed gap along each axis; sphere: allowed gap; OBB: enlargement of the half extents of elements,
    # and of nodes
    reach: np.ndarray


@kernel
def blend(parts, weights, kind, slack, i, out):
    """Volume of a weighted sum of components, row i: sums of intervals, or of spheres; enlarged by rounding bounds."""
    half = parts.shape[2] // 2
    if kind == SPHERE:
        x, y, z, r, size = 0.0, 0.0, 0.0, 0.0, 0.0
        for t in range(len(weights)):
            w, p = weights[t], parts[t]
            x, y, z, r = x + w * p[i, 0], y + w * p[i, 1], z + w * p[i, 2], r + abs(w) * p[i, 3]
            size += abs(w) * (abs(p[i, 0]) + abs(p[i, 1]) + abs(p[i, 2]) + p[i, 3])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x, y, z, r + slack * (len(weights) + 4) * EPS * size
        return
    for s in range(half):
        low, high, size = 0.0, 0.0, 0.0
        for t in range(len(weights)):
            w = weights[t]
            a, b = w * parts[t, i, s], w * parts[t, i, s + half]
            low, high, size = low + min(a, b), high + max(a, b), size + max(abs(a), abs(b))
        wide = slack * (len(weights) + 4) * EPS * size
        out[i, s], out[i, s + half] = low - wide, high + wide


@kernel
def refit_on_demand(tree, i):
    """Refit the volume of node i, and of its elements if it is a leaf and they are outdated."""
    tree.stamp[i] = tree.now
    if tree.refit_mode == FROM_ITEMS:
        fit_node(tree.bounds, tree.links, tree.items, tree.kind, i, True)
        return
    blend(tree.node_parts, tree.weights, tree.kind, 8.0, i, tree.bounds)
    links, at = tree.links, tree.links.shape[1] - 4
    if links[i, at] == i + 1:
        for q in range(links[i, at + 1], links[i, at + 1] + links[i, at + 2]):
            blend(tree.item_parts, tree.weights, tree.kind, 2.0, q, tree.items)


@kernel
def spheres_meet(a, i, b, j, within, slack):
    d = vec.norm(vec.sub(vec.load(a, i), vec.load(b, j)))
    return d <= (a[i, 3] + b[j, 3] + within) * (1.0 + 16.0 * EPS * slack)


@kernel
def oriented_meet(a, i, b, j, more, slack):
    """Whether no face normal and no cross product of edges separates two OBBs, their half extents enlarged by `more`.

    `slack` scales the tolerance for rounding; cross products of nearly parallel edges are not directions and are
    skipped.
    """
    d = vec.sub(vec.load(b, j), vec.load(a, i))
    size = abs(d[0]) + abs(d[1]) + abs(d[2])
    size += a[i, 3] + a[i, 4] + a[i, 5] + b[j, 3] + b[j, 4] + b[j, 5] + 6.0 * more
    tolerance = 16.0 * EPS * slack * size
    for s in range(3):
        n = axis_of(a, i, s)
        if abs(vec.dot(d, n)) > a[i, 3 + s] + more + half_along(b, j, n, more) + tolerance:
            return False
        n = axis_of(b, j, s)
        if abs(vec.dot(d, n)) > b[j, 3 + s] + more + half_along(a, i, n, more) + tolerance:
            return False
    for s in range(3):
        u = axis_of(a, i, s)
        for t in range(3):
            n = vec.cross(u, axis_of(b, j, t))
            length = vec.norm(n)
            if length > 1e-6:
                r = half_along(a, i, n, more) + half_along(b, j, n, more)
                if abs(vec.dot(d, n)) > r + tolerance:
                    return False
    return True


@kernel
def others_meet(a, i, b, j, kind, reach, slack):
    """Whether two spheres or OBBs are within `reach`; k-DOPs are tested inline by the callers. slack > 1: of nodes."""
    if kind == SPHERE:
        return spheres_meet(a, i, b, j, reach[0], slack)
    return oriented_meet(a, i, b, j, reach[1] if slack > 1.0 else reach[0], slack)


@kernel
def extent(rows, i, kind, h):
    """Size of a volume, for comparison."""
    if kind == SLABS:
        return rows[i, h] - rows[i, 0] + rows[i, h + 1] - rows[i, 1] + rows[i, h + 2] - rows[i, 2]
    return rows[i, 3] if kind == SPHERE else rows[i, 3] + rows[i, 4] + rows[i, 5]


@kernel
def item_pairs(query, leaves, n, out, at, capacity):
    """Write the overlapping pairs of elements of n pairs of leaves to out[at:at + capacity]; return the full number."""
    a, b, same, reach = query
    items_a, items_b, order_a, order_b, kind, h = a.items, b.items, a.order, b.order, a.kind, len(reach)
    links_a, links_b, w = a.links, b.links, a.links.shape[1] - 4
    count = 0
    for k in range(n):
        i, j = leaves[k, 0], leaves[k, 1]
        first, last = links_b[j, w + 1], links_b[j, w + 1] + links_b[j, w + 2]
        for p in range(links_a[i, w + 1], links_a[i, w + 1] + links_a[i, w + 2]):
            for q in range(p + 1 if same and i == j else first, last):
                hit = True
                if kind == SLABS:
                    for s in range(h):
                        if items_a[p, s] - items_b[q, s + h] > reach[s] or items_b[q, s] - items_a[p, s + h] > reach[s]:
                            hit = False
                            break
                else:
                    hit = others_meet(items_a, p, items_b, q, kind, reach, 1.0)
                if hit:
                    if count < capacity:
                        e, f = order_a[p], order_b[q]
                        if same and f < e:
                            e, f = f, e
                        out[at + count, 0], out[at + count, 1] = e, f
                    count += 1
    return count


@kernel
def traverse(query, task, out, at, capacity):
    """Write the pairs below the node pair `task` to out[at:at + capacity]; return the full number of pairs, and of
    tests.
    """
    a, b, same, reach = query
    bounds_a, bounds_b, links_a, links_b, kind, h = a.bounds, b.bounds, a.links, b.links, a.kind, len(reach)
    stack, leaves = np.empty((512, 2), np.int32), np.empty((512, 2), np.int32)
    stack[0, 0], stack[0, 1] = task[0], task[1]
    top, n, count, tests, w = 1, 0, 0, 0, links_a.shape[1] - 4
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        end_a, end_b = links_a[i, w], links_b[j, w]
        if a.refit_mode != CURRENT and a.stamp[i] != a.now:
            refit_on_demand(a, i)
        if b.refit_mode != CURRENT and b.stamp[j] != b.now:
            refit_on_demand(b, j)
        itself = same and i == j
        if not itself:
            tests += 1
            hit = True
            if kind == SLABS:
                for s in range(h):
                    if bounds_a[i, s] - bounds_b[j, s + h] > reach[s] or bounds_b[j, s] - bounds_a[i, s + h] > reach[s]:
                        hit = False
                        break
            else:
                hit = others_meet(bounds_a, i, bounds_b, j, kind, reach, 8.0)
            if not hit:
                continue
        if end_a == i + 1 and end_b == j + 1:
            leaves[n, 0], leaves[n, 1] = i, j
            n += 1
            if n == len(leaves):
                count += item_pairs(query, leaves, n, out, at + count, capacity - count)
                n = 0
            continue
        if top + 40 > len(stack):
            stack = with_doubled_capacity(stack)
        descend_a = (
            itself or end_b == j + 1 or (end_a > i + 1 and extent(bounds_a, i, kind, h) >= extent(bounds_b, j, kind, h))
        )
        c = i + 1 if descend_a else i
        while c < (end_a if descend_a else i + 1):
            d = c if itself else (j if descend_a else j + 1)
            while d < (end_a if itself else (j + 1 if descend_a else end_b)):
                stack[top, 0], stack[top, 1] = c, d
                d, top = d + 1 if descend_a and not itself else links_b[d, w], top + 1
            c = links_a[c, w] if descend_a else c + 1
    return count + item_pairs(query, leaves, n, out, at + count, capacity - count), tests


@kernel
def with_doubled_capacity(stack):
    out = np.empty((2 * len(stack), 2), np.int32)
    for k in range(len(stack)):
        out[k, 0], out[k, 1] = stack[k, 0], stack[k, 1]
    return out


@kernel
def front(a, b, same, tasks):
    """Open pairs of nodes breadth first until there are about as many as rows in `tasks` (t,2); return their number."""
    links_a, links_b, w = a.links, b.links, a.links.shape[1] - 4
    if len(links_a) == 0 or len(links_b) == 0:
        return 0
    tasks[0, 0], tasks[0, 1] = 0, 0
    n, at = 1, 0
    while at < n and n + 36 < len(tasks):
        i, j = tasks[at, 0], tasks[at, 1]
        itself = same and i == j
        end_a, end_b = links_a[i, w], links_b[j, w]
        if end_a == i + 1 and end_b == j + 1:
            at += 1
            continue
        n -= 1
        for k in range(at, n):
            tasks[k, 0], tasks[k, 1] = tasks[k + 1, 0], tasks[k + 1, 1]
        descend_a = itself or end_b == j + 1 or (end_a > i + 1 and links_a[i, w + 2] >= links_b[j, w + 2])
        c = i + 1 if descend_a else i
        while c < (end_a if descend_a else i + 1):
            d = c if itself else (j if descend_a else j + 1)
            while d < (end_a if itself else (j + 1 if descend_a else end_b)):
                tasks[n, 0], tasks[n, 1] = c, d
                d, n = d + 1 if descend_a and not itself else links_b[d, w], n + 1
            c = links_a[c, w] if descend_a else c + 1
    return n


@kernel(parallel=True)
def traverse_tasks(query, tasks, start, out, count, tests):
    """Apply `traverse` to `tasks` (t,2); task t writes to out[start[t]:start[t + 1]]; count (t,): the full number."""
    a = TraversedBvh(*query.a)  # a parallel loop takes no tuples within tuples
    b = TraversedBvh(*query.b)
    same, reach = query.same, query.reach
    for t in prange(len(tasks)):
        task, capacity = (tasks[t, 0], tasks[t, 1]), start[t + 1] - start[t]
        count[t], tests[t] = traverse(BroadPhaseQuery(a, b, same, reach), task, out, start[t], capacity)

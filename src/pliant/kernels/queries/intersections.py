"""Intersecting pairs of triangles: simultaneous traversal of two BVHs (or one with itself), then exact predicates.

A pair of nodes whose boxes overlap is replaced by pairs with the children of the larger one (Gottschalk, Lin and
Manocha 1996, OBBTree, section 5). Subtrees of the first BVH are distributed over threads; the result is sorted
afterwards, so that it does not depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from ..geometry.triangle_pair import corners_intersect
from ..jit import kernel, prange
from ..vec import load
from .closest_point import coprime_stride

WAITING = 2048  # pairs of overlapping boxes tested together


class BvhSide(NamedTuple):
    x: np.ndarray  # (n,3) vertices, metres
    faces: np.ndarray  # (m,3) rows of x
    corners: np.ndarray  # (m,3) the same with welded vertex indices, which determine neighbours
    nodes: np.ndarray  # of the BVH, see tree.py
    order: np.ndarray  # (m,) faces in leaf order
    items: np.ndarray  # (m,6) their boxes
    parts: np.ndarray  # (p,) roots of subtrees


@kernel
def stack_capacity(nodes):
    """Stack size (pairs of nodes) needed to traverse a BVH with itself."""
    level = np.ones(len(nodes), np.int64)
    deepest, widest = 0, 0
    for i in range(len(nodes)):
        deepest = max(deepest, level[i])
        j, width = i + 1, 0
        while j < nodes[i].skip:
            level[j] = level[i] + 1
            j = nodes[j].skip
            width += 1
        widest = max(widest, width)
    return deepest * widest * (widest + 1) // 2 + 1


@kernel
def boxes_disjoint(a, b):
    """Return whether the boxes of two nodes are disjoint."""
    p, q = a.bounds, b.bounds
    return (p[0] > q[3]) | (q[0] > p[3]) | (p[1] > q[4]) | (q[1] > p[4]) | (p[2] > q[5]) | (q[2] > p[5])


@kernel
def traverse(a, b, same, stack, top, out, count, last):
    """Find intersecting pairs below the pairs of nodes on `stack`, written to out[count:last]; the rest is counted."""
    nodes_a, nodes_b, items_a, items_b, order_a, order_b = a.nodes, b.nodes, a.items, b.items, a.order, b.order
    waiting, n = np.empty((WAITING, 2), np.int32), 0
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        one, two = nodes_a[i], nodes_b[j]
        end_a, end_b = one.skip == i + 1, two.skip == j + 1
        if end_a and end_b:
            for p in range(one.first, one.first + one.count):
                for q in range(p + 1 if same and i == j else two.first, two.first + two.count):
                    beside = (items_a[p, 0] > items_b[q, 3]) | (items_b[q, 0] > items_a[p, 3])
                    beside |= (items_a[p, 1] > items_b[q, 4]) | (items_b[q, 1] > items_a[p, 4])
                    beside |= (items_a[p, 2] > items_b[q, 5]) | (items_b[q, 2] > items_a[p, 5])
                    if not beside:
                        if n == WAITING:
                            count = resolve_waiting(a, b, same, waiting, n, out, count, last)
                            n = 0
                        waiting[n, 0], waiting[n, 1] = order_a[p], order_b[q]
                        n += 1
        elif same and i == j:
            k = i + 1
            while k < one.skip:
                stack[top, 0], stack[top, 1] = k, k
                top += 1
                m = nodes_a[k].skip
                while m < one.skip:
                    if not boxes_disjoint(nodes_a[k], nodes_a[m]):
                        stack[top, 0], stack[top, 1] = k, m
                        top += 1
                    m = nodes_a[m].skip
                k = nodes_a[k].skip
        elif end_b or (not end_a and one.count >= two.count):
            k = i + 1
            while k < one.skip:
                if not boxes_disjoint(nodes_a[k], two):
                    stack[top, 0], stack[top, 1] = k, j
                    top += 1
                k = nodes_a[k].skip
        else:
            k = j + 1
            while k < two.skip:
                if not boxes_disjoint(one, nodes_b[k]):
                    stack[top, 0], stack[top, 1] = i, k
                    top += 1
                k = nodes_b[k].skip
    return resolve_waiting(a, b, same, waiting, n, out, count, last)


@kernel
def resolve_waiting(a, b, same, waiting, n, out, count, last):
    """Write those of `waiting` (n,2) that intersect, the lower face first within one mesh; return the new count."""
    x_a, x_b, faces_a, faces_b, corners = a.x, b.x, a.faces, b.faces, a.corners
    for w in range(n):
        f, g = waiting[w, 0], waiting[w, 1]
        if same and f > g:
            f, g = g, f
        p_0, p_1, p_2 = load(x_a, faces_a[f, 0]), load(x_a, faces_a[f, 1]), load(x_a, faces_a[f, 2])
        q_0, q_1, q_2 = load(x_b, faces_b[g, 0]), load(x_b, faces_b[g, 1]), load(x_b, faces_b[g, 2])
        i, j = (0, 1, 2), (3, 4, 5)
        if same:
            i = (corners[f, 0], corners[f, 1], corners[f, 2])
            j = (corners[g, 0], corners[g, 1], corners[g, 2])
        if corners_intersect(i, j, p_0, p_1, p_2, q_0, q_1, q_2):
            if count < last:
                out[count, 0], out[count, 1] = f, g
            count += 1
    return count


@kernel(parallel=True)
def find_intersections(a, b, same, capacity, start, out, found):
    """Find intersecting pairs of the subtrees a.parts with b: found[t] for subtree t, in out[start[t]:start[t+1]].

    `same`: b is a, and each pair is reported once. `capacity`: the stack size in pairs of nodes.
    """
    parts, nodes = a.parts, b.nodes
    n = len(parts)
    # neighbours in the BVH are neighbours in space, and often only one region contains work
    stride = coprime_stride(n)
    for k in prange(n):
        t = (k * stride) % n
        stack = np.empty((capacity, 2), np.int32)
        i, top = parts[t], 0
        if same:
            stack[0, 0], stack[0, 1], top = i, i, 1
            for s in range(t + 1, n):
                if not boxes_disjoint(nodes[i], nodes[parts[s]]):
                    stack[top, 0], stack[top, 1] = i, parts[s]
                    top += 1
        elif not boxes_disjoint(a.nodes[i], nodes[0]):
            stack[0, 0], stack[0, 1], top = i, 0, 1
        found[t] = traverse(a, b, same, stack, top, out, start[t], start[t + 1]) - start[t] if top else 0

"""BVH builds bottom-up, by insertion and by connectivity: binary trees as pairs of clusters.

Cluster e < m is element e; the others have two children each, `halves` (2m-1,2), a box in `boxes` (2m-1,6), and the
number of elements `counts`. Merging along a curve: D. Meister, J. Bittner, Parallel Locally-Ordered Clustering, 2018;
insertion: J. Goldsmith, J. Salmon, Automatic Creation of Object Hierarchies for Ray Tracing, 1987; regions grown over
shared edges: P. Volino, N. Magnenat-Thalmann, 1994.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel

WINDOW = 8  # clusters considered on either side along the curve


class Clusters(NamedTuple):
    boxes: np.ndarray  # (2m-1,6)
    halves: np.ndarray  # (2m-1,2) i4
    counts: np.ndarray  # (2m-1,) i4


@kernel
def spread_bits(v):
    """Spread 21 bits with two zeros between neighbours."""
    out = 0
    for b in range(21):
        out |= ((v >> b) & 1) << (3 * b)
    return out


@kernel
def curve_codes(boxes, ids, codes):
    """Morton codes of the centres of boxes."""
    least, most = np.full(3, np.inf), np.full(3, -np.inf)
    for k in range(len(ids)):
        for a in range(3):
            c = 0.5 * boxes[ids[k], a] + 0.5 * boxes[ids[k], a + 3]
            least[a], most[a] = min(least[a], c), max(most[a], c)
    side = 0.0
    for a in range(3):
        side = max(side, most[a] - least[a])
    for k in range(len(ids)):
        code = 0
        for a in range(3):
            c = 0.5 * boxes[ids[k], a] + 0.5 * boxes[ids[k], a + 3]
            code |= spread_bits(int((c - least[a]) / side * 2097151.0) if side > 0.0 else 0) << a
        codes[k] = code


@kernel
def joint_surface(boxes, i, j):
    """Half the surface area of the box around two boxes."""
    x = max(boxes[i, 3], boxes[j, 3]) - min(boxes[i, 0], boxes[j, 0])
    y = max(boxes[i, 4], boxes[j, 4]) - min(boxes[i, 1], boxes[j, 1])
    z = max(boxes[i, 5], boxes[j, 5]) - min(boxes[i, 2], boxes[j, 2])
    return x * y + y * z + z * x


@kernel
def join(clusters, i, j, new):
    boxes = clusters.boxes
    for a in range(3):
        boxes[new, a] = min(boxes[i, a], boxes[j, a])
        boxes[new, a + 3] = max(boxes[i, a + 3], boxes[j, a + 3])
    clusters.halves[new, 0], clusters.halves[new, 1] = i, j
    clusters.counts[new] = clusters.counts[i] + clusters.counts[j]


@kernel
def nearest_along(boxes, ids, n, best):
    """Find for each cluster the neighbour along the curve with the least joint surface area.

    Of equal ones the even-odd partner, so that equal boxes halve in number; then the first.
    """
    for p in range(n):
        least, best[p] = np.inf, -1
        for q in range(max(0, p - WINDOW), min(n, p + WINDOW + 1)):
            if q != p:
                s = joint_surface(boxes, ids[p], ids[q])
                if s < least or (s == least and q == p ^ 1) or best[p] < 0:
                    least, best[p] = s, q


@kernel
def merge_along(clusters, ids, n, new):
    """Merge clusters ids[:n], in order along a curve, until one is left; `new` is the first free index."""
    best = np.empty(n, np.int64)
    while n > 1:
        nearest_along(clusters.boxes, ids, n, best)
        kept = 0
        for p in range(n):
            q = best[p]
            if best[q] == p and q < p:
                continue
            if best[q] == p:
                join(clusters, ids[p], ids[q], new)
                ids[kept] = new
                new += 1
            else:
                ids[kept] = ids[p]
            kept += 1
        n = kept


@kernel
def merge_neighbours(clusters, m, pairs, rounds, home):
    """Merge clusters that share an edge, given `pairs` (p,2) of elements; return the first free index.

    In each round, two clusters are merged if each is the cheapest neighbour of the other. `home` (2m-1,) becomes the
    cluster that each one was merged into; a cluster that is its own home remains.
    """
    best, least = np.empty(2 * m - 1, np.int64), np.empty(2 * m - 1)
    counts, new, p = clusters.counts, m, len(pairs)
    for k in range(2 * m - 1):
        home[k] = k
    for _ in range(rounds):
        best[:new], least[:new] = -1, np.inf
        kept = 0
        for k in range(p):
            i, j = home[pairs[k, 0]], home[pairs[k, 1]]
            if i == j:
                continue
            pairs[kept, 0], pairs[kept, 1] = i, j
            kept += 1
            # the number of elements dominates, so that regions stay of similar size; then the joint box decides
            cost = (counts[i] + counts[j]) * (1.0 + joint_surface(clusters.boxes, i, j))
            for a, b in ((i, j), (j, i)):
                if cost < least[a] or (cost == least[a] and b == a ^ 1) or best[a] < 0:
                    least[a], best[a] = cost, b
        p = kept
        if p == 0:
            break
        for k in range(p):
            i, j = pairs[k, 0], pairs[k, 1]
            if best[i] == j and best[j] == i and home[i] == i and home[j] == j:
                join(clusters, i, j, new)
                home[i], home[j] = new, new
                new += 1
    return new


@kernel
def insert_all(clusters, m, stride):
    """Insert elements one by one where the boxes above them grow least; return the index of the root.

    Elements are taken in steps of `stride`, which is coprime to m: neighbours inserted in sequence yield a list-like
    tree.
    """
    boxes, halves, counts = clusters.boxes, clusters.halves, clusters.counts
    up = np.full(2 * m - 1, -1, np.int64)
    root, new = 0, m
    for k in range(1, m):
        e = k * stride % m
        at = root
        while at >= m:
            own = joint_surface(boxes, at, at)
            here = joint_surface(boxes, at, e)
            i, j = halves[at, 0], halves[at, 1]
            grow_i = joint_surface(boxes, i, e) - joint_surface(boxes, i, i)
            grow_j = joint_surface(boxes, j, e) - joint_surface(boxes, j, j)
            if here < here - own + min(grow_i, grow_j):
                break
            at = i if grow_i < grow_j or (grow_i == grow_j and counts[i] <= counts[j]) else j
        above = up[at]
        join(clusters, at, e, new)
        up[at], up[e], up[new] = new, new, above
        if above < 0:
            root = new
        else:
            halves[above, 0 if halves[above, 0] == at else 1] = new
        while above >= 0:
            join(clusters, halves[above, 0], halves[above, 1], above)
            above = up[above]
        new += 1
    return root


@kernel
def unroll(clusters, root, leaf, order, starts, counts):
    """Flatten a cluster tree depth first: `order` of elements, `starts` and `counts` of nodes; return the number of
    nodes.
    """
    halves, sizes = clusters.halves, clusters.counts
    m = len(order)
    stack = np.empty(m + 1, np.int32)
    small = np.empty(m + 1, np.bool_)
    stack[0], small[0] = root, False
    top, n, at = min(m, 1), 0, 0
    while top > 0:
        top -= 1
        c, inside = stack[top], small[top]
        if not inside:
            starts[n], counts[n] = at, sizes[c]
            n += 1
            inside = sizes[c] <= leaf
        if c < m:
            order[at] = c
            at += 1
        else:
            stack[top], small[top] = halves[c, 1], inside
            stack[top + 1], small[top + 1] = halves[c, 0], inside
            top += 2
    return n

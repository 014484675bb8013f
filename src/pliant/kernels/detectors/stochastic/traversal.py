"""Average-case traversal of two BVHs, or one with itself, in order of contact probability (Klein and Zachmann 2003).

A node stores the share of cells of a grid over its box that contained much of its surface when the BVH was built. The
queue is ordered by the probability that some cell in the overlap of two boxes is well filled by both, if the filled
cells of each were distributed at random.
"""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...jit import kernel, prange
from .features import add_features
from .flood import beyond

GRID = 8  # cells along each side of a node's box
SAMPLES = 256  # least number of points at which the surface of a node is sampled
# distinct probabilities in the queue; of equal ones the latest comes first, so that the search descends
STEPS = 1 << 12
SELF_HALF = 512  # triangles of a node whose self-contact probability is one half
BATCH = 64  # pairs of triangles whose features are tested together
OPENED = 40  # least space for opening an entry: a node of 8 children with itself gives 36
# entries of `Traversal.progress`
SIZE, NUMBER, FOUND, IN_BATCH, STATUS, TESTS, ENOUGH = 0, 1, 2, 3, 4, 5, 6
DONE, FULL = 1, 2  # values of STATUS: quality reached or queue empty; a buffer needs more space
IN_QUEUE, VISITED = 0, 1  # entries of `Traversal.expected`


class StochasticBvh(NamedTuple):
    nodes: np.ndarray  # BVH of boxes
    items: np.ndarray  # (m,6) boxes of the triangles, in leaf order
    order: np.ndarray  # (m,) i4 triangles
    fill: np.ndarray  # (n,) share of the cells of a node's box that are well filled
    rest: np.ndarray  # (n,6) boxes of the nodes when the BVH was built
    first: int  # index of this side's first triangle in the facets


class Queue(NamedTuple):
    key: np.ndarray  # (cap,) i8 a max-heap: quantised probability, then the sequence number of the entry
    pair: np.ndarray  # (cap,2) i4 nodes
    expected: np.ndarray  # (cap,) expected number of near pairs of triangles


class Traversal(NamedTuple):
    """A traversal in progress."""

    queue: Queue  # pairs of nodes still to be opened
    # (7,) queue size, next sequence number, contacts, pairs in the batch, status, tests, contacts at which to stop
    progress: np.ndarray
    expected: np.ndarray  # (2,) expected near pairs of the queue, and of the leaves visited
    batch: np.ndarray  # (t,2) i4 pairs of triangles whose features are still to be tested
    out: np.ndarray  # (cap,3) i4 contacts: kind and the two features


@kernel(parallel=True)
def fill_cells(nodes, order, x, faces, fill):
    """Compute the share of well-filled cells of each node, with at least half the area of a plane through a cell."""
    for i in prange(len(nodes)):
        node = nodes[i]
        w, count = node.bounds, node.count
        largest = max(w[3] - w[0], w[4] - w[1], w[5] - w[2])
        pad = 1e-3 * largest + 1e-300
        h_0, h_1, h_2 = (w[3] - w[0] + pad) / GRID, (w[4] - w[1] + pad) / GRID, (w[5] - w[2] + pad) / GRID
        area, s = np.zeros(GRID * GRID * GRID), max(1, math.ceil(math.sqrt(SAMPLES / count)))
        for q in range(node.first, node.first + count):
            f = order[q]
            a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
            e, g = vec.sub(b, a), vec.sub(c, a)
            part = 0.5 * vec.norm(vec.cross(e, g)) / (s * s)
            for k in range(s):
                for j in range(2 * (s - k) - 1):
                    # centroids of the upright and of the inverted parts of a row
                    t = (k + (1.0 if j % 2 == 0 else 2.0) / 3.0) / s
                    u = (j // 2 + (1.0 if j % 2 == 0 else 2.0) / 3.0) / s
                    p = vec.madd(vec.madd(a, e, u), g, t)
                    c_0, c_1, c_2 = int((p[0] - w[0]) / h_0), int((p[1] - w[1]) / h_1), int((p[2] - w[2]) / h_2)
                    c_0, c_1, c_2 = min(max(c_0, 0), GRID - 1), min(max(c_1, 0), GRID - 1), min(max(c_2, 0), GRID - 1)
                    area[(c_0 * GRID + c_1) * GRID + c_2] += part
        enough, filled = 0.5 * min(h_0 * h_1, h_1 * h_2, h_2 * h_0), 0
        for k in range(len(area)):
            filled += area[k] > 0.0 and area[k] >= enough
        fill[i] = max(filled, 1) / (GRID * GRID * GRID)


@kernel
def contact_probability(v, w, fill_a, fill_b, n_a, n_b, reach):
    """Probability that a cell in the overlap of two boxes is well filled by both, and the expected number of triangles
    of either in such cells; -1 if the boxes are farther than `reach` from each other.
    """
    share_a, share_b = 1.0, 1.0
    for k in range(3):
        gap = max(v[k], w[k]) - min(v[k + 3], w[k + 3])
        if gap > reach:
            return -1.0, 0.0
        common = reach - gap + 1e-300
        share_a *= min(1.0, common / (v[k + 3] - v[k] + reach + 1e-300))
        share_b *= min(1.0, common / (w[k + 3] - w[k] + reach + 1e-300))
    cells = max(1.0, GRID * GRID * GRID * min(share_a, share_b))
    p = 1.0 - (1.0 - fill_a * fill_b) ** cells
    return p, min(n_a * share_a * fill_b, n_b * share_b * fill_a)


@kernel
def probability_of(a, b, same, c, d, reach):
    """The results of `contact_probability` for nodes c and d. In self-contact the boxes of neighbours also overlap at
    rest, when nothing touches; and the larger a node, the more probable a fold in it.
    """
    v, w = a.nodes[c], b.nodes[d]
    n, m = v["count"], w["count"]
    if same and c == d:
        return n / (n + SELF_HALF), 0.0
    p, near = contact_probability(v["bounds"], w["bounds"], a.fill[c], b.fill[d], n, m, reach)
    if same and p >= 0.0:
        before, at_rest = contact_probability(a.rest[c], a.rest[d], a.fill[c], b.fill[d], n, m, reach)
        p, near = max(p - max(before, 0.0), 0.0), max(near - at_rest, 0.0)
    return p, near


@kernel
def push(queue, size, number, i, j, p, expected):
    """Add nodes i and j with probability p to a queue of `size` entries; `number` is the sequence number."""
    key, pair, near = queue.key, queue.pair, queue.expected
    k, at = np.int64(p * (STEPS - 1)) << 40 | number, size
    while at > 0 and key[(at - 1) // 2] < k:
        up = (at - 1) // 2
        key[at], pair[at, 0], pair[at, 1], near[at] = key[up], pair[up, 0], pair[up, 1], near[up]
        at = up
    key[at], pair[at, 0], pair[at, 1], near[at] = k, i, j, expected


@kernel
def pop(queue, size):
    """Remove the first of `size` entries: the last one sinks from its position."""
    key, pair, near = queue.key, queue.pair, queue.expected
    last, at = size - 1, 0
    while 2 * at + 1 < last:
        down = 2 * at + 1
        if down + 1 < last and key[down + 1] > key[down]:
            down += 1
        if key[down] < key[last]:
            break
        key[at], pair[at, 0], pair[at, 1], near[at] = key[down], pair[down, 0], pair[down, 1], near[down]
        at = down
    key[at], pair[at, 0], pair[at, 1], near[at] = key[last], pair[last, 0], pair[last, 1], near[last]


@kernel
def leaf_pairs(a, b, query, i, j, batch, n):
    """Append pairs of triangles of two leaves with near boxes and planes to batch, from n on; return the new number."""
    facets, x, same, reach, _ = query
    items_a, items_b, order_a, order_b, corners = a.items, b.items, a.order, b.order, facets.corners
    one, two = a.nodes[i], b.nodes[j]
    for p in range(one["first"], one["first"] + one["count"]):
        for q in range(p + 1 if same and i == j else two["first"], two["first"] + two["count"]):
            hit = True
            for k in range(3):
                if items_a[p, k] - items_b[q, k + 3] > reach or items_b[q, k] - items_a[p, k + 3] > reach:
                    hit = False
            if not hit:
                continue
            f, g = order_a[p] + a.first, order_b[q] + b.first
            t = vec.load(x, corners[f, 0]), vec.load(x, corners[f, 1]), vec.load(x, corners[f, 2])
            u = vec.load(x, corners[g, 0]), vec.load(x, corners[g, 1]), vec.load(x, corners[g, 2])
            if not (beyond(t, u, reach) or beyond(u, t, reach)):
                batch[n, 0], batch[n, 1] = f, g
                n += 1
    return n


@kernel
def advance(a, b, query, quality, work, traversal):
    """Open pairs of nodes until the estimated recall is `quality` or the queue is empty (DONE), a buffer needs more
    space (FULL), or this many tests of pairs of boxes are done or progress[ENOUGH] contacts found."""
    queue, progress, expected, batch, out = traversal
    same, reach = query.same, query.reach
    nodes_a, nodes_b, until = a.nodes, b.nodes, progress[TESTS] + work
    while progress[TESTS] < until and progress[FOUND] < progress[ENOUGH]:
        size, found = progress[SIZE], progress[FOUND]
        rate = (found + 1.0) / (expected[VISITED] + 1.0)
        recall = (found + 1.0) / (found + 1.0 + rate * max(expected[IN_QUEUE], 0.0))
        if size == 0 or (quality < 1.0 and recall >= quality) or progress[IN_BATCH] > len(batch) - 64:
            progress[FOUND] = add_features(query, batch, 0, progress[IN_BATCH], out, found)
            progress[IN_BATCH] = 0
            if size == 0 or (quality < 1.0 and recall >= quality):
                progress[STATUS] = DONE
                return
        if size + OPENED > len(queue.key) or progress[FOUND] + 16 * len(batch) > len(out):
            progress[STATUS] = FULL
            return
        i, j = queue.pair[0, 0], queue.pair[0, 1]
        expected[IN_QUEUE] -= queue.expected[0]
        near = queue.expected[0]
        pop(queue, size)
        progress[SIZE], size = size - 1, size - 1
        one, two = nodes_a[i], nodes_b[j]
        end_a, end_b, itself = one["skip"], two["skip"], same and i == j
        if end_a == i + 1 and end_b == j + 1:
            expected[VISITED] += near
            progress[IN_BATCH] = leaf_pairs(a, b, query, i, j, batch, progress[IN_BATCH])
            progress[TESTS] += one["count"] * two["count"]
            continue
        opens = itself or end_b == j + 1 or (end_a > i + 1 and one["count"] >= two["count"])
        c = np.int64(i + 1 if opens else i)
        while c < (end_a if opens else i + 1):
            d = np.int64(c if itself else (j if opens else j + 1))
            while d < (end_a if itself else (j + 1 if opens else end_b)):
                p, near = probability_of(a, b, same, c, d, reach)
                if p >= 0.0:
                    push(queue, progress[SIZE], progress[NUMBER], c, d, p, near)
                    progress[SIZE], progress[NUMBER] = progress[SIZE] + 1, progress[NUMBER] + 1
                    expected[IN_QUEUE] += near
                d = np.int64(nodes_b[d]["skip"]) if itself or not opens else d + 1
                progress[TESTS] += 1
            c = np.int64(nodes_a[c]["skip"]) if opens else c + 1

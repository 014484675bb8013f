"""A BVH built on the card: triangles along a Morton curve, and all nodes at once (Karras 2012, Maximizing Parallelism
in the Construction of BVHs, Octrees, and k-d Trees).

The nodes are in depth-first order, as in `bvh/tree.py`: a node comes after twice the triangles before its own, less one
for each complete subtree of those, that is after 2 l + d nodes, where l is its first triangle and d the number of its
ancestors whose first child contains it.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import device
from .boxes import FIRST, NODE, SKIP, Boxes
from .card import cuda
from .jit import kernel, prange
from .sort import sort_by_key

CELLS = 1 << 10  # of the Morton curve, per axis
MOST = CELLS**3 - 1
READERS = 4096  # threads that reduce an array


class Lbvh(NamedTuple):
    """A BVH on the card whose boxes are not yet fitted."""

    boxes: Boxes
    order: object  # (m,) i4 triangles in leaf order
    levels: list  # inner nodes, i4, those whose children are in earlier lists


def build(corners, x) -> Lbvh:
    """Build the BVH of triangles `corners` (m,>=3), rows of x (n,3); all arrays are on the card."""
    m = len(corners)
    bounds = device.upload(np.array([np.inf] * 3 + [-np.inf] * 3))
    codes, order = device.empty(m, np.int64), device.empty(m, np.int32)
    readers = min(READERS, len(x))
    device.launch(bound, readers, x, readers, bounds)
    device.launch(curve_codes, m, corners, x, bounds, codes, order)
    codes, order = sort_by_key(codes, order, MOST)
    n = 2 * m - 1
    nodes = device.empty((n, 3), np.int32)  # parent, first and last triangle: inner nodes, then triangles
    device.launch(link_nodes, max(m - 1, 1), codes, nodes)
    box = device.empty((n, NODE), np.float32)
    boxes = Boxes(box, device.retyped(box, np.int32), device.empty(m, np.int32))
    depth, place = device.empty(n, np.int64), device.empty(n, np.int32)
    device.launch(lay_out, n, nodes, boxes.link, boxes.leaf, depth, place)
    return Lbvh(boxes, order, _levels(depth, place, m - 1))


def _levels(depth, place, inner: int) -> list:
    """The inner nodes by depth, deepest first."""
    if not inner:
        return []
    counts = device.zeros(1 << 10, np.int32)
    device.launch(count_values, inner, depth, inner, counts)
    sizes = counts.copy_to_host()
    _, nodes = sort_by_key(device.part(depth, 0, inner), device.part(place, 0, inner), len(sizes) - 1)
    ends = np.cumsum(sizes[: np.flatnonzero(sizes)[-1] + 1])
    starts = np.concatenate([[0], ends[:-1]])
    return [device.part(nodes, int(s), int(e)) for s, e in zip(starts, ends, strict=True) if e > s][::-1]


@kernel(parallel=True)
def bound(x, readers, bounds):
    """The box (6,) of all rows of x (n,3), low and high; initially empty."""
    for c in prange(readers):
        for k in range(3):
            low, high = math.inf, -math.inf
            for i in range(c, len(x), readers):
                low, high = min(low, x[i, k]), max(high, x[i, k])
            if low <= high:
                cuda.atomic.min(bounds, k, low)
                cuda.atomic.max(bounds, 3 + k, high)


@kernel
def spread(cell):
    """The bits of a number below CELLS, two zeros between each and the next."""
    cell = (cell | (cell << 16)) & 0x30000FF
    cell = (cell | (cell << 8)) & 0x300F00F
    cell = (cell | (cell << 4)) & 0x30C30C3
    return (cell | (cell << 2)) & 0x9249249


@kernel(parallel=True)
def curve_codes(corners, x, bounds, codes, order):
    """The place of each triangle along a Morton curve, by the middle of its box."""
    span = max(bounds[3] - bounds[0], bounds[4] - bounds[1], bounds[5] - bounds[2])
    scale = CELLS * (1.0 - 1e-9) / span if span > 0.0 else 0.0
    for q in prange(len(corners)):
        code = np.int64(0)
        for k in range(3):
            u, v, w = x[corners[q, 0], k], x[corners[q, 1], k], x[corners[q, 2], k]
            middle = 0.5 * min(u, v, w) + 0.5 * max(u, v, w)
            code |= spread(np.int64((middle - bounds[k]) * scale)) << k
        codes[q], order[q] = code, q


@kernel
def alike(codes, i, j):
    """How many leading bits two triangles have in common, beyond the code that of their places; -1 outside."""
    if j < 0 or j >= len(codes):
        return -1
    different = codes[i] ^ codes[j]
    return 128 - bits(different) if different != 0 else 256 - bits(np.int64(i ^ j))


@kernel
def bits(value):
    count = 0
    while value > 0:
        value, count = value >> 1, count + 1
    return count


@kernel(parallel=True)
def link_nodes(codes, nodes):
    """Fill nodes (2m-1,3): the parent, -1 for the root, and the first and last triangle of inner nodes and, from m - 1
    on, of the triangles."""
    m = len(codes)
    if m == 1:
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = -1, 0, 0
    for i in prange(m - 1):
        step = 1 if alike(codes, i, i + 1) > alike(codes, i, i - 1) else -1
        least, most = alike(codes, i, i - step), 2
        while alike(codes, i, i + most * step) > least:
            most *= 2
        length, half = 0, most // 2
        while half > 0:
            if alike(codes, i, i + (length + half) * step) > least:
                length += half
            half //= 2
        j = i + length * step
        common, split, part = alike(codes, i, j), 0, length
        while part > 1:
            part = (part + 1) // 2
            if split + part < length and alike(codes, i, i + (split + part) * step) > common:
                split += part
        at = i + split * step + min(step, 0)  # the last triangle of the first child
        first, last = min(i, j), max(i, j)
        nodes[i, 1], nodes[i, 2] = first, last
        if i == 0:
            nodes[i, 0] = -1
        one, two = at if first < at else m - 1 + at, at + 1 if at + 1 < last else m + at
        nodes[one, 0], nodes[two, 0] = i, i
        if one >= m - 1:
            nodes[one, 1], nodes[one, 2] = at, at
        if two >= m - 1:
            nodes[two, 1], nodes[two, 2] = at + 1, at + 1


@kernel(parallel=True)
def lay_out(nodes, link, leaf, depth, place):
    """Write the links (n,NODE) of all nodes in depth-first order, the node (m,) of each triangle, and the depth and the
    place of each node in the order of `nodes`."""
    inner = len(leaf) - 1
    for node in prange(len(nodes)):
        first, last, below, at, level, left = nodes[node, 1], nodes[node, 2], node, nodes[node, 0], 0, 0
        while at >= 0:
            level += 1
            left += 1 if nodes[below, 1] == nodes[at, 1] else 0  # only the first child begins where its parent does
            below, at = at, nodes[at, 0]
        to = 2 * first + left
        link[to, SKIP], link[to, FIRST] = to + 2 * (last - first + 1) - 1, first
        depth[node], place[node] = level, to
        if node >= inner:
            leaf[first] = to


@kernel(parallel=True)
def count_values(values, n, counts):
    """Count each of the first n values."""
    for i in prange(n):
        cuda.atomic.add(counts, values[i], 1)

"""Times of impact of a mesh with itself on the card: those of `detectors/continuous.py`.

Filter: of the pairs of triangles whose swept boxes are near, the pairs of features that no plane separates throughout,
one bit each. Compact: list these few. Search: the time of impact of each, so that threads do not wait for those of
their neighbours that search.
"""

import math
from typing import NamedTuple

import numpy as np

from ..bvh.leaf_mesh import EDGES as EDGE_COLUMN
from ..bvh.leaf_mesh import FACE, FEATURES, WELDED
from .card import cuda
from .jit import kernel, prange
from .near_pairs import EDGE_BITS, FACE_BITS, corner, edge_corners, has_corner, vertex_corner
from .sources import twin

_sweep, _impact = twin("detectors.continuous"), twin("geometry.impact")
beside, span, overlap, grown, gap_of, extent = (
    _sweep.beside, _sweep.span, _sweep.overlap, _sweep.grown, _sweep.gap_of, _sweep.extent,
)  # fmt: skip
first_touch, stays_apart = _impact.first_touch, _impact.stays_apart
relative_motion = twin("geometry.impact_motion").relative_motion
largest, load = twin("geometry.rounding").largest, twin("vec").load
cross, sub = twin("vec").cross, twin("vec").sub


class SweptSide(NamedTuple):
    """A mesh in motion and, of each triangle in the order of the leaves, all its indices."""

    x_0: np.ndarray  # (n,3) f8 metres, at the start
    x_1: np.ndarray  # (n,3) at the end
    records: np.ndarray  # (m,RECORD) i4, see `pack_records`


class Limits(NamedTuple):
    """As in `ImpactQuery`."""

    tolerance: float
    slack: float


@kernel(parallel=True)
def fit_swept(corners, x_0, x_1, boxes):
    """Boxes of the triangles corners (m,>=3) that move from x_0 to x_1 (n,3)."""
    for q in prange(len(boxes.leaf)):
        i, j, h, node = corners[q, 0], corners[q, 1], corners[q, 2], boxes.leaf[q]
        for k in range(3):
            r, s, t, u, v, w = x_0[i, k], x_0[j, k], x_0[h, k], x_1[i, k], x_1[j, k], x_1[h, k]
            boxes.box[node, k], boxes.box[node, 3 + k] = min(r, s, t, u, v, w), max(r, s, t, u, v, w)


@kernel
def swept_triangle(side, q):
    """Its corners at the start and at the end."""
    r = side.records
    i, j, k = r[q, 0], r[q, 1], r[q, 2]
    return (
        load(side.x_0, i), load(side.x_0, j), load(side.x_0, k),
        load(side.x_1, i), load(side.x_1, j), load(side.x_1, k),
    )  # fmt: skip


@kernel
def box_of_points(a, b):
    return (
        min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]), max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]),
    )  # fmt: skip


@kernel
def joined(u, w):
    return (
        min(u[0], w[0]), min(u[1], w[1]), min(u[2], w[2]), max(u[3], w[3]), max(u[4], w[4]), max(u[5], w[5]),
    )  # fmt: skip


@kernel
def swept_edge(x, i, j):
    return joined(box_of_points(corner(x[:3], i), corner(x[:3], j)), box_of_points(corner(x[3:], i), corner(x[3:], j)))


@kernel
def swept_vertex(x, i):
    return box_of_points(corner(x[:3], i), corner(x[3:], i))


@kernel
def ends_of_face(x, i, y):
    """Corner i of x and the corners of y, at the start and at the end."""
    return (corner(x[:3], i), y[0], y[1], y[2]), (corner(x[3:], i), y[3], y[4], y[5])


@kernel
def ends_of_edges(x, i, j, y, k, h):
    return (
        (corner(x[:3], i), corner(x[:3], j), corner(y[:3], k), corner(y[:3], h)),
        (corner(x[3:], i), corner(x[3:], j), corner(y[3:], k), corner(y[3:], h)),
    )


@kernel
def ends_of(side, p, q, bit):
    """The four points of a pair of features at the start and at the end, and whether it is a vertex and a face."""
    r = side.records
    x, y = swept_triangle(side, p), swept_triangle(side, q)
    if bit < FACE_BITS:
        start, end = ends_of_face(x, vertex_corner(r[p, FEATURES], bit), y)
        return start, end, True
    if bit < EDGE_BITS:
        start, end = ends_of_face(y, vertex_corner(r[q, FEATURES], bit - FACE_BITS), x)
        return start, end, True
    e, f = (bit - EDGE_BITS) // 3, (bit - EDGE_BITS) % 3
    i, j = edge_corners(r, p, e)
    k, h = edge_corners(r, q, f)
    if r[q, EDGE_COLUMN + f] < r[p, EDGE_COLUMN + e]:  # the lower edge comes first, whichever was found first
        start, end = ends_of_edges(y, k, h, x, i, j)
    else:
        start, end = ends_of_edges(x, i, j, y, k, h)
    return start, end, False


@kernel
def near_boxes(side, p, q, x, y, slack):
    """One bit for each pair of features that are no neighbours and whose swept boxes overlap."""
    r, mask = side.records, 0
    code_p, code_q = r[p, FEATURES], r[q, FEATURES]
    own = grown(joined(swept_edge(x, 0, 1), swept_vertex(x, 2)), slack)
    other = grown(joined(swept_edge(y, 0, 1), swept_vertex(y, 2)), slack)
    if r[q, FACE] >= 0:
        for v in range(code_p & 3):
            k = vertex_corner(code_p, v)
            if not has_corner(r, q, r[p, WELDED + k]) and overlap(swept_vertex(x, k), other):
                mask |= 1 << v
    if r[p, FACE] >= 0:
        for v in range(code_q & 3):
            k = vertex_corner(code_q, v)
            if not has_corner(r, p, r[q, WELDED + k]) and overlap(swept_vertex(y, k), own):
                mask |= 1 << (FACE_BITS + v)
    for e in range((code_p >> 2) & 3):
        i, j = edge_corners(r, p, e)
        u, v = r[p, WELDED + i], r[p, WELDED + j]
        box = grown(swept_edge(x, i, j), slack)
        for f in range((code_q >> 2) & 3):
            k, h = edge_corners(r, q, f)
            s, t = r[q, WELDED + k], r[q, WELDED + h]
            if u != s and u != t and v != s and v != t and overlap(swept_edge(y, k, h), box):
                mask |= 1 << (EDGE_BITS + 3 * e + f)
    return mask


@kernel
def separated(x, y, limits):
    """Whether two triangles stay apart, by their boxes or by the normal of the first."""
    own, other = joined(swept_edge(x, 0, 1), swept_vertex(x, 2)), joined(swept_edge(y, 0, 1), swept_vertex(y, 2))
    own = grown(own, limits.slack)
    if not overlap(own, other):
        return True
    n = cross(sub(x[4], x[3]), sub(x[5], x[3]))
    size = extent(own) + extent(grown(other, limits.slack))
    gap = largest(n) * (gap_of(limits.tolerance) * size + limits.slack) + 1e-300
    return beside(span(n, x[0], x[3], x), span(n, x[0], x[3], y), gap)


@kernel(parallel=True)
def filter_pairs(side, limits, pairs, count, undecided, sizes):
    """One bit for each pair of features that needs a search, undecided (count,), and how many these are (count,)."""
    for m in prange(count):
        p, q = pairs[m, 0], pairs[m, 1]
        x, y = swept_triangle(side, p), swept_triangle(side, q)
        mask, kept, number = 0, 0, 0
        if not separated(x, y, limits):
            mask = near_boxes(side, p, q, x, y, limits.slack)
        bit = 0
        while mask >> bit:
            if (mask >> bit) & 1:
                start, end, face = ends_of(side, p, q, bit)
                if not stays_apart(relative_motion(start, end, face), face):
                    kept |= 1 << bit
                    number += 1
            bit += 1
        undecided[m], sizes[m] = kept, number


@kernel(parallel=True)
def list_searches(pairs, count, undecided, start, searches):
    """List the pairs of features that need a search: both triangles and the bit (k,3)."""
    for m in prange(count):
        mask, bit, to = undecided[m], 0, start[m]
        while mask >> bit:
            if (mask >> bit) & 1:
                searches[to, 0], searches[to, 1], searches[to, 2] = pairs[m, 0], pairs[m, 1], bit
                to += 1
            bit += 1


@kernel(parallel=True)
def search_least(side, tolerance, searches, least):
    """Lower least[0] to the earliest time of impact of the listed pairs."""
    for c in prange(len(searches)):
        start, end, face = ends_of(side, searches[c, 0], searches[c, 1], searches[c, 2])
        t = first_touch(start, end, face, math.inf, tolerance)
        if t < least[0]:
            cuda.atomic.min(least, 0, t)

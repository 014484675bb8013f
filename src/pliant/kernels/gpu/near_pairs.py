"""All vertex-face and edge-edge pairs within a distance on the card: those of `queries/proximity.py`.

Four launches: list pairs of triangles whose boxes are near; test the features of each pair, one bit each, and count
the near ones by their first feature; with the sums of these counts, write them; sort those of each first feature.
The list grows where it had no room for all, so that nothing is lost.
"""

from typing import NamedTuple

import numpy as np

from ..bvh.leaf_mesh import EDGES, FACE, FEATURES, WELDED
from ..kinds import EDGE_TO_EDGE, VERTEX_TO_FACE
from .boxes import Boxes, margins
from .card import cuda
from .jit import kernel, prange
from .scratch import scratch
from .sources import twin
from .wide import load_node, load_record, load_row, store_row

_proximity = twin("queries.proximity")
edge_distances, face_distances, normal_span = (
    _proximity.edge_distances, _proximity.face_distances, _proximity.normal_span,
)  # fmt: skip
edge_edge_distance, point_triangle_distance = _proximity.edge_edge_distance, _proximity.point_triangle_distance
load = twin("vec").load
ROOM = 16  # pairs that a thread keeps before it appends them to the list
FACE_BITS, EDGE_BITS = 3, 6  # first bits of a face of the first triangle with vertices of the second, and of edges


class CardSide(NamedTuple):
    """One side of a query: positions and, of each triangle in the order of the leaves, all its indices."""

    x: np.ndarray  # (n,4) f8 metres, of which the last number is padding; unused where only boxes are tested
    records: np.ndarray  # (m,RECORD) i4, see `pack_records`
    box: np.ndarray  # the fields of `Boxes`
    link: np.ndarray
    leaf: np.ndarray


class NearQuery(NamedTuple):
    """What is asked of two sides."""

    same: bool  # whether both are one mesh
    within: float  # metres
    base: np.ndarray  # (3,) i8 the bucket of the first feature of number 0, by kind


class Listed(NamedTuple):
    """Pairs of triangles whose boxes are near."""

    pairs: np.ndarray  # (cap,2) i4
    count: int  # how many there are
    near: np.ndarray  # (count,) i2 a bit for each pair of features that is near


@kernel
def boxes_of(side):
    return Boxes(side.box, side.link, side.leaf)


@kernel(parallel=True)
def list_overlaps(a, b, same, within, pairs, count):
    """List pairs (cap,2) of triangles of a and b whose boxes are within the distance; count[0] is complete even where
    there was no room. `same`: each pair of one mesh once, the second after the first in the order of the leaves."""
    link, total = b.link, len(b.link)
    _, margin = margins(boxes_of(a), boxes_of(b), within)
    margin = np.float32(margin)
    for p in prange(len(a.leaf)):
        own = a.leaf[p]
        x_0, y_0, z_0, x_1, y_1, z_1, _, _ = load_node(a.link, own)
        x_0, y_0, z_0 = x_0 - margin, y_0 - margin, z_0 - margin
        x_1, y_1, z_1 = x_1 + margin, y_1 + margin, z_1 + margin
        waiting, n = scratch(ROOM, np.int32), 0
        at = np.int64(own + 1) if same else np.int64(0)
        while at < total:
            r_0, s_0, t_0, r_1, s_1, t_1, skip, triangle = load_node(link, at)
            apart = r_0 > x_1 or r_1 < x_0 or s_0 > y_1 or s_1 < y_0 or t_0 > z_1 or t_1 < z_0
            if not apart and skip == at + 1:
                waiting[n] = triangle
                n += 1
                if n == ROOM:
                    append(waiting, n, p, pairs, count)
                    n = 0
            at = skip if apart else at + 1
        append(waiting, n, p, pairs, count)


@kernel
def append(waiting, n, p, pairs, count):
    """Append pairs of triangle p with the first n of `waiting`; those beyond the room are only counted."""
    if n > 0:
        first = cuda.atomic.add(count, 0, n)
        for k in range(n):
            if first + k < len(pairs):
                pairs[first + k, 0], pairs[first + k, 1] = p, waiting[k]


@kernel
def corner(t, k):
    return t[0] if k == 0 else (t[1] if k == 1 else t[2])


@kernel
def set_point(p, first, at):
    p[first, 0], p[first + 1, 0], p[first + 2, 0] = at[0], at[1], at[2]


@kernel
def is_near_face(v, t, within):
    """Whether a point is within the distance of a triangle, decided as on threads."""
    p, extra, d_2 = scratch((12, 1), np.float64), scratch(1, np.float64), scratch(1, np.float64)
    decided = scratch(1, np.bool_)
    set_point(p, 0, v)
    set_point(p, 3, t[0])
    set_point(p, 6, t[1])
    set_point(p, 9, t[2])
    extra[0] = 0.0
    face_distances(p, 1, within, extra, d_2, decided)
    near = d_2[0] <= within * within
    return near if decided[0] else point_triangle_distance(v, t[0], t[1], t[2]) <= within


@kernel
def is_near_edge(a, b, c, d, within):
    """Whether two edges are within the distance, decided as on threads."""
    p, extra, d_2 = scratch((12, 1), np.float64), scratch(1, np.float64), scratch(1, np.float64)
    decided = scratch(1, np.bool_)
    set_point(p, 0, a)
    set_point(p, 3, b)
    set_point(p, 6, c)
    set_point(p, 9, d)
    extra[0] = 0.0
    edge_distances(p, 1, within, extra, d_2, decided)
    near = d_2[0] <= within * within
    return near if decided[0] else edge_edge_distance(a, b, c, d) <= within


@kernel
def point(x, i):
    row = load_row(x, i)
    return row[0], row[1], row[2]


@kernel(parallel=True)
def copy_points(x, out):
    """Copy x (n,3) to rows of four, which are read at once."""
    for i in prange(len(x)):
        store_row(out, i, load(x, i), 0.0)


@kernel
def triangle_of(x, r):
    """The corners of the triangle with record r."""
    return point(x, r[0]), point(x, r[1]), point(x, r[2])


@kernel
def vertex_corner(code, v):
    """Which corner the v-th vertex of a triangle is, by its column FEATURES."""
    return (code >> (4 + 2 * v)) & 3


@kernel
def edge_corners(records, q, e):
    """Which corners the e-th edge of a triangle joins, the end with the lower row first, as edges are stored."""
    k = (records[q, FEATURES] >> (10 + 2 * e)) & 3
    h = k + 1 if k < 2 else 0
    return (k, h) if records[q, k] < records[q, h] else (h, k)


@kernel
def has_corner(records, q, weld):
    return weld == records[q, WELDED] or weld == records[q, WELDED + 1] or weld == records[q, WELDED + 2]


@kernel
def edge_of(r, e):
    """As `edge_corners`, from a record."""
    k = (r[FEATURES] >> (10 + 2 * e)) & 3
    h = k + 1 if k < 2 else 0
    return (k, h) if corner(r, k) < corner(r, h) else (h, k)


@kernel
def weld_of(r, k):
    return r[WELDED] if k == 0 else (r[WELDED + 1] if k == 1 else r[WELDED + 2])


@kernel
def is_corner(r, weld):
    return weld == r[WELDED] or weld == r[WELDED + 1] or weld == r[WELDED + 2]


@kernel
def near_features(a, b, p, q, within, reach):
    """One bit for each pair of features of two triangles that is within the distance."""
    r_a, r_b = load_record(a.records, p), load_record(b.records, q)
    one, two = triangle_of(a.x, r_a), triangle_of(b.x, r_b)
    n_0, n_1, n_2, low, high = normal_span(one[0], one[1], one[2])
    h_0 = n_0 * two[0][0] + n_1 * two[0][1] + n_2 * two[0][2]
    h_1 = n_0 * two[1][0] + n_1 * two[1][1] + n_2 * two[1][2]
    h_2 = n_0 * two[2][0] + n_1 * two[2][1] + n_2 * two[2][2]
    mask = 0
    if min(h_0, h_1, h_2) > high + reach or max(h_0, h_1, h_2) < low - reach:
        return mask
    code_a, code_b = r_a[FEATURES], r_b[FEATURES]
    if r_b[FACE] >= 0:
        for v in range(code_a & 3):
            k = vertex_corner(code_a, v)
            if not is_corner(r_b, weld_of(r_a, k)) and is_near_face(corner(one, k), two, within):
                mask |= 1 << v
    if r_a[FACE] >= 0:
        for v in range(code_b & 3):
            k = vertex_corner(code_b, v)
            if not is_corner(r_a, weld_of(r_b, k)) and is_near_face(corner(two, k), one, within):
                mask |= 1 << (FACE_BITS + v)
    for e in range((code_a >> 2) & 3):
        i, j = edge_of(r_a, e)
        u, v = weld_of(r_a, i), weld_of(r_a, j)
        for f in range((code_b >> 2) & 3):
            k, h = edge_of(r_b, f)
            s, t = weld_of(r_b, k), weld_of(r_b, h)
            if (
                u != s and u != t and v != s and v != t
                and is_near_edge(corner(one, i), corner(one, j), corner(two, k), corner(two, h), within)
            ):  # fmt: skip
                mask |= 1 << (EDGE_BITS + 3 * e + f)
    return mask


@kernel
def features_of(a, b, query, p, q, bit):
    """The first and second feature of a bit, and the bucket of the first."""
    same, base = query.same, query.base
    of_a, of_b = a.records, b.records
    if bit < FACE_BITS:
        i, j, kind = of_a[p, vertex_corner(of_a[p, FEATURES], bit)], of_b[q, FACE], VERTEX_TO_FACE
        return base[kind] + i, i, j
    if bit < EDGE_BITS:
        i, j = of_b[q, vertex_corner(of_b[q, FEATURES], bit - FACE_BITS)], of_a[p, FACE]
        return base[2] + i, i, j
    i, j = of_a[p, EDGES + (bit - EDGE_BITS) // 3], of_b[q, EDGES + (bit - EDGE_BITS) % 3]
    if same and j < i:
        i, j = j, i
    return base[EDGE_TO_EDGE] + i, i, j


@kernel(parallel=True, registers=128)
def test_pairs(a, b, query, listed, sizes):
    """Test the features of the listed pairs, and count the near ones in each bucket, sizes (buckets,)."""
    pairs, within = listed.pairs, query.within
    reach, _ = margins(boxes_of(a), boxes_of(b), within)
    for m in prange(listed.count):
        p, q = pairs[m, 0], pairs[m, 1]
        mask = near_features(a, b, p, q, within, reach)
        listed.near[m] = mask
        bit = 0
        while mask >> bit:
            if (mask >> bit) & 1:
                bucket, _, _ = features_of(a, b, query, p, q, bit)
                cuda.atomic.add(sizes, bucket, 1)
            bit += 1


@kernel(parallel=True)
def write_pairs(a, b, query, listed, start, filled, out):
    """Write the near pairs (k,2) to their buckets, from start (buckets+1,) on; filled (buckets,) is initially zero."""
    pairs, near = listed.pairs, listed.near
    for m in prange(listed.count):
        p, q, mask, bit = pairs[m, 0], pairs[m, 1], near[m], 0
        while mask >> bit:
            if (mask >> bit) & 1:
                bucket, i, j = features_of(a, b, query, p, q, bit)
                to = start[bucket] + cuda.atomic.add(filled, bucket, 1)
                out[to, 0], out[to, 1] = i, j
            bit += 1


@kernel(parallel=True)
def sort_buckets(start, pairs):
    """Sort the second features in every bucket; buckets are short, so by insertion."""
    for k in prange(len(start) - 1):
        for m in range(start[k] + 1, start[k + 1]):
            i, j, to = pairs[m, 0], pairs[m, 1], m
            while to > start[k] and pairs[to - 1, 1] > j:
                pairs[to, 1] = pairs[to - 1, 1]
                to -= 1
            pairs[to, 0], pairs[to, 1] = i, j

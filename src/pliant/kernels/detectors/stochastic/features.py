"""Near feature pairs of given pairs of triangles, each counted once.

Both sides of a query are one list of triangles on one array of positions. A vertex and an edge are assigned to one of
their triangles, so that a pair of features occurs in exactly one pair of triangles, as in proximity.py.
"""

from typing import NamedTuple

import numpy as np

from ... import vec
from ...geometry.edge import closest_on_edges, edge_edge_distance
from ...geometry.triangle import nearest2, point_triangle_distance
from ...jit import kernel
from ...kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE

ISOLATED = 64  # bit of `Facets.owned`


class Facets(NamedTuple):
    """Triangles, and isolated vertices as triangles with three equal corners."""

    corners: np.ndarray  # (m,3) i4 rows of x; the triangles of the second side follow those of the first
    welded: np.ndarray  # (m,3) i4 welded indices: equal for vertices at one position, distinct between the sides
    edges: np.ndarray  # (m,3) i4 edge j joins corners j and j+1; those of the second side follow the first's
    owned: np.ndarray  # (m,) u1 bits 0-2: corners assigned to it, bits 3-5: edges, ISOLATED: it is only a vertex
    start: np.ndarray  # (m+1,) i4: the triangles across the edges of triangle f are beside[start[f]:start[f+1]]
    beside: np.ndarray  # i4
    vertex_start: np.ndarray  # (n+1,) i4: the triangles around row v are around[vertex_start[v]:vertex_start[v+1]]
    around: np.ndarray  # i4


class FacetQuery(NamedTuple):
    """The triangles of both sides at their positions, and the distance within which features are near."""

    facets: Facets
    x: np.ndarray  # (n,3)
    same: bool  # whether both sides are one
    reach: float  # `within`, enlarged by the rounding error of positions: for culling
    within: float


@kernel
def point_near(p, a, b, c, within):
    """Whether p is within a distance of a triangle; where rounding could decide, by the accurate distance."""
    d_2, w_2 = nearest2(p, a, b, c)[0], within * within
    if abs(d_2 - w_2) > 1e-8 * (d_2 + w_2):
        return d_2 < w_2
    return point_triangle_distance(p, a, b, c) <= within


@kernel
def edges_near(a, b, c, d, within):
    """As `point_near`, for the segments ab and cd."""
    s, t = closest_on_edges(a, b, c, d)
    d_2, w_2 = vec.norm2(vec.sub(vec.mix(a, b, s), vec.mix(c, d, t))), within * within
    if abs(d_2 - w_2) > 1e-8 * (d_2 + w_2):
        return d_2 < w_2
    return edge_edge_distance(a, b, c, d) <= within


@kernel
def pierces(p, q, a, b, c):
    """Whether the segment pq passes through the triangle, up to rounding."""
    n = vec.cross(vec.sub(b, a), vec.sub(c, a))
    s, t = vec.dot(n, vec.sub(p, a)), vec.dot(n, vec.sub(q, a))
    if s * t > 0.0 or s == t:
        return False
    r = vec.mix(p, q, s / (s - t))
    u = vec.dot(n, vec.cross(vec.sub(b, a), vec.sub(r, a)))
    v = vec.dot(n, vec.cross(vec.sub(c, b), vec.sub(r, b)))
    w = vec.dot(n, vec.cross(vec.sub(a, c), vec.sub(r, c)))
    return u >= 0.0 and v >= 0.0 and w >= 0.0


@kernel
def triangles_near(a, b, c, d, e, f, within):
    """Whether triangles abc and def are within a distance of each other, or intersect."""
    if point_near(a, d, e, f, within) or point_near(b, d, e, f, within) or point_near(c, d, e, f, within):
        return True
    if point_near(d, a, b, c, within) or point_near(e, a, b, c, within) or point_near(f, a, b, c, within):
        return True
    one, other = (a, b, c), (d, e, f)
    for k in range(3):
        p, q = one[k], one[(k + 1) % 3]
        for j in range(3):
            if edges_near(p, q, other[j], other[(j + 1) % 3], within):
                return True
    for k in range(3):
        if pierces(one[k], one[(k + 1) % 3], d, e, f) or pierces(other[k], other[(k + 1) % 3], a, b, c):
            return True
    return False


@kernel
def add_features(query, pairs, first, last, out, count):
    """Append the near features of triangle pairs first..last-1 to out (cap,3): kind and the two features.

    Return the new total; fewer than cap means that all of them were written.
    """
    facets, x, same, _, within = query
    corners, welded, edges, owned, room = facets.corners, facets.welded, facets.edges, facets.owned, len(out)
    for m in range(first, last):
        for turn in range(2):
            # vertices of p against face q, then the reverse
            p, q = (pairs[m, 0], pairs[m, 1]) if turn == 0 else (pairs[m, 1], pairs[m, 0])
            if owned[p] & 7 == 0 or owned[q] & ISOLATED:
                continue
            a, b, c = vec.load(x, corners[q, 0]), vec.load(x, corners[q, 1]), vec.load(x, corners[q, 2])
            i, j, h = welded[q, 0], welded[q, 1], welded[q, 2]
            for k in range(3):
                w = welded[p, k]
                if owned[p] >> k & 1 == 0 or w in (i, j, h):
                    continue
                if point_near(vec.load(x, corners[p, k]), a, b, c, within):
                    at = min(count, room - 1)
                    out[at, 0] = VERTEX_TO_FACE if turn == 0 else FACE_TO_VERTEX
                    out[at, 1], out[at, 2] = corners[p, k], q
                    count += 1
        p, q = pairs[m, 0], pairs[m, 1]
        for k in range(3):
            i, j = welded[p, k], welded[p, (k + 1) % 3]
            if owned[p] >> (3 + k) & 1 == 0:
                continue
            a, b = vec.load(x, corners[p, k]), vec.load(x, corners[p, (k + 1) % 3])
            for g in range(3):
                h, o = welded[q, g], welded[q, (g + 1) % 3]
                if owned[q] >> (3 + g) & 1 == 0 or i in (h, o) or j in (h, o):
                    continue
                if edges_near(a, b, vec.load(x, corners[q, g]), vec.load(x, corners[q, (g + 1) % 3]), within):
                    e, f = edges[p, k], edges[q, g]
                    at = min(count, room - 1)
                    out[at, 0] = EDGE_TO_EDGE
                    out[at, 1], out[at, 2] = (f, e) if same and f < e else (e, f)
                    count += 1
    return count

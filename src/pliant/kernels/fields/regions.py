"""Scan conversion of the regions nearest to each face, edge and vertex of a mesh, within a band.

The nearest point of a surface lies inside a face, inside an edge or at a vertex; correspondingly, the query point lies
in the prism over the face, in the wedge between the faces at the edge, or in the cone that points away from all edges
at the vertex. These regions overlap so little that a grid node is examined hardly more than once, and together they
miss none: unlike the prisms of Fuhrmann et al. 2003, section 3, they are exact. Cf. Mauch 2003, closest point
transform. Lengths are in cells. A thread owns its tile of nodes: `best` (signed distance) and `mark`, flat, z fastest.
"""

import math

import numpy as np

from ..geometry.triangle import nearest2
from ..jit import kernel
from ..mesh.adjacency import MANY, corner_angle
from ..vec import add, cross, dot, load, madd, norm2, sub

TILE = 16  # nodes along each side of a tile
SLACK = 1e-7  # cells: regions overlap by this, so that rounding leaves no gap between them
FLAT = 1e-8  # sine of an angle between faces whose wedge is thinner than the slack
SIDE = 1e-7  # cosine to the pseudonormal below which it does not determine the sign
TOUCH = 1e-12  # cells: nearer than this counts as on the surface, which is outside
CONE = 64  # most edges of a vertex that limit its cone; more would only save time
NEAR_BOUNDARY, SIGN_UNKNOWN = 1, 2  # bits of `mark`: nearest to a boundary edge; the pseudonormal is inconclusive


@kernel
def clip(s, inverse, low, high):
    """Clip low..high to s + t / inverse >= 0."""
    t = -s * inverse
    return (max(low, t), high) if inverse > 0.0 else (low, min(high, t))


@kernel
def inverse(slope, size):
    """1 / slope, for slopes limited so that the inverse does not overflow."""
    return 1.0 / slope if abs(slope) > 1e-12 * size else 1e12 / size


@kernel
def first_node(low):
    return max(math.ceil(low - SLACK), 0)


@kernel
def last_node(high, count):
    return min(math.floor(high + SLACK), count - 1)


@kernel
def length1(e):
    return abs(e[0]) + abs(e[1]) + abs(e[2])


@kernel
def turned(v, axis):
    """The vector in cyclic order, so that `axis` comes last."""
    return (v[1], v[2], v[0]) if axis == 0 else (v[2], v[0], v[1]) if axis == 1 else v


@kernel
def prisms_range(adjacency, items, first, last, reach, corner, best, mark):
    """Update the tile at node `corner` with the distances to the faces items[first..last-1], each within its prism.

    Rows of nodes run along the dominant axis of the normal, which gives the fewest. At each i the prism is clipped to
    the range between two heights over the face, which bounds j.
    """
    x, faces, normals = adjacency.x, adjacency.faces, adjacency.normals
    o = (float(corner[0]), float(corner[1]), float(corner[2]))
    examined = 0
    for at in range(first, last):
        f = items[at]
        n = load(normals, f)
        if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
            continue
        axis = 2 if abs(n[2]) >= max(abs(n[0]), abs(n[1])) else 1 if abs(n[1]) >= abs(n[0]) else 0
        n, stride = turned(n, axis), turned((TILE * TILE, TILE, 1), axis)
        a, b = turned(sub(load(x, faces[f, 0]), o), axis), turned(sub(load(x, faces[f, 1]), o), axis)
        c = turned(sub(load(x, faces[f, 2]), o), axis)
        low = (min(a[0], b[0], c[0]), min(a[1], b[1], c[1]), min(a[2], b[2], c[2]))
        high = (max(a[0], b[0], c[0]), max(a[1], b[1], c[1]), max(a[2], b[2], c[2]))
        r = (reach * abs(n[0]), reach * abs(n[1]), reach * abs(n[2]))
        i_0, i_1 = first_node(low[0] - r[0]), last_node(high[0] + r[0], TILE)
        k_0, k_1 = float(first_node(low[2] - r[2])), float(last_node(high[2] + r[2], TILE))
        if i_0 > i_1 or k_0 > k_1 or first_node(low[1] - r[1]) > last_node(high[1] + r[1], TILE):
            continue
        e_0, e_1, e_2 = sub(b, a), sub(c, b), sub(a, c)
        m_0, m_1, m_2 = cross(n, e_0), cross(n, e_1), cross(n, e_2)
        l_0, l_1, l_2 = length1(e_0), length1(e_1), length1(e_2)
        z_0, z_1, z_2, z_n = inverse(m_0[2], l_0), inverse(m_1[2], l_1), inverse(m_2[2], l_2), 1.0 / n[2]
        s_0, s_1, s_2, s_n = SLACK * l_0 - dot(m_0, a), SLACK * l_1 - dot(m_1, b), SLACK * l_2 - dot(m_2, c), -dot(n, a)
        per = inverse(n[0], 1.0)
        for i in range(i_0, i_1 + 1):
            t_0, t_1 = (i - high[0]) * per, (i - low[0]) * per
            t_0, t_1 = max(min(t_0, t_1), -reach) * n[1], min(max(t_0, t_1), reach) * n[1]
            for j in range(first_node(low[1] + min(t_0, t_1)), last_node(high[1] + max(t_0, t_1), TILE) + 1):
                height = s_n + n[0] * i + n[1] * j
                t_0, t_1 = clip(s_0 + m_0[0] * i + m_0[1] * j, z_0, k_0, k_1)
                t_0, t_1 = clip(s_1 + m_1[0] * i + m_1[1] * j, z_1, t_0, t_1)
                t_0, t_1 = clip(s_2 + m_2[0] * i + m_2[1] * j, z_2, t_0, t_1)
                t_0, t_1 = clip(reach + height, z_n, t_0, t_1)
                t_0, t_1 = clip(reach - height, -z_n, t_0, t_1)
                k, k_end = math.ceil(t_0), math.floor(t_1)
                node = i * stride[0] + j * stride[1] + k * stride[2]
                examined += max(0, k_end - k + 1)
                while k <= k_end:
                    d = height + n[2] * k
                    if abs(d) < abs(best[node]):
                        best[node] = d if abs(d) > TOUCH else abs(d)
                        mark[node] = 0
                    k += 1
                    node += stride[2]
    return examined


@kernel
def arc_box(n, n_g, sine, reach):
    """Bounding box, relative to the edge, of the wedge between two faces whose normals form an acute angle."""
    # the arc between the normals lies in the triangle of the edge and the tangent at its middle, whose corners, along
    # the normals, are farther by this factor
    s = (reach if sine < 0.0 else -reach) / math.sqrt(0.5 + 0.5 * dot(n, n_g))
    x, y, z = s * n[0], s * n[1], s * n[2]
    x_g, y_g, z_g = s * n_g[0], s * n_g[1], s * n_g[2]
    low = (min(0.0, x, x_g), min(0.0, y, y_g), min(0.0, z, z_g))
    return low, (max(0.0, x, x_g), max(0.0, y, y_g), max(0.0, z, z_g))


@kernel
def wedge(n, n_g, other, u, reach):
    """Return (empty, inward direction of the other face, low, high) of the wedge of two faces at edge `u`."""
    low, high = (-reach, -reach, -reach), (reach, reach, reach)
    if other < 0:
        return False, (0.0, 0.0, 0.0), low, high
    m_g = cross(n_g, u) if other & 1 else cross(u, n_g)
    if not other & 1 and dot(n, n_g) > 0.0:
        sine = dot(m_g, n)
        if sine * sine < FLAT * FLAT * norm2(u):
            return True, m_g, low, high
        low, high = arc_box(n, n_g, sine, reach)
    return False, m_g, low, high


@kernel
def wedges_range(adjacency, items, first, last, reach, corner, best, mark):
    """As `prisms_range`, for the edges items[first..last-1] (3 f + j is edge j of face f), each within the wedge of its
    faces.
    """
    x, faces, normals, across = adjacency.x, adjacency.faces, adjacency.normals, adjacency.across
    o = (float(corner[0]), float(corner[1]), float(corner[2]))
    examined = 0
    for at in range(first, last):
        f, c = items[at] // 3, items[at] % 3
        other = across[f, c]
        n, n_g = load(normals, f), load(normals, max(other >> 1, 0))
        a, b = sub(load(x, faces[f, c]), o), sub(load(x, faces[f, (c + 1) % 3]), o)
        u = sub(b, a)
        _, m_g, low, high = wedge(n, n_g, other, u, reach)
        m, size, u_2 = cross(n, u), length1(u), norm2(u)
        total, flag = add(n, n_g) if other >= 0 else n, edge_mark(n, n_g, other)
        i_0, i_1 = first_node(min(a[0], b[0]) + low[0]), last_node(max(a[0], b[0]) + high[0], TILE)
        j_0, j_1 = first_node(min(a[1], b[1]) + low[1]), last_node(max(a[1], b[1]) + high[1], TILE)
        k_0, k_1 = first_node(min(a[2], b[2]) + low[2]), last_node(max(a[2], b[2]) + high[2], TILE)
        z_u, z_m, z_g = inverse(u[2], size), inverse(-m[2], size), inverse(-m_g[2], size)
        slack = SLACK * size
        s_u, s_m, s_g = slack - dot(u, a), slack + dot(m, a), slack + dot(m_g, a)
        for i in range(i_0, i_1 + 1):
            for j in range(j_0, j_1 + 1):
                t_0, t_1 = clip(s_m - m[0] * i - m[1] * j, z_m, float(k_0), float(k_1))
                t_0, t_1 = clip(s_g - m_g[0] * i - m_g[1] * j, z_g, t_0, t_1)
                if math.ceil(t_0) > t_1:
                    continue
                along = s_u + u[0] * i + u[1] * j
                t_0, t_1 = clip(along, z_u, t_0, t_1)
                t_0, t_1 = clip(u_2 + 2.0 * slack - along, -z_u, t_0, t_1)
                for k in range(math.ceil(t_0), math.floor(t_1) + 1):
                    y = (i - a[0], j - a[1], k - a[2])
                    t = dot(y, u) / u_2
                    y = (y[0] - t * u[0], y[1] - t * u[1], y[2] - t * u[2])
                    d = math.sqrt(norm2(y))
                    examined += 1
                    node = (i * TILE + j) * TILE + k
                    if d <= reach and d < abs(best[node]):
                        best[node], unknown = signed(d, y, total)
                        mark[node] = flag | unknown
    return examined


@kernel
def edge_mark(n, n_g, other):
    """Mark of nodes nearest to an edge."""
    if other == MANY or norm2(n) == 0.0 or (other >= 0 and norm2(n_g) == 0.0):
        return SIGN_UNKNOWN
    return 0 if other >= 0 else NEAR_BOUNDARY


@kernel
def signed(d, y, pseudonormal):
    """Distance `d` with the sign of the side of `y`, and a mark where the pseudonormal is inconclusive."""
    if d <= TOUCH:
        return d, 0
    side = dot(y, pseudonormal)
    unknown = SIGN_UNKNOWN if abs(side) <= SIDE * d * math.sqrt(norm2(pseudonormal)) else 0
    return -d if side < 0.0 else d, unknown


@kernel
def cone_edges(adjacency, v, p, edges):
    """Directions of the edges at vertex `v` (relative to the tile, at `p`) as rows of `edges`, for `clip`.

    Return their number and the extent of the cone in the six directions, as shares of the band: where an axis points
    into a face, the slope of the face limits the cone.
    """
    x, faces, normals, across, start, ring = (
        adjacency.x,
        adjacency.faces,
        adjacency.normals,
        adjacency.across,
        adjacency.start,
        adjacency.ring,
    )
    l_x = l_y = l_z = h_x = h_y = h_z = 1.0
    count = 0
    o = load(x, v)
    for r in range(start[v], start[v + 1]):
        g = ring[r]
        n = load(normals, g)
        at = 0 if faces[g, 0] == v else 1 if faces[g, 1] == v else 2
        e, d = sub(load(x, faces[g, (at + 1) % 3]), o), sub(load(x, faces[g, (at + 2) % 3]), o)
        m, w = cross(n, e), cross(d, n)
        if n[0] != 0.0 or n[1] != 0.0 or n[2] != 0.0:
            h_x = min(h_x, abs(n[0])) if m[0] >= 0.0 and w[0] >= 0.0 else h_x
            l_x = min(l_x, abs(n[0])) if m[0] <= 0.0 and w[0] <= 0.0 else l_x
            h_y = min(h_y, abs(n[1])) if m[1] >= 0.0 and w[1] >= 0.0 else h_y
            l_y = min(l_y, abs(n[1])) if m[1] <= 0.0 and w[1] <= 0.0 else l_y
            h_z = min(h_z, abs(n[2])) if m[2] >= 0.0 and w[2] >= 0.0 else h_z
            l_z = min(l_z, abs(n[2])) if m[2] <= 0.0 and w[2] <= 0.0 else l_z
        if count < CONE and length1(e) > 0.0:
            add_edge(edges, count, e, p)
            count += 1
        if count < CONE and length1(d) > 0.0 and across[g, (at + 2) % 3] < 0:
            add_edge(edges, count, d, p)
            count += 1
    return count, (l_x, l_y, l_z), (h_x, h_y, h_z)


@kernel
def add_edge(edges, row, e, p):
    size = length1(e)
    edges[row, 0], edges[row, 1] = e[0], e[1]
    edges[row, 2], edges[row, 3] = SLACK * size + dot(e, p), inverse(-e[2], size)


@kernel
def cones_range(adjacency, items, first, last, reach, corner, best, mark):
    """As `prisms_range`, for the vertices items[first..last-1], each within the cone that none of its edges points
    into.
    """
    x = adjacency.x
    edges = np.empty((CONE, 4))
    examined = 0
    for at in range(first, last):
        v = items[at]
        p = (x[v, 0] - corner[0], x[v, 1] - corner[1], x[v, 2] - corner[2])
        count, low, high = cone_edges(adjacency, v, p, edges)
        i_0, i_1 = first_node(p[0] - reach * low[0]), last_node(p[0] + reach * high[0], TILE)
        j_0, j_1 = first_node(p[1] - reach * low[1]), last_node(p[1] + reach * high[1], TILE)
        k_0, k_1 = first_node(p[2] - reach * low[2]), last_node(p[2] + reach * high[2], TILE)
        total, flag = vertex_normal(adjacency, v)
        for i in range(i_0, i_1 + 1):
            for j in range(j_0, j_1 + 1):
                t_0, t_1 = float(k_0), float(k_1)
                for q in range(count):
                    t_0, t_1 = clip(edges[q, 2] - edges[q, 0] * i - edges[q, 1] * j, edges[q, 3], t_0, t_1)
                    if t_0 > t_1:
                        break
                for k in range(math.ceil(t_0), math.floor(t_1) + 1):
                    y = (i - p[0], j - p[1], k - p[2])
                    d = math.sqrt(norm2(y))
                    examined += 1
                    node = (i * TILE + j) * TILE + k
                    if d <= reach and d < abs(best[node]):
                        best[node], unknown = signed(d, y, total)
                        mark[node] = flag | unknown
    return examined


@kernel
def vertex_normal(adjacency, v):
    """Angle-weighted pseudonormal (Baerentzen and Aanaes 2005), and the mark of nodes nearest to `v`."""
    x, faces, normals, across = adjacency.x, adjacency.faces, adjacency.normals, adjacency.across
    total, flag = (0.0, 0.0, 0.0), 0
    for r in range(adjacency.start[v], adjacency.start[v + 1]):
        g = adjacency.ring[r]
        n = load(normals, g)
        at = 0 if faces[g, 0] == v else 1 if faces[g, 1] == v else 2
        e, d = sub(load(x, faces[g, (at + 1) % 3]), load(x, v)), sub(load(x, faces[g, (at + 2) % 3]), load(x, v))
        total = madd(total, n, corner_angle(e, d))
        ahead, behind = across[g, at], across[g, (at + 2) % 3]
        flag |= SIGN_UNKNOWN if norm2(n) == 0.0 or ahead == MANY or behind == MANY else 0
        flag |= NEAR_BOUNDARY if ahead < 0 or behind < 0 else 0
    return total, flag


@kernel
def boxes_range(adjacency, items, first, last, reach, corner, best):
    """The paper's method, for comparison: all nodes in the box of each face's prism, signed by the face normal."""
    x, faces, normals = adjacency.x, adjacency.faces, adjacency.normals
    o = (float(corner[0]), float(corner[1]), float(corner[2]))
    examined = 0
    for at in range(first, last):
        f = items[at]
        n = load(normals, f)
        a, b, c = sub(load(x, faces[f, 0]), o), sub(load(x, faces[f, 1]), o), sub(load(x, faces[f, 2]), o)
        r = (reach * abs(n[0]), reach * abs(n[1]), reach * abs(n[2]))
        i_0, i_1 = first_node(min(a[0], b[0], c[0]) - r[0]), last_node(max(a[0], b[0], c[0]) + r[0], TILE)
        j_0, j_1 = first_node(min(a[1], b[1], c[1]) - r[1]), last_node(max(a[1], b[1], c[1]) + r[1], TILE)
        k_0, k_1 = first_node(min(a[2], b[2], c[2]) - r[2]), last_node(max(a[2], b[2], c[2]) + r[2], TILE)
        for i in range(i_0, i_1 + 1):
            for j in range(j_0, j_1 + 1):
                for k in range(k_0, k_1 + 1):
                    p = (float(i), float(j), float(k))
                    d2, _, _, _, _ = nearest2(p, a, b, c)
                    examined += 1
                    node = (i * TILE + j) * TILE + k
                    # the paper's tolerance: a tie within rounding must not replace a value and its sign
                    if d2 < best[node] * best[node] * (1.0 - 1e-6):
                        best[node] = -math.sqrt(d2) if dot(sub(p, a), n) < 0.0 else math.sqrt(d2)
    return examined

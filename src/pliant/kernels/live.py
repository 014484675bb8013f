"""Which edges and vertices of a mesh have any node of the grid in their region (regions.py).

On a fine mesh the regions of edges and vertices are thin and mostly empty: one in three of the edges and one in 25 of
the vertices of a scanned dragon with 871 414 faces at 600 cells have a node. The others are looked at here, once.
"""

import math

import numpy as np

from .jit import kernel, prange
from .regions import CONE, SLACK, cone_edges, cut, inverse, length1, wedge
from .vec import cross, dot, load, norm2, sub

LONG = 8.0  # cells: a longer edge surely has nodes in its wedge, or is rare


@kernel
def wedge_holds_node(a, u, m, m_g, low, high):
    """Whether any node lies in the wedge at the edge a, a + u between two faces, of whose box low, high is given."""
    b = (a[0] + u[0], a[1] + u[1], a[2] + u[2])
    k_0, k_1 = min(a[2], b[2]) + low[2] - SLACK, max(a[2], b[2]) + high[2] + SLACK
    size = length1(u)
    slack, u_2 = SLACK * size, norm2(u)
    z_u, z_m, z_g = inverse(u[2], size), inverse(-m[2], size), inverse(-m_g[2], size)
    s_u, s_m, s_g = slack - dot(u, a), slack + dot(m, a), slack + dot(m_g, a)
    for i in range(math.ceil(min(a[0], b[0]) + low[0] - SLACK), math.floor(max(a[0], b[0]) + high[0] + SLACK) + 1):
        for j in range(math.ceil(min(a[1], b[1]) + low[1] - SLACK), math.floor(max(a[1], b[1]) + high[1] + SLACK) + 1):
            t_0, t_1 = cut(s_m - m[0] * i - m[1] * j, z_m, k_0, k_1)
            t_0, t_1 = cut(s_g - m_g[0] * i - m_g[1] * j, z_g, t_0, t_1)
            if math.ceil(t_0) > t_1:
                continue
            along = s_u + u[0] * i + u[1] * j
            t_0, t_1 = cut(along, z_u, t_0, t_1)
            t_0, t_1 = cut(u_2 + 2.0 * slack - along, -z_u, t_0, t_1)
            if math.ceil(t_0) <= t_1:
                return True
    return False


@kernel
def find_wedges(fan, reach, chosen, first, last, live):
    """Set live[f, j] for edges of the `chosen` of faces first..last-1 that have a node of the grid in their wedge."""
    x, faces, normals, across = fan.x, fan.faces, fan.normals, fan.across
    for f in range(first, last):
        if not chosen[f]:
            continue
        n = load(normals, f)
        for c in range(3):
            other = across[f, c]
            a, b = load(x, faces[f, c]), load(x, faces[f, (c + 1) % 3])
            u = sub(b, a)
            # the lower face speaks for an edge of two
            if 0 <= other < 2 * f or norm2(u) == 0.0:
                continue
            n_g = load(normals, max(other >> 1, 0))
            empty, m_g, low, high = wedge(n, n_g, other, u, reach)
            live[f, c] = not empty and (length1(u) > LONG or wedge_holds_node(a, u, cross(n, u), m_g, low, high))


@kernel
def find_cones(fan, reach, chosen, first, last, live):
    """Set live[v] for the `chosen` of vertices first..last-1 that have a node of the grid in their cone."""
    x, start = fan.x, fan.start
    edges = np.empty((CONE, 4))
    for v in range(first, last):
        if not chosen[v] or start[v] == start[v + 1]:
            continue
        p = load(x, v)
        count, low, high = cone_edges(fan, v, p, edges)
        # no direction has all three components so small: the cone is empty
        far = max(low[0], high[0]) ** 2 + max(low[1], high[1]) ** 2 + max(low[2], high[2]) ** 2
        if far < 1.0 - 1e-9:
            continue
        k_0, k_1 = p[2] - reach * low[2] - SLACK, p[2] + reach * high[2] + SLACK
        for i in range(math.ceil(p[0] - reach * low[0] - SLACK), math.floor(p[0] + reach * high[0] + SLACK) + 1):
            for j in range(math.ceil(p[1] - reach * low[1] - SLACK), math.floor(p[1] + reach * high[1] + SLACK) + 1):
                t_0, t_1 = k_0, k_1
                for q in range(count):
                    t_0, t_1 = cut(edges[q, 2] - edges[q, 0] * i - edges[q, 1] * j, edges[q, 3], t_0, t_1)
                    if t_0 > t_1:
                        break
                if math.ceil(t_0) <= t_1:
                    live[v] = True
                    break
            if live[v]:
                break


@kernel(parallel=True)
def find_live(fan, reach, faces, vertices, first, last, chunks, wedges, cones):
    """For parts first..last-1 of `chunks`: which edges of the chosen `faces`, and which chosen `vertices`, have nodes.

    wedges (m,3) and cones (n,) are False before.
    """
    m, n = len(fan.faces), len(fan.x)
    for c in prange(first, last):
        find_wedges(fan, reach, faces, c * m // chunks, (c + 1) * m // chunks, wedges)
        find_cones(fan, reach, vertices, c * n // chunks, (c + 1) * n // chunks, cones)

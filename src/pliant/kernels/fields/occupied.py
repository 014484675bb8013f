"""Find the edges and vertices of a mesh whose region (regions.py) contains a grid node.

On a fine mesh the regions of edges and vertices are thin and mostly empty: one in three of the edges and one in 25 of
the vertices of a scanned dragon with 871 414 faces at 600 cells contain a node. The others are discarded here, once.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange
from ..vec import cross, dot, load, norm2, sub
from .regions import CONE, SLACK, clip, cone_edges, inverse, length1, turned, wedge

LONG = 8.0  # cells: a longer edge almost certainly has nodes in its wedge, or is rare
WIDE = 2.0 * SLACK  # for slopes that differ by more, the other half of a needle is empty beyond a distance of one
# a face whose unit normal has a smaller component along the axis of the needle gives no bound; a vertex that lacks one
# of the four bounds is left to `find_cones`
STEEP = 0.1


class Chosen(NamedTuple):
    """The features to be tested."""

    faces: np.ndarray  # (m,) bool: faces whose edges are tested
    vertices: np.ndarray  # (n,) bool


class Occupied(NamedTuple):
    """Features whose region contains a node, initially False."""

    wedges: np.ndarray  # (m,3) bool: edge j of face f
    cones: np.ndarray  # (n,) bool: vertices


@kernel
def wedge_contains_node(a, u, m, m_g, low, high):
    """Whether any node lies in the wedge at the edge a, a + u between two faces, given its bounds low, high."""
    b = (a[0] + u[0], a[1] + u[1], a[2] + u[2])
    k_0, k_1 = min(a[2], b[2]) + low[2] - SLACK, max(a[2], b[2]) + high[2] + SLACK
    size = length1(u)
    slack, u_2 = SLACK * size, norm2(u)
    z_u, z_m, z_g = inverse(u[2], size), inverse(-m[2], size), inverse(-m_g[2], size)
    s_u, s_m, s_g = slack - dot(u, a), slack + dot(m, a), slack + dot(m_g, a)
    for i in range(math.ceil(min(a[0], b[0]) + low[0] - SLACK), math.floor(max(a[0], b[0]) + high[0] + SLACK) + 1):
        for j in range(math.ceil(min(a[1], b[1]) + low[1] - SLACK), math.floor(max(a[1], b[1]) + high[1] + SLACK) + 1):
            t_0, t_1 = clip(s_m - m[0] * i - m[1] * j, z_m, k_0, k_1)
            t_0, t_1 = clip(s_g - m_g[0] * i - m_g[1] * j, z_g, t_0, t_1)
            if math.ceil(t_0) > t_1:
                continue
            along = s_u + u[0] * i + u[1] * j
            t_0, t_1 = clip(along, z_u, t_0, t_1)
            t_0, t_1 = clip(u_2 + 2.0 * slack - along, -z_u, t_0, t_1)
            if math.ceil(t_0) <= t_1:
                return True
    return False


@kernel
def find_wedges(adjacency, reach, chosen, first, last, occupied):
    """Set occupied[f, j] for edges of the `chosen` among faces first..last-1 whose wedge contains a grid node."""
    x, faces, normals, across = adjacency.x, adjacency.faces, adjacency.normals, adjacency.across
    for f in range(first, last):
        if not chosen[f]:
            continue
        n = load(normals, f)
        for c in range(3):
            other = across[f, c]
            a, b = load(x, faces[f, c]), load(x, faces[f, (c + 1) % 3])
            u = sub(b, a)
            # an edge of two faces is handled by the lower one
            if 0 <= other < 2 * f or norm2(u) == 0.0:
                continue
            n_g = load(normals, max(other >> 1, 0))
            empty, m_g, low, high = wedge(n, n_g, other, u, reach)
            occupied[f, c] = not empty and (length1(u) > LONG or wedge_contains_node(a, u, cross(n, u), m_g, low, high))


@kernel
def needle_contains_node(p, reach, low, high):
    """Whether any node lies in a needle from p: between p + t low and p + t high, t along the last axis."""
    # where low and high differ, only one half of the needle exists, apart from the slack
    wide_x, wide_y = high[0] - low[0], high[1] - low[1]
    below = 1.0 if wide_x > WIDE or wide_y > WIDE else reach
    above = 1.0 if wide_x < -WIDE or wide_y < -WIDE else reach
    for k in range(math.ceil(p[2] - below - SLACK), math.floor(p[2] + above + SLACK) + 1):
        t = k - p[2]
        if (
            math.ceil(p[0] + low[0] * t - SLACK) <= p[0] + high[0] * t + SLACK
            and math.ceil(p[1] + low[1] * t - SLACK) <= p[1] + high[1] * t + SLACK
        ):
            return True
    return False


@kernel
def find_needles(adjacency, reach, chosen, first, last, occupied):
    """Set occupied[v] for the `chosen` among vertices first..last-1 whose cone may contain a grid node.

    Projected along an axis, each direction lies in one of the faces around the vertex, and the slope of this face
    bounds the cone in that direction: a face with normal n implies y_x <= n_x / n_z y_z. Four such bounds give a needle
    that is hardly thicker than the cone.
    """
    x, faces, normals, start, ring = adjacency.x, adjacency.faces, adjacency.normals, adjacency.start, adjacency.ring
    for v in range(first, last):
        if not chosen[v] or start[v] == start[v + 1]:
            continue
        o, n = load(x, v), load(normals, ring[start[v]])
        axis = 2 if abs(n[2]) >= max(abs(n[0]), abs(n[1])) else 1 if abs(n[1]) >= abs(n[0]) else 0
        g_0 = g_1 = g_2 = g_3 = -1
        for r in range(start[v], start[v + 1]):
            g = ring[r]
            n = turned(load(normals, g), axis)
            at = 0 if faces[g, 0] == v else 1 if faces[g, 1] == v else 2
            e = turned(sub(load(x, faces[g, (at + 1) % 3]), o), axis)
            d = turned(sub(load(x, faces[g, (at + 2) % 3]), o), axis)
            side = e[0] * d[1] - e[1] * d[0]
            if abs(n[2]) < STEEP or abs(side) < 1e-9 * length1(e) * length1(d):
                continue
            d, e = (d, e) if side > 0.0 else (e, d)
            g_0 = g if d[1] <= 0.0 <= e[1] else g_0
            g_1 = g if d[1] >= 0.0 >= e[1] else g_1
            g_2 = g if d[0] >= 0.0 >= e[0] else g_2
            g_3 = g if d[0] <= 0.0 <= e[0] else g_3
        if min(g_0, g_1, g_2, g_3) < 0:
            occupied[v] = True
        else:
            n, n_1 = turned(load(normals, g_0), axis), turned(load(normals, g_1), axis)
            n_2, n_3 = turned(load(normals, g_2), axis), turned(load(normals, g_3), axis)
            low, high = (n[0] / n[2], n_2[1] / n_2[2]), (n_1[0] / n_1[2], n_3[1] / n_3[2])
            occupied[v] = needle_contains_node(turned(o, axis), reach, low, high)


@kernel
def find_cones(adjacency, reach, first, last, occupied):
    """Clear occupied[v] for vertices first..last-1 whose cone contains no grid node."""
    x = adjacency.x
    edges = np.empty((CONE, 4))
    for v in range(first, last):
        if not occupied[v]:
            continue
        occupied[v] = False
        p = load(x, v)
        count, low, high = cone_edges(adjacency, v, p, edges)
        # no direction has all three components this small: the cone is empty
        far = max(low[0], high[0]) ** 2 + max(low[1], high[1]) ** 2 + max(low[2], high[2]) ** 2
        if far < 1.0 - 1e-9:
            continue
        k_0, k_1 = p[2] - reach * low[2] - SLACK, p[2] + reach * high[2] + SLACK
        for i in range(math.ceil(p[0] - reach * low[0] - SLACK), math.floor(p[0] + reach * high[0] + SLACK) + 1):
            for j in range(math.ceil(p[1] - reach * low[1] - SLACK), math.floor(p[1] + reach * high[1] + SLACK) + 1):
                t_0, t_1 = k_0, k_1
                for q in range(count):
                    t_0, t_1 = clip(edges[q, 2] - edges[q, 0] * i - edges[q, 1] * j, edges[q, 3], t_0, t_1)
                    if t_0 > t_1:
                        break
                if math.ceil(t_0) <= t_1:
                    occupied[v] = True
                    break
            if occupied[v]:
                break


@kernel(parallel=True)
def find_occupied(adjacency, reach, chosen, first, last, chunks, occupied):
    """For parts first..last-1 of `chunks`: mark the edges of chosen faces, and the chosen vertices, with nodes in their
    regions.
    """
    m, n = len(adjacency.faces), len(adjacency.x)
    for c in prange(first, last):
        find_wedges(adjacency, reach, chosen.faces, c * m // chunks, (c + 1) * m // chunks, occupied.wedges)
        find_needles(adjacency, reach, chosen.vertices, c * n // chunks, (c + 1) * n // chunks, occupied.cones)
        find_cones(adjacency, reach, c * n // chunks, (c + 1) * n // chunks, occupied.cones)

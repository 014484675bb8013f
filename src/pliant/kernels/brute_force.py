"""All vertex-face and edge-edge pairs within a distance, exactly. Cell lists cull only what cannot matter.

Each finder runs twice: with `out` empty it counts, then it fills; so nothing is ever cut off and the order does not
depend on threads.
"""

import math

import numpy as np

from . import vec
from .cells import cell_box
from .edge import closest_on_edges, edge_edge_distance
from .grid import cell_of
from .jit import kernel, prange
from .surface import corners
from .triangle import closest_on_triangle, point_triangle_distance


@kernel
def faces_near(cells, surface, p, i, within, same, out, at):
    """Faces of `surface` within reach of vertex `i` at `p`, ascending; written to out[at:] unless that is empty."""
    a = cell_of(p[0], cells.origin[0], cells.h)
    b = cell_of(p[1], cells.origin[1], cells.h)
    c = cell_of(p[2], cells.origin[2], cells.h)
    if a < 0 or b < 0 or c < 0 or a >= cells.shape[0] or b >= cells.shape[1] or c >= cells.shape[2]:
        return 0
    cell = (a * cells.shape[1] + b) * cells.shape[2] + c
    count = 0
    for item in range(cells.start[cell], cells.start[cell + 1]):
        f = cells.items[item]
        if same and (surface.faces[f, 0] == i or surface.faces[f, 1] == i or surface.faces[f, 2] == i):
            continue
        x, y, z = corners(surface, f)
        if point_triangle_distance(p, x, y, z) <= within:
            if out.shape[0] > 0:
                out[at + count, 0] = i
                out[at + count, 1] = f
            count += 1
    return count


@kernel
def box_of_edge(x, edges, e, within):
    a, b = vec.load(x, edges[e, 0]), vec.load(x, edges[e, 1])
    low = (min(a[0], b[0]) - within, min(a[1], b[1]) - within, min(a[2], b[2]) - within)
    return low, (max(a[0], b[0]) + within, max(a[1], b[1]) + within, max(a[2], b[2]) + within)


@kernel
def edges_near(cells, x_a, edges_a, e, x_b, edges_b, low_b, within, same, out, at):
    """Edges of b within reach of edge `e` of a; a pair that shares several cells counts only in the first of them."""
    low, high = box_of_edge(x_a, edges_a, e, 0.0)
    i0, j0, k0, i1, j1, k1 = cell_box(cells.origin, cells.h, cells.shape, low, high)
    p, q = vec.load(x_a, edges_a[e, 0]), vec.load(x_a, edges_a[e, 1])
    count = 0
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for k in range(k0, k1 + 1):
                cell = (i * cells.shape[1] + j) * cells.shape[2] + k
                for item in range(cells.start[cell], cells.start[cell + 1]):
                    f = cells.items[item]
                    other = vec.load(low_b, f)
                    i2, j2, k2, _, _, _ = cell_box(cells.origin, cells.h, cells.shape, other, other)
                    if i != max(i0, i2) or j != max(j0, j2) or k != max(k0, k2):
                        continue
                    if same and (f <= e or _share(edges_a, e, f)):
                        continue
                    c, d = vec.load(x_b, edges_b[f, 0]), vec.load(x_b, edges_b[f, 1])
                    if edge_edge_distance(p, q, c, d) <= within:
                        if out.shape[0] > 0:
                            out[at + count, 0] = e
                            out[at + count, 1] = f
                        count += 1
    return count


@kernel
def _share(edges, e, f):
    a, b, c, d = edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1]
    return a in (c, d) or b in (c, d)


@kernel(parallel=True)
def vertex_face_pairs(cells, surface, x, within, same, start, out):
    """Count into start[i+1] when `out` is empty, else fill out[start[i]:]."""
    for i in prange(len(x)):
        count = faces_near(cells, surface, vec.load(x, i), i, within, same, out, start[i])
        if out.shape[0] == 0:
            start[i + 1] = count


@kernel(parallel=True)
def edge_edge_pairs(cells, x_a, edges_a, x_b, edges_b, low_b, within, same, start, out):
    for e in prange(len(edges_a)):
        count = edges_near(cells, x_a, edges_a, e, x_b, edges_b, low_b, within, same, out, start[e])
        if out.shape[0] == 0:
            start[e + 1] = count


@kernel
def across(gap, side, spare):
    """Unit normal and signed distance of a gap vector; `spare` is the direction where the gap is zero."""
    length = vec.norm(gap)
    if length == 0.0:
        return vec.unit(spare), 0.0
    return vec.scale(gap, side / length), side * length


@kernel(parallel=True)
def vertex_face_geometry(surface, x, pairs, side, weights, normal, distance):
    """Weights, normal and distance of each (vertex, face) pair; `side` (n,) is -1 for vertices inside."""
    for c in prange(len(pairs)):
        p = vec.load(x, pairs[c, 0])
        a, b, d = corners(surface, pairs[c, 1])
        u, v, w, _ = closest_on_triangle(p, a, b, d)
        gap = vec.sub(p, vec.add(vec.scale(a, u), vec.add(vec.scale(b, v), vec.scale(d, w))))
        n, distance[c] = across(gap, side[pairs[c, 0]], vec.load(surface.face_normals, pairs[c, 1]))
        vec.store(normal, c, n)
        weights[c, 0], weights[c, 1], weights[c, 2], weights[c, 3] = 1.0, -u, -v, -w


@kernel(parallel=True)
def edge_edge_geometry(x_a, edges_a, x_b, edges_b, pairs, weights, normal, distance):
    """The same for (edge, edge) pairs; where they cross, the normal is at right angles to both."""
    for m in prange(len(pairs)):
        a, b = vec.load(x_a, edges_a[pairs[m, 0], 0]), vec.load(x_a, edges_a[pairs[m, 0], 1])
        c, d = vec.load(x_b, edges_b[pairs[m, 1], 0]), vec.load(x_b, edges_b[pairs[m, 1], 1])
        s, t = closest_on_edges(a, b, c, d)
        gap = vec.sub(vec.mix(a, b, s), vec.mix(c, d, t))
        spare = vec.cross(vec.sub(b, a), vec.sub(d, c))
        if vec.norm2(spare) == 0.0:
            spare = _any_normal(vec.sub(b, a))
        n, distance[m] = across(gap, 1.0, spare)
        vec.store(normal, m, n)
        weights[m, 0], weights[m, 1], weights[m, 2], weights[m, 3] = 1.0 - s, s, t - 1.0, -t


@kernel
def _any_normal(e):
    """Some direction at right angles to `e`, always the same one."""
    x, y, z = abs(e[0]), abs(e[1]), abs(e[2])
    if x <= y and x <= z:
        axis = (1.0, 0.0, 0.0)
    elif y <= z:
        axis = (0.0, 1.0, 0.0)
    else:
        axis = (0.0, 0.0, 1.0)
    n = vec.cross(e, axis)
    if math.sqrt(vec.norm2(n)) == 0.0:
        return (0.0, 1.0, 0.0)
    return n


EMPTY = np.zeros((0, 2), np.int32)

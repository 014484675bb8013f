"""All vertex-face and edge-edge pairs within a distance, exactly; cell lists cull only pairs that cannot be in contact.

Each function runs twice: with an empty `out` it counts, then it fills. Nothing is truncated, and the order is
independent of the number of threads.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.edge import edge_edge_distance
from ..geometry.triangle import point_triangle_distance
from ..jit import kernel, prange
from ..queries.cells import Cells, cell_box


class CellSearch(NamedTuple):
    """A search for the features of a mesh within a distance."""

    cells: Cells  # cell lists of its faces or edges
    rest: np.ndarray  # (n,3) rest positions if it is searched from itself, to exclude neighbours; otherwise empty
    within: float  # metres


@kernel
def one_vertex(x, rest, i, j):
    """Return whether rows i and j are one vertex: the same row, or copies that coincide both at rest and now."""
    if i == j:
        return True
    same = x[i, 0] == x[j, 0] and x[i, 1] == x[j, 1] and x[i, 2] == x[j, 2]
    return same and rest[i, 0] == rest[j, 0] and rest[i, 1] == rest[j, 1] and rest[i, 2] == rest[j, 2]


@kernel
def faces_near(search, x_a, i, x_b, faces_b, out, at):
    """Find the faces of b within reach of vertex `i` of a, ascending; written to out[at:] unless `out` is empty."""
    cells, rest, within = search
    p = vec.load(x_a, i)
    a, b, c = (p[0] - cells.origin[0]) / cells.h, (p[1] - cells.origin[1]) / cells.h, (p[2] - cells.origin[2]) / cells.h
    inside = 0.0 <= a < cells.shape[0] and 0.0 <= b < cells.shape[1] and 0.0 <= c < cells.shape[2]
    if not inside:
        return 0
    cell = (int(a) * cells.shape[1] + int(b)) * cells.shape[2] + int(c)
    count = 0
    for item in range(cells.start[cell], cells.start[cell + 1]):
        f = cells.items[item]
        j, k, h = faces_b[f, 0], faces_b[f, 1], faces_b[f, 2]
        if point_triangle_distance(p, vec.load(x_b, j), vec.load(x_b, k), vec.load(x_b, h)) <= within:
            if len(rest) > 0 and (
                one_vertex(x_b, rest, i, j) or one_vertex(x_b, rest, i, k) or one_vertex(x_b, rest, i, h)
            ):
                continue
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
def edges_near(search, a, e, b, low_b, out, at):
    """Find the edges of b within reach of edge `e` of a; a pair in several cells counts only in the first of them.

    low_b (k,3): the lower corners of the boxes of the edges of b.
    """
    cells, rest, within = search
    (x_a, edges_a), (x_b, edges_b) = a, b
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
                    if len(rest) > 0 and (f <= e or neighbours(x_b, rest, edges_b, e, f)):
                        continue
                    c, d = vec.load(x_b, edges_b[f, 0]), vec.load(x_b, edges_b[f, 1])
                    if edge_edge_distance(p, q, c, d) <= within:
                        if out.shape[0] > 0:
                            out[at + count, 0] = e
                            out[at + count, 1] = f
                        count += 1
    return count


@kernel
def neighbours(x, rest, edges, e, f):
    """Return whether two edges of one mesh share a vertex."""
    i, j, k, h = edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1]
    if one_vertex(x, rest, i, k) or one_vertex(x, rest, i, h):
        return True
    return one_vertex(x, rest, j, k) or one_vertex(x, rest, j, h)


@kernel(parallel=True)
def vertex_face_pairs(search, x_a, x_b, faces_b, start, out):
    """Count into start[i+1] if `out` is empty, otherwise fill out[start[i]:]."""
    cells = Cells(*search.cells)  # a parallel loop takes no tuples within tuples
    rest, within = search.rest, search.within
    for i in prange(len(x_a)):
        count = faces_near(CellSearch(cells, rest, within), x_a, i, x_b, faces_b, out, start[i])
        if out.shape[0] == 0:
            start[i + 1] = count


@kernel(parallel=True)
def edge_edge_pairs(search, a, b, low_b, start, out):
    """As `vertex_face_pairs`, for the edges of a and b; low_b as in `edges_near`."""
    cells = Cells(*search.cells)
    rest, within = search.rest, search.within
    for e in prange(len(a.ends)):
        count = edges_near(CellSearch(cells, rest, within), a, e, b, low_b, out, start[e])
        if out.shape[0] == 0:
            start[e + 1] = count

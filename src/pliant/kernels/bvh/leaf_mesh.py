"""Leaf mesh: a triangle mesh in the leaf order of a BVH, with every feature assigned to one triangle."""

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange

PARTS = 64  # chunks of triangles distributed over threads
VERTEX_ROW, VERTEX_WELD = 0, 1  # columns of `LeafArrays.vertex`
# columns of a record: rows of the corners, their welded indices, face, which features it owns, and its edges
WELDED, FACE, FEATURES, EDGES, RECORD = 3, 6, 7, 8, 12
EDGE_INDEX, EDGE_ROW_0, EDGE_ROW_1, EDGE_WELD_0, EDGE_WELD_1 = 0, 1, 2, 3, 4  # columns of `LeafArrays.edge`


class LeafArrays(NamedTuple):
    """Triangles in the leaf order of a BVH, with the vertices and edges assigned to each.

    Welded indices are equal for vertices at the same position; features that share one are neighbours.
    """

    corners: np.ndarray  # (m,3) i4 rows of the vertices; for an isolated vertex its row three times
    welded: np.ndarray  # (m,3) i4 their welded indices
    face: np.ndarray  # (m,) i4 face index; -1 for an isolated vertex
    vertex_start: np.ndarray  # (m+1,) i4: triangle q owns the vertices vertex_start[q]..vertex_start[q+1]-1
    vertex: np.ndarray  # (n,2) i4 row, welded index
    edge_start: np.ndarray  # (m+1,) i4
    edge: np.ndarray  # (k,5) i4 edge index, rows of its ends, welded indices of its ends


class LeafGeometry(NamedTuple):
    """Positions and boxes of a leaf mesh; of a motion they are in `SweptGeometry` (detectors/continuous.py)."""

    nodes: np.ndarray  # BVH of boxes with one triangle per leaf
    boxes: np.ndarray  # (m,6) of the triangles: low, high
    faces: np.ndarray  # (m,9) their corners, side by side; all in leaf order
    edges: np.ndarray  # (k,6) ends of the edges
    vertices: np.ndarray  # (n,3)


@kernel
def share_edges(face_edges, owner):
    """Assign each edge (k,) to one of its faces, the one with fewer so far, to balance them."""
    has = np.zeros(len(face_edges), np.int32)
    owner[:] = -1
    for f in range(len(face_edges)):
        for k in range(3):
            e = face_edges[f, k]
            before = owner[e]
            if before < 0:
                owner[e] = f
                has[f] += 1
            elif has[f] + 1 < has[before]:
                has[before] -= 1
                has[f] += 1
                owner[e] = f


@kernel
def pack_records(leaves, out):
    """Write all that belongs to a triangle to a row of out (m,RECORD), one cache line.

    Column FEATURES: the number of its vertices, 2 bits, of its edges, 2 bits, then which corner each vertex is, 2 bits
    each of 3, and with which corner each edge begins, which ends with the next one.
    """
    corners, vertex_start, vertex, edge_start, edge = (
        leaves.corners, leaves.vertex_start, leaves.vertex, leaves.edge_start, leaves.edge,
    )  # fmt: skip
    for q in range(len(corners)):
        for k in range(3):
            out[q, k], out[q, WELDED + k], out[q, EDGES + k] = corners[q, k], leaves.welded[q, k], -1
        first, last = vertex_start[q], vertex_start[q + 1]
        code, begin, end = last - first, edge_start[q], edge_start[q + 1]
        code |= (end - begin) << 2
        for v in range(first, last):
            k = 0
            while corners[q, k] != vertex[v, VERTEX_ROW]:
                k += 1
            code |= k << (4 + 2 * (v - first))
        for e in range(begin, end):
            k, i, j = 0, edge[e, EDGE_ROW_0], edge[e, EDGE_ROW_1]
            while not (
                (corners[q, k] == i and corners[q, (k + 1) % 3] == j)
                or (corners[q, k] == j and corners[q, (k + 1) % 3] == i)
            ):
                k += 1
            code |= k << (10 + 2 * (e - begin))
            out[q, EDGES + e - begin] = edge[e, EDGE_INDEX]
        out[q, FACE], out[q, FEATURES] = leaves.face[q], code


@kernel
def box_of(vertex, x, out):
    """Write the AABB of the vertices of a leaf mesh, `LeafArrays.vertex`, at positions x to out (6,)."""
    for k in range(3):
        low, high = math.inf, -math.inf
        for v in range(len(vertex)):
            at = x[vertex[v, VERTEX_ROW], k]
            low, high = min(low, at), max(high, at)
        out[k], out[3 + k] = low, high


@kernel(parallel=True)
def update_geometry(leaves, x, geometry):
    """Update corners, ends and boxes of a leaf mesh at positions x; the BVH is refitted afterwards."""
    corners, edge, vertex = leaves.corners, leaves.edge, leaves.vertex
    boxes, faces, edges, vertices = geometry.boxes, geometry.faces, geometry.edges, geometry.vertices
    for c in prange(PARTS):
        for q in range(c * len(corners) // PARTS, (c + 1) * len(corners) // PARTS):
            i, j, h = corners[q, 0], corners[q, 1], corners[q, 2]
            for k in range(3):
                u, v, w = x[i, k], x[j, k], x[h, k]
                faces[q, k], faces[q, 3 + k], faces[q, 6 + k] = u, v, w
                boxes[q, k], boxes[q, k + 3] = min(u, v, w), max(u, v, w)
        for e in range(c * len(edge) // PARTS, (c + 1) * len(edge) // PARTS):
            for k in range(3):
                edges[e, k], edges[e, k + 3] = x[edge[e, EDGE_ROW_0], k], x[edge[e, EDGE_ROW_1], k]
        for v in range(c * len(vertex) // PARTS, (c + 1) * len(vertex) // PARTS):
            for k in range(3):
                vertices[v, k] = x[vertex[v, VERTEX_ROW], k]

"""Connectivity kernels for triangle meshes: faces around each vertex, the face across each edge, face normals."""

import math
from typing import NamedTuple

import numpy as np

from ..geometry.rounding import cross_compensated
from ..jit import kernel, prange
from ..vec import cross, dot, load, norm2, scale, store, sub

CHUNK = 2048  # faces or vertices per task of a thread
BOUNDARY, MANY = -1, -2  # values of `across` for a boundary edge, and for a non-manifold edge (more than two faces)
RING = 64  # faces around a vertex compared pairwise; with more, the ring is scanned for each edge
THINNEST = 1e-9  # in units of length: a face narrower than this is treated as degenerate


class FaceAdjacency(NamedTuple):
    """A triangle mesh with its face normals, the face across each edge and the faces around each vertex."""

    x: np.ndarray  # (n,3) vertices, in cells from the grid's origin
    faces: np.ndarray  # (m,3) i4
    normals: np.ndarray  # (m,3) unit; zero for degenerate faces
    across: np.ndarray  # (m,3) i4: face g across the edge from corner j to j+1 as 2 g (+ 1: same direction in both)
    start: np.ndarray  # (n+1,) i4: faces around vertex v are ring[start[v]:start[v+1]], ascending
    ring: np.ndarray  # (3m,) i4


@kernel
def count_faces(faces, count):
    """Add the number of corners at each vertex to `count` (n+1,), shifted by one."""
    for f in range(len(faces)):
        for c in range(3):
            count[faces[f, c] + 1] += 1


@kernel
def fill_rings(faces, cursor, ring):
    for f in range(len(faces)):
        for c in range(3):
            v = faces[f, c]
            ring[cursor[v]] = f
            cursor[v] += 1


@kernel
def face_normal(a, b, c):
    """Return the unit normal, accurate for slivers too; zero for a degenerate face."""
    e, f = sub(b, a), sub(c, a)
    n = cross(e, f)
    g = sub(c, b)
    n_2, l_2 = norm2(n), max(norm2(e), norm2(f), norm2(g))
    if n_2 < 1e-6 * l_2 * l_2:
        n = cross_compensated(e, f)
        n_2 = norm2(n)
    if n_2 <= THINNEST * THINNEST * l_2:
        return (0.0, 0.0, 0.0)
    return scale(n, 1.0 / math.sqrt(n_2))


@kernel(parallel=True)
def to_cells(vertices, origin, h, x):
    """Convert vertices (n,3) from metres to `x` in cells from the grid's origin."""
    for c in prange(-(-len(x) // CHUNK)):
        for v in range(c * CHUNK, min(len(x), (c + 1) * CHUNK)):
            for k in range(3):
                x[v, k] = (vertices[v, k] - origin[k]) / h


@kernel(parallel=True)
def fill_normals(adjacency):
    x, faces, normals = adjacency.x, adjacency.faces, adjacency.normals
    for c in prange(-(-len(faces) // CHUNK)):
        for f in range(c * CHUNK, min(len(faces), (c + 1) * CHUNK)):
            store(normals, f, face_normal(load(x, faces[f, 0]), load(x, faces[f, 1]), load(x, faces[f, 2])))


@kernel
def across_one(faces, start, ring, f, v, w):
    """Return the only face other than f that contains v and w, encoded as in `FaceAdjacency.across`."""
    found = BOUNDARY
    for at in range(start[v], start[v + 1]):
        g = ring[at]
        if g == f:
            continue
        g_0, g_1, g_2 = faces[g, 0], faces[g, 1], faces[g, 2]
        if g_0 == w or g_1 == w or g_2 == w:
            same = (g_0 == v and g_1 == w) or (g_1 == v and g_2 == w) or (g_2 == v and g_0 == w)
            found = 2 * g + same if found == BOUNDARY else MANY
    return found


@kernel
def across_range(faces, start, ring, first, last, across):
    """Find the face across each edge that starts at vertices first..last-1.

    The next and previous corners of all faces around a vertex are compared with each other, so that each face is read
    once instead of once for every edge of its neighbours.
    """
    ahead, behind, corner = np.empty(RING, np.int32), np.empty(RING, np.int32), np.empty(RING, np.int32)
    for v in range(first, last):
        o, count = start[v], start[v + 1] - start[v]
        plain = count <= RING
        for r in range(count if plain else 0):
            f = ring[o + r]
            a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
            # a face that contains a vertex twice has edges of zero length
            plain = plain and a != b and b != c and c != a
            ahead[r], behind[r] = b if a == v else c if b == v else a, c if a == v else a if b == v else b
            corner[r] = 0 if a == v else 1 if b == v else 2
        for r in range(count):
            f = ring[o + r]
            if plain:
                w, hits, one = ahead[r], 0, 0
                for s in range(count):
                    hit = (ahead[s] == w) | (behind[s] == w)
                    hits += hit
                    one = s if hit and s != r else one
                # the face itself is one of the hits
                found = BOUNDARY if hits == 1 else 2 * ring[o + one] + (ahead[one] == w)
                across[f, corner[r]] = found if hits < 3 else MANY
            else:
                for c in range(3):
                    if faces[f, c] == v:
                        across[f, c] = across_one(faces, start, ring, f, v, faces[f, (c + 1) % 3])


@kernel(parallel=True)
def fill_across(adjacency):
    n = len(adjacency.x)
    for c in prange(-(-n // CHUNK)):
        across_range(
            adjacency.faces, adjacency.start, adjacency.ring, c * CHUNK, min(n, (c + 1) * CHUNK), adjacency.across
        )


@kernel
def corner_angle(e, f):
    """Angle between two edges; atan2 stays accurate where acos loses precision."""
    return math.atan2(math.sqrt(norm2(cross(e, f))), dot(e, f))

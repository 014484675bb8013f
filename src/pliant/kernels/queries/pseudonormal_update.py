"""Pseudonormals on demand: only of the faces, edges and vertices that are nearest to some point.

A deforming body changes all of them, but a query uses few; so they are recomputed, in place, for the features found.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.triangle import unit_normal
from ..jit import kernel, prange

CHUNK = 64  # points per task of a thread


class Rings(NamedTuple):
    by_vertex: np.ndarray  # (n+1,) i4: the faces around vertex v are vertex_faces[by_vertex[v]:by_vertex[v+1]]
    vertex_faces: np.ndarray  # (3m,) i4
    by_edge: np.ndarray  # (k+1,) i4: the faces at edge e are edge_faces[by_edge[e]:by_edge[e+1]]
    edge_faces: np.ndarray  # (3m,) i4
    rough: np.ndarray  # (n,) vertices at a non-manifold edge, if the mesh has no boundary edges; otherwise none
    closed: bool  # no boundary edges


@kernel
def face_normal(surface, f, known):
    """The unit normal of a face, which surface.face_normals already has if they are `known`."""
    if known:
        return vec.load(surface.face_normals, f)
    x, faces = surface.x, surface.faces
    return unit_normal(vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2]))


@kernel
def update_range(rings, surface, found, known_faces, first, last):
    """Recompute the pseudonormals of `found` (n,2) face and feature, for points first..last-1. known_faces: those of
    all faces are up to date.

    Conventions as in `detect.queries.closest_point.surface_of`: in a mesh without boundary edges, the pseudonormal of
    an edge or vertex beside a degenerate face or at a non-manifold edge is set to zero, and the winding number decides
    the sign.
    """
    x, faces, edges, closed = surface.x, surface.faces, surface.face_edges, rings.closed
    by_edge, edge_faces, by_vertex, vertex_faces = rings.by_edge, rings.edge_faces, rings.by_vertex, rings.vertex_faces
    rough, of_faces = rings.rough, surface.face_normals
    of_edges, of_vertices = surface.edge_normals, surface.vertex_normals
    for i in range(first, last):
        f, feature = found[i, 0], found[i, 1]
        if not known_faces:
            vec.store(of_faces, f, face_normal(surface, f, False))
        total, known = (0.0, 0.0, 0.0), True
        if feature >= 4:
            e = edges[f, feature - 4]
            start, stop = by_edge[e], by_edge[e + 1]
            known = not closed or stop - start <= 2
            for r in range(start, stop):
                g = edge_faces[r]
                n = face_normal(surface, g, known_faces)
                known = known and (vec.norm2(n) > 0.0 or not closed)
                total = vec.add(total, n)
            vec.store(of_edges, e, vec.unit(total) if known else (0.0, 0.0, 0.0))
        elif feature >= 1:
            v = faces[f, feature - 1]
            known = not rough[v]
            for r in range(by_vertex[v], by_vertex[v + 1]):
                g = vertex_faces[r]
                a, b, c = vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2])
                n = face_normal(surface, g, known_faces)
                known = known and (vec.norm2(n) > 0.0 or not closed)
                total = vec.madd(total, n, angle(a, b, c, 0 if faces[g, 0] == v else 1 if faces[g, 1] == v else 2))
            vec.store(of_vertices, v, vec.unit(total) if known else (0.0, 0.0, 0.0))


@kernel
def angle(a, b, c, k):
    """Angle at corner k of a triangle; atan2 stays accurate where acos loses precision, near 0 and pi."""
    if k == 1:
        a, b, c = b, c, a
    elif k == 2:
        a, b, c = c, a, b
    e, f = vec.unit(vec.sub(b, a)), vec.unit(vec.sub(c, a))
    return math.atan2(vec.norm(vec.cross(e, f)), vec.dot(e, f))


@kernel(parallel=True)
def update_pseudonormals(rings, surface, found, known_faces):
    """Apply `update_range` to all of `found`."""
    for c in prange(-(-len(found) // CHUNK)):
        update_range(rings, surface, found, known_faces, c * CHUNK, min(len(found), (c + 1) * CHUNK))


@kernel(parallel=True)
def update_face_normals(surface):
    """Recompute the normals of all faces."""
    n = len(surface.faces)
    for c in prange(-(-n // CHUNK)):
        for f in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            vec.store(surface.face_normals, f, face_normal(surface, f, False))

"""Faces that a body has more than once: those that do not belong to its surface are left out."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from .consistent_faces import copies_of, ways_of

Mask = NDArray[np.bool_]


def without_duplicates(mesh: Mesh) -> Mesh:
    """Return the mesh without the faces that `unneeded` names, with the same vertices; the mesh itself where there are
    none."""
    return without(mesh, unneeded(mesh))


def without(mesh: Mesh, left_out: Mask) -> Mesh:
    """Return the mesh without the faces `left_out` (m,), with the same vertices."""
    if not left_out.any():
        return mesh
    kept = ~left_out
    uv = None if mesh.uv is None else mesh.uv[kept]
    material = None if mesh.material is None else mesh.material[kept]
    return dataclasses.replace(mesh, faces=mesh.faces[kept], uv=uv, material=material)


def unneeded(mesh: Mesh) -> Mask:
    """(m,) faces with the corners of others without which the surface is closed, or as closed as it can be.

    Faces with the same corners in the same orientation count once, and those in opposite orientations not at all or,
    if that closes the surface, once in one of them. This is decided for each region of such faces that are joined by
    edges: by the choice that leaves the fewest edges along which the orientations of faces do not cancel. Where faces
    come equally often in both orientations, all stay if no choice leaves fewer than they do: the second side of a card,
    or of a whole double-sided shell.
    """
    none, welded = np.zeros(mesh.n_faces, np.bool_), mesh.welded
    if not mesh.n_faces or len(mesh.tets) or not len(welded.issues.duplicate):
        return none
    top, copies = welded.topology, copies_of(welded.faces)
    plain = (welded.faces != np.roll(welded.faces, 1, 1)).all(1)
    several = plain & (np.bincount(copies.first, minlength=mesh.n_faces)[copies.first] > 1)
    if not several.any():
        return none
    first, against = copies.is_first, np.zeros(mesh.n_faces, np.bool_)
    opposite = np.flatnonzero(~copies.along & several)
    against[opposite[np.unique(copies.first[opposite], return_index=True)[1]]] = True  # the first of the other side
    one_way = np.where(copies.net < 0, against, first)  # of faces in one orientation, or in more of that than the other
    zero, region = copies.net == 0, _regions(welded, several)
    choices = [
        np.ones(mesh.n_faces, np.bool_),
        np.where(zero, False, one_way),
        np.where(zero, first, one_way),
        np.where(zero, against, one_way),
    ]
    edges, ways, n_edges = top.face_edges, ways_of(welded.faces), len(top.edges)
    of_edge = np.full(n_edges, -1, np.int64)
    of_edge[edges[several]] = region[several, None]
    inner, count = of_edge >= 0, int(region.max()) + 1
    left = []
    for kept in choices:
        flow = np.bincount(edges.ravel(), (ways * (kept | ~several)[:, None]).ravel(), n_edges)
        left.append(np.bincount(of_edge[inner], flow[inner] != 0.0, count))
    left[0][np.bincount(region[several], zero[several], count) == 0] += 0.5  # of equal ones the others
    best = np.argmin(left, axis=0)  # the first of equal ones
    return several & ~np.stack(choices)[best[np.maximum(region, 0)], np.arange(mesh.n_faces)]


def _regions(welded: Mesh, several: Mask) -> NDArray[np.int64]:
    """(m,) the region of each of the faces `several`, joined by edges; -1 for other faces."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, n_edges = np.flatnonzero(several), len(welded.topology.edges)
    ends = welded.topology.face_edges[rows].ravel() + welded.n_faces
    pairs = np.repeat(rows, 3), ends
    size = welded.n_faces + n_edges
    label = connected_components(coo_array((np.ones(len(ends), np.int8), pairs), shape=(size, size)), directed=False)[1]
    out = np.full(welded.n_faces, -1, np.int64)
    out[rows] = np.unique(label[rows], return_inverse=True)[1]
    return out

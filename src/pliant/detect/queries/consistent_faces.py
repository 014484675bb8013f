"""Faces that are oriented against their shell: mirrored halves, and the second sides of double-sided shells."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


def against_their_shell(welded: Mesh) -> Mask:
    """(m,) faces to reverse so that each shell is oriented consistently.

    Across edges of two faces, the side with the smaller area is reversed; of a surface without two sides, nothing is.
    Of a closed shell that has each of its faces on both sides, and so no inside, the second sides are reversed: it then
    counts twice, in one orientation. Single faces on both sides, such as the wall between two boxes, are left out.
    """
    top = welded.topology
    if not (top.n_faces_at_edge > 2).any() and not (top.loose & (top.n_faces_at_edge == 2)).any():
        return np.zeros(welded.n_faces, np.bool_)
    copies = copies_of(welded.faces)
    shell = top.components[welded.faces[:, 0]]
    doubled = (np.bincount(shell, copies.net[copies.first] != 0, welded.n_vertices) == 0)[shell]
    active = copies.is_first & (doubled | (copies.net != 0))
    turned = _smaller_sides(welded, np.flatnonzero(active))
    # a double-sided shell is taken once only where it is closed then
    way = np.where(turned[:, None], -1, 1) * ways_of(welded.faces) * (active & doubled)[:, None]
    unbalanced = np.bincount(top.face_edges.ravel(), way.ravel(), len(top.edges)) != 0.0
    open_ = np.bincount(shell, unbalanced[top.face_edges].any(1), welded.n_vertices)[shell] > 0.0
    second = doubled & ~copies.along
    return np.where(doubled, ~open_ & (turned[copies.first] ^ second), turned[copies.first] & active[copies.first])


class Copies(NamedTuple):
    """Faces with the same corners."""

    first: Rows  # (m,) the first face with the corners of each
    along: Mask  # (m,) oriented as the first one
    net: Rows  # (m,) of the faces with the corners of each: those along the first one minus those against it

    @property
    def is_first(self) -> Mask:
        return self.first == np.arange(len(self.first))


def copies_of(faces: NDArray[np.int32]) -> Copies:
    _, first, group = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    parity = np.prod(np.sign(faces - np.roll(faces, 1, 1)), 1)  # the same for all rotations of the corners
    along = parity == parity[first[group]]
    return Copies(first[group], along, np.bincount(group, np.where(along, 1, -1)).astype(np.int64)[group])


def ways_of(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """(m,3) 1 where a face runs along the direction of its edge, from the lower vertex to the higher, otherwise -1."""
    return np.sign(np.roll(faces, -1, 1) - faces)


def _smaller_sides(welded: Mesh, rows: Rows) -> Mask:
    """(m,) of the faces `rows`, those oriented against the larger part of what edges of two faces connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    top, count = welded.topology, welded.n_faces
    edge, way = top.face_edges[rows].ravel(), ways_of(welded.faces)[rows].ravel()
    face = np.repeat(rows, 3)
    order = np.argsort(edge, kind="stable")
    start = np.flatnonzero(np.bincount(edge, minlength=len(top.edges))[edge[order]] == 2)[::2]
    f, g = face[order[start]], face[order[start + 1]]
    against = way[order[start]] == way[order[start + 1]]
    # each face twice, as it is and reversed; connected where they agree
    a = np.concatenate([f, f + count])
    b = np.concatenate([np.where(against, g + count, g), np.where(against, g, g + count)])
    part = connected_components(coo_array((np.ones(len(a), np.int8), (a, b)), shape=(2 * count, 2 * count)))[1]
    area = np.bincount(part[:count], welded.face_areas, 2 * count)
    one, other = part[:count], part[count:]
    turned = (area[other] > area[one]) | ((area[other] == area[one]) & (other < one))
    mask = np.zeros(count, np.bool_)
    mask[rows] = turned[rows] & (one != other)[rows]
    return mask

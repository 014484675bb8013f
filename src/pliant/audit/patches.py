"""Patches of a garment that intersect in some frame of an animation, each untangled by itself."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .untangle import Untangler

RINGS = 6  # of edges around intersecting faces that belong to a patch
WHOLE = 0.6  # share of all vertices above which a patch is the whole mesh


class Patch(NamedTuple):
    """A part of a mesh."""

    rows: NDArray[np.int64]  # (m,) vertices of the whole mesh
    faces: NDArray[np.bool_]  # (f,) mask of faces of the whole mesh
    untangler: Untangler


def patches(whole: Untangler, pairs: Sequence[NDArray[np.int32]]) -> list[Patch]:
    """The patches around intersecting `pairs` of faces, in any number of shapes of one mesh; parts that intersect each
    other are in one patch."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    mesh, n = whole.mesh, whole.mesh.n_vertices
    met = np.concatenate([np.zeros((0, 2), np.int32), *pairs])
    if not len(met):
        return []
    inside = np.zeros(n, np.bool_)
    inside[mesh.faces[np.unique(met)]] = True
    for _ in range(RINGS):
        inside |= whole.links @ inside > 0
    if inside.mean() > WHOLE:
        return [Patch(np.arange(n), np.ones(mesh.n_faces, np.bool_), whole)]
    edges = mesh.topology.edges
    joined = np.concatenate([edges[inside[edges].all(1)], mesh.faces[met][:, :, 0]])
    label = connected_components(coo_array((np.ones(len(joined)), joined.T), shape=(n, n)), directed=False)[1]
    found = []
    for one in np.unique(label[mesh.faces[np.unique(met), 0]]):
        faces = ((label == one) & inside)[mesh.faces].all(1)
        found.append(_patch(mesh, faces))
    return found


def _patch(mesh: Mesh, faces: NDArray[np.bool_]) -> Patch:
    rows = np.unique(mesh.faces[faces]).astype(np.int64)
    place: NDArray[Any] = np.full(mesh.n_vertices, -1, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    shared = np.zeros(mesh.n_vertices, np.bool_)
    shared[mesh.faces[~faces]] = True
    # vertices of a welded mesh stay apart even where they coincide
    part = Mesh(
        mesh.vertices[rows], place[mesh.faces[faces]], name=mesh.name, groups=np.arange(len(rows), dtype=np.int32)
    )
    return Patch(rows, faces, Untangler(part, shared[rows]))

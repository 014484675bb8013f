"""The boundary loops by which a garment is attached to a body: waistbands, cuffs and collars."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh

HOLDS = ("auto", "none")
# of the body's size, or on a static body of the smaller of body and garment: a boundary loop entirely nearer to the
# skin is a waistband, a cuff or a collar
SNUG = 0.02


def snug(garment: Mesh, surface: ClosestPoints, size: float, *, static: bool = False) -> NDArray[np.int64]:
    """The vertices of the garment's boundary loops that lie close to the skin of a body of this size all around.

    For a static body (`static`), a loop must also enclose a part of the body, with the loop's centre inside it, and
    must not start inside the body, because then it is pushed out; and its piece of cloth must have more than one
    boundary loop, since one with a single loop (a cape, a towel) lies loosely on the body.
    """
    mesh = garment.welded
    edges = mesh.topology.edges[mesh.topology.boundary]
    if not len(edges):
        return np.zeros(0, np.int64)
    rim = np.unique(edges)
    _, first, of = np.unique(_connected_components(mesh.n_vertices, edges)[rim], return_index=True, return_inverse=True)
    away = surface.query(mesh.vertices[rim])[0]
    if not static:
        good = np.bincount(of, np.abs(away) > SNUG * size) == 0
    else:
        bad = (np.abs(away) > SNUG * min(size, garment.size)) | (away < -1e-6 * size)
        middle = np.stack([np.bincount(of, mesh.vertices[rim, k]) / np.bincount(of) for k in range(3)], 1)
        component = _connected_components(mesh.n_vertices, mesh.topology.edges)
        pieces, of_piece = np.unique(component[rim[first]], return_inverse=True)
        several = np.bincount(of_piece, minlength=len(pieces))[of_piece] > 1
        good = (np.bincount(of, bad) == 0) & (surface.query(middle)[0] < 0.0) & several
    held = np.zeros(mesh.n_vertices, np.bool_)
    held[rim[good[of]]] = True
    return np.flatnonzero(held[garment.weld_index])


def _connected_components(count: int, edges: NDArray[np.int32]) -> NDArray[np.int32]:
    """(count,) connected component of each vertex under the edges (m,2)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges), np.int8), edges.T), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1])

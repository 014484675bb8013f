"""Boundary loops of a mesh: waistbands, hems, cuffs, collars, and the outlines of panels."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """Connected boundary edges: rows (k,) of their vertices in the mesh as given, length and centre in metres."""

    rows: NDArray[np.int64]
    length: float
    centre: tuple[float, float, float]

    def __str__(self) -> str:
        at = " ".join(f"{v:.3g}" for v in self.centre)
        return f"{len(self.rows)} vertices, {self.length:.3g} m long, around ({at})"


def boundary_loops(mesh: Mesh) -> list[Loop]:
    """Return the boundary loops of the welded mesh, the longest first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    welded, top = mesh.welded, mesh.welded.topology
    edges = top.edges[top.boundary]
    if not len(edges):
        return []
    n = welded.n_vertices
    graph = coo_array((np.ones(len(edges), np.int8), edges.T), shape=(n, n))
    label = connected_components(graph, directed=False)[1]
    lengths = np.linalg.norm(welded.vertices[edges[:, 0]] - welded.vertices[edges[:, 1]], axis=1)
    names, of = np.unique(label[edges[:, 0]], return_inverse=True)
    total = np.bincount(of, lengths)
    share = np.where(total[of] > 0.0, lengths, 1.0)  # a loop around a face of coincident corners has no length
    whole = np.bincount(of, share)
    middle = [np.bincount(of, share * welded.vertices[edges, k].mean(1)) / whole for k in range(3)]
    rim = np.flatnonzero(top.boundary_vertices[mesh.weld_index])
    order = rim[np.argsort(label[mesh.weld_index[rim]], kind="stable")]
    begin = np.searchsorted(label[mesh.weld_index[order]], [*names, n + 1])
    found = [
        Loop(np.sort(order[begin[k] : begin[k + 1]]), float(total[k]), (middle[0][k], middle[1][k], middle[2][k]))
        for k in range(len(names))
    ]
    return sorted(found, key=lambda loop: -loop.length)

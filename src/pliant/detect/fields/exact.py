"""Exact signed distances in large batches, for fields that choose their own sample points."""

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from ..queries.closest_point import Enclosure, surface_of

Floats = NDArray[np.float64]
_BATCH = 50_000  # points per batch; interrupts are handled between batches


class Truth:
    """Exact queries on the surface of a mesh; `query_count` counts them."""

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; a distance field needs a surface")
        welded = mesh.welded
        self._enclosure = Enclosure(surface_of(welded), welded.topology)
        self.surface = self._enclosure.surface
        self.boundary_edges, self.boundary_vertices = welded.topology.boundary, welded.topology.boundary_vertices
        self.is_open = bool(self.boundary_edges.any())
        self.query_count = 0

    def query(self, p: Floats, guess: NDArray[np.int32]) -> tuple[Floats, Floats, Floats, NDArray[np.int32]]:
        """Return signed distance (n,), unit contact normal (n,3), `lean` (n,), and the nearest face (n,).

        Where a boundary edge is nearest, lean is the distance, metres, from the plane beyond that edge across which the
        sign changes; elsewhere it is infinite. `guess` (n,): faces that may be near, or -1.
        """
        n = len(p)
        distance, normal, found = np.empty(n), np.empty((n, 3)), np.empty((n, 2), np.int64)
        for at in range(0, n, _BATCH):
            part = slice(at, min(n, at + _BATCH))
            signed, found[part] = self._enclosure.signed_distances(p[part], guess[part], behind=True)
            distance[part], normal[part] = signed.distance, signed.normal
        self.query_count += n
        return distance, normal, self._lean(found, distance, normal), found[:, 0].astype(np.int32)

    def _lean(self, found: NDArray[np.int64], distance: Floats, normal: Floats) -> Floats:
        lean = np.full(len(found), np.inf)
        if not self.is_open:
            return lean
        surface, (face, feature) = self.surface, found.T
        edge, corner = np.flatnonzero(feature >= 4), np.flatnonzero((feature >= 1) & (feature < 4))
        e, v = surface.face_edges[face[edge], feature[edge] - 4], surface.faces[face[corner], feature[corner] - 1]
        for rows, at, on_boundary, across in (
            (edge, e, self.boundary_edges, surface.edge_normals),
            (corner, v, self.boundary_vertices, surface.vertex_normals),
        ):
            rows, at = rows[on_boundary[at]], at[on_boundary[at]]
            length = np.maximum(np.linalg.norm(across[at], axis=1), 1e-300)
            lean[rows] = np.abs(distance[rows] * np.einsum("ij,ij->i", normal[rows], across[at])) / length
        return lean

"""Exact signed distances in large batches, for fields that choose their own sample points."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...kernels import nearest as _nearest
from ...mesh import Mesh
from ..surface import surface_of, tree_of

Floats = NDArray[np.float64]
_BATCH = 50_000  # points; Ctrl-C gets its turn between batches


class Truth:
    """The surface of a mesh, and how often it was asked."""

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; a distance field needs a surface")
        welded = mesh.welded
        self.surface = surface_of(welded)
        self.tree = tree_of(self.surface)
        self.border_edges, self.border_vertices = welded.topology.border, welded.topology.border_vertices
        self.is_open = bool(self.border_edges.any())
        self.asked = 0

    def query(
        self, p: Floats, progress: Callable[[float], None] | None = None
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Signed distance (n,), unit direction that opens the gap (n,3), and whether an open border is nearest (n,)."""
        n = len(p)
        distance, normal, found = np.empty(n), np.empty((n, 3)), np.full((n, 2), -1, np.int64)
        for at in range(0, n, _BATCH):
            part = slice(at, min(n, at + _BATCH))
            place, nearest = np.empty((2, len(found[part]), 3))
            _nearest.signed_distances(
                self.tree, self.surface, p[part], found[part], place, distance[part], nearest, normal[part]
            )
            if progress is not None:
                progress(part.stop / n)
        self.asked += n
        return distance, normal, self._rim(found)

    def _rim(self, found: NDArray[np.int64]) -> NDArray[np.bool_]:
        face, feature = found[:, 0], found[:, 1]
        rim = np.zeros(len(found), bool)
        if self.is_open:
            edge, corner = feature >= 4, (feature >= 1) & (feature < 4)
            rim[edge] = self.border_edges[self.surface.face_edges[face[edge], feature[edge] - 4]]
            rim[corner] = self.border_vertices[self.surface.faces[face[corner], feature[corner] - 1]]
        return rim

"""Exact questions to a triangle surface: nearest point, signed distance. The referee of everything approximate."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels import cells as _cells
from ..kernels.surface import Surface
from ..mesh import Mesh

Floats = NDArray[np.float64]


def surface_of(mesh: Mesh) -> Surface:
    """The kernel's view of a mesh: what decides distances and sides."""
    return Surface(
        mesh.vertices,
        mesh.faces,
        mesh.topology.face_edges,
        mesh.face_normals,
        mesh.edge_normals,
        mesh.vertex_normals,
    )


def bin_boxes(low: Floats, high: Floats, target: float | None = None) -> _cells.Cells:
    """Cell lists of boxes; cell size from their mean extent, and never more than a few million cells."""
    bottom, top = low.min(0), high.max(0)
    extent = np.maximum(top - bottom, 1e-300)
    mean = float((high - low).mean()) if target is None else target
    h = max(2.0 * mean, float(extent.max()) / 256.0, 1e-300)
    h = max(h, float(np.prod(np.maximum(extent, h)) / max(4 * len(low), 4096)) ** (1.0 / 3.0))
    shape = np.floor(extent / h).astype(np.int64) + 1
    start = np.zeros(int(np.prod(shape)) + 1, np.int64)
    _cells.count_items(low, high, bottom, h, shape, start)
    start = np.cumsum(start)
    cells = _cells.Cells(bottom, h, shape, start, np.empty(int(start[-1]), np.int32))
    _cells.fill_items(low, high, cells, start.copy())
    return cells


@dataclasses.dataclass(frozen=True, eq=False)
class ClosestPoints:
    """Nearest points on a mesh, exact, for any number of queries. Works on open meshes too (sign by pseudonormals)."""

    mesh: Mesh

    def __post_init__(self) -> None:
        if not self.mesh.n_faces:
            raise ValueError(f"mesh {self.mesh.name!r} has no faces; expected a surface")

    @functools.cached_property
    def _surface(self) -> Surface:
        return surface_of(self.mesh.welded)

    @functools.cached_property
    def _cells(self) -> _cells.Cells:
        x = self.mesh.welded.vertices[self.mesh.welded.faces]
        return bin_boxes(x.min(1), x.max(1))

    def query(self, points: Any) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Signed distance (n,), nearest point (n,3), its face (n,), and the unit direction that opens the gap (n,3)."""
        p = validate.floats("points", points, (None, 3))
        n = len(p)
        distance, nearest, face, normal = np.empty(n), np.empty((n, 3)), np.empty(n, np.int64), np.empty((n, 3))
        _cells.signed_distances(self._cells, self._surface, p, distance, nearest, face, normal)
        return distance, nearest, face, normal

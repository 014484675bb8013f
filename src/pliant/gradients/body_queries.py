"""Signed distances from a deforming body by the cheapest exact test of the side."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.penetration import FEW, DeformingClosestPoints
from ..detect.queries.plain import is_plain, is_sliver_free
from ..kernels.jit import worth
from ..kernels.queries import pseudonormal_update as _normals
from ..mesh import Mesh

WORTH = 0.5  # points per face after which the test for a plain surface costs less than rays from the points
DOUBT = 8.0  # times as many, where the surface was not plain before


class BodyQueries(DeformingClosestPoints):
    """`DeformingClosestPoints` that knows whether its surface is plain at the present vertices: pseudonormals then give
    the side of points, without rays."""

    def __init__(self, mesh: Mesh) -> None:
        self._plain: bool | None = None
        self._asked, self._worth, self._normals_known = 0, WORTH, False
        super().__init__(mesh)

    def moved(self) -> None:
        super().moved()
        self._plain, self._asked = None, 0
        self._normals_known = False

    def plain_for(self, count: int) -> bool:
        """Return whether the surface is known to be plain, before the sides of so many more points are asked for."""
        self._asked += count
        if self._plain is None and self._asked >= self._worth * len(self.surface.faces):
            x, topology = self.surface.x, self.solid.topology
            self._plain = is_sliver_free(x, topology.faces) and is_plain(x, topology, self.fitted())
            self._worth = WORTH if self._plain else DOUBT
        return bool(self._plain)

    def _update_pseudonormals(self, found: NDArray[np.int64]) -> None:
        """As that of all surfaces, but of poses with more points than faces, the normals of all faces come first, once
        per pose."""
        if not self._normals_known and max(self._asked, len(found)) < len(self.surface.faces):
            super()._update_pseudonormals(found)
            return
        if not self._normals_known:
            _normals.update_face_normals(self.surface)
            self._normals_known = True
        worth(_normals.update_pseudonormals, len(found), FEW)(self.rings, self.surface, found, True)

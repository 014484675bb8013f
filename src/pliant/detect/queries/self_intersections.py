"""Self-intersections of a garment whose file may hold faces twice."""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from .intersections import Intersections

Pairs = NDArray[np.int32]


class SelfIntersections(Intersections):
    """Intersecting triangles of one mesh. Faces with the same corners as an earlier face are left out: they coincide
    with it in every shape, so that no motion of vertices could separate them."""

    def __init__(self, mesh: Mesh, **options: Any) -> None:
        super().__init__(mesh, **options)
        self._copies = np.zeros(mesh.n_faces, np.bool_)
        self._copies[mesh.issues.duplicate] = True

    @functools.cached_property
    def _found(self) -> Pairs:
        found = super()._found
        return found[~self._copies[found].any(1)] if self._copies.any() else found

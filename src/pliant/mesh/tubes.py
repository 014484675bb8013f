"""Tubes: how strands are displayed, as round tubes around their lines."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels.mesh.tubes import place_tubes
from .mesh import Mesh
from .polylines import Polylines, polylines

Floats = NDArray[np.float64]
SIDES = 6
THIN = 2e-3  # of the size of the mesh: radius without any other


@dataclasses.dataclass(frozen=True, eq=False)
class Tubes:
    """Tubes with `sides` sides around the lines of a mesh, closed at their ends, of `radius` metres."""

    base: Mesh
    radius: float = 0.0
    sides: int = SIDES

    def __post_init__(self) -> None:
        radius = validate.number("radius", self.radius, low=0.0) or THIN * self.base.size
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "sides", validate.whole("sides", self.sides, low=3, high=64))

    @functools.cached_property
    def strands(self) -> Polylines:
        return polylines(self.base)

    @functools.cached_property
    def mesh(self) -> Mesh:
        """The tubes at rest; vertex `sides` * k + j is number j around the k-th point of `strands`."""
        s, (order, start) = self.sides, self.strands
        ahead = np.delete(np.arange(len(order)), start[1:] - 1)[:, None, None]  # points before a segment
        j = np.arange(s)
        a, b = j, (j + 1) % s
        quads = np.stack([np.stack([a, b, b + s], 1), np.stack([a, b + s, a + s], 1)], 1).reshape(-1, 3)
        k = np.arange(1, s - 1)
        cap = np.stack([np.zeros_like(k), k + 1, k], 1)
        parts = [
            s * ahead + quads,
            s * start[:-1, None, None] + cap,
            s * (start[1:, None, None] - 1) + cap[:, ::-1],
        ]
        faces = np.concatenate([part.reshape(-1, 3) for part in parts]).astype(np.int32)
        x = self.place(self.base.vertices)
        return Mesh(x, faces, name=self.base.name, groups=np.arange(len(x), dtype=np.int32))

    def place(self, x: NDArray[Any]) -> Floats:
        """Positions of the vertices of `mesh` where those of `base` are at x (n,3)."""
        order, start = self.strands
        out = np.empty((self.sides * len(order), 3))
        place_tubes(start, np.ascontiguousarray(np.asarray(x, np.float64)[order]), self.radius, self.sides, out)
        return out

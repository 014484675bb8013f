"""Welding of meshes in motion: vertices that coincide in the rest pose are welded as long as they stay together."""

import numpy as np
from numpy.typing import NDArray

from ..base import Side


class Seams:
    """Tracks the seams of one or two sides. `sides` are those given, with meshes welded for the current positions.

    Files split vertices along seams; the copies coincide in every pose, and features that share one are adjacent.
    Copies that have separated are independent vertices, as in pattern pieces or boxes that started side by side.
    """

    def __init__(self, *sides: Side | None) -> None:
        self._rest = tuple(side for side in sides if side is not None)
        self.sides = self._rest

    def update(self, *x: NDArray[np.float64]) -> bool:
        """Update the welding and return whether it changed: copies are welded if they coincide in each of the position
        arrays x (n,3) of all sides."""
        changed = False
        sides = []
        for rest, old in zip(self._rest, self.sides, strict=True):
            mesh = rest.mesh
            for at in x:
                mesh = mesh.welded_at(at[rest.rows])
            now, before = mesh.groups, old.mesh.groups
            if now is before or (now is not None and before is not None and np.array_equal(now, before)):
                sides.append(old)
            else:
                sides.append(rest._replace(mesh=mesh))
                changed = True
        self.sides = tuple(sides)
        return changed

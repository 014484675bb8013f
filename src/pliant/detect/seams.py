"""Which vertices of a mesh that moves are one: those that coincide at rest, as long as they stay together."""

import numpy as np
from numpy.typing import NDArray

from .base import Side


class Seams:
    """Follows the seams of one side or two. `sides` are those given, their meshes welded as they are by now.

    Files split vertices along seams; the copies coincide in every pose, and whoever shares one is a neighbour. Copies
    that have come apart are vertices like any others: of pattern pieces, or of boxes that stood side by side.
    """

    def __init__(self, *sides: Side | None) -> None:
        self._rest = tuple(side for side in sides if side is not None)
        self.sides = self._rest

    def follow(self, *x: NDArray[np.float64]) -> bool:
        """Whether copies came apart, or together again, since it was last asked: where each of the positions x (n,3)
        of all sides has them together, they are one."""
        changed = False
        sides = []
        for rest, old in zip(self._rest, self.sides, strict=True):
            mesh = rest.mesh
            for at in x:
                mesh = mesh.sewn_at(at[rest.rows])
            now, before = mesh.groups, old.mesh.groups
            if now is before or (now is not None and before is not None and np.array_equal(now, before)):
                sides.append(old)
            else:
                sides.append(rest._replace(mesh=mesh))
                changed = True
        self.sides = tuple(sides)
        return changed

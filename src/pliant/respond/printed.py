"""Projection and friction by the equations of Fuhrmann et al. 2003, sections 4.2 and 4.4, as the paper prints them."""

import math
from typing import ClassVar

from ..contacts import Contacts
from ..kernels.respond import projection as _kernels
from ..kernels.respond.projection import Friction, Substep
from ..scene import Scene
from ..state import State
from .base import Detect
from .projection import Projection


class PrintedProjection(Projection):
    """Eq. 1 moves every point out at once, whatever its depth, and eqs. 5 and 6 limit friction by the whole normal
    displacement |dx_n| of the substep; elastic collisions scale the normal component.

    Velocities are those of the corrected positions: a deep start is thrown out, and a point that arrives from the air
    is braked for the part of its fall above the surface, too. `Projection` does neither. The printed minus of eq. 5
    contradicts its text, which is followed here, too. For contacts with obstacles.
    """

    strict = False
    between: ClassVar[bool] = False

    @classmethod
    def allows_springs(cls, scene: Scene) -> bool:
        return False

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Move x by eqs. 1 to 6."""
        if len(contacts):
            substep = Substep(state.x, state.x_start, self.w, dt)
            friction = Friction(self.friction, self.simple, True, self.restitution)
            done = self.normal_correction, self.friction_correction
            _kernels.project(contacts, self.batches, substep, self.eps, friction, math.inf, *done)

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Leave v as the displacement of the substep over its duration (section 4.1)."""

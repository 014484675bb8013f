"""Projection onto the surface, with friction, then velocity correction (Fuhrmann et al. 2003, section 4)."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..kernels.respond import projection as _kernels
from ..kernels.respond.projection import Friction, Substep
from ..scene import Scene
from ..state import State
from .base import Detect, Response

Floats = NDArray[np.float64]
RECOVERY = 2.0  # m/s: largest speed at which penetration that existed before the substep is resolved


class Projection(Response):
    """Keeps every contact at a gap of at least `eps`. `normal_correction` (c,) and `friction_correction` (c,3) are the
    relative displacements of a substep, metres.

    Displacements and velocities are relative to the surface: a contact's anchor has its own velocity. Pass `eps`
    for an offset other than the scene's, and `w` (n,) for other inverse masses.
    """

    strict = True

    def __init__(
        self,
        scene: Scene,
        *,
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        w: Floats | None = None,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.restitution = scene.restitution
        self.w = scene.inverse_masses if w is None else w
        self._gravity = float(np.linalg.norm(scene.gravity))
        self._before = np.zeros((0, 3))
        self.normal_correction, self.friction_correction = np.zeros(0), np.zeros((0, 3))

    @classmethod
    def allows_springs(cls, scene: Scene) -> bool:
        # friction of eq. 3 does not depend on the normal force; springs would add to the restitution
        return scene.friction_model != "simple" and scene.restitution == 0.0

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep: clear the corrections and store the velocities of the contacts before impact."""
        self.normal_correction = np.zeros(len(contacts))
        self.friction_correction = np.zeros((len(contacts), 3))
        if self._before.shape != state.v.shape:
            self._before = np.zeros_like(state.v)
        _kernels.copy_velocities(contacts, state.v, self._before)

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Move x so that every gap is at least eps (to first order), with friction; see `RECOVERY`."""
        if len(contacts):
            substep, friction = Substep(state.x, state.x_start, self.w, dt), Friction(self.friction, self.simple)
            _kernels.project(
                contacts, substep, self.eps, friction, RECOVERY, self.normal_correction, self.friction_correction
            )

    def enforced(self) -> Floats:
        return self.normal_correction

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v for the projection, with restitution."""
        if len(contacts):
            slow = 4.0 * self._gravity * dt  # four times the speed that gravity adds in a substep
            velocities = state.v, self._before
            _kernels.apply_restitution(
                contacts, *velocities, self.w, self.restitution, slow, self.normal_correction, self.repels
            )

"""Projection onto the surface, with friction, then velocity correction (Fuhrmann et al. 2003, section 4)."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from ..contacts import Contacts
from ..kernels.respond import projection as _kernels
from ..kernels.respond.projection import Friction, Restitution, Substep
from ..scene import Scene
from ..state import State
from .base import Detect, Response
from .batches import ContactBatches

Floats = NDArray[np.float64]
RECOVERY = 2.0  # m/s: largest speed at which penetration that existed before the substep is resolved


class Projection(Response):
    """Keeps every contact at a gap of at least `eps`. `normal_correction` (c,) and `friction_correction` (c,3) are the
    relative displacements of a substep, metres.

    Displacements and velocities are relative to the surface: a contact's anchor has its own velocity. Pass `eps`
    for an offset other than the scene's, and `w` (n,) for other inverse masses. `coloured`: midpoints of edges are
    handled by the colours of the edges, on all threads or on a graphics card, instead of in their order.
    """

    strict = True

    def __init__(
        self,
        scene: Scene,
        *,
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        w: Floats | None = None,
        coloured: bool = False,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.restitution = scene.restitution
        self.w = scene.inverse_masses if w is None else w
        self._gravity = float(np.linalg.norm(scene.gravity))
        self._before = np.zeros((0, 3))
        self._ordering = ContactBatches(scene, coloured=coloured)
        self.batches = self._ordering.of(_contacts.empty())
        self.normal_correction, self.friction_correction = np.zeros(0), np.zeros((0, 3))

    @classmethod
    def allows_springs(cls, scene: Scene) -> bool:
        # friction of eq. 3 does not depend on the normal force; springs would add to the restitution
        return scene.friction_model != "simple" and scene.restitution == 0.0

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep: clear the corrections and store the velocities of the contacts before impact."""
        self.batches = self._ordering.of(contacts)
        self.normal_correction = np.zeros(len(contacts))
        self.friction_correction = np.zeros((len(contacts), 3))
        if self._before.shape != state.v.shape:
            self._before = np.zeros_like(state.v)
        _kernels.copy_velocities(contacts, state.v, self._before)

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Move x so that every gap is at least eps (to first order), with friction; see `RECOVERY`."""
        if len(contacts):
            substep, friction = Substep(state.x, state.x_start, self.w, dt), Friction(self.friction, self.simple)
            done = self.normal_correction, self.friction_correction
            _kernels.project(contacts, self.batches, substep, self.eps, friction, RECOVERY, *done)

    def enforced(self) -> Floats:
        return self.normal_correction

    def slow(self, dt: float) -> float:
        """Return the approach speed, m/s, up to which there is no restitution: four times what gravity adds in dt."""
        return 4.0 * self._gravity * dt

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v for the projection, with restitution."""
        if len(contacts):
            velocities, rule = (state.v, self._before), Restitution(self.restitution, self.slow(dt), self.repels)
            _kernels.apply_restitution(contacts, self.batches, *velocities, self.w, rule, self.normal_correction)

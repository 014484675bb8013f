"""Penalty: repulsion proportional to the violated distance, distributed by mass (Jung et al. 2005, section 4)."""

from typing import cast

import numpy as np

from .. import validate
from ..contacts import Contacts
from ..kernels.respond import penalty as _kernels
from ..kernels.respond.projection import Friction, Substep
from ..scene import Scene
from ..state import State
from .base import Detect, Response

TAU = 0.002  # s


class Penalty(Response):
    """A critically damped spring acts between the two objects of a contact, each with its full mass.

    `tau` (s) sets its stiffness: 26 % of the violation is corrected after tau, 59 % after 2 tau and 91 % after 4 tau,
    whatever the mass; with a dt above tau, as fast as dt permits. The spring constant is M / tau^2 N/m, with the
    reduced mass M of the pair; a load that accelerates the pair by a compresses it by a tau^2. No restitution.
    `normal_correction` (c,) and `friction_correction` (c,3) are the relative displacements of a substep, metres.
    """

    def __init__(
        self, scene: Scene, *, reads_obstacle_vertices: bool = False, eps: float | None = None, tau: float | None = None
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.tau = TAU if tau is None else validate.number("tau", tau, above=0.0)
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.w = scene.inverse_masses
        self.normal_correction, self.friction_correction = np.zeros(0), np.zeros((0, 3))

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep: clear the impulses."""
        self.normal_correction, self.friction_correction = np.zeros(len(contacts)), np.zeros((len(contacts), 3))

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Move x by the effect of repulsion and friction in dt, after the internal forces."""
        if len(contacts):
            substep, friction = Substep(state.x, state.x_start, self.w, dt), Friction(self.friction, self.simple)
            _kernels.repel(
                contacts, substep, self.eps, dt / self.tau, friction, self.normal_correction, self.friction_correction
            )

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Leave v unchanged: the repulsion is already contained in the displacement."""

"""Penalty: a repulsion as strong as the distance that is missing, shared out by mass (Jung et al. 2005, section 4)."""

import numpy as np

from .. import validate
from ..contacts import Contacts
from ..kernels import penalty as _kernels
from ..scene import Scene
from ..state import State
from .base import Response

TAU = 0.002  # s


class Penalty(Response):
    """Between the two objects of a contact, each with all of its mass, acts a critically damped spring.

    `tau` (s) says how stiff: of a missing distance 26 % are regained after tau, 59 % after 2 tau, 91 % after 4 tau,
    whatever dt is; the spring has M / tau2 N/m, M being the reduced mass of the two. A load that would accelerate the
    pair by a presses it a tau2 together. Nothing bounces. Impulses of a step are in `pushed` and `rubbed` (metres).
    """

    def __init__(
        self, scene: Scene, *, obstacles: bool = False, eps: float | None = None, tau: float | None = None
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.tau = TAU if tau is None else validate.number("tau", tau, above=0.0)
        self.friction = scene.friction
        self.simple = scene.friction_model == "simple"
        self.w = scene.inverse_masses
        self.pushed, self.rubbed = np.zeros(0), np.zeros((0, 3))

    def begin(self, contacts: Contacts, state: State) -> None:
        """A new step: forget the pushes of the last one."""
        self.pushed, self.rubbed = np.zeros(len(contacts)), np.zeros((len(contacts), 3))

    def apply(self, contacts: Contacts, state: State, dt: float) -> None:
        """Move x by what the repulsion does in dt, rubbing along the way; after the internal forces have moved it."""
        if len(contacts):
            _kernels.repel(
                contacts,
                state.x,
                state.x_start,
                self.w,
                self.eps,
                dt / self.tau,
                self.friction,
                self.simple,
                dt,
                self.pushed,
                self.rubbed,
            )

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """v is what x went: a force has done its work there."""

"""Projection: set back to the surface, with friction, then correct the velocities (Fuhrmann et al. 2003, section 4)."""

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..kernels import projection as _kernels
from ..scene import Scene
from ..state import State
from .base import Response

Floats = NDArray[np.float64]
RECOVERY = 2.0  # m/s: how fast what is inside without having moved in comes out


class Projection(Response):
    """Keeps everything `eps` away from what it touches. Impulses of a step are in `pushed` and `rubbed` (metres).

    Movements and speeds are those relative to the surface: a contact's anchor has its own velocity. `obstacles` says
    that contacts name vertices of obstacles that move. `eps` other than the scene's is for cloth on cloth.
    """

    strict = True

    def __init__(self, scene: Scene, *, obstacles: bool = False, eps: float | None = None) -> None:
        self.eps = scene.eps if eps is None else eps
        self.friction = scene.friction
        self.simple = scene.friction_model == "simple"
        self.elasticity = scene.elasticity
        self.w = scene.inverse_masses
        self._gravity = float(np.linalg.norm(scene.gravity))
        self._rows = slice(None) if obstacles else scene.soft_rows
        self._before = np.zeros((0, 3))
        self.pushed, self.rubbed = np.zeros(0), np.zeros((0, 3))

    def begin(self, contacts: Contacts, state: State) -> None:
        """A new step: forget the pushes of the last one, remember the speeds before impact."""
        self.pushed = np.zeros(len(contacts))
        self.rubbed = np.zeros((len(contacts), 3))
        if self._before.shape != state.v.shape:
            self._before = state.v.copy()
        self._before[self._rows] = state.v[self._rows]

    def apply(self, contacts: Contacts, state: State, dt: float) -> None:
        """Move x so that every gap is at least eps (to first order), rubbing along the way; see `RECOVERY`."""
        if len(contacts):
            _kernels.project(
                contacts,
                state.x,
                state.x_start,
                self.w,
                self.eps,
                self.friction,
                self.simple,
                RECOVERY,
                dt,
                self.pushed,
                self.rubbed,
            )

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v for what was moved."""
        if len(contacts):
            slow = 4.0 * self._gravity * dt
            _kernels.settle(contacts, state.v, self._before, self.w, self.elasticity, slow, self.pushed)

"""Separate: resolve deep overlaps at bounded speed without adding velocity."""

from typing import cast

import numpy as np

from .. import validate
from ..contacts import Contacts
from ..kernels.respond import separate as _kernels
from ..kernels.respond.projection import Friction, Substep
from ..scene import Scene
from ..state import State
from .base import Detect, Response

SPEED = 0.5  # m/s
TAU = 0.02  # s
SWEEPS = 2  # over the contacts of a substep, to stop further penetration


class Separate(Response):
    """For overlaps of any depth, with contacts of consistent depth: no vertex is ejected, however many contacts it has.

    Further penetration is stopped, with friction. In addition, contacts are separated by the violated distance within
    `tau` seconds, no vertex faster than `speed` (m/s), without adding velocity. No restitution. The impulses of a
    substep are in `stopped` and `friction_correction`, the separating displacement of each vertex in `lift` (metres).
    """

    def __init__(
        self,
        scene: Scene,
        *,
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        speed: float = SPEED,
        tau: float = TAU,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.speed = validate.number("speed", speed, above=0.0)
        self.tau = validate.number("tau", tau, above=0.0)
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.w = scene.inverse_masses
        self.lift = np.zeros((len(self.w), 3))
        self.stopped, self.friction_correction = np.zeros(0), np.zeros((0, 3))

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep: clear the impulses."""
        self.stopped, self.friction_correction = np.zeros(len(contacts)), np.zeros((len(contacts), 3))
        self.lift[:] = 0.0

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Stop further penetration, and separate."""
        if not len(contacts):
            return
        x, weight_sums = state.x, np.zeros(len(state.x))
        _kernels.sum_weights(contacts, weight_sums)
        substep, friction = Substep(x, state.x_start, self.w, dt), Friction(self.friction, self.simple)
        for _ in range(SWEEPS):
            _kernels.stop(contacts, substep, self.eps, friction, weight_sums, self.stopped, self.friction_correction)
        pace = min(dt / self.tau, 1.0)
        farthest, most = _kernels.accumulate_separation(contacts, x, self.w, self.eps, pace, weight_sums, self.lift)
        # one factor for all vertices, so that action equals reaction
        allowed = min(self.speed * dt, pace * most)
        if farthest > allowed:
            self.lift *= allowed / farthest
        x += self.lift

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Remove the separating displacement from v."""
        state.v -= self.lift / dt

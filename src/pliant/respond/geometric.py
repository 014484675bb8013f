"""Geometric: move to a contact-free position, repeated until nothing touches (Jung et al. 2005, sections 4 and 5)."""

from typing import cast

import numpy as np

from .. import contacts as _contacts
from .. import renamed, validate
from ..contacts import Contacts
from ..kernels.respond import geometric as _kernels
from ..kernels.respond.projection import Friction, Substep
from ..scene import Scene
from ..state import State
from .base import Detect, Response
from .penalty import Penalty

FREE = 0.9  # of the contact offset: a state is free of contact when no pair is nearer
ROUNDS = 40  # of detection and separation at the end of a frame
FEW = 2  # rounds in each substep
SWEEPS = 4  # over the contacts of a round


class Geometric(Response):
    """Separates pairs nearer than `eps` and detects again, until the state is free of contact or for `rounds` rounds.

    Free of contact means that the detector finds no pair nearer than FREE * eps; `unresolved` is the number of such
    pairs at the end, `passes` the number of detection passes. Where no detection function is passed, the given contacts
    are reused. The separation adds no velocity; pairs that still approach get the response velocity.
    """

    iterates = True

    def __init__(
        self,
        scene: Scene,
        *,
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        rounds: int | None = None,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.rounds = ROUNDS if rounds is None else validate.whole("rounds", rounds, low=1, high=10_000)
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.restitution = scene.restitution
        self.w = scene.inverse_masses
        self._gravity = float(np.linalg.norm(scene.gravity))
        self._before = self._after = self.lift = np.zeros((0, 3))
        self._clear()

    def _clear(self) -> None:
        self.met = _contacts.empty()
        self.normal_correction, self.stopped, self.friction_correction = np.zeros(0), np.zeros(0), np.zeros((0, 3))
        self.passes = 0

    looks = renamed.attribute("looks", "passes")

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep: clear the impulses and store the velocities before impact."""
        self._clear()
        self._before, self.lift = state.v.copy(), np.zeros_like(state.x)

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Separate, and repeat a few times where that brought other pairs near."""
        self._separate(contacts, state, dt, detect, min(FEW, self.rounds))
        self._after = state.x.copy()

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Remove the separation displacement from v, and give approaching pairs their response velocity."""
        if len(self.met):
            _kernels.keep_lift(self.lift, self._after, state.x)
            state.v -= self.lift / dt
            self._apply_response_velocity(state, 4.0 * self._gravity * dt)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Separate until the state is free of contact; the vertices do not move otherwise."""
        state.x_start[:] = state.x
        self.begin(self.met, state)
        self._separate(detect(state), state, 0.0, detect, self.rounds)
        self._apply_response_velocity(state, 4.0 * self._gravity * dt)

    def count_near(self, state: State, detect: Detect) -> int:
        """Return the number of pairs that are too near, which is `unresolved` then."""
        self.unresolved = _kernels.too_near(detect(state), state.x, self.w, FREE * self.eps)
        return self.unresolved

    def _separate(self, found: Contacts, state: State, dt: float, detect: Detect | None, rounds: int) -> None:
        substep = Substep(state.x, state.x_start, self.w, dt)
        common = substep, self.lift, self.eps, Friction(self.friction, self.simple)
        least, parts = FREE * self.eps, []
        self.unresolved = _kernels.too_near(found, state.x, self.w, least)
        # within a substep approaching pairs are always stopped; at the end of a frame a free state is left unchanged
        rounds = rounds if self.unresolved else min(len(found), int(dt > 0.0))
        for _ in range(rounds):
            given = np.zeros(len(found)), np.zeros(len(found)), np.zeros((len(found), 3))
            for _ in range(SWEEPS):
                _kernels.separate_contacts(found, *common, *given)
            on = given[0] > 0.0
            parts.append((found[on], *(part[on] for part in given)))
            if detect is not None:
                found = detect(state)
                self.passes += 1
            self.unresolved = _kernels.too_near(found, state.x, self.w, least)
            if not self.unresolved:
                break
        if parts:
            records, normal, stopped, tangential = (list(column) for column in zip(*parts, strict=True))
            self.met, self.friction_correction = _contacts.concatenate_unsorted(records), np.concatenate(tangential)
            self.normal_correction, self.stopped = np.concatenate(normal), np.concatenate(stopped)

    def _apply_response_velocity(self, state: State, slow: float) -> None:
        if len(self.met):
            bounce = self.restitution, slow, Friction(self.friction, self.simple)
            velocities = state.v, self._before
            _kernels.apply_response_velocity(self.met, *velocities, self.w, *bounce, self.normal_correction)


class PenaltyGeometric(Penalty):
    """Penalty in every substep, so that few pairs come near; geometric at the end of a frame, so that none remain."""

    iterates = True

    def __init__(
        self,
        scene: Scene,
        *,
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        tau: float | None = None,
        rounds: int | None = None,
    ) -> None:
        super().__init__(scene, reads_obstacle_vertices=reads_obstacle_vertices, eps=eps, tau=tau)
        self.last = Geometric(scene, reads_obstacle_vertices=reads_obstacle_vertices, eps=eps, rounds=rounds)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Separate the pairs that the penalty left too near."""
        self.last.end_frame(state, dt, detect)
        self.unresolved = self.last.unresolved

    def count_near(self, state: State, detect: Detect) -> int:
        self.unresolved = self.last.count_near(state, detect)
        return self.unresolved

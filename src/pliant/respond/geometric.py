"""Geometric: moved to the legal place, again and again until nothing touches (Jung et al. 2005, sections 4 and 5)."""

import numpy as np

from .. import contacts as _contacts
from .. import validate
from ..contacts import Contacts
from ..kernels import geometric as _kernels
from ..scene import Scene
from ..state import State
from .base import Look, Response
from .penalty import Penalty

FREE = 0.9  # of the distance that is kept: a state is free of contact when no pair is nearer
ROUNDS = 40  # of looking and setting apart before a frame is shown, and a few in each small step
FEW = 2
SWEEPS = 4  # over the contacts of a round


class Geometric(Response):
    """Sets what is nearer than `eps` apart, looks again, and so on until the state is free of contact or for `rounds`.

    Free is: no pair nearer than FREE of eps, as the detector sees it. `remained` counts the pairs that were when it
    gave up. Where nobody can look (`look`), the contacts it was given are taken again. What it moves gets no speed by
    that; pairs that still approach get the response velocity.
    """

    shows = True

    def __init__(
        self, scene: Scene, *, obstacles: bool = False, eps: float | None = None, rounds: int | None = None
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.rounds = ROUNDS if rounds is None else validate.whole("rounds", rounds, low=1, high=10_000)
        self.friction = scene.friction
        self.simple = scene.friction_model == "simple"
        self.elasticity = scene.elasticity
        self.w = scene.inverse_masses
        self._gravity = float(np.linalg.norm(scene.gravity))
        self._before = self._after = self.lift = np.zeros((0, 3))
        self._forget()

    def _forget(self) -> None:
        self.met = _contacts.empty()
        self.pushed, self.stopped, self.rubbed = np.zeros(0), np.zeros(0), np.zeros((0, 3))
        self.looks = 0

    def begin(self, contacts: Contacts, state: State) -> None:
        """A new step: forget the pushes of the last one, remember the speeds before impact."""
        self._forget()
        self._before, self.lift = state.v.copy(), np.zeros_like(state.x)

    def apply(self, contacts: Contacts, state: State, dt: float) -> None:
        """Set apart, and a few times more where that brought others near."""
        self._separate(contacts, state, dt, self.look, min(FEW, self.rounds))
        self._after = state.x.copy()

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Take from v what was not speed, and give what approaches its response velocity."""
        if len(self.met):
            _kernels.keep_lift(self.lift, self._after, state.x)
            state.v -= self.lift / dt
            self._answer(state, 4.0 * self._gravity * dt)

    def show(self, state: State, dt: float, look: Look | None = None) -> None:
        """Until the state is free of contact, before it is shown: nothing is on its way any more."""
        look = look or self.look
        if look is None:
            return
        state.x_start[:] = state.x
        self.begin(self.met, state)
        self._separate(look(state), state, 0.0, look, self.rounds)
        self._answer(state, 4.0 * self._gravity * dt)

    def _separate(self, found: Contacts, state: State, dt: float, look: Look | None, rounds: int) -> None:
        common = state.x, self.lift, state.x_start, self.w, self.eps, self.friction, self.simple, dt
        least, parts = FREE * self.eps, []
        self.remained = _kernels.too_near(found, state.x, self.w, least)
        # what is on its way is stopped in any case; what only has to be shown stays where it is if it can
        rounds = rounds if self.remained else min(len(found), int(dt > 0.0))
        for _ in range(rounds):
            given = np.zeros(len(found)), np.zeros(len(found)), np.zeros((len(found), 3))
            for _ in range(SWEEPS):
                _kernels.set_apart(found, *common, *given)
            on = given[0] > 0.0
            parts.append((found[on], *(part[on] for part in given)))
            if look is not None:
                found = look(state)
                self.looks += 1
            self.remained = _kernels.too_near(found, state.x, self.w, least)
            if not self.remained:
                break
        if parts:
            records, pushed, stopped, rubbed = (list(column) for column in zip(*parts, strict=True))
            self.met, self.rubbed = _contacts.join(records), np.concatenate(rubbed)
            self.pushed, self.stopped = np.concatenate(pushed), np.concatenate(stopped)

    def _answer(self, state: State, slow: float) -> None:
        if len(self.met):
            bounce = self.elasticity, slow, self.friction, self.simple
            _kernels.answer(self.met, state.v, self._before, self.w, *bounce, self.pushed)


class PenaltyGeometric(Penalty):
    """Penalty in every small step, so that little comes near; geometric before a frame is shown, so that nothing is."""

    shows = True

    def __init__(
        self,
        scene: Scene,
        *,
        obstacles: bool = False,
        eps: float | None = None,
        tau: float | None = None,
        rounds: int | None = None,
    ) -> None:
        super().__init__(scene, obstacles=obstacles, eps=eps, tau=tau)
        self.last = Geometric(scene, obstacles=obstacles, eps=eps, rounds=rounds)

    def show(self, state: State, dt: float, look: Look | None = None) -> None:
        """Set apart what the penalty left too near."""
        self.last.show(state, dt, look or self.look)
        self.remained = self.last.remained

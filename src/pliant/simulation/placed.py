"""Where a simulation runs: on threads, or on a graphics card, by itself or in a batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from .. import arrays
from ..arguments import check_arguments
from ..scene import Scene
from ..state import State
from .batch import Batch, batch_of
from .card_limits import device_for, why_not
from .on_card import CardRun

if TYPE_CHECKING:
    from .step import Simulation


class Placed:
    """The part of a simulation that knows where its state is.

    device: "cpu" or "cuda". card_run: the run on a graphics card that it takes part in. host_state: what the host has
    of the state; on a card, everything but the positions and velocities of deformable bodies.
    """

    device: str
    index: int
    host_state: State
    card_run: CardRun | None = None

    @property
    def _sim(self) -> "Simulation":
        return cast("Simulation", self)

    @property
    def state(self) -> State:
        """The state, which may be changed between frames; on a graphics card a copy, from which the next frame starts.

        `host_state` is what the host has of it: everything but the positions and velocities of deformable bodies.
        """
        return self.host_state if self.card_run is None else self.card_run.state_of(self._sim)

    @state.setter
    def state(self, state: State) -> None:
        self.state.x  # noqa: B018 - tells the card that its arrays are the older ones
        self.host_state = state

    @check_arguments
    def to(self, device: arrays.Device) -> Self:
        """Go on on another device, with the same results bit by bit; return this simulation."""
        to = device_for(device, why_not(self._sim) if device != "cpu" else [])
        if to == "cpu" and self.card_run is not None:
            self.leave_card(self.index, self.state)
        elif to == "cuda" and self.card_run is None:
            self.join(CardRun([self._sim]))
        return self

    def join(self, run: CardRun) -> None:
        """Go on on a graphics card, in a run of one or of several simulations."""
        self.card_run, self.device = run, "cuda"

    def leave_card(self, index: int, state: State) -> None:
        """Go on on threads, from the `state` after frame `index`."""
        self.card_run, self.device, self.index, self.host_state = None, "cpu", index, state

    @check_arguments
    @classmethod
    def batch(
        cls, scenes: Sequence[Scene], dt: float = 0.01, *, device: arrays.Device = "auto", **options: Any
    ) -> Batch:
        """Make a simulation of each of `scenes`, with the other arguments of `Simulation`, that advance together."""
        return batch_of(cls, scenes, dt, device, options)

"""Many scenes in one run: parameters, garments or bodies that differ, side by side on a graphics card."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import arrays, validate
from ..arguments import check_arguments
from ..dynamics.shared import sharing
from ..scene import Scene
from .card_limits import device_for, why_not
from .frame import Frame
from .on_card import CardRun

if TYPE_CHECKING:
    from .step import Simulation


class Batch:
    """Simulations of several scenes that advance together; `Simulation.batch` makes one.

    sims: the simulations, in the order of the scenes. device: "cuda", where all of them are one system of constraints
    and contacts, or "cpu", where they run one after the other. Results are those of the simulations alone, bit by bit;
    where bodies are so fast that substeps are divided, all scenes divide them as the fastest of them needs.
    """

    def __init__(self, sims: Sequence["Simulation"], device: arrays.Device) -> None:
        self.sims = tuple(sims)
        self.device = device_for(device, list(dict.fromkeys(why for sim in sims for why in why_not(sim))))
        if self.device == "cuda":
            run = CardRun(self.sims)
            for sim in self.sims:
                sim.join(run)

    def __len__(self) -> int:
        return len(self.sims)

    def __repr__(self) -> str:
        return f"<Batch of {len(self)} scenes on {self.device}>"

    def step(self) -> list[Frame]:
        """Advance every simulation by a frame, and return the frames."""
        run = self.sims[0].card_run
        return [sim.step() for sim in self.sims] if run is None else list(run.step(True))

    @check_arguments
    def run(self, frames: int) -> Iterator[list[Frame]]:
        """Advance by `frames` frames and yield those of all simulations each time."""
        for _ in range(validate.whole("frames", frames, low=0)):
            yield self.step()


def batch_of(make: Any, scenes: Sequence[Scene], dt: float, device: arrays.Device, options: dict[str, Any]) -> Batch:
    """Return the batch of `scenes`; what is equal in them is made once. `make` makes a simulation."""
    if not scenes:
        raise ValueError("scenes is empty; a batch needs at least one Scene")
    with sharing():
        sims = [make(scene, dt, **options) for scene in scenes]
    if len({sim.substeps for sim in sims}) > 1:
        raise ValueError("the scenes have different substeps by default; pass substeps")
    return Batch(sims, device)

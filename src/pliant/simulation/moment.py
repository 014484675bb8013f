"""Moment: everything that a frame changes in a simulation, so that the frame can be computed again."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .step import Simulation


class Moment:
    """What a checkpoint stores of a simulation between two frames, and the positions of its drag constraints."""

    def __init__(self, sim: "Simulation") -> None:
        self.state = sim.state.copy()
        self.take(sim)

    def take(self, sim: "Simulation") -> None:
        """Keep the present moment."""
        self.state.assign(sim.state)
        self._counts = sim.dynamics.lost, sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs
        self._response, self._drags = sim.response.state(), [drag.at for drag in sim.drags]

    def restore(self, sim: "Simulation") -> None:
        """Return to the moment kept."""
        sim.state.assign(self.state)
        sim.dynamics.lost, sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs = self._counts
        sim.self_contact.tangled = True  # as after a checkpoint: what intersects is found anew
        sim.response.restore(self._response)
        for drag, at in zip(sim.drags, self._drags, strict=True):
            drag.at = at

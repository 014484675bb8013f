"""Contacts with a surface that lies higher than the obstacle's own: what outer garments meet, over the inner ones."""

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np

from ..contacts import Contacts
from ..state import State
from .base import Detector, Finds, Forgetting


class Lifted:
    """Another detector's contacts, with the surface moved out by `lift` metres along each normal.

    The other must look `lift` farther than what is asked for here.
    """

    name: ClassVar[str] = "lifted"
    finds: ClassVar[Finds] = Finds.OBSTACLE
    needs: ClassVar[str] = "a detector"
    gives: ClassVar[str] = "what it gives"
    source: ClassVar[str] = ""

    def __init__(self, detector: Detector, lift: float) -> None:
        self.detector, self.lift = detector, lift
        self.guarantee, self.follows = detector.guarantee, detector.follows

    def update(self, state: State) -> Self:
        self.detector.update(state)
        return self

    def find(self, state: State) -> Contacts:
        return raised(self.detector.find(state), self.lift)


def bare(detector: Detector) -> Detector:
    """The detector itself, under what lifts its contacts."""
    return bare(detector.detector) if isinstance(detector, Lifted) else detector


def forget(detectors: Iterable[Detector]) -> None:
    """What they follow is of another run."""
    for one in map(bare, detectors):
        if isinstance(one, Forgetting):
            one.forget()


def raised(contacts: Contacts, by: float) -> Contacts:
    """The contacts with a surface that lies `by` metres higher."""
    found = np.array(contacts)
    found["anchor"] += by * found["normal"]
    found["distance"] -= by
    return found

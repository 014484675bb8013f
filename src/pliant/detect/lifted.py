"""Contacts with a surface that lies higher than the obstacle's own: what outer garments meet, over the inner ones."""

from typing import ClassVar, Self

import numpy as np

from ..contacts import Contacts
from ..state import State
from .base import Detector, Finds


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
        found = np.array(self.detector.find(state))
        found["anchor"] += self.lift * found["normal"]
        found["distance"] -= self.lift
        return found

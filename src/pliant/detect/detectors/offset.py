"""Contacts with an offset surface of an obstacle, for outer garments that are worn over inner ones."""

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np

from ...contacts import Contacts
from ...state import State
from ..base import Detector, Finds, Forgetting


class OffsetDetector:
    """Wrap a detector and offset the surface of its contacts by `lift` metres along each normal.

    The detection distance of the wrapped detector must be larger by `lift`.
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
        return offset(self.detector.find(state), self.lift)


def unwrapped(detector: Detector) -> Detector:
    """Return the detector without its `OffsetDetector` wrappers."""
    return unwrapped(detector.detector) if isinstance(detector, OffsetDetector) else detector


def forget(detectors: Iterable[Detector]) -> None:
    """Reset the temporal state of detectors at the start of another run."""
    for one in map(unwrapped, detectors):
        if isinstance(one, Forgetting):
            one.forget()


def offset(contacts: Contacts, by: float) -> Contacts:
    """Return the contacts with the surface offset by `by` metres along each normal."""
    found = np.array(contacts)
    found["anchor"] += by * found["normal"]
    found["distance"] -= by
    return found

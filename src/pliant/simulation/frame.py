"""Frame: what one step of a simulation returns."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from .. import renamed
from ..brief import brief
from ..contacts import Contacts


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """Result of one frame of `dt` seconds: positions x (n,3) and poses (bodies,3,4) of all bodies, contacts of the last
    substep, and computing time in seconds. contacts: those of the detectors and among deformable bodies, and in safe
    mode those of corners and edges of bodies under triangles of cloth, which the guard adds to detectors that test
    points. unresolved: pairs that an iterative response left too near. intersections:
    exact number of intersecting triangle pairs in safe mode, present from the start or after pairs were given up, and
    with an iterative response all that it left.
    no_room: vertices of cloth in safe mode without room: inside of bodies when the frame began, or joined to such
    vertices by stretched edges since, or between limbs that yield. slipped: how far vertices attached to skin
    are from their places on it, at most, metres. lost: vertex moves undone because the new position was not finite or
    out of range. substeps: their number; fast bodies and events increase it. events: number of times of impact at which
    substeps were divided. attempts: ways in which the frame was computed; more than one where cloth would otherwise
    cross bodies that leave it room (docs/no-room.md)."""

    index: int
    time: float  # s
    x: NDArray[np.float64]
    pose: NDArray[np.float64]
    contacts: Contacts
    seconds: float
    unresolved: int = 0
    intersections: int = 0
    no_room: int = 0
    slipped: float = 0.0
    lost: int = 0
    substeps: int = 1
    events: int = 0
    attempts: int = 1

    remained = renamed.attribute("remained", "unresolved")
    cut = renamed.attribute("cut", "intersections")

    __repr__ = brief

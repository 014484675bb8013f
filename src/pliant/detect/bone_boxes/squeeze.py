"""Where two parts of a skin leave less room than is to be kept from both, cloth is kept half-way between them.

Otherwise it would be set off one part into the other and back in the next step: in an armpit, between the thighs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts
from .probes import Probes, Touching

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_TRIAL = 0.999  # of `within`: a little nearer, so that the face a point was set off is found again
_FACING = -0.3  # cosine: two parts face each other, and are not the two sides of a groove


class Squeeze:
    """Looks at where points would be set; `points` (n,3) are all there are."""

    def __init__(self, points: Floats) -> None:
        self._trial = Probes(points)

    def facing(self, found: Touching, within: float, skin: tuple[Any, Any, Any]) -> tuple[Rows, Floats]:
        """Which of the points would be set towards another part of the skin, and how much room is missing there."""
        none = np.zeros(0, np.int64)
        if not len(found.rows):
            return none, np.zeros(0)
        trial = self._trial
        trial.points[found.rows] = found.nearest + _TRIAL * within * found.normal
        trial.clear[found.rows] = 0.0
        trial.ask(*skin, found.rows, True, True)
        there = trial.within(0.99 * _TRIAL * within)
        at = np.searchsorted(found.rows, there.rows)
        facing = (there.normal * found.normal[at]).sum(1) < _FACING
        return at[facing], within - there.distance[facing]


def kept_half_way(vertices: Contacts, rows: Rows, missing: Floats) -> None:
    """Move the surfaces of these contacts back by half of the room that is missing."""
    vertices["anchor"][rows] -= 0.5 * missing[:, None] * vertices["normal"][rows]
    vertices["distance"][rows] += 0.5 * missing

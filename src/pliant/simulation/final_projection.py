"""Final projection: vertices that a detector with an exact inside test (bvh, bone-boxes) finds inside a body at the end
of a frame are projected out.

Responses use the nearest surfaces of one detection pass per substep, and move the ends of edges whose midpoints are too
near; so a vertex may end a substep inside, where a foot moves faster than the cloth can follow or where limbs press on
it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..detect.base import InsideQuery, with_defaults
from ..kernels.simulation import final_projection as _kernels
from ..respond.projection import RECOVERY
from ..scene import Scene
from ..state import State

Floats = NDArray[np.float64]
ROUNDS = 6  # in a concavity a projection may lead into another side, so each round uses half the offset of the last
_NONE = np.zeros(0, np.int32)


class FinalProjection:
    """Queries the detectors with an exact inside test (`InsideQuery`) for the vertices that may have entered a body
    since the last detection pass, and projects these out to `eps`, by at most their displacement in the frame plus what
    `RECOVERY` allows."""

    def __init__(self, scene: Scene, detectors: Sequence[Any]) -> None:
        queries = [with_defaults(each).inside_query for each in detectors]
        self.detectors: list[InsideQuery] = [each for each in queries if each is not None]
        self.eps, self._rows = scene.eps, scene.deformable_rows
        self._free = scene.inverse_masses[self._rows] > 0.0
        self._begin, self._seen = np.zeros((0, 3)), np.zeros((0, 3))

    def begin(self, state: State) -> None:
        """Begin a frame."""
        if self.detectors:
            self._begin = state.x[self._rows].copy()

    def remember(self, state: State) -> None:
        """Store the positions of the detection pass, before any response."""
        if self.detectors:
            self._seen = state.x[self._rows].copy()

    def apply(self, found: Contacts, state: State, dt: float, stuck: NDArray[np.int32] = _NONE) -> bool:
        """Move x; return whether anything was inside. `found`: contacts of the last detection pass; dt: of a frame;
        `stuck`: rows of x for which bodies leave no room; they stay."""
        moved = False
        for detector in self.detectors:
            x = state.x[self._rows]
            rows = self._possibly_inside(detector, found, x)
            rows = rows[~np.isin(rows + self._rows.start, stuck)] if len(stuck) else rows
            first = detector.deformable.first - self._rows.start
            allowed = RECOVERY * dt + _length(x[rows] - self._begin[rows])
            for turn in range(ROUNDS if len(rows) else 0):
                inside = detector.inside(x[rows], rows - first)
                if not len(inside.rows):
                    break
                rows, allowed = rows[inside.rows], allowed[inside.rows]
                push = np.minimum(inside.depth + 0.5**turn * self.eps, allowed)
                x[rows] += push[:, None] * inside.normal
                allowed, moved = allowed - push, True
        return moved

    def _possibly_inside(self, detector: InsideQuery, found: Contacts, x: Floats) -> NDArray[np.int64]:
        """Return the vertices that have moved at least their distance from the body since the detection pass."""
        soft, first = detector.deformable, self._rows.start
        mine = slice(soft.first - first, soft.first - first + soft.mesh.n_vertices)
        rows = np.empty(soft.mesh.n_vertices, np.int64)
        bodies = soft.body, detector.body.body, soft.first
        place = x[mine], self._seen[mine], self._free[mine]
        count = _kernels.list_possibly_inside(np.ascontiguousarray(found), bodies, detector.within, *place, rows)
        return rows[:count] + mine.start


def _length(a: Floats) -> Floats:
    return np.sqrt(np.einsum("ij,ij->i", a, a))

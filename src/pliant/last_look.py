"""The last look at a frame: what is still inside a body is set out before anybody sees it.

Responses go by where surfaces were nearest at one look a small step, and push ends of edges whose middles came too
near; so a vertex may end a small step inside, where a foot swings faster than cloth can follow or where limbs press it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contacts import VERTEX_FACE, Contacts
from .detect.base import Sounding
from .detect.lifted import Lifted
from .respond.projection import RECOVERY
from .scene import Scene
from .state import State

Floats = NDArray[np.float64]
ROUNDS = 6  # in a hollow the way out of one side may lead into another; so each goes half as far beyond


class LastLook:
    """Asks the detectors that can tell what is inside (`Sounding`) about the vertices that may have got there since
    they last looked, and sets those out by `eps`; no more than they moved in the frame, and what `RECOVERY` allows."""

    def __init__(self, scene: Scene, detectors: Sequence[Any]) -> None:
        plain = [each.detector if isinstance(each, Lifted) else each for each in detectors]
        self.detectors: list[Sounding] = [each for each in plain if isinstance(each, Sounding)]
        self.eps, self._rows = scene.eps, scene.soft_rows
        self._free = scene.inverse_masses[self._rows] > 0.0
        self._begin, self._seen = np.zeros((0, 3)), np.zeros((0, 3))

    def begin(self, state: State) -> None:
        """A new frame."""
        if self.detectors:
            self._begin = state.x[self._rows].copy()

    def remember(self, state: State) -> None:
        """Detectors have looked; responses have not moved anything yet."""
        if self.detectors:
            self._seen = state.x[self._rows].copy()

    def apply(self, found: Contacts, state: State, dt: float) -> bool:
        """Move x; whether anything was inside. `found` are the contacts of the last look, dt is a frame's."""
        moved = False
        for detector in self.detectors:
            x = state.x[self._rows]
            rows = self._doubtful(detector, found, x)
            first = detector.soft.first - self._rows.start
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

    def _doubtful(self, detector: Sounding, found: Contacts, x: Floats) -> NDArray[np.int64]:
        """Vertices that went at least as far, since the detector looked, as they were away from the body."""
        soft, first = detector.soft, self._rows.start
        mine = slice(soft.first - first, soft.first - first + soft.mesh.n_vertices)
        clear = np.full(soft.mesh.n_vertices, detector.within)
        rows = np.flatnonzero(found["kind"] == VERTEX_FACE)
        bodies = found["bodies"][rows]
        rows = rows[(bodies[:, 0] == soft.body) & (bodies[:, 1] == detector.body.body)]
        np.minimum.at(clear, found["vertices"][rows, 0] - soft.first, found["distance"][rows])
        doubtful = (_length(x[mine] - self._seen[mine]) >= clear) & self._free[mine]
        return np.flatnonzero(doubtful) + mine.start


def _length(a: Floats) -> Floats:
    return np.sqrt(np.einsum("ij,ij->i", a, a))

"""The motion that the guard expects in a frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts
from ...kernels.simulation import bounds as _bounds
from ...state import State

Floats = NDArray[np.float64]
LASTS = 4  # substeps for which cloth is expected to accelerate as in the last one
SHARE = 0.4  # of a t^2, where a uniform acceleration has 0.5: with it, fewest of 10 000 vertices leave their bounds
MANY = 24.0  # pairs per vertex of cloth that only the predicted motion brings near: with more, less of it is predicted
REPREDICTIONS = 16  # of few vertices in a frame, and one more for every four substeps; each takes as long as a pass of
# a small garment, and where cloth is hit they follow each other in every round
SHORTER = 4.0  # by which the predicted motion is divided then, down to that of one substep


class Horizon:
    """How much of the motion of a frame is predicted, and when: 0 to 1 is the time of the predicted motion."""

    def __init__(self) -> None:
        self.substep = 1.0  # duration of a substep
        self._end = 1.0  # end of the frame
        self._most = 1.0  # substeps of which a detection pass in this frame predicts the motion
        self._repredictions_left = 0

    def begin_frame(self, steps: int) -> None:
        self._most = float(steps)
        self._repredictions_left = REPREDICTIONS + steps // 4

    def count_reprediction(self) -> bool:
        """Count that few vertices are predicted anew; return whether that is still allowed in this frame."""
        self._repredictions_left -= 1
        return self._repredictions_left >= 0

    def share(self, substeps_left: int) -> float:
        """Return the fraction of the rest of the frame that is predicted."""
        return min(self._most / (substeps_left + 1), 1.0)

    def shorten(
        self, found: Sequence[Contacts], queries: Sequence[tuple[Any, float]], vertices: int, substeps_left: int
    ) -> bool:
        """Predict less from now on in this frame, if the predicted motion alone brings many pairs near: of the pairs
        `found` by each of the `queries`, those beyond its distance. Return whether it is less.

        Cloth that a body tears along deforms so fast that in a few substeps almost all of its features would come near
        each other."""
        least, most = min(self._most, substeps_left + 1.0), MANY * vertices
        count = sum(map(len, found))
        if least <= 1.0 or count <= most:
            return False
        near = sum(int((each["distance"] <= reach).sum()) for each, (_, reach) in zip(found, queries, strict=True))
        if count - near <= most:
            return False
        self._most = max(least / SHORTER, 1.0)
        return True

    def begin(self, substeps_left: int) -> None:
        """Begin a predicted motion."""
        self._end = 1.0 / self.share(substeps_left)
        self.substep = self._end / (substeps_left + 1)

    def end_of_substep(self, substeps_left: int) -> float:
        return min(max(self._end - substeps_left * self.substep, 0.0), 1.0)

    def restart(self, time: float, t: float) -> float:
        """Restart the predicted motion at `time`; return the time that was t."""
        rest = 1.0 - time
        if not rest > 0.0:
            self.substep = self._end = 1.0
            return 0.0
        self.substep, self._end = self.substep / rest, (self._end - time) / rest
        return max(t - time, 0.0) / rest


class ExpectedMotion:
    """Predicts the displacements of the vertices `moving` (k,) of n in a frame."""

    def __init__(self, n: int, moving: NDArray[np.int32], deformable: slice) -> None:
        self._moving, self._deformable = moving, (deformable.start, deformable.stop)
        self._motion = np.zeros((n, 3))

    def at(self, state: State, dt: float, steps: int) -> tuple[float, Floats | None]:
        """Return the greatest speed, and the displacements (n,3) in a frame of `steps` substeps of dt: at constant
        velocity and, of deformable bodies, with the acceleration of the last substep for some time. None if they are
        not finite."""
        weights = dt * steps, SHARE * min(steps, LASTS) * steps * dt
        velocities, motion = (state.v, state.v_start), self._motion
        speed, farthest = _bounds.expect_motion(self._moving, velocities, self._deformable, weights, motion)
        return speed, motion if np.isfinite(speed + farthest) else None

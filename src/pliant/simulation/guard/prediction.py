"""The motion that the guard expects in a frame."""

import numpy as np
from numpy.typing import NDArray

from ...kernels.simulation import bounds as _bounds
from ...state import State

Floats = NDArray[np.float64]
LASTS = 4  # substeps for which cloth is expected to accelerate as in the last one
SHARE = 0.4  # of a t^2, where a uniform acceleration has 0.5: with it, fewest of 10 000 vertices leave their bounds


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

"""The motion that the guard expects in a frame."""

import numpy as np
from numpy.typing import NDArray

from ...state import State

Floats = NDArray[np.float64]
LASTS = 4  # substeps for which cloth is expected to accelerate as in the last one
SHARE = 0.4  # of a t^2, where a uniform acceleration has 0.5: with it, fewest of 10 000 vertices leave their bounds


def expected_motion(state: State, rows: slice, dt: float, steps: int) -> Floats:
    """Return the displacements (n,3) in a frame of `steps` substeps of dt: at constant velocity and, of the deformable
    `rows`, with the acceleration of the last substep for some time."""
    motion = state.v * (dt * steps)
    motion[rows] += (SHARE * min(steps, LASTS) * steps * dt) * (state.v[rows] - state.v_start[rows])
    return motion

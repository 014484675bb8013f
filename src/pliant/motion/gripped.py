"""Positions over time of vertices that follow a motion: rigid, of a deforming body, or attached to one."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .deforming import Attached, Deforming
from .rigid import Motion, placed

Floats = NDArray[np.float64]
Sample = Callable[[Deforming, Floats], Floats]


def positions_at(motion: Motion | Deforming, rest: Floats, times: Floats, sample: Sample | None = None) -> Floats:
    """Return the positions (t,k,3) at `times` (t,), seconds, of the vertices of a motion whose rest positions are
    `rest` (k,3). `sample` replaces the method of that name of deforming motions, for callers that have sampled them."""
    if isinstance(motion, Motion):
        return np.stack([placed(rest, at) for at in motion.sample(times)])
    carrier = motion.carrier if isinstance(motion, Attached) else motion
    found = carrier.sample(times) if sample is None else sample(carrier, times)
    return motion.shapes(found) if isinstance(motion, Attached) else np.stack([motion.shape(at) for at in found])

"""Springs that pull beyond the strain limit inside of the implicit solve: their stiffness."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics.cloth import Membrane

Floats = NDArray[np.float64]
STIFFER = 64.0  # times the stretch stiffness of the triangle
INERTIA = 1e4  # times the inertia of the lightest vertex in a step: the few iterations of a solve resolve no more


def limit_stiffness(membrane: Membrane, longest: Floats, inertia: Floats) -> Floats:
    """Return the stiffness (m,) of the springs by which the edges of each triangle pull beyond their `longest` lengths
    (m,3), N/m: in proportion to its own, and bounded by the `inertia` (n,) of its vertices, mass / dt^2."""
    size = longest.max(1, initial=0.0)  # infinite where an edge has no limit, so that such a triangle has no springs
    stiff = STIFFER / (membrane.compliance[:, :2].min(1) * size**2)
    light = np.where(inertia > 0.0, inertia, np.inf)
    return np.asarray(np.minimum(stiff, INERTIA * light[membrane.faces].min(1)))

"""Slivers: the stiffness of needle-shaped triangles is bounded, so that files with a few of them can be simulated.

The stiffness of a triangle, and of a hinge, grows with its aspect ratio without limit. Elements that are much stiffer
than the others would dominate every iteration of the solver, and rounding would make its matrix indefinite.
"""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics.cloth import Hinges, Membrane

Floats = NDArray[np.float64]
TRIANGLE, HINGE = 1e2, 1e4  # times the median: bounds of the stiffness of elements


def softened(membrane: Membrane, hinges: Hinges) -> tuple[Membrane, Hinges]:
    """Return both with the compliance of slivers increased to the bounds; regular meshes are unchanged."""
    p, q = membrane.rest[:, (0, 2)], membrane.rest[:, (1, 3)]
    stiffness = ((p * p + q * q + (p + q) ** 2) / membrane.compliance[:, :2]).sum(1)
    membrane = membrane._replace(compliance=membrane.compliance * _excess(stiffness, TRIANGLE)[:, None])
    stiffness = (hinges.weights**2).sum(1) / hinges.compliance
    return membrane, hinges._replace(compliance=hinges.compliance * _excess(stiffness, HINGE))


def _excess(stiffness: Floats, most: float) -> Floats:
    """Return the ratio of each stiffness to `most` times the median, at least 1."""
    if not len(stiffness):
        return stiffness
    return np.maximum(stiffness / (most * float(np.median(stiffness))), 1.0)

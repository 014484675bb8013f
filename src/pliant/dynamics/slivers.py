"""Slivers: the stiffness of needle-shaped and of tiny triangles is bounded, so that files with some can be simulated.

The stiffness of a triangle, and of a hinge, grows with its aspect ratio without limit. Elements that are much stiffer
than the others would dominate every iteration of the solver, and rounding would make its matrix indefinite.

The inertia of a triangle shrinks with its area, its stiffness does not. Where the ratio exceeds what single precision
resolves, the rounding of internal forces, which should cancel, would accelerate a piece as light as a modelled button.
"""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics.cloth import Hinges, Membrane

Floats = NDArray[np.float64]
TRIANGLE, HINGE = 1e2, 1e4  # times the median: bounds of the stiffness of elements
INERTIA = 1e6  # times the inertia of the lightest vertex in a step: an element then follows it within a millionth


def softened(membrane: Membrane, hinges: Hinges) -> tuple[Membrane, Hinges]:
    """Return both with the compliance of slivers increased to the bounds; regular meshes are unchanged."""
    triangles, bends = _stiffness(membrane, hinges)
    excess = _excess(triangles, TRIANGLE * _median(triangles)), _excess(bends, HINGE * _median(bends))
    return _softer(membrane, hinges, *excess)


def bounded_by_inertia(membrane: Membrane, hinges: Hinges, inertia: Floats) -> tuple[Membrane, Hinges]:
    """Return both with the compliance of elements increased whose stiffness exceeds `INERTIA` times the `inertia` (n,)
    of their vertices, mass / dt^2, which is 0 for those that do not move; the same objects if there are none."""
    light = np.where(inertia > 0.0, inertia, np.inf)
    triangles, bends = _stiffness(membrane, hinges)
    faces = _excess(triangles, INERTIA * light[membrane.faces].min(1))
    edges = _excess(bends, INERTIA * light[hinges.vertices].min(1))
    if max(faces.max(initial=1.0), edges.max(initial=1.0)) <= 1.0:
        return membrane, hinges
    return _softer(membrane, hinges, faces, edges)


def _stiffness(membrane: Membrane, hinges: Hinges) -> tuple[Floats, Floats]:
    """Return the stiffness of triangles and of hinges, N/m."""
    p, q = membrane.rest[:, (0, 2)], membrane.rest[:, (1, 3)]
    triangles = ((p * p + q * q + (p + q) ** 2) / membrane.compliance[:, :2]).sum(1)
    return triangles, (hinges.weights**2).sum(1) / hinges.compliance


def _median(stiffness: Floats) -> float:
    return float(np.median(stiffness)) if len(stiffness) else 1.0


def _excess(stiffness: Floats, most: Floats | float) -> Floats:
    """Return the ratio of each stiffness to `most`, at least 1."""
    return np.maximum(stiffness / most, 1.0)


def _softer(membrane: Membrane, hinges: Hinges, faces: Floats, edges: Floats) -> tuple[Membrane, Hinges]:
    """Return both with the compliance of triangles and hinges multiplied by `faces` (m,) and `edges` (h,)."""
    return (
        membrane._replace(compliance=membrane.compliance * faces[:, None]),
        hinges._replace(compliance=hinges.compliance * edges),
    )

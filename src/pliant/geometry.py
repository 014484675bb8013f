"""Exact distance and time-of-impact primitives on batches of pairs. Arrays are (n,4,3), metres."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import validate
from .arguments import check_arguments
from .kernels.geometry import batches as _kernels
from .kernels.geometry import impact as _impact
from .kernels.geometry import impact_cubic as _cubic

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
IMPACT_METHODS = {"conservative": _impact.impacts, "cubic": _cubic.cubic_impacts}


@check_arguments
def point_triangle_distance(p: Any) -> Floats:
    """(n,) distance of point p[:,0] from triangle p[:,1:4]; also correct for slivers and degenerate triangles."""
    points = validate.floats("p", p, (None, 4, 3))
    out = np.empty(len(points))
    _kernels.point_triangle_distances(points, out)
    return out


@check_arguments
def edge_edge_distance(p: Any) -> Floats:
    """(n,) distance of edge p[:,0]-p[:,1] from edge p[:,2]-p[:,3]; also correct for parallel and zero-length edges."""
    points = validate.floats("p", p, (None, 4, 3))
    out = np.empty(len(points))
    _kernels.edge_edge_distances(points, out)
    return out


@check_arguments
def vertex_face_impact(
    p_0: Any, p_1: Any, *, method: str = "conservative", tolerance: float = 1e-6
) -> tuple[Bools, Floats]:
    """(hit (n,), time (n,)) of vertex p[:,0] and triangle p[:,1:4] that move linearly from p_0 to p_1.

    `time` is the fraction of the motion, 0..1; it is 1 where there is no hit, so that its minimum is a collision-free
    step for all pairs. `tolerance` is relative to the longest edge. "conservative" has no false negatives and its time
    of impact is never too late; a near miss within the tolerance may be reported as a hit. "cubic" is the conventional
    root finder, which can miss contacts.
    """
    return _impacts(p_0, p_1, True, method, tolerance)


@check_arguments
def edge_edge_impact(
    p_0: Any, p_1: Any, *, method: str = "conservative", tolerance: float = 1e-6
) -> tuple[Bools, Floats]:
    """(hit (n,), time (n,)) of edges p[:,0]-p[:,1] and p[:,2]-p[:,3]; otherwise as vertex_face_impact."""
    return _impacts(p_0, p_1, False, method, tolerance)


def _impacts(p_0: Any, p_1: Any, face: bool, method: str, tolerance: float) -> tuple[Bools, Floats]:
    start = validate.floats("p_0", p_0, (None, 4, 3))
    end = validate.floats("p_1", p_1, (None, 4, 3))
    if len(start) != len(end):
        raise ValueError(f"p_0 has {len(start)} rows and p_1 has {len(end)}; expected the same points at both times")
    find = IMPACT_METHODS[validate.choice("method", method, list(IMPACT_METHODS))]
    hit, time = np.empty(len(start), np.bool_), np.empty(len(start))
    find(start, end, face, validate.number("tolerance", tolerance, low=0.0, high=1.0), hit, time)
    return hit, time

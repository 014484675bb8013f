"""Exact distance and time-of-impact primitives on batches of pairs. Arrays are (n,4,3), metres.

Arrays that live on a graphics card are computed there, with bitwise equal results that live there too (docs/gpu.md).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import arrays, validate
from .arguments import check_arguments
from .kernels import device as _device
from .kernels.geometry import batches as _kernels
from .kernels.geometry import impact as _impact
from .kernels.geometry import impact_cubic as _cubic

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
IMPACT_METHODS = {"conservative": _impact.impacts, "cubic": _cubic.cubic_impacts}


@check_arguments
def point_triangle_distance(p: Any) -> Floats:
    """(n,) distance of point p[:,0] from triangle p[:,1:4]; also correct for slivers and degenerate triangles."""
    return _distances("point_triangle_distances", p)


@check_arguments
def edge_edge_distance(p: Any) -> Floats:
    """(n,) distance of edge p[:,0]-p[:,1] from edge p[:,2]-p[:,3]; also correct for parallel and zero-length edges."""
    return _distances("edge_edge_distances", p)


def _distances(name: str, p: Any) -> Any:
    if arrays.on_card(p=p):
        points = arrays.floats("p", p, (None, 4, 3))
        there = _device.empty(len(points))
        _device.launch(getattr(_device.twin("geometry.batches"), name), len(points), points, there)
        return there
    points = validate.floats("p", p, (None, 4, 3))
    out = np.empty(len(points))
    getattr(_kernels, name)(points, out)
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
    if arrays.on_card(p_0=p_0, p_1=p_1):
        return _impacts_on_card(p_0, p_1, face, method, tolerance)
    start = validate.floats("p_0", p_0, (None, 4, 3))
    end = validate.floats("p_1", p_1, (None, 4, 3))
    _same_length(start, end)
    find = IMPACT_METHODS[validate.choice("method", method, list(IMPACT_METHODS))]
    hit, time = np.empty(len(start), np.bool_), np.empty(len(start))
    find(start, end, face, validate.number("tolerance", tolerance, low=0.0, high=1.0), hit, time)
    return hit, time


def _same_length(start: Any, end: Any) -> None:
    if len(start) != len(end):
        raise ValueError(f"p_0 has {len(start)} rows and p_1 has {len(end)}; expected the same points at both times")


def _impacts_on_card(p_0: Any, p_1: Any, face: bool, method: str, tolerance: float) -> tuple[Any, Any]:
    if validate.choice("method", method, list(IMPACT_METHODS)) != "conservative":
        raise ValueError(
            f"method {method!r} does not run on a graphics card; use 'conservative', or arrays on the host"
        )
    start, end = arrays.floats("p_0", p_0, (None, 4, 3)), arrays.floats("p_1", p_1, (None, 4, 3))
    _same_length(start, end)
    tolerance = validate.number("tolerance", tolerance, low=0.0, high=1.0)
    n = len(start)
    hit, time = _device.empty(n, np.bool_), _device.empty(n)
    if n:
        from .kernels.gpu import impacts as kernels

        rows, count = _device.empty(n, np.int64), _device.zeros(1, np.int64)
        _device.launch(kernels.list_undecided, n, start, end, face, hit, time, rows, count)
        undecided = int(count.copy_to_host()[0])
        _device.launch(kernels.search_listed, undecided, start, end, face, tolerance, hit, time, rows, undecided)
    return hit, time

"""Exact primitives in batches, for people who build a pipeline of their own. Arrays are (n,4,3), metres."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import validate
from .kernels import batches as _kernels

Floats = NDArray[np.float64]


def point_triangle_distance(p: Any) -> Floats:
    """(n,) distance of point p[:,0] from triangle p[:,1:4]; right for slivers, needles and single points too."""
    points = validate.floats("p", p, (None, 4, 3))
    out = np.empty(len(points))
    _kernels.point_triangle_distances(points, out)
    return out


def edge_edge_distance(p: Any) -> Floats:
    """(n,) distance of edge p[:,0]-p[:,1] from edge p[:,2]-p[:,3]; right for parallel edges and edges of no length."""
    points = validate.floats("p", p, (None, 4, 3))
    out = np.empty(len(points))
    _kernels.edge_edge_distances(points, out)
    return out

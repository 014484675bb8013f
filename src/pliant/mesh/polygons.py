"""Polygons as triangles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def fan(counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Triangulate polygons of `counts` corners each: fans around the first corner, in order.

    Returns corners (k,3), positions in the flat list of all corners, and polygon (k,), the polygon of each triangle.
    """
    start = np.cumsum(counts) - counts
    polygon = np.repeat(np.arange(len(counts)), np.maximum(counts - 2, 0))
    step = np.arange(len(polygon)) - np.searchsorted(polygon, polygon)
    first = start[polygon]
    return np.stack([first, first + step + 1, first + step + 2], 1).astype(np.int64), polygon.astype(np.int64)

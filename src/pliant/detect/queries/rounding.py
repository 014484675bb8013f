"""Distances with an allowance for the rounding of coordinates."""

import numpy as np
from numpy.typing import NDArray

from ...kernels.geometry import rounding as _kernels


def with_rounding_margin(distance: float, *x: NDArray[np.float64]) -> float:
    """Return `distance` enlarged by the rounding error of distances between points with the coordinates x."""
    different = {id(each): each for each in x}.values()
    largest = max(_kernels.largest_coordinate(each) for each in different)
    return distance * (1.0 + 1e-12) + 1e-14 * largest

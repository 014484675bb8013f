"""Distances with an allowance for the rounding of coordinates."""

import numpy as np
from numpy.typing import NDArray


def with_rounding_margin(distance: float, *x: NDArray[np.float64]) -> float:
    """Return `distance` enlarged by the rounding error of distances between points with the coordinates x."""
    different = {id(each): each for each in x}.values()
    largest = max(max(float(each.max(initial=0.0)), -float(each.min(initial=0.0))) for each in different)
    return distance * (1.0 + 1e-12) + 1e-14 * largest

"""Nearest triangles with a task for every point, for graphics cards; results are those of `closest_point`."""

from ..jit import kernel, prange
from .closest_point import nearest_range


@kernel(parallel=True)
def nearest_each(blocks, surface, points, order, most, found, barycentric):
    """Apply `nearest_range` to the points order[c]; `most` is the square of the farthest distance."""
    for c in prange(len(order)):
        nearest_range(blocks, surface, points, order[c : c + 1], most, found, barycentric)

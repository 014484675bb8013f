"""Loops over rows of four points, one pair of primitives per row."""

from .. import vec
from ..jit import kernel, prange
from .edge import edge_edge_distance
from .triangle import point_triangle_distance


@kernel(parallel=True)
def point_triangle_distances(points, out):
    for i in prange(len(points)):
        p = points[i]
        out[i] = point_triangle_distance(vec.load(p, 0), vec.load(p, 1), vec.load(p, 2), vec.load(p, 3))


@kernel(parallel=True)
def edge_edge_distances(points, out):
    for i in prange(len(points)):
        p = points[i]
        out[i] = edge_edge_distance(vec.load(p, 0), vec.load(p, 1), vec.load(p, 2), vec.load(p, 3))

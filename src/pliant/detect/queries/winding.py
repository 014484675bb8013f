"""Winding numbers of points with respect to an oriented surface; they define inside and outside (docs/inside.md).

`ray_winding.RayWinding` counts exactly, by rays, for surfaces without a boundary; `Winding` accepts any surface.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import renamed
from ...kernels.jit import worth
from ...kernels.queries.closest_point import Blocks
from ...mesh.topology import Topology

if TYPE_CHECKING:
    from ...kernels.queries.winding import Holes
    from .ray_winding import RayWinding

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Cast = Callable[[int, Floats], Floats]  # from an axis and points (n,3) to exits minus entries (n,) of rays along it
MARGIN = 0.1  # open surfaces: the side is unknown if the winding number is this close to 1/2
BEHIND = 0.1  # open surfaces: a point with a smaller winding number is not behind the surface
INSIDE, OUTSIDE, UNKNOWN = -1, 1, 0
_FEW = 256  # points up to which the loop runs on one thread
_CAST = 256  # faces per point below which one pass over all faces is faster than rays from single points
_AFAR = 4.0  # distance over the radius of a hole, beyond which the hole is approximated by a dipole
_SMALL = 1e-3  # error of a winding number within bounds up to which a hole is approximated by a dipole
_ROUNDING = 2.0**-46  # times the largest coordinate: by which cubes are enlarged against rounding

_RAYS = "pliant.detect.queries.ray_winding"
__getattr__ = renamed.module(__name__, {"PointsInside": f"{_RAYS}:RayWinding", "RayWinding": _RAYS})


class Winding:
    """The generalised winding number of oriented triangles, open or closed, at any vertex positions.

    The boundary is that of the chain of faces: edges traversed more often in one direction than in the other. Without
    one (`closed`) the number is an exact integer even for non-manifold, intersecting, coincident or degenerate faces.
    Otherwise its error is about 0.001.
    """

    def __init__(self, topology: Topology) -> None:
        self._faces, self._n_vertices = topology.faces, topology.n_vertices
        ends, flow = topology.edges[topology.loose], topology.orientation_sum[topology.loose]
        self.closed = not len(ends)
        piece = _pieces(ends)
        order = np.argsort(piece, kind="stable")
        self._ends, self._flow = np.ascontiguousarray(ends[order]), flow[order].astype(np.float64)
        self._piece = piece[order]
        self._start = np.searchsorted(self._piece, np.arange(int(piece.max(initial=-1)) + 2))

    def numbers(self, x: Floats, points: Floats, blocks: "Blocks | Cast | None" = None) -> Floats:
        """Winding numbers (n,) of points (n,3) for vertices at x; `blocks`: optional fitted BVH over the faces, or a
        function that casts rays, which is used for few points."""
        n = len(points)
        if not n or not len(self._faces):
            return np.zeros(n)
        from ...kernels.queries import winding as _kernels

        box = bounds_of(x)
        axis = shortest(box)
        if callable(blocks) and n * _CAST <= len(self._faces):
            found = blocks(axis, points)
        elif blocks is None or callable(blocks):
            box[0, axis] = box[0, axis] if self.closed else -np.inf  # rays from below may hit an open surface too
            found = self._rays.count(x, points, box, axis).astype(np.float64)
        else:
            found = self.ray_counts(axis, points, blocks)
        if not self.closed:
            holes = self._holes(x)
            worth(_kernels.add_holes, n, _FEW)(x, holes, axis, points, found)
        return found

    def ray_counts(self, axis: int, points: Floats, blocks: "Blocks") -> Floats:
        """What rays along an axis count (n,), exits minus entries, at points (n,3), for a fitted BVH over the faces."""
        from ...kernels.queries import winding as _kernels

        found = np.empty(len(points))
        worth(_kernels.wind_points, len(points), _FEW)(blocks, axis, points, found)
        return found

    def lattice_counts(self, axis: int, points: Floats, blocks: "Blocks") -> Floats:
        """What rays along an axis count (n,64), exits minus entries, at points (n,64,3); each 64 of them are the nodes
        of a lattice of 4 x 4 x 4 along the axes, the last one fastest."""
        from ...kernels.queries import winding as _kernels

        counts = np.zeros(points.shape[:2])
        if len(points) and len(self._faces):
            _kernels.wind_lattices(blocks, axis, points, counts)
        return counts

    def boundary_within(self, x: Floats, axis: int, centres: Floats, half: float) -> tuple[Floats, Floats]:
        """What the boundary contributes (n,) to winding numbers, beside rays along an axis, at the centres (n,3) of
        cubes with sides of twice `half` metres; and the bound (n,) of its change within each cube, infinite where it
        may jump."""
        share, change = np.zeros(len(centres)), np.zeros(len(centres))
        if not self.closed and len(centres):
            from ...kernels.queries import winding_bounds as _kernels

            half += _ROUNDING * float(np.abs(x).max())  # against the rounding of points in the cubes
            cubes = _kernels.Cubes(np.ascontiguousarray(centres), half, _SMALL)
            _kernels.bound_holes(x, self._holes(x), axis, cubes, share, change)
        return share, change

    def boundary_exactly(self, x: Floats, axis: int, points: Floats) -> Floats:
        """The same (n,) at points (n,3), summed over all edges of the boundary."""
        share = np.zeros(len(points))
        if not self.closed and len(points):
            from ...kernels.queries import winding_bounds as _kernels

            _kernels.add_exactly(x, self._holes(x), axis, np.ascontiguousarray(points), share)
        return share

    @functools.cached_property
    def _rays(self) -> "RayWinding":
        from .ray_winding import RayWinding

        return RayWinding(self._faces, self._n_vertices)

    def _holes(self, x: Floats) -> "Holes":
        """Return the boundary loops at vertex positions x, with their dipole approximations."""
        from ...kernels.queries.winding import Holes

        start, ends = self._start, self._ends
        a, b = x[ends[:, 0]], x[ends[:, 1]]
        low, high = (least.reduceat(least(a, b), start[:-1]) for least in (np.minimum, np.maximum))
        centre = 0.5 * (low + high)
        twice = np.cross(a - centre[self._piece], b - centre[self._piece]) * self._flow[:, None]
        area = 0.5 * np.add.reduceat(twice, start[:-1])
        fan = 0.5 * np.add.reduceat(np.linalg.norm(twice, axis=1), start[:-1])
        far = _AFAR * np.linalg.norm(high - centre, axis=1)
        return Holes(ends, self._flow, start, centre, far, area, np.concatenate([low, high], 1), fan, far / _AFAR)

    def signs(self, numbers: Floats, *, behind: bool = False) -> NDArray[np.int8]:
        """(n,) INSIDE, OUTSIDE or UNKNOWN from winding numbers (n,). `behind`: UNKNOWN also behind a sheet."""
        if self.closed:
            return np.where(numbers > 0.5, INSIDE, OUTSIDE).astype(np.int8)
        sign = np.where(numbers > 0.5 + MARGIN, INSIDE, OUTSIDE).astype(np.int8)
        sign[(numbers >= (BEHIND if behind else 0.5 - MARGIN)) & (sign == OUTSIDE)] = UNKNOWN
        return sign


def _pieces(ends: Rows) -> NDArray[np.int64]:
    """(e,) index of the connected component of each of edges (e,2)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(ends):
        return np.zeros(0, np.int64)
    used, rows = np.unique(ends, return_inverse=True)
    a, b = rows.reshape(-1, 2).T
    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(len(used), len(used)))
    return np.asarray(connected_components(graph, directed=False)[1][a], np.int64)


def shortest(box: Floats) -> int:
    """Return the axis of the shortest side of a box (2,3); rays along it are shortest."""
    return int(np.argmin(box[1] - box[0]))


def bounds_of(x: Floats) -> Floats:
    """(2,3) AABB of points; computed per column, which is four times as fast as a reduction over rows of three."""
    return np.array([[x[:, k].min() for k in range(3)], [x[:, k].max() for k in range(3)]])

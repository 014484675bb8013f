"""Winding numbers of points with respect to an oriented surface; they define inside and outside (docs/inside.md).

`RayWinding` counts exactly, by rays, for surfaces without a boundary; `Winding` accepts any surface.
"""

import numpy as np
from numpy.typing import NDArray

from ... import renamed, validate
from ...kernels.jit import worth
from ...kernels.queries import rays as _rays
from ...kernels.queries import winding as _kernels
from ...kernels.queries.closest_point import Blocks
from ...kernels.queries.rays import Rays
from ...kernels.queries.winding import Holes
from ...mesh.topology import Topology

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
MARGIN = 0.1  # open surfaces: the side is unknown if the winding number is this close to 1/2
BEHIND = 0.1  # open surfaces: a point with a smaller winding number is not behind the surface
INSIDE, OUTSIDE, UNKNOWN = -1, 1, 0
_SOME = 20_000  # faces up to which the loop runs on one thread
_FEW = 256  # points up to which the loop runs on one thread
_AFAR = 4.0  # distance over the radius of a hole, beyond which the hole is approximated by a dipole
_MOST = 16384  # cells along a side
# points per cell, and ratio of columns to rows: the columns of a row are contiguous in memory
_PER_CELL, _FLAT = 0.5, 2.0

__getattr__ = renamed.module(__name__, {"PointsInside": f"{__name__}:RayWinding"})


class RayWinding:
    """Winding numbers of points with respect to triangles whose vertices may move between queries."""

    def __init__(self, faces: Rows, n_vertices: int) -> None:
        self.faces = validate.read_only(np.ascontiguousarray(faces).view(np.uint32))
        self._code = np.empty(n_vertices, np.uint32)

    def winding(self, x: Floats, points: Floats) -> Rows:
        """Winding numbers (n,) of points (n,3) for vertices at x: 1 inside and 0 outside a closed mesh, more where it
        overlaps itself. A point on the surface is treated as if perturbed infinitesimally off it."""
        box = bounds_of(x)
        return self.count(x, points, box, shortest(box))

    def count(self, x: Floats, points: Floats, box: Floats, axis: int) -> Rows:
        """(n,) exits minus entries of rays cast from points (n,3) in the positive direction of the axis; 0 for points
        outside the box."""
        near = np.flatnonzero(_within(points, box))
        found = np.zeros(len(points), np.int32)
        if len(near):
            rays, order = self._rays(axis, points[near])
            self._codes(x, rays)
            parts = np.zeros((_rays.PARTS, len(near)), np.int32)
            worth(_rays.wind, len(self.faces), _SOME)(validate.read_only(x), self.faces, self._code, rays, parts)
            found[near[order]] = parts.sum(0)
        return found

    def first_faces(self, x: Floats, points: Floats, own: Rows) -> tuple[Floats, Rows]:
        """Distance (n,) from points (n,3) along the shortest axis, in either direction, to the nearest face through
        which a ray exits, and that face (n,), -1 for none. Faces at vertex own (n,) are ignored."""
        rays, order = self._rays(shortest(bounds_of(x)), points)
        self._codes(x, rays)
        depth, face = np.full((len(points), 2), np.inf), np.full((len(points), 2), -1, np.int32)
        _rays.first_layers(validate.read_only(x), self.faces, self._code, rays, own[order], depth, face)
        best = np.argmin(depth, 1)[:, None]
        out_depth, out_face = np.empty(len(points)), np.empty(len(points), np.int32)
        out_depth[order] = np.take_along_axis(depth, best, 1)[:, 0]
        out_face[order] = np.take_along_axis(face, best, 1)[:, 0]
        return out_depth, out_face

    def _codes(self, x: Floats, rays: Rays) -> None:
        worth(_rays.codes, len(x), _SOME)(validate.read_only(x), rays, self._code)

    def _rays(self, axis: int, points: Floats) -> tuple[Rays, NDArray[np.int64]]:
        """Bin the points into a grid of cells perpendicular to the axis, with two cells per point."""
        u, v = (axis + 1) % 3, (axis + 2) % 3
        around = bounds_of(points)
        size = np.maximum(around[1] - around[0], 1e-300)[[u, v]]
        cells = max(1.0, len(points) / _PER_CELL)
        # number of cells in proportion to the side lengths
        ratio = float(np.exp(0.5 * (np.log(size[0]) - np.log(size[1]))))
        width = round(min(max(_FLAT * np.sqrt(cells) * ratio, 1.0), _MOST))
        height = min(_MOST, max(1, round(cells / width)))
        # half a cell of margin keeps the last point in the last cell
        scale = [min((count - 0.5) / side, 1e300) for count, side in zip((width, height), size, strict=True)]
        q, order = np.empty((len(points), 3)), np.empty(len(points), np.int64)
        start = np.zeros(width * height + 2, np.int64)
        left, top = float(around[0, u]), float(around[0, v])
        rays = Rays(axis, left, top, float(scale[0]), float(scale[1]), width, height, start, q)
        _rays.bin_points(points, rays, order)
        return rays, order


class Winding:
    """The generalised winding number of oriented triangles, open or closed, at any vertex positions.

    The boundary is that of the chain of faces: edges traversed more often in one direction than in the other. Without
    one (`closed`) the number is an exact integer even for non-manifold, intersecting, coincident or degenerate faces.
    Otherwise its error is about 0.001.
    """

    def __init__(self, topology: Topology) -> None:
        self._rays = RayWinding(topology.faces, topology.n_vertices)
        ends, flow = topology.edges[topology.loose], topology.orientation_sum[topology.loose]
        self.closed = not len(ends)
        piece = _pieces(ends)
        order = np.argsort(piece, kind="stable")
        self._ends, self._flow = np.ascontiguousarray(ends[order]), flow[order].astype(np.float64)
        self._piece = piece[order]
        self._start = np.searchsorted(self._piece, np.arange(int(piece.max(initial=-1)) + 2))

    def numbers(self, x: Floats, points: Floats, blocks: Blocks | None = None) -> Floats:
        """Winding numbers (n,) of points (n,3) for vertices at x; `blocks`: optional fitted BVH over the faces."""
        n = len(points)
        if not n or not len(self._rays.faces):
            return np.zeros(n)
        box = bounds_of(x)
        axis = shortest(box)
        if blocks is None:
            box[0, axis] = box[0, axis] if self.closed else -np.inf  # rays from below may hit an open surface too
            found = self._rays.count(x, points, box, axis).astype(np.float64)
        else:
            found = np.empty(n)
            worth(_kernels.wind_points, n, _FEW)(blocks, axis, points, found)
        if not self.closed:
            holes = self._holes(x)
            worth(_kernels.add_holes, n, _FEW)(x, holes, axis, points, found)
        return found

    def _holes(self, x: Floats) -> Holes:
        """Return the boundary loops at vertex positions x, with their dipole approximations."""
        start, ends = self._start, self._ends
        a, b = x[ends[:, 0]], x[ends[:, 1]]
        low, high = (least.reduceat(least(a, b), start[:-1]) for least in (np.minimum, np.maximum))
        centre = 0.5 * (low + high)
        twice = np.cross(a - centre[self._piece], b - centre[self._piece]) * self._flow[:, None]
        area = 0.5 * np.add.reduceat(twice, start[:-1])
        far = _AFAR * np.linalg.norm(high - centre, axis=1)
        return Holes(ends, self._flow, start, centre, far, area, np.concatenate([low, high], 1))

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


def _within(points: Floats, box: Floats) -> NDArray[np.bool_]:
    """Return which points are in a box; computed per column, which is faster than over rows of three."""
    found = np.ones(len(points), np.bool_)
    for k in range(3):
        found &= (points[:, k] >= box[0, k]) & (points[:, k] <= box[1, k])
    return found

"""Winding numbers: how often an oriented surface winds around points. What is inside is defined by them.

See docs/inside.md. `PointsInside` counts exactly, by rays, for surfaces without a boundary; `Winding` serves any.
"""

import numpy as np
from numpy.typing import NDArray

from ..kernels import rays as _rays
from ..kernels import winding as _kernels
from ..kernels.jit import worth
from ..kernels.nearest import Blocks
from ..kernels.rays import Rays
from ..kernels.winding import Holes
from ..topology import Topology

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
MARGIN = 0.1  # of an open surface: winding numbers this near to 1/2 do not tell the side
BEHIND = 0.1  # of an open surface: below this a point is not even behind it
INSIDE, OUTSIDE, UNKNOWN = -1, 1, 0
_SOME = 20_000  # faces that are gone through before a thread would have woken up
_FEW = 256  # points for which no thread is woken
_AFAR = 4.0  # times as far as a hole is large: from there on it is a dipole
_MOST = 16384  # cells along a side
# points a cell, and how many times as many columns as rows: columns of a row are read in one go
_PER_CELL, _FLAT = 0.5, 2.0


class PointsInside:
    """Winding numbers of points with respect to triangles whose vertices may move from one question to the next."""

    def __init__(self, faces: Rows, n_vertices: int) -> None:
        self.faces = np.ascontiguousarray(faces).view(np.uint32)
        self._code = np.empty(n_vertices, np.uint32)

    def winding(self, x: Floats, points: Floats) -> Rows:
        """(n,) how often the faces at vertices x wind around points (n,3): 1 inside and 0 outside a closed mesh, more
        where it overlaps itself. A point on the surface counts as a hair beside it."""
        box = bounds_of(x)
        return self.count(x, points, box, shortest(box))

    def count(self, x: Floats, points: Floats, box: Floats, axis: int) -> Rows:
        """(n,) faces by which rays upwards along the axis, from those of points (n,3) that are in a box, leave, minus
        those by which they enter."""
        near = np.flatnonzero(_within(points, box))
        found = np.zeros(len(points), np.int32)
        if len(near):
            rays, order = self._rays(axis, points[near])
            self._codes(x, rays)
            parts = np.zeros((_rays.PARTS, len(near)), np.int32)
            worth(_rays.wind, len(self.faces), _SOME)(x, self.faces, self._code, rays, parts)
            found[near[order]] = parts.sum(0)
        return found

    def first_faces(self, x: Floats, points: Floats, own: Rows) -> tuple[Floats, Rows]:
        """(n,) how far from each of points (n,3), along the axis, the nearest face is by which a ray from it leaves,
        one way or the other, and (n,) that face; -1 for none. Faces at vertex own (n,) do not count."""
        rays, order = self._rays(shortest(bounds_of(x)), points)
        self._codes(x, rays)
        depth, face = np.full((len(points), 2), np.inf), np.full((len(points), 2), -1, np.int32)
        _rays.first_layers(x, self.faces, self._code, rays, own[order], depth, face)
        best = np.argmin(depth, 1)[:, None]
        out_depth, out_face = np.empty(len(points)), np.empty(len(points), np.int32)
        out_depth[order] = np.take_along_axis(depth, best, 1)[:, 0]
        out_face[order] = np.take_along_axis(face, best, 1)[:, 0]
        return out_depth, out_face

    def _codes(self, x: Floats, rays: Rays) -> None:
        worth(_rays.codes, len(x), _SOME)(x, rays, self._code)

    def _rays(self, axis: int, points: Floats) -> tuple[Rays, NDArray[np.int64]]:
        """The points in cells across the axis, half as many as cells."""
        u, v = (axis + 1) % 3, (axis + 2) % 3
        around = bounds_of(points)
        size = np.maximum(around[1] - around[0], 1e-300)[[u, v]]
        cells = max(1.0, len(points) / _PER_CELL)
        # as many as will do, in the ratio of the sides
        ratio = float(np.exp(0.5 * (np.log(size[0]) - np.log(size[1]))))
        width = round(min(max(_FLAT * np.sqrt(cells) * ratio, 1.0), _MOST))
        height = min(_MOST, max(1, round(cells / width)))
        # half a cell is left over, so that the last point is in the last one
        scale = [min((count - 0.5) / side, 1e300) for count, side in zip((width, height), size, strict=True)]
        q, order = np.empty((len(points), 3)), np.empty(len(points), np.int64)
        start = np.zeros(width * height + 2, np.int64)
        left, top = float(around[0, u]), float(around[0, v])
        rays = Rays(axis, left, top, float(scale[0]), float(scale[1]), width, height, start, q)
        _rays.bin_points(points, rays, order)
        return rays, order


class Winding:
    """The generalised winding number of any oriented triangles, open or closed, at any positions of their vertices.

    The boundary is that of the chain of faces: edges along which more faces run one way than the other. Without one
    (`closed`) the number is whole and exact, whatever the faces: non-manifold, crossing, coincident, without area. Else
    it is right to about 0.001.
    """

    def __init__(self, topology: Topology) -> None:
        self._rays = PointsInside(topology.faces, topology.n_vertices)
        ends, flow = topology.edges[topology.loose], topology.flow[topology.loose]
        self.closed = not len(ends)
        piece = _pieces(ends)
        order = np.argsort(piece, kind="stable")
        self._ends, self._flow = np.ascontiguousarray(ends[order]), flow[order].astype(np.float64)
        self._piece = piece[order]
        self._start = np.searchsorted(self._piece, np.arange(int(piece.max(initial=-1)) + 2))

    def numbers(self, x: Floats, points: Floats, blocks: Blocks | None = None) -> Floats:
        """(n,) of points (n,3) for vertices at x; a tree of boxes over the faces that fits makes it faster."""
        n = len(points)
        if not n or not len(self._rays.faces):
            return np.zeros(n)
        box = bounds_of(x)
        axis = shortest(box)
        if blocks is None:
            box[0, axis] = box[0, axis] if self.closed else -np.inf  # a ray from below an open surface may meet it, too
            found = self._rays.count(x, points, box, axis).astype(np.float64)
        else:
            found = np.empty(n)
            worth(_kernels.wind_points, n, _FEW)(blocks, axis, points, found)
        if not self.closed:
            holes = self._holes(x)
            worth(_kernels.add_holes, n, _FEW)(x, holes, axis, points, found)
        return found

    def _holes(self, x: Floats) -> Holes:
        """The boundary, where its vertices are now."""
        start, ends = self._start, self._ends
        a, b = x[ends[:, 0]], x[ends[:, 1]]
        low, high = (least.reduceat(least(a, b), start[:-1]) for least in (np.minimum, np.maximum))
        centre = 0.5 * (low + high)
        twice = np.cross(a - centre[self._piece], b - centre[self._piece]) * self._flow[:, None]
        area = 0.5 * np.add.reduceat(twice, start[:-1])
        far = _AFAR * np.linalg.norm(high - centre, axis=1)
        return Holes(ends, self._flow, start, centre, far, area, np.concatenate([low, high], 1))

    def sides(self, numbers: Floats, *, behind: bool = False) -> NDArray[np.int8]:
        """(n,) INSIDE, OUTSIDE or UNKNOWN, for winding numbers. `behind`: also behind a sheet is UNKNOWN."""
        if self.closed:
            return np.where(numbers > 0.5, INSIDE, OUTSIDE).astype(np.int8)
        side = np.where(numbers > 0.5 + MARGIN, INSIDE, OUTSIDE).astype(np.int8)
        side[(numbers >= (BEHIND if behind else 0.5 - MARGIN)) & (side == OUTSIDE)] = UNKNOWN
        return side


def _pieces(ends: Rows) -> NDArray[np.int64]:
    """(e,) number of the connected piece that each of edges (e,2) belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(ends):
        return np.zeros(0, np.int64)
    used, rows = np.unique(ends, return_inverse=True)
    a, b = rows.reshape(-1, 2).T
    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(len(used), len(used)))
    return np.asarray(connected_components(graph, directed=False)[1][a], np.int64)


def shortest(box: Floats) -> int:
    """The axis along which a box is shortest: rays along it are short, and pixels lie across the rest."""
    return int(np.argmin(box[1] - box[0]))


def bounds_of(x: Floats) -> Floats:
    """(2,3) box around points; column by column, which is four times as fast as along rows of three."""
    return np.array([[x[:, k].min() for k in range(3)], [x[:, k].max() for k in range(3)]])


def _within(points: Floats, box: Floats) -> NDArray[np.bool_]:
    """Which of points are in a box; column by column, which is faster than along rows of three."""
    found = np.ones(len(points), np.bool_)
    for k in range(3):
        found &= (points[:, k] >= box[0, k]) & (points[:, k] <= box[1, k])
    return found

"""Which points are inside a body that deforms: exactly, with nothing to rebuild."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import rays as _kernels
from ...kernels.jit import worth
from ...kernels.rays import Rays
from ...mesh import Mesh
from .layers import bounds_of, closed_surface, shortest

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
_SOME = 20_000  # faces that are gone through before a thread would have woken up
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
        near = np.flatnonzero(_within(points, box))
        found = np.zeros(len(points), np.int32)
        if len(near):
            rays, order = self._rays(box, points[near])
            self._codes(x, rays)
            parts = np.zeros((_kernels.PARTS, len(near)), np.int32)
            worth(_kernels.wind, len(self.faces), _SOME)(x, self.faces, self._code, rays, parts)
            found[near[order]] = parts.sum(0)
        return found

    def first_faces(self, x: Floats, points: Floats, own: Rows) -> tuple[Floats, Rows]:
        """(n,) how far from each of points (n,3), along the axis, the nearest face is by which a ray from it leaves,
        one way or the other, and (n,) that face; -1 for none. Faces at vertex own (n,) do not count."""
        rays, order = self._rays(bounds_of(x), points)
        self._codes(x, rays)
        depth, face = np.full((len(points), 2), np.inf), np.full((len(points), 2), -1, np.int32)
        _kernels.first_layers(x, self.faces, self._code, rays, own[order], depth, face)
        best = np.argmin(depth, 1)[:, None]
        out_depth, out_face = np.empty(len(points)), np.empty(len(points), np.int32)
        out_depth[order] = np.take_along_axis(depth, best, 1)[:, 0]
        out_face[order] = np.take_along_axis(face, best, 1)[:, 0]
        return out_depth, out_face

    def _codes(self, x: Floats, rays: Rays) -> None:
        worth(_kernels.codes, len(x), _SOME)(x, rays, self._code)

    def _rays(self, box: Floats, points: Floats) -> tuple[Rays, NDArray[np.int64]]:
        """The points in cells across the shortest axis of box, half as many as cells."""
        axis = shortest(box)
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
        _kernels.bin_points(points, rays, order)
        return rays, order


def _within(points: Floats, box: Floats) -> NDArray[np.bool_]:
    """Which of points are in a box; column by column, which is faster than along rows of three."""
    found = np.ones(len(points), np.bool_)
    for k in range(3):
        found &= (points[:, k] >= box[0, k]) & (points[:, k] <= box[1, k])
    return found


def points_inside(mesh: Mesh, points: Any) -> NDArray[np.bool_]:
    """(n,) which of points (n,3) are inside a closed mesh: exact. Where it overlaps itself is inside, too."""
    surface, p = closed_surface("mesh", mesh), validate.floats("points", points, (None, 3))
    return np.asarray(PointsInside(surface.faces, surface.n_vertices).winding(surface.vertices, p) > 0)

"""Exact winding numbers of points with respect to a surface without a boundary, by rays (docs/inside.md)."""

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.jit import worth
from ...kernels.queries import rays as _rays
from ...kernels.queries.rays import Rays
from .winding import Floats, Rows, bounds_of, shortest

_SOME = 20_000  # faces up to which the loop runs on one thread
_MOST = 16384  # cells along a side
# points per cell, and square root of the ratio of columns to rows: the columns of a row are contiguous in memory
_PER_CELL, _FLAT = 0.5, 2.0


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


def _within(points: Floats, box: Floats) -> NDArray[np.bool_]:
    """Return which points are in a box; computed per column, which is faster than over rows of three."""
    found = np.ones(len(points), np.bool_)
    for k in range(3):
        found &= (points[:, k] >= box[0, k]) & (points[:, k] <= box[1, k])
    return found

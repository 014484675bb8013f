"""Garments cut from a surface around the body: a level set of its distance, open where planes cut it.

The level set of the smoothed distance spans armpits and hollows as cloth does. It is the same for every number of
particles; only the edges of the remeshed surface differ.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from pliant.mesh.topology import Topology
from pliant.proxies.remesh import Ints, remeshed

from .outline import Outline, Unfit

Floats = NDArray[np.float64]
SMOOTH = 1.5  # voxels: deviation of the Gauss filter
_STEP = 0.25  # voxels, of differences
_CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)  # of a tetrahedron


@dataclasses.dataclass(frozen=True, eq=False)
class Shell:
    """The surface at `level` metres from the body within the box `low` to `high`; it is open at y and x of the box."""

    outline: Outline
    level: float
    low: Floats
    high: Floats

    @functools.cached_property
    def _spline(self) -> Floats:
        """Coefficients of the cubic spline of the smoothed distance."""
        smooth = ndimage.gaussian_filter(self.outline.distances, SMOOTH)
        return np.asarray(ndimage.spline_filter(smooth, 3))

    def value(self, x: Floats) -> Floats:
        """(n,) smoothed distance minus the level."""
        at = ((x - self.outline.origin) / self.outline.spacing).T
        return np.asarray(ndimage.map_coordinates(self._spline, at, order=3, prefilter=False, mode="nearest")) - (
            self.level
        )

    def project(self, x: Floats, side: Ints) -> tuple[Floats, Floats]:
        """Positions on the surface by a Newton step, and unit normals; vertices of a side stay in its plane.

        side: -1 for the inside of the surface, 0 and 1 for the planes x = low and high, 2 and 3 for y.
        """
        normal = np.zeros_like(x)
        bound = np.stack([self.low, self.high], 1)
        axis = np.where(side >= 0, side // 2, -1)
        x = x.copy()
        for k in range(2):
            x[axis == k, k] = bound[k][side[axis == k] % 2]
        h = _STEP * self.outline.spacing
        corners = [self.value(x + h * corner) for corner in _CORNERS]
        slope = sum(f[:, None] * corner for f, corner in zip(corners, _CORNERS)) / (4.0 * h)
        for k in range(2):
            slope[axis == k, k] = 0.0
        value = 0.25 * sum(corners)  # one step ends within 0.2 mm
        x = x - slope * (value / np.maximum((slope * slope).sum(1), 0.05))[:, None]
        normal = slope / np.maximum(np.linalg.norm(slope, axis=1), 1e-12)[:, None]
        return x, normal

    @functools.cached_property
    def reference(self) -> tuple[Floats, Ints, Ints]:
        """Vertices, faces and sides of the surface by marching cubes, as fine as the voxels."""
        from skimage.measure import marching_cubes

        wide = self.high - self.low
        count = np.maximum(np.round(wide / self.outline.spacing).astype(int), 4)
        axes = [np.linspace(self.low[k], self.high[k], count[k] + 1) for k in range(3)]
        grid = self.value(np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)).reshape(count + 1)
        if not grid.min() < 0.0 < grid.max():
            raise Unfit("nothing of the body is in the box of the garment")
        x, faces, _, _ = marching_cubes(grid, 0.0, spacing=tuple(wide / count), gradient_direction="descent")
        x, faces = _welded(x.astype(np.float64) + self.low, faces.astype(np.int32))
        x, faces = _largest(x, faces)
        return x, faces, self._sides(x, faces)

    def _sides(self, x: Floats, faces: Ints) -> Ints:
        top = Topology.of(faces, len(x))
        side = np.full(len(x), -1, np.int32)
        rim = np.flatnonzero(top.boundary_vertices)
        near = 1e-4 * float((self.high - self.low).max())
        for k, axis, at in ((0, 0, self.low), (1, 0, self.high), (2, 1, self.low), (3, 1, self.high)):
            on = rim[np.abs(x[rim, axis] - at[axis]) < near]
            if (side[on] >= 0).any():
                raise Unfit("two openings of the garment meet")
            side[on] = k
        if (side[rim] < 0).any():
            raise Unfit("the garment is cut open beside its openings")
        return side

    def mesh(self, particles: int) -> tuple[Floats, Ints, Ints]:
        """Vertices, outward faces and sides of the surface with about this number of vertices."""
        x, faces, side = self.reference
        length = 1.02 * float(np.sqrt(2.0 / np.sqrt(3.0) * _area(x, faces) / particles))
        found = remeshed(x, faces, side, length, self.project, 6)
        best = found
        for _ in range(4):
            ratio = len(found[0]) / particles
            if 0.95 < ratio < 1.05:
                break
            length *= ratio**0.8  # more than the square root: edges of nearly the right length stay as they are
            found = remeshed(*found, length, self.project, 3)
            best = min(best, found, key=lambda made: abs(len(made[0]) / particles - 1.0))
        return best


def _area(x: Floats, faces: Ints) -> float:
    return float(
        0.5 * np.linalg.norm(np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]), axis=1).sum()
    )


def _welded(x: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """Without faces that marching cubes degenerates to a point or a line."""
    keys, index = np.unique(np.round(x, 7), axis=0, return_inverse=True)
    faces = index.ravel()[faces].astype(np.int32)
    return keys, faces[(faces != np.roll(faces, 1, 1)).all(1)]


def _largest(x: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """The connected part with the most faces."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate([faces[:, :2], faces[:, 1:]])
    graph = coo_array((np.ones(len(ends), np.int8), ends.T), shape=(len(x), len(x)))
    part = connected_components(graph, directed=False)[1][faces[:, 0]]
    kept = faces[part == np.bincount(part).argmax()]
    used, flat = np.unique(kept, return_inverse=True)
    return x[used], flat.reshape(-1, 3).astype(np.int32)

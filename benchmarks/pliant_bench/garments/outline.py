"""The outer shape of any body: a voxel solid that ignores holes, inner surfaces and self-intersections, and the heights
at which legs, trunk, arms and neck meet.

The body stands upright along y, its arms reach out along x; it may be open, in many pieces, or intersect itself.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from pliant.detect.queries.closest_point import ClosestPoints
from pliant.mesh import Mesh

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CELLS = 140  # voxels along the longest side of a body
_MARGIN = 12  # empty voxels around it


@dataclasses.dataclass(frozen=True)
class Landmarks:
    """Heights in metres: where the legs meet, the narrowest part of the trunk, the armpits, the narrowest part between
    shoulders and head, and the top of the shoulders beside it; and the middle (x, z) of the trunk."""

    floor: float
    crotch: float
    waist: float
    armpit: float
    shoulder: float
    neck: float
    top: float
    middle: tuple[float, float]


class Unfit(ValueError):
    """The body has no place for this garment."""


@dataclasses.dataclass(frozen=True, eq=False)
class Outline:
    """The voxel solid of `mesh` in its present pose, with `cells` voxels along its longest side."""

    mesh: Mesh
    cells: int = CELLS

    @functools.cached_property
    def spacing(self) -> float:
        return float((self.mesh.bounds[1] - self.mesh.bounds[0]).max()) / self.cells

    @functools.cached_property
    def origin(self) -> Floats:
        """Centre of the first voxel; the grid is symmetric about the middle plane of the bounding box in x."""
        return np.asarray(self.mesh.bounds[0] - (_MARGIN + 0.5) * self.spacing)

    @functools.cached_property
    def shape(self) -> tuple[int, ...]:
        wide = (self.mesh.bounds[1] - self.mesh.bounds[0]) / self.spacing
        return tuple(int(np.ceil(n)) + 2 * _MARGIN + 1 for n in wide)

    @functools.cached_property
    def points(self) -> Floats:
        """Points (n,3) on the surface, nowhere farther apart than half a voxel."""
        x = self.mesh.welded.vertices
        triangles, kept = x[self.mesh.welded.faces], [x]
        while len(triangles):
            sides = np.linalg.norm(triangles - np.roll(triangles, -1, 1), axis=2)
            long = sides.max(1) > 0.5 * self.spacing
            triangles, k = triangles[long], sides[long].argmax(1)
            rows = np.arange(len(k))
            a, b, c = (triangles[rows, (k + j) % 3] for j in range(3))
            middle = 0.5 * (a + b)
            kept.append(middle)
            triangles = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
        return np.concatenate(kept)

    @functools.cached_property
    def solid(self) -> Bools:
        """Voxels (nx,ny,nz) that cannot be reached from far away, or that contain surface; gaps of a voxel close."""
        shell = np.zeros(self.shape, np.bool_)
        shell[tuple(np.rint((self.points - self.origin) / self.spacing).astype(int).T)] = True
        outside, _ = ndimage.label(~ndimage.binary_dilation(shell))
        return ~ndimage.binary_dilation(outside == outside[0, 0, 0]) | shell

    @functools.cached_property
    def distances(self) -> Floats:
        """Distances (nx,ny,nz) of the voxels from the body without its head, metres, negative inside; exact outside, up
        to six voxels away."""
        top = self.row(self.landmarks.neck) + 3
        solid = self.solid.copy()
        solid[:, top:] = False
        x, faces = self.mesh.welded.vertices, self.mesh.welded.faces
        body = Mesh(x, faces[x[faces][:, :, 1].min(1) < self.height(top)], name="body without head")
        away = ndimage.distance_transform_edt(~solid, sampling=self.spacing)
        deep = ndimage.distance_transform_edt(solid, sampling=self.spacing)
        near = (away < 6.0 * self.spacing) & (deep < 3.0 * self.spacing)
        at = self.origin + self.spacing * np.argwhere(near)
        exact = np.abs(ClosestPoints(body).query_by_nearest_face(at)[0])  # the side is known by `solid`
        inside = ndimage.binary_erosion(solid)[near]  # a voxel of the shell is on neither side
        field = np.asarray(away - deep, np.float64)
        field[near] = np.where(inside, -np.maximum(np.minimum(exact, deep[near]), 0.5 * self.spacing), exact)
        return field

    def height(self, row: float) -> float:
        return float(self.origin[1] + row * self.spacing)

    def row(self, height: float) -> int:
        return int(np.clip(np.rint((height - self.origin[1]) / self.spacing), 0, self.shape[1] - 1))

    @functools.cached_property
    def trunk(self) -> Bools:
        """The solid without what hangs apart from the middle of the body at the same height: lowered arms."""
        kept = np.zeros_like(self.solid)
        for row in range(self.shape[1]):
            labels, count = ndimage.label(self.solid[:, row])
            middle = set(labels[self._middle_column - 1 : self._middle_column + 2].ravel()) - {0}
            if middle:
                kept[:, row] = np.isin(labels, list(middle))
            elif count:
                kept[:, row] = self.solid[:, row]
        return kept

    @functools.cached_property
    def trunk_points(self) -> Floats:
        """Those of `points` that belong to `trunk`."""
        at = np.rint((self.points - self.origin) / self.spacing).astype(int)
        return self.points[self.trunk[tuple(at.T)]]

    @functools.cached_property
    def _middle_column(self) -> int:
        middle = 0.5 * float(self.mesh.bounds[:, 0].sum())
        return round((middle - float(self.origin[0])) / self.spacing)

    @functools.cached_property
    def landmarks(self) -> Landmarks:
        """Raise `Unfit` for a body without legs, trunk and arms that can be told apart."""
        column = np.asarray(self.solid[self._middle_column - 1 : self._middle_column + 2].any((0, 2)))
        filled = np.flatnonzero(self.solid.any((0, 2)))
        floor, top = int(filled[0]), int(filled[-1])
        empty = np.flatnonzero(~column[floor : floor + int(0.6 * (top - floor))])
        crotch = floor + (int(empty[-1]) + 1 if len(empty) else 0)
        if crotch <= floor + 0.05 * (top - floor):
            raise Unfit("no legs: the middle of the body reaches the floor")
        width = np.array([np.ptp(np.flatnonzero(s)) + 1 if s.any() else 0 for s in np.asarray(self.trunk.any(2)).T])
        armpit = self._armpit(width, crotch, top)
        span = armpit - crotch
        low = crotch + max(1, int(0.3 * span))
        waist = low + int(np.argmin(width[low : max(crotch + int(0.75 * span), low + 1)]))
        neck = self._neck(width, armpit, top)
        shoulder = self._shoulder(width, armpit, neck)
        ring = np.argwhere(self.trunk[:, waist])
        middle = self.origin[[0, 2]] + self.spacing * 0.5 * (ring.min(0) + ring.max(0))
        return Landmarks(
            floor=self.height(floor),
            crotch=self.height(crotch),
            waist=self.height(waist),
            armpit=self.height(armpit),
            shoulder=self.height(shoulder),
            neck=self.height(neck),
            top=self.height(top),
            middle=(float(middle[0]), float(middle[1])),
        )

    def _armpit(self, width: NDArray[np.int64], crotch: int, top: int) -> int:
        """The lowest row above the crotch where the trunk is suddenly wider: the arms join it."""
        start = crotch + max(2, int(0.12 * (top - crotch)))
        for row in range(start, top):
            usual = np.median(width[max(start - 2, row - 12) : row])
            if row > start + 3 and width[row] > 1.25 * usual + 2:
                return row
        raise Unfit("no arms: the trunk is nowhere suddenly wider")

    def _neck(self, width: NDArray[np.int64], armpit: int, top: int) -> int:
        """The row of the smallest width between the armpits and the widest part of the head."""
        upper = width[armpit : top + 1]
        best, least = 0, np.inf
        for k in range(2, len(upper) - 2):
            head = upper[k:].max()
            if upper[k] < least and head > 1.15 * upper[k]:
                best, least = k, upper[k]
        if not best:
            raise Unfit("no neck: nothing above the armpits is narrower than the head")
        return armpit + best

    def _shoulder(self, width: NDArray[np.int64], armpit: int, neck: int) -> int:
        """The highest row below the neck that is half again as wide as the neck."""
        wide = np.flatnonzero(width[armpit : neck + 1] > 1.5 * width[neck])
        return armpit + (int(wide[-1]) if len(wide) else 0)

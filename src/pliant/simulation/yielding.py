"""Yielding: the surfaces of a skin give way to cloth where its limbs overlap.

Flesh yields where limbs press on each other; a skin that is moved by bones does not, and overlaps itself: an arm in the
trunk, a thigh in the belly. Cloth has no room there. During a frame such surfaces are therefore *inset*: each of two
that overlap by half of the overlap, and by half of the distance that cloth needs between them. They then leave the
cloth room, and contacts, guard and strain limit apply as everywhere else. At the end of a frame the body has its own
shape again.

Insets follow from the shape of the bodies and from the region around the cloth alone, so that runs can be resumed, and
are zero where nothing overlaps. Searching for overlaps takes as long as the rest of a frame; bodies therefore yield
only in frames that begin with cloth inside of them.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

from ..detect.queries.penetration import DeformingClosestPoints
from ..kernels.simulation import yielding as _kernels
from ..mesh import Mesh
from ..scene import Scene
from .guard.inside import closed_faces

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Faces = NDArray[np.int32]
GAP = 2.0  # times eps: distance between opposite surfaces that cloth needs
DEEPEST = 6.0  # times eps: largest inset
ABOVE = 0.1  # of eps: a point of a surface is covered if the point at this height above it is inside of the bodies
BESIDE = 4.0  # times the gap: distance from covered vertices up to which others yield, and adjacent vertices
TOLERANCE = 1.0  # of eps by which coarse faces may be inset deeper than needed
COARSE = 3.0  # times the gap: length of edges from which on this decreases, with the square of the length
PARTS = 4  # of the edges of a coarse face, between the points at which its inset is compared with what is needed
_WEIGHTS = np.array([(i, j, PARTS - i - j) for i in range(PARTS + 1) for j in range(PARTS + 1 - i)]) / PARTS
POINTS = _WEIGHTS[(_WEIGHTS < 1.0).all(1)]  # (p,3) their weights
COARSEST = 8.0  # times the gap: faces with longer edges do not yield
CELL = 4.0  # times eps: bodies yield in cells of this size that contain cloth, and in those around them
MOST_CELLS = 1 << 22  # in the box around the cloth; beyond that they are larger


class Region(NamedTuple):
    """The surroundings of the cloth: cells of `size` metres that are near it (i,j,k), the first at `origin` (3,)."""

    size: float
    origin: Floats
    near: Flags

    @classmethod
    def around(cls, points: Floats, size: float) -> "Region":
        """Return the cells that contain points (k,3), and those around them."""
        extent = points.max(0) - points.min(0)
        while np.prod(extent / size + 4.0) > MOST_CELLS:
            size *= 2.0
        cells = np.floor(points / size)
        origin = cells.min(0) - 1.0
        places = (cells - origin).astype(np.int64)
        near = np.zeros(places.max(0) + 2, np.bool_)
        for offset in np.ndindex(3, 3, 3):
            near[tuple((places + offset - 1).T)] = True
        return cls(size, origin, near)

    def contains(self, points: Floats) -> Flags:
        """Return which points (k,3) are in these cells."""
        places = np.floor(points / self.size) - self.origin
        found = np.asarray(((places >= 0.0) & (places < self.near.shape)).all(1))
        found[found] = self.near[tuple(places[found].astype(np.int64).T)]
        return found

    def equals(self, other: "Region") -> bool:
        """Whether both have the same cells."""
        return self.size == other.size and all(map(np.array_equal, self[1:], other[1:]))


class Yielding:
    """The insets of all deforming obstacles of a scene that have closed shells. `rows` (k,) are their vertices."""

    def __init__(self, scene: Scene) -> None:
        parts = [(int(scene.first[b]), scene.bodies[b].mesh.welded, closed_faces(scene, b)) for b in _deforming(scene)]
        faces = [np.zeros((0, 3), np.int32), *(mesh.faces[closed] + first for first, mesh, closed in parts)]
        rows, corners = np.unique(np.concatenate(faces), return_inverse=True)
        self.rows, self._faces = rows.astype(np.int32), corners.reshape(-1, 3).astype(np.int32)
        self._eps, self._gap, self._cloth = scene.eps, GAP * scene.eps, scene.deformable_rows
        self._rest = scene.start().x[self.rows]
        nowhere = Region(0.0, np.zeros(3), np.zeros((0, 0, 0), np.bool_))
        self._last = np.zeros((0, 3)), nowhere, np.zeros((0, 3))  # shape, region and insets of the last call
        self._known = _Known.of(0, 0)

    @functools.cached_property
    def _surface(self) -> DeformingClosestPoints:
        return DeformingClosestPoints(Mesh(self._rest, self._faces))

    @functools.cached_property
    def _around(self) -> coo_array:
        """The faces around each vertex, [vertex, face]."""
        n, m = len(self.rows), len(self._faces)
        at = self._faces.ravel(), np.repeat(np.arange(m), 3)
        return coo_array((np.ones(3 * m), at), shape=(n, m)).tocsr()

    def region(self, x: Floats) -> Region:
        """Return the surroundings of the cloth at x (n,3) in which bodies yield."""
        return Region.around(x[self._cloth], CELL * self._eps)

    def insets(self, shape: Floats, region: Region) -> Floats:
        """Return the displacements (k,3) of the vertices `rows` whose positions are `shape` (k,3), within a region."""
        if not region.equals(self._last[1]) or not np.array_equal(self._last[0], shape):
            self._last = shape.copy(), region, self._computed(shape, region)
        return self._last[2]

    def inside(self, points: Floats) -> Flags:
        """Return which points (k,3) are inside of the bodies, at the shape of the last call of `insets`."""
        return np.asarray(self._surface.signs(points) < 0)

    def _computed(self, shape: Floats, region: Region) -> Floats:
        near = region.contains(shape)
        if not np.array_equal(self._last[0], shape):  # a frame begins with the shape with which the last one ended
            self._known = _Known.of(len(shape), len(self._faces))
            self._surface.update(shape).fitted()
        if not near.any():
            return np.zeros_like(shape)
        known, faces, areas = self._known, near[self._faces].any(1), np.zeros((len(self._faces), 3))
        areas[faces] = _face_normals(shape[self._faces[faces]])
        normals = _unit(self._around @ areas)
        new = near & ~known.tested
        known.covered[new], known.tested[new] = self._are_covered(shape[new], normals[new]), True
        covered = near & known.covered
        if not covered.any():
            return np.zeros_like(shape)
        beside = np.flatnonzero(near)
        far = cKDTree(shape[covered]).query(shape[beside], distance_upper_bound=BESIDE * self._gap)[0]
        adjacent = self._around @ (self._around.T @ covered) > 0.0
        which, inset = beside[adjacent[beside] | np.isfinite(far)], np.zeros(len(shape))
        new = which[np.isnan(known.needed[which])]
        known.needed[new] = self._needed(shape, shape[new], normals[new], covered[new], unknown=0.0)
        inset[which] = known.needed[which]
        return -(inset * self._limits(shape, inset))[:, None] * normals

    def _are_covered(self, points: Floats, normals: Floats) -> Flags:
        """Return which points (k,3) of the surface, with normals (k,3), are inside of another part of the bodies."""
        return np.asarray(self._surface.signs(points + ABOVE * self._eps * normals) < 0)

    def _needed(self, shape: Floats, points: Floats, normals: Floats, covered: Flags, *, unknown: float) -> Floats:
        """Return the insets (k,) that points (k,3) of the surface need: half of what is missing between them and the
        opposite surface, measured along their normals; `unknown` where they are covered, but nothing is opposite."""
        deepest, side = DEEPEST * self._eps, np.where(covered, -1.0, 1.0)
        within, found = np.where(covered, 2.0 * deepest, self._gap), np.empty((len(points), 2))
        _kernels.find_opposite(self._surface.fitted(), self._faces, shape, points, normals, side, within, found)
        distance, opposing = found.T
        # two planes at an angle, whose bisector is to be reached along the normal of one: s = d / (1 + cos)
        needed = np.clip((self._gap - side * distance) / (1.0 + opposing), 0.0, deepest)
        return np.where(opposing > 0.0, needed, np.where(covered, unknown, 0.0))

    def _limits(self, shape: Floats, inset: Floats) -> Floats:
        """Return by what ratios (n,) the insets of vertices have to be reduced so that no coarse face is inset much
        deeper than needed where it is not covered: between its vertices, insets are interpolated."""
        which = np.flatnonzero(inset[self._faces].any(1))
        corners, limits = shape[self._faces[which]], np.ones(len(shape))
        longest = np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2).max(1)
        coarse = longest > self._gap
        which, faces = which[coarse], self._faces[which[coarse]]
        needed = self._needed_on(shape, which)
        spare = TOLERANCE * self._eps * np.minimum(COARSE * self._gap / longest[coarse], 1.0) ** 2
        ratio = np.minimum((needed + spare[:, None]) / np.maximum(inset[faces] @ POINTS.T, 1e-300), 1.0)
        ratio[longest[coarse] > COARSEST * self._gap] = 0.0
        at_corners = np.where(POINTS > 0.0, ratio[:, :, None], 1.0).min(1)
        np.minimum.at(limits, faces.ravel(), at_corners.ravel())
        return limits

    def _needed_on(self, shape: Floats, which: NDArray[np.int64]) -> Floats:
        """Return the insets (k,p) that the points `POINTS` of the faces `which` (k,) need."""
        known = self._known.needed_on
        new = which[np.isnan(known[which, 0])]
        corners = shape[self._faces[new]]
        points = (POINTS[None, :, :, None] * corners[:, None]).sum(2).reshape(-1, 3)
        normals = np.repeat(_unit(_face_normals(corners)), len(POINTS), 0)
        covered = self._are_covered(points, normals)
        needed = self._needed(shape, points, normals, covered, unknown=DEEPEST * self._eps)
        known[new] = needed.reshape(-1, len(POINTS))
        return known[which]


class _Known(NamedTuple):
    """What is known of a shape: which vertices (n,) were tested, which of these are covered, and the insets that
    vertices (n,) and points of faces (m,p) need, NaN where they are not known."""

    tested: Flags
    covered: Flags
    needed: Floats
    needed_on: Floats

    @classmethod
    def of(cls, n: int, m: int) -> "_Known":
        needed = np.full(n, np.nan), np.full((m, len(POINTS)), np.nan)
        return cls(np.zeros(n, np.bool_), np.zeros(n, np.bool_), *needed)


def _deforming(scene: Scene) -> list[int]:
    return sorted(scene.deforming_motions)


def _face_normals(corners: Floats) -> Floats:
    """Return the normals (m,3), of twice the area, of triangles (m,3,3)."""
    return np.asarray(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))


def _unit(a: Floats) -> Floats:
    return np.asarray(a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-300))

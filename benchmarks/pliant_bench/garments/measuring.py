"""Measurements of a worn garment, frame by frame, exact and independent of how the frame was computed."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.intersections import Intersections
from pliant.detect.queries.penetration import DeformingClosestPoints
from pliant.detect.queries.transversal import crossing, crossing_segments
from pliant.mesh import Mesh

from .. import referee
from .tailor import Garment

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
DEEP = 1e-3  # metres: penetration that counts
HEIGHTS = (0.5, 1.0, 2.0)  # of the contact offset, above the surface: there must be no other part of the body


@dataclasses.dataclass(frozen=True)
class Measured:
    """One frame. Strain in ratios to the rest length; depths in metres, of vertices and edge midpoints."""

    strain: tuple[float, float, float]  # 95th and 99th percentile of all edges, and the largest
    depth: float  # the deepest where the body leaves room
    deep: int  # points deeper than `DEEP` there
    pinched: int  # points inside the body where it leaves no room, or that are held there
    cloth_pairs: int
    body_pairs: int
    open_pairs: int  # of `body_pairs`: those of triangles of cloth of which no corner is where the body leaves no room
    pinched_pairs: int  # of cloth and body where the body leaves no room, or the cloth is held
    drop: float  # metres: mean height of the upper boundary minus that of the hem


class Gauge:
    """Measures frames of a garment on a body; `eps` is the contact offset of the scene, metres, and `held` are the rows
    of the garment that are attached."""

    def __init__(self, worn: Garment, skin: Mesh, eps: float, held: NDArray[np.int64] | None = None) -> None:
        self.worn, self.eps = worn, eps
        self.cloth, self.skin = worn.mesh.welded, skin.welded
        self.edges = self.cloth.topology.edges
        fixed = np.zeros(self.cloth.n_vertices, np.bool_)
        if held is not None:
            fixed[worn.mesh.weld_index[held]] = True
        self.free = ~fixed[self.edges].all(1)  # the skin alone moves the others
        self._held_points = np.concatenate([fixed, fixed[self.edges].any(1)])  # the skin puts them where they are
        self._held_faces: Bools = np.asarray(fixed[self.cloth.faces].any(1))
        self.rest = self._lengths(self.cloth.vertices)
        if worn.ease is not None:
            eased = np.ones(self.cloth.n_vertices)
            eased[worn.mesh.weld_index] = worn.ease
            self.rest *= eased[self.edges].mean(1)

    @functools.cached_property
    def _distances(self) -> DeformingClosestPoints:
        return DeformingClosestPoints(self.skin)

    @functools.cached_property
    def _own(self) -> Intersections:
        return Intersections(self.cloth)

    @functools.cached_property
    def _with_body(self) -> Intersections:
        return Intersections(self.cloth, self.skin)

    def _lengths(self, x: Floats) -> Floats:
        return np.asarray(np.linalg.norm(x[self.edges[:, 0]] - x[self.edges[:, 1]], axis=1))

    def strain(self, x: Floats) -> Floats:
        """Elongation of each edge that is not held at both ends, as a ratio to its rest length; negative: shorter."""
        return np.asarray(self._lengths(x) / self.rest - 1.0)[self.free]

    def measure(self, x: Floats, body: Floats) -> Measured:
        """Measure positions (n,3) of the cloth and of the body, both welded."""
        stretched = np.percentile(self.strain(x), (95.0, 99.0, 100.0))
        depth, deep, pinched = self.penetration(x, body)
        with_body, free, no_room = self._body_pairs(x, body)
        return Measured(
            strain=(float(stretched[0]), float(stretched[1]), float(stretched[2])),
            depth=depth,
            deep=deep,
            pinched=pinched,
            cloth_pairs=len(self._own.update(x).pairs()),
            body_pairs=with_body,
            open_pairs=free,
            pinched_pairs=no_room,
            drop=float(x[self.worn.top, 1].mean() - x[self.worn.hem, 1].mean()),
        )

    def penetration(self, x: Floats, body: Floats) -> tuple[float, int, int]:
        """The greatest depth where the body leaves room, points deeper than `DEEP`, and points without room."""
        points = np.concatenate([x, x[self.edges].mean(1)])
        self._distances.update(body)
        distance = self._distances.query(points)[0]
        inside = np.flatnonzero(distance < 0.0)
        if not len(inside):
            return 0.0, 0, 0
        face, weights = self._distances.nearest_faces(points[inside])  # also of one part within another
        nearest = (weights[:, :, None] * body[self.skin.faces[face]]).sum(1)
        room = self._leaves_room(body, nearest, face) & ~self._held_points[inside]
        depth = -distance[inside[room]]
        return float(depth.max(initial=0.0)), int((depth > DEEP).sum()), int((~room).sum())

    def _body_pairs(self, x: Floats, body: Floats) -> tuple[int, int, int]:
        """Pairs of triangles of cloth and body that cross: those of which an end or the middle of the segment in which
        they intersect is where the body leaves room; of these, those of triangles of cloth that have room at all of
        their corners; and all others."""
        pairs = self._with_body.update(x, body).pairs()
        if len(pairs):
            pairs = pairs[crossing(x, self.cloth.faces, body, self.skin.faces, pairs)]
        if not len(pairs):
            return 0, 0, 0
        ends = crossing_segments(x, self.cloth.faces, body, self.skin.faces, pairs)
        points = np.concatenate([ends, ends.mean(1, keepdims=True)], 1)
        self._distances.update(body)
        room = self._leaves_room(body, points.reshape(-1, 3), np.repeat(pairs[:, 1], 3)).reshape(-1, 3).any(1)
        free = room & ~self._held_faces[pairs[:, 0]]
        cornered = self._without_room(x, body)[self.cloth.faces[pairs[:, 0]]].any(1)
        return int(free.sum()), int((free & ~cornered).sum()), int((~free).sum())

    def _without_room(self, x: Floats, body: Floats) -> Bools:
        """(n,) the vertices inside the body, or nearer to it than the contact offset, where it leaves no room."""
        found = np.zeros(len(x), np.bool_)
        near = np.flatnonzero(self._distances.query(x)[0] < self.eps)
        if len(near):
            face, weights = self._distances.nearest_faces(x[near])
            found[near] = ~self._leaves_room(body, (weights[:, :, None] * body[self.skin.faces[face]]).sum(1), face)
        return found

    def _leaves_room(self, body: Floats, points: Floats, of: NDArray[Any]) -> Bools:
        """Whether cloth could be outside of these points on faces `of`: see `leaves_room`, and no point up to twice the
        contact offset above them is inside another part of the body."""
        room = leaves_room(body, self.skin.faces, points, of, 2.0 * self.eps)
        normal = outward(body, self.skin.faces, of)
        for height in HEIGHTS:
            room &= self._distances.signs(points + height * self.eps * normal) >= 0
        return room


def outward(x: Floats, faces: NDArray[Any], of: NDArray[Any]) -> Floats:
    """Unit normals of the faces `of`."""
    corners = x[faces[of]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None])


def leaves_room(x: Floats, faces: NDArray[Any], points: Floats, of: NDArray[Any], gap: float) -> Bools:
    """Whether the body has no opposite surface within `gap` metres outside of these points on its faces `of`.

    Opposite: a segment from the point along the outward normal meets another face from its outer side (a crevice), or
    from its inner side (the point lies inside another part of the body), or another face is at the point itself.
    """
    ends = points + gap * outward(x, faces, of)
    pairs = referee.box_pairs(np.stack([points, ends], 1), x[faces])
    alone = (faces[of[pairs[:, 0]]][:, :, None] != faces[pairs[:, 1]][:, None, :]).all((1, 2))
    pairs = pairs[alone]
    hit = referee.pierces(points[pairs[:, 0]], ends[pairs[:, 0]], x[faces[pairs[:, 1]]])
    room = np.ones(len(points), np.bool_)
    room[pairs[hit, 0]] = False
    return room

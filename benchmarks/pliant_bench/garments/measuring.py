"""Measurements of a worn garment, frame by frame, exact and independent of how the frame was computed."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.intersections import Intersections
from pliant.detect.queries.transversal import crossing, crossing_segments
from pliant.mesh import Mesh

from .room import CREASE, Room
from .tailor import Garment

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
DEEP = 1e-3  # metres: penetration that counts


class Penetration(NamedTuple):
    """Vertices and edge midpoints inside the body; depths in metres."""

    depth: float = 0.0  # the deepest where the body leaves room
    deep: int = 0  # points deeper than `DEEP` there
    pinched: int = 0  # points inside the body where it leaves no room, or that are held there
    avoidable_depth: float = 0.0  # the deepest of those counted by `avoidable`, and of the less deep ones
    avoidable: int = 0  # of `deep`: without those that no cloth could avoid


class BodyPairs(NamedTuple):
    """Pairs of triangles of cloth and body that cross."""

    counted: int = 0  # where the body leaves room
    avoidable: int = 0  # of these: without those that no cloth could avoid
    pinched: int = 0  # where the body leaves no room, or the cloth is held


@dataclasses.dataclass(frozen=True)
class Measured:
    """One frame. Strain in ratios to the rest length; depths in metres, of vertices and edge midpoints."""

    strain: tuple[float, float, float]  # 95th and 99th percentile of all edges, and the largest
    points: Penetration
    cloth_pairs: int
    pairs: BodyPairs
    drop: float  # metres: mean height of the upper boundary minus that of the hem


class Gauge:
    """Measures frames of a garment on a body; `eps` is the contact offset of the scene, metres, and `held` are the rows
    of the garment that are attached."""

    def __init__(self, worn: Garment, skin: Mesh, eps: float, held: NDArray[np.int64] | None = None) -> None:
        self.worn, self.eps = worn, eps
        self.cloth, self.skin, self.room = worn.mesh.welded, skin.welded, Room(skin, eps)
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
        return Measured(
            strain=(float(stretched[0]), float(stretched[1]), float(stretched[2])),
            points=self.penetration(x, body),
            cloth_pairs=self.cloth_pairs(x),
            pairs=self.body_pairs(x, body),
            drop=float(x[self.worn.top, 1].mean() - x[self.worn.hem, 1].mean()),
        )

    def cloth_pairs(self, x: Floats) -> int:
        """The number of intersecting pairs of triangles of the cloth at positions x (n,3)."""
        return len(self._own.update(x).pairs())

    def penetration(self, x: Floats, body: Floats) -> Penetration:
        """The vertices and edge midpoints inside the body."""
        points, room = np.concatenate([x, x[self.edges].mean(1)]), self.room
        room.update(body)
        distance = room.distance(points)
        inside = np.flatnonzero(distance < 0.0)
        if not len(inside):
            return Penetration()
        places, faces = room.nearest(points[inside])
        free = room.exists(places, faces) & ~self._held_points[inside]
        inside, places, faces, pinched = inside[free], places[free], faces[free], int((~free).sum())
        depth = -distance[inside]
        counts = room.is_touchable(places, faces) & ~self._implied_midpoints(x, distance, inside, places, faces)
        return Penetration(
            depth=float(depth.max(initial=0.0)),
            deep=int((depth > DEEP).sum()),
            pinched=pinched,
            avoidable_depth=float(depth[counts].max(initial=0.0)),
            avoidable=int((depth[counts] > DEEP).sum()),
        )

    def _implied_midpoints(
        self, x: Floats, distance: Floats, inside: NDArray[np.int64], places: Floats, faces: NDArray[np.int64]
    ) -> Bools:
        """Which of the points `inside` (k,), whose nearest places (k,3) are on `faces` (k,), are midpoints of edges in
        a crease that come from an end which the body holds: part of such an edge is inside, wherever it leaves."""
        room, n = self.room, len(x)
        found = np.zeros(len(inside), np.bool_)
        of = np.flatnonzero(inside >= n)
        if len(of):
            held, ends = room.holds(x, distance[:n]), self.edges[inside[of] - n]
            middle = x[ends].mean(1)
            for end in ends.T:
                found[of] |= held[end] & room.is_within(x[end], middle)
            found[of] &= ~room.is_touchable(places[of], faces[of], CREASE)
        return found

    def body_pairs(self, x: Floats, body: Floats) -> BodyPairs:
        """The pairs of triangles of cloth and body that cross: counted if the body leaves room at an end or in the
        middle of the segment in which they intersect."""
        pairs, room = self._with_body.update(x, body).pairs(), self.room
        if len(pairs):
            pairs = pairs[crossing(x, self.cloth.faces, body, self.skin.faces, pairs)]
        if not len(pairs):
            return BodyPairs()
        ends = crossing_segments(x, self.cloth.faces, body, self.skin.faces, pairs)
        places = np.concatenate([ends, ends.mean(1, keepdims=True)], 1)
        room.update(body)
        points, of = places.reshape(-1, 3), np.repeat(pairs[:, 1], 3)
        exists = room.exists(points, of)
        free = exists.reshape(-1, 3).any(1) & ~self._held_faces[pairs[:, 0]]
        touched = free & (exists & room.is_touchable(points, of)).reshape(-1, 3).any(1)
        in_crease = ~room.is_touchable(points, of, CREASE).reshape(-1, 3).any(1)
        held, corners = room.holds(x, room.distance(x)), self.cloth.faces[pairs[:, 0]]
        implied = np.zeros(len(pairs), np.bool_)
        for corner in corners.T:
            of_held = np.flatnonzero(touched & in_crease & held[corner])
            implied[of_held] |= room.is_within(x[corner[of_held]], places[of_held, 2])
        return BodyPairs(int(free.sum()), int((touched & ~implied).sum()), int((~free).sum()))

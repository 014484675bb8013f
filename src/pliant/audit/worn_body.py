"""The body that a garment is repaired on: exact distances from it in every frame, queried only where they matter."""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.intersections import Intersections
from ..detect.queries.penetration import DeformingClosestPoints
from ..detect.queries.shell_orientation import outward_body
from ..detect.queries.transversal import crossing
from ..mesh import Mesh
from ..motion.clip import Clip
from .body_crossings import crossing_pairs
from .face_depth import NO_POINT, DeepestPoint, deepest_point
from .findings import Report
from .room import has_room

Floats = NDArray[np.float64]
ROUNDING = 1e-6  # of the distances of a report, relative to themselves and to the size of the body


class WornBody:
    """A body, and the distances that `check` found in its report for the frames `given` (T,n,3) of a garment, which are
    its vertices `first` (n,). Distances change by no more than a vertex moves, so most are known without a query."""

    def __init__(self, body: Clip, garment: Mesh, before: Report, first: NDArray[np.int64], given: Floats) -> None:
        self.body, self.given = body, given
        self.x = np.zeros((0, 3))  # of the current frame
        solid = outward_body(body.mesh)
        self._closed, self._has_inside = solid.issues.encloses, before.has_inside
        self._depths = DeformingClosestPoints(solid)
        self._cross = Intersections(garment, body.mesh)
        self._faces = garment.faces
        self._rooms: dict[int, NDArray[np.bool_]] = {}
        distances = np.asarray(before.distances, np.float64)[:, first]
        self._known = [(given, self._cautious(distances))] if body.mesh.issues.encloses else []

    def _cautious(self, distances: Floats) -> Floats:
        """Lower bounds of distances outside of the body; where they are inside or unknown, none."""
        outside = np.nan_to_num(distances, nan=0.0) > 0.0
        return np.where(outside, (1.0 - ROUNDING) * distances - ROUNDING * self.body.mesh.size, -np.inf)

    def move(self, t: int) -> None:
        """Move the body to frame t."""
        self.move_to(np.asarray(self.body.at(t), np.float64))

    def move_to(self, x: Floats) -> None:
        """Move the vertices of the body to x."""
        self._depths.update(x)
        self.x = x

    def query(self, points: Floats) -> tuple[Floats, Floats]:
        """Signed distances (k,) of points (k,3) from the body, and unit separation directions (k,3)."""
        away, _, _, out = self._depths.query(points)
        return away, out

    @property
    def skin(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The vertices of the body that faces have, and the faces (m,3) by rows of these."""
        return self._depths.rows, self._depths.surface.faces

    def nearest_faces(self, points: Floats) -> NDArray[np.int64]:
        """(k,) the face of the body that is nearest to each of the points (k,3)."""
        return self._depths.nearest_faces(points)[0]

    def carried(self, points: Floats, by: Floats) -> Floats:
        """(k,3) how far the skin nearest to points (k,3) moves when the vertices of the body move by `by` (m,3)."""
        face, barycentric = self._depths.nearest_faces(points)
        moves = by[self._depths.rows][self._depths.surface.faces[face]]
        return np.asarray(np.einsum("ij,ijk->ik", barycentric, moves))

    def bounds(self, t: int, x: Floats) -> Floats:
        """(n,) lower bounds of the distances of the garment at x (n,3) from the body at frame t."""
        found = np.full(len(x), -np.inf)
        for at, away in self._known:
            found = np.maximum(found, away[t] - np.linalg.norm(x - at[t], axis=1))
        return np.where(found > 0.0, found, -np.inf)

    def distances(self, t: int, x: Floats, least: Floats | float) -> Floats:
        """(n,) distances of the garment at x (n,3) from the body, which must be at frame t: exact where they may be
        less than `least`, elsewhere lower bounds that are greater."""
        found = self.bounds(t, x)
        rows = np.flatnonzero(found <= np.maximum(least, 0.0))
        found[rows] = self.query(x[rows])[0]
        return found

    def all_distances(self, x: Floats, least: float) -> Floats:
        """(T,n) `distances` of the garment at frames x (T,n,3), which are bounds for others near them from now on."""
        found = []
        for t, frame in enumerate(x):
            self.move(t)
            found.append(self.distances(t, frame, least))
        if self._known:
            self._known = [self._known[0], (x, self._cautious(np.stack(found)))]
        return np.stack(found)

    def crossing_faces(self, x: Floats) -> NDArray[np.int32]:
        """Faces of the garment at x (n,3) that cross the body at its current position."""
        pairs = self._cross.update(x, self.x).pairs()
        return np.unique(pairs[crossing(x, self._faces, self.x, self.body.mesh.faces, pairs), 0])

    def pairs(self, x: Floats) -> NDArray[np.int32]:
        """(k,2) intersecting faces of the garment at x (n,3) and of the body at its current position."""
        return self._cross.update(x, self.x).pairs()

    def crossings(self, x: Floats, pairs: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the `pairs` (k,2) at x (n,3) that cross, as `check` counts them."""
        body, distance = (self.x, self.body.mesh.faces), self._distance if self._closed else None
        return pairs[crossing_pairs((x, self._faces), body, pairs, distance, self.body.mesh.size)]

    def depth_of_faces(self, x: Floats, rows: NDArray[np.integer], least: float) -> DeepestPoint:
        """The deepest point of the faces `rows` (k,) of the garment at x (n,3), as `check` finds it; `least`: depth of
        the deepest vertex."""
        if not self._has_inside:
            return NO_POINT
        return deepest_point(x[self._faces[rows]], self._distance, least, self.body.mesh.size)

    def _distance(self, points: Floats) -> Floats:
        return self.query(points)[0]

    def room(self, t: int, clearance: float) -> NDArray[np.bool_]:
        """(n,) vertices that are given where the body, which must be at frame t, leaves room: those farther from it
        than the clearance, and those above skin that is free."""
        if t not in self._rooms:
            room = self.bounds(t, self.given[t]) > clearance
            rows = np.flatnonzero(~room)
            room[rows] = has_room(self._depths, self.given[t][rows], clearance)
            self._rooms[t] = room
        return self._rooms[t]

    def pinched(self, t: int) -> NDArray[np.bool_] | None:
        """(n,) the vertices without room in frame t, where that was asked."""
        return ~self._rooms[t] if t in self._rooms else None

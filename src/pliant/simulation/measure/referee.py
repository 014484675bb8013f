"""The exact referee: the distance of cloth from bodies, independent of the detection method."""

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.closest_point import ClosestPoints
from ...detect.queries.intersections import Intersections
from ...detect.queries.penetration import DeformingClosestPoints
from ...detect.queries.winding import Winding
from ...mesh import Mesh
from ...motion.rigid import brought
from ...scene import Scene

Floats = NDArray[np.float64]
SURROUNDED = 0.02  # winding number of an open body around points that are behind it at the start
PINCH = 4.0  # in eps: distance from self-intersections of a body within which cloth may have no room


class Referee:
    """Measures exact distances of cloth from bodies, without distance fields.

    A deforming body may intersect itself, in an armpit or between the thighs, and leave the cloth no room. Points
    inside it within `PINCH` eps of a self-intersecting triangle are counted separately: `pinched` points, at most
    `pinched_depth` metres deep, at the last measurement.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        rigid = [f for f in scene.obstacles if f not in scene.deforming_motions]
        self.pairs = [(b, f, _LeastDistance(scene.bodies[f].mesh)) for b in scene.deformable for f in rigid]
        self.deforming = {f: DeformingClosestPoints(scene.bodies[f].mesh.welded) for f in scene.deforming_motions}
        self._self_intersections: dict[int, Intersections] = {}
        self.pinched, self.pinched_depth = 0, 0.0
        self.moving = {f for f in scene.moving if f not in scene.deforming_motions}

    def least_distance(self, x: Floats, pose: Floats | None = None) -> float:
        """Least distance of all cloth vertices and edge midpoints at `x`, metres, negative inside; inf without bodies.

        `pose` (bodies,3,4): poses of the moving bodies at that time; distances are measured in body coordinates.
        """
        if self.moving and pose is None:
            raise ValueError(f"bodies {sorted(self.moving)} move; pass the pose of the frame with its positions")
        least = np.inf
        points = {b: self._points(b, x) for b in self.scene.deformable}
        for b, f, body in self.pairs:
            p = points[b] if pose is None or f not in self.moving else brought(points[b], pose[f])
            # a closed body whose box is farther away than the current minimum is culled
            if not body.closed or body.box_gap(p) < least:
                least = min(least, body.least(p))
        self.pinched, self.pinched_depth = 0, 0.0
        for f, depths in self.deforming.items():
            depths.update(x[self.scene.rows(f)])
            for p in points.values():
                distance = depths.query(p)[0]
                inside = np.flatnonzero(distance < 0.0)
                inside = inside[self._near_self_intersection(f, x, p[inside])]
                if len(inside):
                    self.pinched += len(inside)
                    self.pinched_depth = max(self.pinched_depth, -float(distance[inside].min()))
                    distance[inside] = np.inf
                least = min(least, float(distance.min()))
        return least

    def _near_self_intersection(self, f: int, x: Floats, points: Floats) -> NDArray[np.bool_]:
        """(n,) mask of the points near self-intersecting triangles of body f."""
        mesh = self.scene.bodies[f].mesh.welded
        if not len(points):
            return np.zeros(0, np.bool_)
        if f not in self._self_intersections:
            self._self_intersections[f] = Intersections(mesh)
        skin = x[self.scene.rows(f)]
        faces = np.unique(self._self_intersections[f].update(skin).pairs())
        return near_faces(mesh.moved(skin), faces, points, PINCH * self.scene.eps)

    def _points(self, b: int, x: Floats) -> Floats:
        mesh, p = self.scene.bodies[b].mesh.welded, x[self.scene.rows(b)]
        # vertices without a face are not part of the cloth
        return np.concatenate([p[np.unique(mesh.faces)], p[mesh.topology.edges].mean(1)])


def near_faces(mesh: Mesh, faces: NDArray[np.int32], points: Floats, reach: float) -> NDArray[np.bool_]:
    """(n,) mask of the points (n,3) at most `reach` from `faces` (k,) of a mesh."""
    if not len(faces) or not len(points):
        return np.zeros(len(points), np.bool_)
    some = ClosestPoints(Mesh(mesh.vertices, mesh.faces[faces], name="overlap"))
    return np.asarray(np.abs(some.query(points)[0]) <= reach)


class _LeastDistance:
    """The least distance of moving points from a body; points that cannot attain it are culled.

    A point at distance d that moved by s is now at least d - s away. The space behind an open body is not its inside: a
    point counts as inside only after it crossed the faces, not after it passed around the boundary (it moved too little
    to cross, or its nearest point is on the boundary).
    """

    def __init__(self, mesh: Mesh) -> None:
        exact = ClosestPoints(mesh)
        self.mesh = mesh.welded
        self.closed = mesh.issues.encloses
        self.query = exact.query if self.closed else exact.query_by_nearest_face
        top = self.mesh.topology
        self.rim = (top.n_faces_at_edge != 2) | (top.orientation_sum != 0)  # edges beyond which the side is not defined
        self.rim_vertex = np.zeros(self.mesh.n_vertices, np.bool_)
        self.rim_vertex[top.edges[self.rim]] = True
        self.seen = np.zeros((0, 3))  # positions at the last measurement of each point
        self.distance = np.zeros(0)
        self.face = np.zeros(0, np.int64)
        self.passed_around_boundary = np.zeros(0, np.bool_)  # behind the open body, without having crossed it

    def box_gap(self, p: Floats) -> float:
        """Lower bound of the distance between the bounding boxes of the points and the body, metres."""
        low, high = self.mesh.bounds
        return float(np.maximum(np.maximum(low - p.max(0), p.min(0) - high), 0.0).max())

    def least(self, p: Floats) -> float:
        if len(self.seen) != len(p):
            self.seen = p.copy()
            self.distance, nearest, self.face, _ = self.query(p)
            self.passed_around_boundary = (self.distance < 0.0) & self._at_rim(nearest, self.face)
            self.passed_around_boundary |= self._clearly_outside(p)
            return float(self.distance[~self.passed_around_boundary].min(initial=np.inf))
        away = np.where(self.passed_around_boundary, -self.distance, self.distance)
        bound = away - np.linalg.norm(p - self.seen, axis=1)
        first = np.argsort(bound, kind="stable")[:64]
        least = self._measure(p, first)
        rest = bound < least
        rest[first] = False
        return min(least, self._measure(p, np.flatnonzero(rest)))

    def _clearly_outside(self, p: Floats) -> NDArray[np.bool_]:
        """(n,) mask of the points that the open body hardly surrounds, although their nearest feature faces away from
        them: a fin or fold of a damaged mesh. After the start, only crossing it counts."""
        out = self.distance < 0.0
        if not self.closed and out.any():
            out[out] = Winding(self.mesh.topology).numbers(self.mesh.vertices, p[out]) < SURROUNDED
            return out
        return np.zeros(len(p), np.bool_)

    def _measure(self, p: Floats, rows: NDArray[np.intp]) -> float:
        if not len(rows):
            return np.inf
        moved, before = np.linalg.norm(p[rows] - self.seen[rows], axis=1), self.distance[rows]
        d, nearest, face, _ = self.query(p[rows], self.face[rows])
        if not self.closed:
            crossed = (np.abs(d) + np.abs(before) <= moved) & ~self._at_rim(nearest, face)
            went = (before >= 0.0) & ~crossed
            self.passed_around_boundary[rows] = (d < 0.0) & (self.passed_around_boundary[rows] | went)
        self.seen[rows], self.distance[rows], self.face[rows] = p[rows], d, face
        return float(d[~self.passed_around_boundary[rows]].min(initial=np.inf))

    def _at_rim(self, q: Floats, face: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n,) mask of surface points `q` on `face` that lie on the boundary or on an edge without a defined side."""
        on = np.zeros(len(q), np.bool_)
        if self.closed:
            return on
        x, top, near = self.mesh.vertices, self.mesh.topology, 1e-9 * self.mesh.size
        for k in range(3):
            e, v = top.face_edges[face, k], self.mesh.faces[face, k]
            a, b = x[top.edges[e, 0]], x[top.edges[e, 1]]
            u = b - a
            t = np.clip(((q - a) * u).sum(1) / np.maximum((u * u).sum(1), 1e-300), 0.0, 1.0)
            on |= self.rim[e] & (np.linalg.norm(a + t[:, None] * u - q, axis=1) <= near)
            on |= self.rim_vertex[v] & (np.linalg.norm(x[v] - q, axis=1) <= near)
        return on

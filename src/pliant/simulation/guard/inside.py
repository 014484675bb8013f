"""Vertices inside of bodies, and whether the bodies leave them room.

The surface of a body must not keep a vertex inside. A vertex has room if the outside is above the surface point nearest
to it; otherwise two parts of the body overlap there, or are nearer to each other than the cloth needs.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.penetration import DeformingClosestPoints
from ...kernels.simulation import kinematics as _kernels
from ...mesh import Mesh
from ...mesh.topology import Topology
from ...scene import Scene

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]
HEIGHTS = (0.5, 1.0, 2.0)  # of eps: points at these heights above a surface are outside where it leaves room


class Solids:
    """The closed shells of an obstacle, at the positions of the scene."""

    def __init__(self, body: int, first: int, mesh: Mesh, closed: Flags) -> None:
        self.body = body
        used, corners = np.unique(mesh.faces[closed], return_inverse=True)
        self.faces, self.rows = corners.reshape(-1, 3), (used + first).astype(np.int32)
        self._rest = mesh.vertices[used]
        self._set(self._rest)

    @functools.cached_property
    def _surface(self) -> DeformingClosestPoints:
        return DeformingClosestPoints(Mesh(self._rest, self.faces.astype(np.int32)))

    def move(self, x: Floats) -> None:
        """Set the positions x (n,3) of the scene."""
        self._set(x[self.rows])

    def _set(self, x: Floats) -> None:
        self._x, (self._low, self._high) = x, _kernels.bounds(x)  # solids are made only of faces: x is not empty

    def inside(self, points: Floats) -> Flags:
        """Return which points (k,3) are inside."""
        out = np.zeros(len(points), np.bool_)
        near = np.flatnonzero(((points > self._low) & (points < self._high)).all(1))
        if len(near):
            out[near] = self._surface.update(self._x).signs(points[near]) < 0
        return out

    def nearest(self, points: Floats) -> tuple[Rows, Floats]:
        """Return the corners (k,3) of the face nearest to each point, as rows of the scene, and weights (k,3)."""
        face, weights = self._surface.update(self._x).nearest_faces(points)
        return self.rows[self.faces[face]], weights


def unit_normals(x: Floats, corners: Rows) -> Floats:
    """Return the unit normals (k,3) of triangles with `corners` (k,3) at x (n,3); zero for those without area."""
    a, b, c = (x[corners[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None])


def leave_room(solids: list[Solids], x: Floats, corners: Rows, weights: Floats, eps: float) -> Flags:
    """Return above which points of a surface, given as by `Solids.nearest`, the outside of all solids reaches up to
    twice `eps`."""
    normal = unit_normals(x, corners)
    points = (weights[:, :, None] * x[corners]).sum(1)
    above = np.concatenate([points + height * eps * normal for height in HEIGHTS])
    blocked = np.zeros(len(above), np.bool_)
    for solid in solids:
        blocked |= solid.inside(above)
    return np.asarray(~blocked.reshape(len(HEIGHTS), -1).any(0))


def solids_of(scene: Scene) -> list[Solids]:
    """Return the closed shells of all obstacles that have any."""
    found = []
    for b in scene.obstacles:
        mesh, closed = scene.bodies[b].mesh.welded, closed_faces(scene, b)
        if closed.any():
            found.append(Solids(b, int(scene.first[b]), mesh, closed))
    return found


def closed_faces(scene: Scene, b: int) -> Flags:
    """Return which faces (k,) of body b belong to closed shells."""
    mesh = scene.bodies[b].mesh.welded
    return _closed_shells(mesh.topology) if mesh.n_faces else np.zeros(0, np.bool_)


def _closed_shells(top: Topology) -> Flags:
    """Return which faces (k,) belong to a connected component without a boundary."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = top.n_vertices
    links = coo_array((np.ones(len(top.edges), np.int8), top.edges.T), shape=(n, n))
    shell = connected_components(links, directed=False)[1]
    is_open = np.zeros(n, np.bool_)
    is_open[shell[top.edges[top.loose, 0]]] = True
    return ~is_open[shell[top.faces[:, 0]]]


def vertices_inside(solids: list[Solids], rows: Rows, x: Floats) -> list[tuple[int, Rows]]:
    """Return, for each obstacle with any, its index and those of `rows` that are inside of it at x (n,3)."""
    found = []
    for solid in solids:
        solid.move(x)
        inside = rows[solid.inside(x[rows])]
        if len(inside):
            found.append((solid.body, inside))
    return found

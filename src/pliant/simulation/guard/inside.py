"""Vertices that start inside of a body: its surface must not keep them there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.closest_point import ClosestPoints
from ...mesh import Mesh
from ...scene import Scene

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]


class SolidObstacle(NamedTuple):
    """An obstacle that encloses a volume."""

    body: int
    rows: slice
    mesh: Mesh


def solid_obstacles(scene: Scene) -> list[SolidObstacle]:
    """Return the obstacles that are closed and oriented outward."""
    found = []
    for b in scene.obstacles:
        mesh = scene.bodies[b].mesh.welded
        if mesh.n_faces and mesh.issues.encloses and not mesh.issues.inward:
            found.append(SolidObstacle(b, scene.rows(b), mesh))
    return found


def vertices_inside(obstacles: list[SolidObstacle], rows: Rows, x: Floats) -> list[tuple[int, Rows]]:
    """Return, for each obstacle with any, its index and those of `rows` that are inside of it at x (n,3)."""
    found = []
    for obstacle in obstacles:
        surface = x[obstacle.rows]
        near = rows[((x[rows] > surface.min(0)) & (x[rows] < surface.max(0))).all(1)]
        if len(near):
            inside = near[ClosestPoints(obstacle.mesh.moved(surface)).query(x[near])[0] < 0.0]
            if len(inside):
                found.append((obstacle.body, inside))
    return found

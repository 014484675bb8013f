"""Cloth attached to the skin of a body that deforms."""

import numpy as np

from pliant.mesh import Mesh
from pliant.motion.deforming import Attached, Recorded
from pliant.scene import Body, Grip, Scene
from pliant.shapes import box, cloth


def torn(apart: float) -> tuple[Scene, np.ndarray, np.ndarray]:
    """A sheet attached along its upper boundary to two boxes of one body, which move `apart` metres; the attached rows,
    and their ends."""
    one, two = box((0.1, 0.02, 0.1), 1, centre=(-0.06, 0.15, 0.0)), box((0.1, 0.02, 0.1), 1, centre=(0.06, 0.15, 0.0))
    body = Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + one.n_vertices]))
    last = body.vertices.copy()
    last[one.n_vertices :, 0] += apart
    motion = Recorded(np.array([0.0, 0.1]), np.stack([body.vertices, last]))
    sheet = cloth(0.2, 0.2, 9, plane="xy")
    rows = np.flatnonzero(sheet.vertices[:, 1] > 0.099)
    right = sheet.vertices[rows, 0] > 0.0
    corners = np.where(right[:, None], two.faces[0] + one.n_vertices, one.faces[0])
    grip = Grip(rows, Attached.at(motion, body.vertices, corners, sheet.vertices[rows]))
    scene = Scene([Body(sheet, grips=[grip]), Body(body, obstacle=True, motion=motion)], eps=0.003)
    goal = sheet.vertices[rows] + np.where(right, apart, 0.0)[:, None] * [1.0, 0.0, 0.0]
    return scene, rows, goal


def strain(scene: Scene, x: np.ndarray) -> float:
    mesh = scene.bodies[0].mesh.welded
    ends = mesh.topology.edges
    rest, now = (np.linalg.norm(v[ends[:, 0]] - v[ends[:, 1]], axis=1) for v in (mesh.vertices, x[scene.rows(0)]))
    return float((now / rest).max() - 1.0)

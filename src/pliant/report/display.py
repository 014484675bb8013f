"""Cloth as pages and pictures show it: subdivided, and never so far from the simulated cloth that it enters a body."""

import numpy as np

from ..materials import Strands
from ..mesh import Mesh
from ..mesh.subdivision import Subdivision, default_steps
from ..mesh.tubes import Tubes
from ..motion.clip import Clip
from ..scene import Scene


def max_deviation(scene: Scene) -> float:
    """Largest distance between displayed and simulated cloth, metres: half of the contact offset; with self-contact
    less than half of the distance between layers, since two of them may approach each other, but at least a quarter of
    the contact offset."""
    if scene.self_contact == "off" or scene.thickness is None:
        return 0.5 * scene.eps
    return min(0.5 * scene.eps, max(0.45 * scene.thickness, 0.25 * scene.eps))


def cloth_subdivision(scene: Scene, b: int, mesh: Mesh, count: int | None = None) -> Subdivision | Tubes | None:
    """The subdivision by which cloth b of a scene is displayed, of `count` steps (default: two, fewer for fine cloth);
    tubes for strands; None for obstacles, soft bodies and 0 steps, which are displayed as they are."""
    material = scene.bodies[b].material
    if len(mesh.lines) and isinstance(material, Strands):
        return Tubes(mesh, material.radius)
    if b not in scene.deformable or len(mesh.tets):
        return None
    count = default_steps(mesh) if count is None else count
    return Subdivision(mesh, count, max_deviation(scene)) if count else None


def with_displayed_frames(clip: Clip) -> Clip:
    """The clip with the mesh and the frames that are displayed, for files."""
    shape = clip.subdivision
    if shape is None:
        return clip
    frames = np.stack([shape.place(x).astype(clip.frames.dtype) for x in clip.frames])
    return Clip(shape.mesh.moved(shape.place(shape.base.vertices)), frames, clip.color)

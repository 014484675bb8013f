"""Colliding soft bodies: two cylinders collide in the air, separate and come to rest (Jung et al. 2005, figure 4)."""

from typing import Any

import numpy as np

from .. import shapes
from ..mesh import Mesh
from ..scene import Body, Scene, Solid
from ..shapes.revolve import resampled, revolved
from .material_options import take_solid

THIN = 0.003  # default contact offset and thickness, metres
FOAM = Solid(young=1e4, poisson=0.4, density=300.0, damping=0.03)


def cylinders(*, resolution: int = 3, **options: Any) -> Scene:
    """Two foam cylinders, 10 cm x 30 cm, thrown at each other crosswise over a tray: they wrap around each other,
    separate and fall. `resolution` is the number of edges along a radius."""
    stuff = take_solid(options, FOAM, "cylinders")
    one, bodies = shapes.cylinder(0.05, 0.3, resolution), []
    for name, axis, side in (("upright", (0.2, 1.0, 0.1), -1.0), ("lying", (0.1, 0.15, 1.0), 1.0)):
        mesh = one.moved(_along(one, axis) + np.array([0.11 * side, 0.24, 0.0]))
        bodies.append(Body(mesh, material=stuff, velocity=(-1.2 * side, 0.6, 0.0), name=name))
    eps, thickness = options.pop("eps", None), options.pop("thickness", None)
    options.pop("irregular", None)
    options.setdefault("friction", 0.5)
    thick = THIN if thickness is None else thickness
    tray = Body(_tray(0.34, 0.05, 0.025), obstacle=True, name="tray")
    return Scene([*bodies, tray], eps=THIN if eps is None else eps, thickness=thick, name="cylinders", **options)


def _along(mesh: Mesh, axis: tuple[float, float, float]) -> Any:
    """The vertices of the mesh, rotated so that its y axis points along `axis`."""
    up = np.asarray(axis) / np.linalg.norm(axis)
    side = np.cross(up, (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    return mesh.vertices @ np.stack([np.cross(up, side), up, side])


def _tray(radius: float, rim: float, thick: float, h: float = 0.04) -> Mesh:
    """A round tray with its floor at y = 0 and a rim that keeps rolling bodies on it."""
    outer = radius + thick
    line = [(0.0, -thick), (outer, -thick), (outer, rim), (radius, rim), (radius, 0.0), (0.0, 0.0)]
    parts = [resampled(line[k : k + 2], h)[:-1] for k in range(len(line) - 1)]
    x, faces = revolved(np.concatenate([*parts, np.zeros((1, 2))]), h)
    return Mesh(x, faces, name="tray")

"""Soft organs: an intestine dragged over itself, a liver pressed by a tool (Teschner et al. 2005, section 7)."""

from typing import Any

import numpy as np

from .. import shapes, validate
from ..mesh import Mesh
from ..scene import Body, Grip, Scene, Solid
from ..shapes.revolve import arc, revolved
from .material_options import take_solid
from .self_contact import _slide

GUT = Solid(young=2e4, poisson=0.4, density=1000.0, damping=0.02)
LIVER = Solid(young=3e4, poisson=0.45, density=1000.0, damping=0.05)
PINK, BROWN, STEEL = (0.80, 0.45, 0.42), (0.55, 0.20, 0.16), (0.62, 0.66, 0.72)
THIN = 0.002  # default contact offset and thickness, metres


def intestine(*, resolution: int = 3, **options: Any) -> Scene:
    """An intestine 24 mm thick lies in five runs on a table; one end is lifted, dragged over the others and put down.

    `resolution` is the number of edges across the tube.
    """
    count = validate.whole("resolution", resolution, low=2, high=40)
    radius = 0.012
    tube = shapes.intestine(radius, 4, 0.14, 2.0 * radius / count)
    tube = tube.moved(tube.vertices - np.array([0.0, tube.bounds[0, 1] - THIN, 0.0]))
    x, high = tube.vertices, tube.bounds[1]
    end = np.flatnonzero((x[:, 2] > high[2] - 2.2 * radius) & (x[:, 0] > high[0] - 1.6 * radius - 1.2 * radius))
    times = np.array([0.0, 0.1, 0.5, 1.5, 1.9, 2.4])
    path = [(0, 0, 0), (0, 0, 0), (0, 0.045, -0.01), (-0.03, 0.055, -0.16), (-0.05, 0.04, -0.16), (-0.05, 0.04, -0.16)]
    drag = Grip(end, _slide(times, np.array(path, float)))
    gut = Body(tube, material=take_solid(options, GUT, "intestine"), grips=[drag], color=PINK, name="gut")
    return organ_scene("intestine", [gut, table(0.32, 0.32)], options)


def liver(*, resolution: int = 14, organ: Mesh | None = None, **options: Any) -> Scene:
    """A rod with a round tip presses on a liver that is attached to a table, slides along it and withdraws.

    `resolution` is the number of edges from side to side. `organ` is a mesh of tets that replaces the liver; it keeps
    its orientation and is scaled to the same length.
    """
    count = validate.whole("resolution", resolution, low=5, high=100)
    mesh = shapes.liver(0.22, 0.22 / count) if organ is None else _sized(organ, 0.22)
    mesh = mesh.moved(mesh.vertices - np.array([0.0, mesh.bounds[0, 1] - THIN, 0.0]))
    x, high = mesh.vertices, mesh.bounds[1]
    held = np.flatnonzero(x[:, 1] < 0.2 * high[1])
    at = top(mesh, -0.05, 0.0)
    shaft = rod(0.014, 0.16, 0.007)
    times = np.array([0.0, 0.6, 1.2, 1.9, 2.4])
    way = [(0, 0.03, 0), (0, -0.035, 0), (0, -0.035, 0), (0.07, -0.05, 0.01), (0.07, 0.04, 0.01)]
    path = at + np.array(way, float)
    tool = Body(shaft, obstacle=True, motion=_slide(times, path), color=STEEL, name="tool")
    soft = Body(mesh, material=take_solid(options, LIVER, "liver"), pins=held, color=BROWN, name="liver")
    options.setdefault("friction", 0.1)
    return organ_scene("liver", [soft, tool, table(0.32, 0.22)], options)


def organ_scene(name: str, bodies: list[Body], options: dict[str, Any]) -> Scene:
    eps, thickness = options.pop("eps", None), options.pop("thickness", None)
    options.pop("irregular", None)
    thick = THIN if thickness is None else thickness
    return Scene(bodies, eps=THIN if eps is None else eps, thickness=thick, name=name, **options)


def table(width: float, depth: float) -> Body:
    """A table whose top is at y = 0."""
    return Body(shapes.box((width, 0.02, depth), (8, 1, 8), centre=(0.0, -0.01, 0.0)), obstacle=True, name="table")


def _sized(mesh: Mesh, length: float) -> Mesh:
    """The mesh centred, and scaled to `length` from side to side."""
    if not len(mesh.tets):
        raise ValueError(f"organ {mesh.name!r} has no tets; fill it with pliant.fill_with_tets first")
    low, high = mesh.bounds
    return mesh.moved((mesh.vertices - 0.5 * (low + high)) * (length / float((high - low).max())))


def top(mesh: Mesh, x: float, z: float) -> Any:
    """The highest vertex within 2 cm of the vertical line at x, z."""
    y = mesh.vertices[np.unique(mesh.faces)]
    near = y[(np.hypot(y[:, 0] - x, y[:, 2] - z) < 0.02)]
    return (near if len(near) else y)[np.argmax((near if len(near) else y)[:, 1])]


def rod(radius: float, length: float, h: float) -> Mesh:
    """A cylindrical rod with a hemispherical tip at the origin."""
    line = np.array([(radius, radius), (radius, length - radius)])
    steps = max(2, round((length - 2.0 * radius) / h))
    side = line[0] + np.arange(steps)[:, None] / steps * (line[1] - line[0])
    profile = np.concatenate(
        [
            arc((0.0, radius), radius, -0.5 * np.pi, 0.0, h)[:-1],
            side,
            arc((0.0, length - radius), radius, 0.0, 0.5 * np.pi, h),
        ]
    )
    profile[0, 0] = profile[-1, 0] = 0.0
    x, faces = revolved(profile, h)
    return Mesh(x, faces, name="rod")

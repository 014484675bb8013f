"""Kinematic bodies under a cloth: a rod that bends at its middle (Fuhrmann et al. 2003, figure 7), a spinning ball."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import shapes, validate
from ..mesh import Mesh
from ..motion.rigid import Motion
from ..scene import Body, Scene
from ..shapes.revolve import arc, revolved
from .drape import above, default_eps
from .material_options import take_cloth

_LENGTH, _RADIUS = 0.44, 0.035  # of one half of the rod, metres


def bending_rod(*, resolution: int = 36, **options: Any) -> Scene:
    """80 cm of cloth over a rod of two halves whose ends move down, then up. Each half has its own distance field."""
    half = _capsule(_LENGTH, _RADIUS, 0.012)
    times, degrees = (0.0, 0.8, 1.4, 1.7, 2.5), np.array([0.0, 0.0, 42.0, 42.0, -22.0])
    halves = []
    for side, sign in (("right", 1.0), ("left", -1.0)):
        mesh = dataclasses.replace(half, vertices=half.vertices * (sign, 1.0, sign), name=f"{side} half")
        bend = Motion.hinge((0.0, 0.0, -sign), (0.0, 0.0, 0.0), times, np.radians(degrees), smooth=True)
        halves.append(Body(mesh, obstacle=True, motion=bend, group="rod"))
    cloth = shapes.cloth(0.8, 0.8, resolution, irregular=options.pop("irregular", False))
    return cloth_on_bodies("rod", above(cloth, halves[0].mesh, 0.03), halves, options, centred=(0.0, 0.0))


def spinning_ball(*, resolution: int = 36, **options: Any) -> Scene:
    """1 m of cloth over a ball of 50 cm that starts to spin after 0.8 s and drags the cloth along by friction."""
    ball = shapes.ball(0.25, 4)
    spin = Motion.spin((0.0, 1.0, 0.0), (0.0, 0.0, 0.0), 2.0 * np.pi, 0.8, ramp=0.8)
    cloth = shapes.cloth(1.0, 1.0, resolution, irregular=options.pop("irregular", False))
    return cloth_on_bodies("spinning-ball", above(cloth, ball), [Body(ball, obstacle=True, motion=spin)], options)


def cloth_on_bodies(
    name: str, cloth: Mesh, bodies: Sequence[Body], options: dict[str, Any], centred: tuple[float, float] | None = None
) -> Scene:
    """A scene of one cloth and several bodies with the options of the built-in scenes; `centred`: the cloth's x, z."""
    if centred is not None:
        middle = cloth.bounds.mean(0)
        cloth = cloth.moved(cloth.vertices + np.array([centred[0] - middle[0], 0.0, centred[1] - middle[2]]))
    eps, material, pins = options.pop("eps", None), take_cloth(options), options.pop("pins", ())
    if eps is None:
        eps = max(default_eps(body.mesh, cloth) for body in bodies)
    eps, size = validate.number("eps", eps, above=0.0), min(body.mesh.size for body in bodies)
    if eps > size:
        raise ValueError(f"eps = {eps:g} m is more than the size of the smallest body, {size:.3g} m")
    return Scene([Body(cloth, material=material, pins=pins), *bodies], eps=eps, name=name, **options)


def _capsule(length: float, radius: float, h: float) -> Mesh:
    """A capsule from the origin along +x with edges of about `h`; two that share the origin form a hinge without a
    gap."""
    profile = np.concatenate(
        [
            arc((0.0, 0.0), radius, -0.5 * np.pi, 0.0, h)[:-1],
            np.stack([np.full(round(length / h), radius), np.arange(round(length / h)) * h], 1),
            arc((0.0, length), radius, 0.0, 0.5 * np.pi, h),
        ]
    )
    profile[0, 0] = profile[-1, 0] = 0.0
    x, faces = revolved(profile, h)
    return Mesh(np.stack([x[:, 1], x[:, 2], x[:, 0]], 1), faces, name="capsule")

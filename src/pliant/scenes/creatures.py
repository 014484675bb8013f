"""Many soft bodies at once: jelly creatures fall into a bowl (after Teschner et al. 2005, sections 5 and 7)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import shapes, validate
from ..mesh import Mesh
from ..scene import Body, Scene, Solid
from .material_options import take_solid

THIN = 0.002  # default contact offset and thickness, metres
JELLY = Solid(young=8e3, poisson=0.4, density=400.0, damping=0.03)
LENGTH = 0.15  # metres from nose to tail
RING = 4  # creatures per layer, side by side
COLOURS = ((0.62, 0.16, 0.13), (0.80, 0.52, 0.16), (0.30, 0.46, 0.24), (0.18, 0.36, 0.52), (0.45, 0.25, 0.45))


def creatures(*, resolution: int = 12, count: int = 12, **options: Any) -> Scene:
    """`count` creatures, 15 cm long, fall into a bowl in layers of four, each with a different rotation.

    `resolution` is the number of edges from nose to tail.
    """
    resolution = validate.whole("resolution", resolution, low=5, high=1000)
    count = validate.whole("count", count, low=1, high=10_000)
    stuff = take_solid(options, JELLY, "creatures")
    one, bodies = shapes.creature(LENGTH, LENGTH / resolution), []
    for k in range(count):
        layer, place = divmod(k, RING)
        angle = 2.0 * np.pi * (place + 0.5 * layer) / RING + 0.3
        where = np.array([0.125 * np.cos(angle), 0.30 + 0.21 * layer, 0.125 * np.sin(angle)])
        mesh = _turned(one, k).moved(_turned(one, k).vertices + where)
        bodies.append(Body(mesh, material=stuff, color=COLOURS[k % len(COLOURS)], name=f"creature {k + 1}"))
    eps, thickness = options.pop("eps", None), options.pop("thickness", None)
    options.pop("irregular", None)
    thick = THIN if thickness is None else thickness
    bowl = Body(shapes.bowl(0.26, 0.03, 20), obstacle=True, name="bowl")
    return Scene([*bodies, bowl], eps=THIN if eps is None else eps, thickness=thick, name="creatures", **options)


def _turned(mesh: Mesh, k: int) -> Mesh:
    """The mesh rotated about the centre of its bounding box: about y by k times the golden angle, and tilted."""
    centre = mesh.bounds.mean(0)
    turn = _about(1, 2.4 * k) @ _about(0, 0.5 * np.sin(1.7 * k)) @ _about(2, 0.6 * np.cos(2.3 * k))
    return mesh.moved((mesh.vertices - centre) @ turn.T)


def _about(axis: int, angle: float) -> NDArray[np.float64]:
    c, s, turn = np.cos(angle), np.sin(angle), np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn[i, i] = turn[j, j] = c
    turn[i, j], turn[j, i] = -s, s
    return turn

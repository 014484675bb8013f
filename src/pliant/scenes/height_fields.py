"""Cloth over a height field of a face (Neal 2003, figure 1)."""

from typing import Any

from .. import shapes
from ..scene import Cloth, Scene
from .drape import above, drape_scene

SILK = Cloth(density=0.1, stretch=40.0, shear=4.0, bend=2e-6)


def cloth_on_face(*, resolution: int = 36, **options: Any) -> Scene:
    """32 cm of cloth, thin silk by default, over a height field of a face that points up."""
    body = shapes.face()
    if options.get("material") is None:
        options["material"] = SILK
    cloth = shapes.cloth(0.32, 0.32, resolution, irregular=options.pop("irregular", False))
    return drape_scene(above(cloth, body, 0.02), body, name="cloth-on-face", **options)

"""Cloth over a height map of a face (Neal 2003, figure 1)."""

from typing import Any

from .. import shapes
from ..scene import Scene
from .drape import above, drape_scene


def cloth_on_face(*, resolution: int = 36, **options: Any) -> Scene:
    """32 cm of cloth over a face in relief that looks up: seen from above, nothing of it is hidden."""
    body = shapes.face()
    cloth = shapes.cloth(0.32, 0.32, resolution, irregular=options.pop("irregular", False))
    return drape_scene(above(cloth, body, 0.02), body, name="cloth-on-face", **options)

"""A square cloth falls on a ball, a bust or the corner of a box, or into a bowl (Fuhrmann et al. 2003, section 5)."""

from typing import Any

import numpy as np

from .. import shapes
from ..mesh import Mesh
from ..scene import Scene
from .drape import above, drape_scene


def tablecloth_on_ball(*, resolution: int = 36, **options: Any) -> Scene:
    """1 m of cloth over a ball of 50 cm, on which it cannot lie without folds."""
    return _fall("tablecloth-on-ball", shapes.ball(0.25, 4), 1.0, resolution, options)


def tablecloth_on_bust(*, resolution: int = 36, **options: Any) -> Scene:
    """75 cm of cloth over a head and shoulders: the paper's figure 9 (a), with a different bust."""
    return _fall("tablecloth-on-bust", shapes.bust(), 0.75, resolution, options)


def cloth_on_box_corner(*, resolution: int = 36, **options: Any) -> Scene:
    """80 cm of cloth over a box that stands on its corner, whose sharp edges vertex tests alone would miss."""
    box = shapes.box(0.35, 6)
    return _fall("cloth-on-box-corner", box.moved(box.vertices @ _corner_up().T), 0.8, resolution, options)


def cloth_in_a_bowl(*, resolution: int = 36, **options: Any) -> Scene:
    """60 cm of cloth into a bowl of 60 cm, a concave body in which particles can get trapped (section 4.3)."""
    bowl = shapes.bowl(0.3, 0.03)
    return _fall("cloth-in-a-bowl", bowl, 0.6, resolution, options)


def _fall(name: str, body: Mesh, side: float, resolution: int, options: dict[str, Any]) -> Scene:
    cloth = shapes.cloth(side, side, resolution, irregular=options.pop("irregular", False))
    return drape_scene(above(cloth, body), body, name=name, **options)


def _corner_up() -> Any:
    """(3,3) rotation that turns the diagonal of a cube upright."""
    diagonal, up = np.ones(3) / np.sqrt(3.0), np.array([0.0, 1.0, 0.0])
    axis = np.cross(diagonal, up)
    k = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + k + k @ k / (1.0 + diagonal @ up)

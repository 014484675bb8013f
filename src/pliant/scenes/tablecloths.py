"""A square cloth falls over any body; over a ball, a bust or the corner of a box, or into a bowl, as in section 5 of
Fuhrmann et al. 2003."""

import dataclasses
from typing import Any

import numpy as np

from .. import shapes
from ..mesh import Mesh
from ..scene import Body, Cloth, Scene
from .drape import above, drape_scene

COTTON = 0.75  # metres: the side of a tablecloth that has the default material
FOLD = 1 / 16  # bending length under its own weight as a share of the side; 75 cm of cotton has this value


def tablecloth_side(body: Mesh) -> float:
    """The side of the tablecloth in metres: 1.6 times the longest side of the body's bounding box."""
    return 1.6 * float((body.bounds[1] - body.bounds[0]).max())


def tablecloth_material(body: Mesh, **given: float) -> Cloth:
    """Cotton with bending and damping scaled so that a tablecloth of any size has folds of the same shape.

    The bending length under its own weight is the same share of the side at every size, and waves decay in the time
    that the cloth takes to fall that far. given: parameters of Cloth that are used as they are.
    """
    plain, side = Cloth(**given), tablecloth_side(body)
    chosen = {"bend": plain.density * 9.81 * (FOLD * side) ** 3, "damping": plain.damping * (side / COTTON) ** 1.5}
    return dataclasses.replace(plain, **(chosen | given))


def tablecloth_for(body: Mesh, resolution: int = 36) -> Mesh:
    """Return a square cloth that covers a body.

    It is centred over the highest tenth of the body, because cloth that touches away from its centre slides off.
    """
    side = tablecloth_side(body)
    cloth = above(shapes.cloth(side, side, resolution), body)
    x = body.vertices[np.unique(body.faces)]
    top = x[x[:, 1] >= x[:, 1].max() - 0.1 * np.ptp(x[:, 1])]
    middle = 0.5 * (top.min(0) + top.max(0)) - 0.5 * (cloth.bounds[0] + cloth.bounds[1])
    return cloth.moved(cloth.vertices + np.array([middle[0], 0.0, middle[2]]))


def tablecloth_scene(
    body: Mesh, *, resolution: int = 36, place: str = "as-is", material: Cloth | str | None = None, **options: Any
) -> Scene:
    """Return a scene with a tablecloth over any body, and a floor under both. Options are those of `drape_scene`.

    The default material is `tablecloth_material`: over a large body its folds are wide enough for its triangles to
    resolve, and over a small one it is flexible enough to hang down.
    """
    cloth = tablecloth_for(body, resolution)
    scene = drape_scene(cloth, body, place=place, material=material or tablecloth_material(body), **options)
    width = 1.6 * tablecloth_side(body)
    thick = 8.0 * scene.eps  # the size of its distance field grows with its thickness
    x, _, z = 0.5 * (body.bounds[0] + body.bounds[1])
    slab = shapes.box((width, thick, width), (8, 1, 8), centre=(x, body.bounds[0, 1] - 0.5 * thick, z))
    return dataclasses.replace(scene, bodies=[*scene.bodies, Body(slab, obstacle=True, name="floor")])


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

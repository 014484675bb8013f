"""Which method, where nobody names one: the one place that decides, and says why."""

from typing import NamedTuple

from .. import validate
from ..deforming import Skinned
from ..mesh import Mesh
from ..scene import Scene

AUTO = "auto"


class Chosen(NamedTuple):
    """The name of a method, and the reason in words."""

    name: str
    why: str


def choose_method(a: Mesh, b: Mesh | None = None, within: float = 0.002, *, often: bool = False) -> Chosen:
    """The method for all contacts of mesh `a` with mesh `b` (None: with itself) closer than `within` metres.

    Both that come into question are exact and give the same records; they differ in what they cost. `often`: asked
    again and again, as vertices move.
    """
    validate.number("within", within, low=0.0, high=validate.LARGEST)
    return Chosen("tree", "")


def method_for(scene: Scene) -> Chosen:
    """The method that keeps what is soft from the fixed bodies of a scene."""
    shapes = [scene.shapes[b] for b in scene.fixed if b in scene.shapes]
    if any(isinstance(shape, Skinned) for shape in shapes):
        return Chosen("bone-boxes", "a body is held by bones")
    if shapes:
        return Chosen("tree", "a body bends, and no bones say how")
    return Chosen("distance-field", "all bodies keep their shape")

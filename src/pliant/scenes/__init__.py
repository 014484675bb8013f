"""The built-in scenes as functions, shared by the command line, the tests and the benchmarks."""

from collections.abc import Callable

from ..scene import Scene
from .creatures import creatures
from .drape import drape_scene
from .figures import two_figures
from .hair import hair_on_bust
from .height_fields import cloth_on_face
from .moving import bending_rod, spinning_ball
from .organs import intestine, liver
from .self_contact import curtain, pinch, ribbon, stack, twist
from .soft import cylinders
from .surgery import gut_with_mesentery, surgical_tool, two_organs
from .tablecloths import (
    cloth_in_a_bowl,
    cloth_on_box_corner,
    tablecloth_for,
    tablecloth_material,
    tablecloth_on_ball,
    tablecloth_on_bust,
    tablecloth_scene,
)
from .walking import cloth_on_shoulder, walking_skirt, walking_trousers
from .waving import waving_mannequin

SCENES: dict[str, Callable[..., Scene]] = {
    "tablecloth-on-bust": tablecloth_on_bust,
    "tablecloth-on-ball": tablecloth_on_ball,
    "cloth-on-box-corner": cloth_on_box_corner,
    "cloth-in-a-bowl": cloth_in_a_bowl,
    "cloth-on-face": cloth_on_face,
    "rod": bending_rod,
    "spinning-ball": spinning_ball,
    "waving-mannequin": waving_mannequin,
    "walking-skirt": walking_skirt,
    "cloth-on-shoulder": cloth_on_shoulder,
    "walking-trousers": walking_trousers,
    "ribbon": ribbon,
    "twist": twist,
    "stack": stack,
    "pinch": pinch,
    "curtain": curtain,
    "cylinders": cylinders,
    "intestine": intestine,
    "liver": liver,
    "surgical-tool": surgical_tool,
    "two-organs": two_organs,
    "gut-with-mesentery": gut_with_mesentery,
    "creatures": creatures,
    "hair-on-bust": hair_on_bust,
    "two-figures": two_figures,
}

SCENE_METHODS = {"surgical-tool": "image-space:test=view-volume"}  # default method of a scene, where auto is not
STRAND_SCENES = frozenset({"hair-on-bust"})  # whose material is Strands

__all__ = [
    "SCENES",
    "SCENE_METHODS",
    "STRAND_SCENES",
    "drape_scene",
    "tablecloth_for",
    "tablecloth_material",
    "tablecloth_scene",
]

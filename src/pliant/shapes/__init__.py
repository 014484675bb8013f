"""Shapes made in code, in metres, y up, faces counter-clockwise seen from outside; the same bits on every call."""

from .bust import bust
from .face import face, face_heights
from .garments import skirt, trousers
from .mannequin import mannequin
from .rig import Rig, mannequin_rig
from .sheets import cloth
from .solids import ball, bowl, box, torus
from .tets import bar, cylinder
from .walk import walking_mannequin

__all__ = [
    "Rig",
    "ball",
    "bar",
    "bowl",
    "box",
    "bust",
    "cloth",
    "cylinder",
    "face",
    "face_heights",
    "mannequin",
    "mannequin_rig",
    "skirt",
    "torus",
    "trousers",
    "walking_mannequin",
]

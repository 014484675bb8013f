"""Shapes made in code, in metres, y up, faces counter-clockwise seen from outside; the same bits on every call."""

from .bust import bust
from .garments import skirt, trousers
from .mannequin import mannequin
from .rig import Rig, mannequin_rig
from .sheets import cloth
from .solids import ball, bowl, box, torus

__all__ = [
    "Rig",
    "ball",
    "bowl",
    "box",
    "bust",
    "cloth",
    "mannequin",
    "mannequin_rig",
    "skirt",
    "torus",
    "trousers",
]

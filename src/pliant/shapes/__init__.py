"""Shapes made in code, in metres, y up, faces counter-clockwise seen from outside; the same bits on every call."""

from .bust import bust
from .mannequin import mannequin
from .sheets import cloth
from .solids import ball, bowl, box, torus

__all__ = ["ball", "bowl", "box", "bust", "cloth", "mannequin", "torus"]

"""Procedural shapes: metres, y up, faces counter-clockwise seen from outside; calls are bitwise reproducible."""

from .bust import bust
from .face import face, face_heights
from .garments import skirt, trousers
from .mannequin import mannequin
from .panels import cape, shirt_panels
from .rig import Rig, mannequin_rig
from .sheets import cloth
from .soft import creature, intestine, liver, tet_ball, tet_box
from .solids import ball, bowl, box, torus
from .strands import strands
from .stuffing import stuffed
from .tets import bar, cylinder
from .walk import walking_mannequin

__all__ = [
    "Rig",
    "ball",
    "bar",
    "bowl",
    "box",
    "bust",
    "cape",
    "cloth",
    "creature",
    "cylinder",
    "face",
    "face_heights",
    "intestine",
    "liver",
    "mannequin",
    "mannequin_rig",
    "shirt_panels",
    "skirt",
    "strands",
    "stuffed",
    "tet_ball",
    "tet_box",
    "torus",
    "trousers",
    "walking_mannequin",
]

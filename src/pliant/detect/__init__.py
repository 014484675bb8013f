"""Collision detection: from a state to contacts. Each method is one module or subpackage."""

from .base import BaseDetector, Detector, Finds, Reports, Side
from .find import detector, find_contacts
from .methods import METHODS, register, unregister

__all__ = [
    "METHODS",
    "BaseDetector",
    "Detector",
    "Finds",
    "Reports",
    "Side",
    "detector",
    "find_contacts",
    "register",
    "unregister",
]

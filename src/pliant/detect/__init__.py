"""Collision detection: from a state to contacts. Each method is one module or subpackage."""

from .find import detector, find_contacts
from .methods import METHODS

__all__ = ["METHODS", "detector", "find_contacts"]

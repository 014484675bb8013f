"""State -> contacts; one file (or folder) per method."""

from .find import detector, find_contacts
from .methods import METHODS

__all__ = ["METHODS", "detector", "find_contacts"]

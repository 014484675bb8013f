"""The guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents all intersections."""

from .crossings import CrossingCount
from .guard import Guard
from .pairs import beside, keys

__all__ = ["CrossingCount", "Guard", "beside", "keys"]

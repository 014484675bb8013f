"""The guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents all intersections."""

from .guard import Guard
from .intersections import IntersectionCount
from .pairs import beside, keys

__all__ = ["Guard", "IntersectionCount", "beside", "keys"]

"""The guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents all intersections."""

from .guard import Guard
from .intersections import IntersectionCount
from .pairs import keys, near_at_rest

__all__ = ["Guard", "IntersectionCount", "keys", "near_at_rest"]

"""The guard: triangle-level contact of cloth with cloth and bodies; safe mode prevents intersections
wherever bodies and grips leave the cloth room."""

from ..measure.intersection_count import IntersectionCount
from .guard import Guard
from .pairs import keys, near_at_rest

__all__ = ["Guard", "IntersectionCount", "keys", "near_at_rest"]

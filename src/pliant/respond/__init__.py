"""Contacts -> State, in place."""

from .projection import Projection
from .surface_tag import SurfaceTag

__all__ = ["Projection", "SurfaceTag"]

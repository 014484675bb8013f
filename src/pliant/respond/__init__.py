"""Contacts -> State, in place."""

from .projection import Projection
from .surface_tag import SurfaceTag

RESPONSES = {"projection": Projection, "surface-tag": SurfaceTag}

__all__ = ["RESPONSES", "Projection", "SurfaceTag"]

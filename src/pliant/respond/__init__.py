"""Contacts -> State, in place."""

from .projection import Projection

__all__ = ["Projection"]

"""Moving shapes: rigid keyframes, skinned characters, recorded vertices, and clips of them."""

from .rigid import Motion

__all__ = ["Motion"]

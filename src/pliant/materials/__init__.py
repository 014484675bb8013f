"""Materials of deformable bodies: cloth and solids, and cloth by name."""

from .material import Cloth, Solid

__all__ = ["Cloth", "Solid"]

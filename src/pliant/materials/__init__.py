"""Materials of deformable bodies: cloth, solids and strands, and cloth by name."""

from .material import Cloth, Solid, Strands

__all__ = ["Cloth", "Solid", "Strands"]

"""How many triangles meet that should not, exactly: cloth with cloth, cloth with bodies, frame by frame."""

from ..guard.crossings import CrossingCount

__all__ = ["CrossingCount"]

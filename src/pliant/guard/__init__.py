"""The guard: cloth meets cloth and bodies as triangles, and in safe mode never passes through any."""

from .crossings import CrossingCount
from .guard import Guard
from .pairs import beside, keys

__all__ = ["CrossingCount", "Guard", "beside", "keys"]

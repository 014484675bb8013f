"""Distance fields: bake once around a rigid surface, then ask in constant time (Fuhrmann et al. 2003)."""

from .detector import DistanceFieldDetector
from .field import DistanceField

__all__ = ["DistanceField", "DistanceFieldDetector"]

"""Distance fields: baked once around a rigid surface, queried in constant time (Fuhrmann et al. 2003)."""

from .bsp import PlanarField
from .cache import baked
from .detector import DistanceFieldDetector
from .field import DistanceField
from .fill import FilledField, filled
from .octree import AdaptiveField
from .survey import compare_fields

__all__ = [
    "AdaptiveField",
    "DistanceField",
    "DistanceFieldDetector",
    "FilledField",
    "PlanarField",
    "baked",
    "compare_fields",
    "filled",
]

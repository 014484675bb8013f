"""Height grids: height fields of a surface along the axes, queried in constant time (Neal 2003)."""

from .detector import HeightGridDetector
from .grid import DIRECTIONS, HeightGrid
from .grids import HeightGrids
from .sequence import HeightSequence

__all__ = ["DIRECTIONS", "HeightGrid", "HeightGridDetector", "HeightGrids", "HeightSequence"]

"""Every detector by name: the list that the command line, the tests and the benchmark go through."""

from typing import Any

from ..validate import choice
from .bone_boxes import BoneBoxesDetector
from .brute_force import BruteForceDetector
from .continuous import ContinuousDetector
from .distance_field import DistanceFieldDetector
from .height_grid import HeightGridDetector
from .image_space import ImageSpaceDetector
from .spatial_hash import SpatialHashDetector
from .sphere_surface import SphereSurfaceDetector
from .stochastic import ActivePairsDetector, StochasticTreeDetector
from .tree.detector import TreeDetector

METHODS: dict[str, Any] = {
    detector.name: detector
    for detector in (
        BruteForceDetector,
        DistanceFieldDetector,
        TreeDetector,
        ContinuousDetector,
        HeightGridDetector,
        BoneBoxesDetector,
        SphereSurfaceDetector,
        SpatialHashDetector,
        StochasticTreeDetector,
        ActivePairsDetector,
        ImageSpaceDetector,
    )
}


def method_name(name: str) -> str:
    """The name as METHODS spells it; underscores will do for hyphens."""
    return choice("method", str(name).replace("_", "-"), tuple(METHODS))

"""Every detector by name: the list that the command line, the tests and the benchmark go through."""

import inspect
from collections.abc import Mapping
from typing import Any

from ..door import unknown_option
from ..validate import choice
from .bone_boxes import BoneBoxesDetector
from .brute_force import BruteForceDetector
from .continuous import ContinuousDetector
from .distance_field import DistanceFieldDetector
from .distance_field.bone_fields import BoneFieldsDetector
from .height_grid import HeightGridDetector
from .image_space import ImageSpaceDetector
from .spatial_hash import SpatialHashDetector
from .sphere_surface import SphereSurfaceDetector
from .stochastic import ActivePairsDetector, StochasticTreeDetector
from .tree.build import OPTIONS as TREE_OPTIONS
from .tree.detector import TreeDetector

_OWN = {"within", "more"}  # what a detector is given by those who make it
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


def check_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a method by name; a TypeError for one that it has not, with those that it has."""
    known: set[str] = set()
    makers = [METHODS[method], *([BoneFieldsDetector] if method == BoneFieldsDetector.name else [])]
    for parameter in (p for made in makers for p in inspect.signature(made).parameters.values()):
        if parameter.kind is parameter.VAR_KEYWORD:
            known |= set(TREE_OPTIONS)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            known.add(parameter.name)
    for name in options:
        if name not in known - _OWN:
            raise unknown_option(f"method {method!r}", str(name), known - _OWN)
    return dict(options)


def method_name(name: str) -> str:
    """The name as METHODS spells it; underscores will do for hyphens."""
    return choice("method", str(name).replace("_", "-"), tuple(METHODS))

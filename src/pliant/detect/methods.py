"""The registry of detectors by name, used by the command line, the tests and the benchmarks."""

import inspect
from collections.abc import Mapping
from typing import Any

from ..arguments import unknown_option
from ..validate import choice
from .bvh.build import OPTIONS as TREE_OPTIONS
from .detectors.bone_boxes import BoneBoxesDetector
from .detectors.bone_fields import BoneFieldsDetector
from .detectors.brute_force import BruteForceDetector
from .detectors.bvh import BvhDetector
from .detectors.continuous import ContinuousDetector
from .detectors.distance_field import DistanceFieldDetector
from .detectors.height_grid import HeightGridDetector
from .detectors.image_space import ImageSpaceDetector
from .detectors.spatial_hash import SpatialHashDetector
from .detectors.sphere_surface import SphereSurfaceDetector
from .detectors.stochastic import ActivePairsDetector, StochasticBvhDetector

_OWN = {"within", "more"}  # set by the caller that constructs the detector, not by users
METHODS: dict[str, Any] = {
    detector.name: detector
    for detector in (
        BruteForceDetector,
        DistanceFieldDetector,
        BvhDetector,
        ContinuousDetector,
        HeightGridDetector,
        BoneBoxesDetector,
        SphereSurfaceDetector,
        SpatialHashDetector,
        StochasticBvhDetector,
        ActivePairsDetector,
        ImageSpaceDetector,
    )
}


def check_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method; raise a TypeError that lists the valid ones if one is unknown."""
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
    """Return the name as spelled in METHODS; underscores are accepted for hyphens."""
    return choice("method", str(name).replace("_", "-"), tuple(METHODS))

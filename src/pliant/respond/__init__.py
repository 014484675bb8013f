"""Collision responses: each moves the positions and velocities of a `State` in place, according to contacts."""

from .base import Response
from .geometric import Geometric, PenaltyGeometric
from .penalty import Penalty
from .printed import PrintedProjection
from .projection import Projection
from .separate import Separate
from .surface_tag import SurfaceTag
from .volume import Volume

RESPONSES: dict[
    str, type[Projection] | type[SurfaceTag] | type[Penalty] | type[Geometric] | type[Separate] | type[Volume]
] = {
    "projection": Projection,
    "printed-projection": PrintedProjection,
    "surface-tag": SurfaceTag,
    "penalty": Penalty,
    "geometric": Geometric,
    "penalty+geometric": PenaltyGeometric,
    "separate": Separate,
    "volume": Volume,
}

__all__ = [
    "RESPONSES",
    "Geometric",
    "Penalty",
    "PenaltyGeometric",
    "PrintedProjection",
    "Projection",
    "Response",
    "Separate",
    "SurfaceTag",
    "Volume",
]

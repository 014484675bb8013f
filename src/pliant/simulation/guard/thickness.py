"""The distance that the guard keeps between layers of cloth."""

import logging
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...scene import Scene
from .detection import ROUNDING

log = logging.getLogger("pliant.simulation.guard")
THINNEST = 16.0  # times the rounding error of distances: smallest thickness accepted in safe mode


def thickness_of(scene: Scene, x: NDArray[np.float64]) -> float:
    """Return the thickness of the scene, capped, in metres; raise ValueError if rounding at x (n,3) exceeds it."""
    thickness = _capped(scene, cast(float, scene.thickness))
    lowest = THINNEST * ROUNDING * float(np.abs(x[scene.deformable_rows]).max(initial=0.0))
    if scene.self_contact == "safe" and thickness < lowest:
        raise ValueError(
            f"thickness = {thickness:g} m is within the rounding error of the cloth's coordinates; "
            f"choose at least {lowest:.2g} m, or move the scene nearer to the origin"
        )
    return thickness


def _capped(scene: Scene, thickness: float) -> float:
    """Return the thickness, or half of the median edge if that is less: the features of thicker cloth would all be in
    contact with their neighbours, in hundreds of pairs each."""
    edge = max((scene.bodies[b].mesh.welded.median_edge for b in scene.deformable), default=0.0)
    if not 0.0 < 0.5 * edge < thickness:
        return thickness
    text = "thickness = %.3g m is more than half of the median edge of %r, %.3g m: layers are kept %.3g m apart instead"
    log.warning(text, thickness, scene.name, edge, 0.5 * edge)
    return 0.5 * edge

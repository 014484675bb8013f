"""Two figures walk through each other (the survey's intersection volumes, Teschner et al. 2005, figure 3)."""

from typing import Any

import numpy as np

from .. import shapes, validate
from ..motion.deforming import Recorded
from ..scene import Body, Scene
from .material_options import take_none

SECONDS, STEP = 1.6, 0.02  # duration of the walk, and the interval between its recorded frames
SPEED, SIDE = 0.65, 0.1  # m/s, and the lateral offset (m) of each figure to its own left
COLOURS = ((0.80, 0.60, 0.50), (0.42, 0.50, 0.58))


def two_figures(*, resolution: int = 144, detail: float = 0.7, **options: Any) -> Scene:
    """Two mannequins walk towards and through each other, shoulder into shoulder; no response separates them, and
    their intersection volume is measured in every frame. `resolution`: pixels along the longer side of the images."""
    options.pop("irregular", None)
    take_none(options, "two-figures")
    if options.get("eps") is None:
        options.pop("eps", None)
    walker, times = shapes.walking_mannequin(detail), np.arange(0.0, SECONDS + 0.5 * STEP, STEP)
    strides = np.stack([walker.shape("walk", float(t)) for t in times])
    half = 0.5 * SPEED * SECONDS
    bodies = []
    for k, name in enumerate(("one", "other")):
        turn = 1.0 - 2.0 * k
        frames = strides.copy()
        if k:  # offset by half a stride, so that the two are not mirror images
            frames = np.stack([walker.shape("walk", float(t) + 0.45) for t in times])
        frames *= (turn, 1.0, turn)
        frames[..., 0] += turn * SIDE
        frames[..., 2] += turn * (SPEED * times - half)[:, None]
        mesh = walker.mesh.moved(frames[0])
        bodies.append(Body(mesh, obstacle=True, motion=Recorded(times, frames), name=name, color=COLOURS[k]))
    pixels = validate.whole("resolution", resolution, low=8, high=1024)
    return Scene(bodies, name="two-figures", overlaps=[(0, 1)], overlap_resolution=pixels, **options)

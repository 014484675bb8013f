"""The default number of frames and substeps of a scene."""

import dataclasses

from .. import renamed
from ..motion.deforming import Recorded, Skinned
from ..scene import Scene

TIMES = 3  # repetitions of a looping clip
__getattr__ = renamed.module(
    __name__,
    {"Pace": "pliant.scenes.defaults:RunLength", "pace_of": "pliant.scenes.defaults:default_run_length"},
)


@dataclasses.dataclass(frozen=True)
class RunLength:
    """Number of frames of a hundredth of a second, and of substeps per frame; None: as many as the solver needs."""

    frames: int = 250
    substeps: int | None = None


def default_run_length(scene: Scene) -> RunLength:
    """The default length: enough for a character to play its clip once, or TIMES times if the clip loops."""
    played = [shape.times[-1] for shape in scene.deforming_motions.values() if isinstance(shape, Recorded)]
    if played and not scene.deformable:  # recorded frames only: nothing is simulated
        return RunLength(max(1, round(100.0 * float(max(played)))), 1)
    spans = [
        shape.duration + shape.loop * (TIMES - 1) * (shape.duration - shape.lead_in)
        for shape in scene.deforming_motions.values()
        if isinstance(shape, Skinned)
    ]
    return RunLength(max(1, round(100.0 * max(spans)))) if spans else RunLength()

"""The default number of frames and substeps of a scene."""

import dataclasses

from ..motion.deforming import Recorded, Skinned
from ..scene import Scene

TIMES = 3  # repetitions of a looping clip


@dataclasses.dataclass(frozen=True)
class Pace:
    """Number of frames of a hundredth of a second, and substeps per frame."""

    frames: int = 250
    substeps: int = 16


def pace_of(scene: Scene) -> Pace:
    """The default pace: long enough for a character to play its clip once, or TIMES times if the clip loops."""
    played = [shape.times[-1] for shape in scene.deforming_motions.values() if isinstance(shape, Recorded)]
    if played and not scene.deformable:  # recorded frames only: nothing is simulated
        return Pace(max(1, round(100.0 * float(max(played)))), 1)
    spans = [
        shape.duration + shape.loop * (TIMES - 1) * (shape.duration - shape.lead_in)
        for shape in scene.deforming_motions.values()
        if isinstance(shape, Skinned)
    ]
    return Pace(max(1, round(100.0 * max(spans))), 3) if spans else Pace()

"""At which pace a scene runs where nothing else was asked for."""

import dataclasses

from ..deforming import Recorded, Skinned
from ..scene import Scene

TIMES = 3  # that a clip is shown which repeats itself


@dataclasses.dataclass(frozen=True)
class Pace:
    """Frames of a hundredth of a second, and small steps in each."""

    frames: int = 250
    substeps: int = 16


def pace_of(scene: Scene) -> Pace:
    """A character plays its clip once, or some times where it is one to be repeated."""
    played = [shape.times[-1] for shape in scene.shapes.values() if isinstance(shape, Recorded)]
    if played and not scene.soft:  # nothing but recorded frames: there is nothing to make small steps for
        return Pace(max(1, round(100.0 * float(max(played)))), 1)
    spans = [
        shape.duration + shape.loop * (TIMES - 1) * (shape.duration - shape.lead_in)
        for shape in scene.shapes.values()
        if isinstance(shape, Skinned)
    ]
    return Pace(max(1, round(100.0 * max(spans))), 3) if spans else Pace()

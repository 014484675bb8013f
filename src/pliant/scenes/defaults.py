"""The default number of frames and substeps of a scene."""

import dataclasses
import logging

from .. import renamed, validate
from ..motion.deforming import Recorded, Skinned
from ..scene import Scene

log = logging.getLogger("pliant.scenes")
TIMES = 3  # repetitions of a looping clip
LONGEST_FRAME = 1.0  # s, a hundred usual frames; not much longer ones exceed the most default substeps, 1 000
MOST_FRAMES = 100_000  # by default: a file that lasts longer probably has its times in another unit, or a stray key
__getattr__ = renamed.module(
    __name__,
    {"Pace": "pliant.scenes.defaults:RunLength", "pace_of": "pliant.scenes.defaults:default_run_length"},
)


@dataclasses.dataclass(frozen=True)
class RunLength:
    """Number of frames, and of substeps per frame; None: the solver's default."""

    frames: int = 250
    substeps: int | None = None
    preroll: float = 0.0  # s of the motion before the first frame


def default_run_length(scene: Scene, dt: float = 0.01, preroll: float = 0.0) -> RunLength:
    """The default length, in frames of `dt` seconds: 250, or what characters take to play their clips once (TIMES times
    if they loop), without a `preroll` of their lead-in, or the duration of recorded frames; at most MOST_FRAMES, with a
    warning."""
    dt = validate.number("dt", dt, above=0.0)
    played = [shape.times[-1] for shape in scene.deforming_motions.values() if isinstance(shape, Recorded)]
    if played and not scene.deformable:  # recorded frames only: nothing is simulated
        return RunLength(_frames(float(max(played)), dt), 1)
    spans = [
        shape.duration + shape.loop * (TIMES - 1) * (shape.duration - shape.lead_in)
        for shape in scene.deforming_motions.values()
        if isinstance(shape, Skinned)
    ]
    if not spans + played:
        return RunLength(preroll=preroll)
    return RunLength(_frames(float(max(spans + played)) - preroll, dt), preroll=preroll)


def check_frame_length(dt: float) -> float:
    """Return `dt`, the seconds of a frame; raise ValueError for a frame that is too long to be simulated as one."""
    if validate.number("dt", dt, above=0.0) > LONGEST_FRAME:
        raise ValueError(
            f"dt = {validate.plain(dt)} s is too long for one frame; expected at most {LONGEST_FRAME:g} s. Frames of "
            "0.01 s are usual, and more of them (--frames) make a longer run"
        )
    return dt


def _frames(duration: float, dt: float) -> int:
    frames = max(1, round(duration / dt))
    if frames > MOST_FRAMES:
        text = "the clip lasts %.4g s, %d frames of %g s, of which the first %d are run; give the number of frames"
        log.warning(text, duration, frames, dt, MOST_FRAMES)
    return min(frames, MOST_FRAMES)

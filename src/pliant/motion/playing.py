"""A character that plays a clip: the duration of its lead-in, and the moving frame in which its cloth is simulated."""

import dataclasses
import itertools

import numpy as np

from .character import Character
from .deforming import Skinned
from .moving_frame import MovingFrame

SHORTEST = 0.5  # s, of a lead-in that is not given
STILL = 0.0025  # of the character's size: farthest that a first pose is from the rest pose without a pre-roll
FASTEST, SIZES = 3.0, 1.25  # m/s, and sizes of the character per second if that is more: speed of the skin in a lead-in
_SAMPLES = 64  # of a lead-in


def played(
    character: Character,
    clip: str | None,
    lead_in: float | None,
    loop: bool,
    *,
    teleports: bool,
    root_motion: str,
    turn: bool,
) -> Skinned:
    """Return the motion of a character in a moving frame (see `MovingFrame`), if that moves. lead_in None: as long as
    the skin needs."""
    if clip is None:
        return Skinned(character)
    plain = Skinned(character, clip, lead_in=1.0 if lead_in is None else lead_in, loop=loop)
    if lead_in is None:
        framed = _framed(plain, teleports, root_motion, turn)
        plain = dataclasses.replace(plain, lead_in=lead_in_of(framed))
    return _framed(plain, teleports, root_motion, turn)


def preroll_of(motion: Skinned) -> tuple[float, float]:
    """Return how far, in metres, the first pose of the clip is from the rest pose, and for how many seconds a body
    that starts with the clip has to move before it, 0 if it is there; `motion` has the default lead-in."""
    rest, ends = motion.character.shape(None, 0.0), np.array([0.0, motion.lead_in])
    world = dataclasses.replace(motion, frame=None)
    first, last = (world.shape(sample) for sample in world.sample(ends))
    distance = float(np.sqrt(((last - first) ** 2).sum(1).max(initial=0.0)))
    return distance, motion.lead_in if distance > STILL * float(np.linalg.norm(np.ptp(rest, axis=0))) else 0.0


def lead_in_of(motion: Skinned) -> float:
    """Return the duration, in seconds, of a lead-in in which no vertex of the skin exceeds the speed limit (FASTEST,
    SIZES); `motion` has a lead-in of arbitrary duration, which is sampled."""
    rest = motion.character.shape(None, 0.0)
    limit = max(FASTEST, SIZES * float(np.linalg.norm(np.ptp(rest, axis=0))))
    times = motion.lead_in * np.arange(_SAMPLES + 1) / _SAMPLES
    shapes = (motion.shape(sample) for sample in motion.sample(times))
    farthest = max(float(((b - a) ** 2).sum(1).max()) for a, b in itertools.pairwise(shapes)) ** 0.5
    return max(SHORTEST, _SAMPLES * farthest / limit)


def _framed(plain: Skinned, teleports: bool, root_motion: str, turn: bool) -> Skinned:
    frame = MovingFrame(plain, teleports, root_motion, turn)
    return dataclasses.replace(plain, frame=frame) if frame.moves else plain

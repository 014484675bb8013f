"""The moving frame in which cloth on a character is simulated: it follows teleports of the character and, if its root
motion is removed, the centroid of its skin."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..brief import Brief
from .deforming import Skinned
from .rigid import IDENTITY_POSE, compose, placed

Floats = NDArray[np.float64]
ROOT_MOTIONS = ("keep", "remove")
JUMP = 0.5  # of the character's size: displacement of the whole character from which on it is a teleport
LONGEST = 0.1  # s, of a teleport
ISOLATED = 4.0  # speed of a teleport over that of the motion before and after it
RIGID = 0.5  # largest share of a teleport's displacement that is not rigid: limbs that move by themselves
POINTS = 400  # vertices of the skin that stand for it, at most
_CHUNK = 512  # keyframes that are posed together


class Teleport(NamedTuple):
    """A jump of the whole character between two times of its clip, seconds; equal if it is instantaneous."""

    begin: float
    end: float
    distance: float  # m, of the centroid of the skin
    turn: float  # radians about the vertical
    pose: Floats  # (3,4) the rigid transform from its position before to that after it


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MovingFrame(Brief):
    """A frame that moves rigidly with a character, by translation and, with `turn`, rotation about the vertical, so
    that gravity is the same in it.

    `teleports`: the frame follows the jumps of the character, and its displacement to the first pose of the clip if
    that is farther than a limb reaches. `root_motion` "remove": it also follows the centroid of the skin at all times.
    """

    carrier: Skinned
    teleports: bool = True
    root_motion: str = "keep"
    turn: bool = True

    def __post_init__(self) -> None:
        validate.choice("root_motion", self.root_motion, ROOT_MOTIONS)

    @property
    def moves(self) -> bool:
        """Whether the frame ever moves."""
        return self.carrier.clip is not None and (
            self.root_motion == "remove" or self.travels or bool(self.jumps) or self.seam is not None
        )

    def poses(self, times: Floats) -> Floats:
        """Return the poses (t,3,4) of the frame at `times` (t,) seconds; each depends on its own time only."""
        return np.stack([self._pose(float(t)) for t in times]) if len(times) else np.zeros((0, 3, 4))

    @property
    def key(self) -> tuple[Any, ...]:
        """The data that determine the motion, besides those of the character, for hashing."""
        return (self.teleports, self.root_motion, self.turn)

    @functools.cached_property
    def travels(self) -> bool:
        """Whether the first pose of the clip is farther from the rest pose than a limb reaches."""
        if not self.teleports or self.carrier.lead_in == 0.0:
            return False
        return bool(_rms(placed(self._rest, self._first) - self._rest, self._weights) >= JUMP * self._size)

    @functools.cached_property
    def jumps(self) -> tuple[Teleport, ...]:
        """The teleports of the clip, in their order."""
        carrier = self.carrier
        if not self.teleports or carrier.clip is None:
            return ()
        keys = np.unique(np.concatenate([[0.0], *(t.times for t in carrier.character.clips[carrier.clip].tracks)]))
        keys = keys[keys >= 0.0]
        # both limits at every keyframe: values of "step" jump there
        times = np.insert(keys, np.arange(1, len(keys)), np.nextafter(keys[1:], -np.inf))
        return tuple(self._jumps(times, self._duration_between(keys)))

    @functools.cached_property
    def seam(self) -> Teleport | None:
        """The teleport from the end of a repeated clip to its beginning."""
        carrier = self.carrier
        if not self.teleports or not carrier.loop or carrier.clip is None:
            return None
        last = carrier.character.clips[carrier.clip].duration
        return self._teleport(last, last, *self._points(np.array([last, 0.0]))) if last > 0.0 else None

    @staticmethod
    def _duration_between(keys: Floats) -> Floats:
        """Return the durations of the spans between keyframes, each followed by the 0 s of the keyframe itself."""
        spans = np.zeros(2 * (len(keys) - 1))
        spans[::2] = np.diff(keys)
        return spans

    def _jumps(self, times: Floats, spans: Floats) -> Sequence[Teleport]:
        """Return the teleports among the times (2 k - 1,), which `spans` (2 k - 2,) separate."""
        moved = np.zeros(len(spans))
        for start in range(0, len(spans), _CHUNK):
            x = self._points(times[start : start + _CHUNK + 1])
            moved[start : start + len(x) - 1] = [_rms(b - a, self._weights) for a, b in itertools.pairwise(x)]
        fast = (moved > 1e-9 * self._size) & (moved >= JUMP / LONGEST * self._size * spans)
        counted = fast | (spans > 0.0)  # keyframes at which nothing jumps do not count
        order = np.flatnonzero(counted)
        found, k = [], 0
        while k < len(order):
            if not fast[order[k]]:
                k += 1
                continue
            begin = k
            while k < len(order) and fast[order[k]]:
                k += 1
            rows = order[begin:k]
            duration = float(spans[rows].sum())
            beside = [order[j] for j in (begin - 1, k) if 0 <= j < len(order)]
            around = max((moved[row] / spans[row] for row in beside), default=0.0)
            if duration > LONGEST or moved[rows].sum() < ISOLATED * around * duration:
                continue
            one, two = float(times[rows[0]]), float(times[rows[-1] + 1])
            jump = self._teleport(one, two, *self._points(np.array([one, two])))
            found += [] if jump is None else [jump]
        return found

    def _teleport(self, begin: float, end: float, before: Floats, after: Floats) -> Teleport | None:
        """Return the teleport between two poses of the skin (k,3); None if it is too short, or limbs move by
        themselves."""
        whole = _rms(after - before, self._weights)
        pose = self._fit(before, after)
        left = _rms(after - placed(before, pose), self._weights)
        if whole < JUMP * self._size or left > RIGID * whole:
            return None
        one, two = (_mean(x, self._weights) for x in (before, after))
        return Teleport(begin, end, float(np.linalg.norm(two - one)), math.atan2(pose[0, 2], pose[0, 0]), pose)

    def _pose(self, time: float) -> Floats:
        pose = self._jumped(time)
        if self.root_motion == "remove":
            pose = pose.copy()
            # the centroid of the skin stays where it is in the rest pose
            there, rest = (_mean(x, self._weights) for x in (self._points_at(time), self._rest))
            pose[:, 3] = there - (pose[:, :3] * rest).sum(1)
        return pose

    def _jumped(self, time: float) -> Floats:
        """Return the pose of the frame that follows teleports and the way to a far first pose."""
        lead, clip = self.carrier.lead_in, self.carrier.clip
        if not self.teleports or clip is None:
            return IDENTITY_POSE
        played = time - lead
        if played < 0.0:
            return self._fit(self._rest, self._points_at(time)) if self.travels else IDENTITY_POSE
        pose = self._first if self.travels else IDENTITY_POSE
        duration = self.carrier.character.clips[clip].duration
        if self.carrier.loop and played > duration > 0.0:
            within = float(np.mod(played, duration))
            for _ in range(round((played - within) / duration)):
                for jump in (*self.jumps, *(() if self.seam is None else (self.seam,))):
                    pose = _after(jump.pose, pose)
            played = within
        for jump in self.jumps:
            if played >= jump.end:
                pose = _after(jump.pose, pose)
            elif played > jump.begin:
                pose = _after(self._fit(*self._points(np.array([jump.begin, played]))), pose)
        return pose

    def _fit(self, before: Floats, after: Floats) -> Floats:
        """Return the rigid transform (3,4) that maps `before` (k,3) to `after` best: a translation and, with `turn`, a
        rotation about the vertical."""
        w, a, b = self._weights, _mean(before, self._weights), _mean(after, self._weights)
        p, q = before - a, after - b
        along = float((w * (p[:, 0] * q[:, 0] + p[:, 2] * q[:, 2])).sum())
        across = float((w * (p[:, 2] * q[:, 0] - p[:, 0] * q[:, 2])).sum())
        size = float((w * np.sqrt((p[:, ::2] ** 2).sum(1) * (q[:, ::2] ** 2).sum(1))).sum())
        known = self.turn and math.hypot(along, across) > 1e-6 * size
        angle = math.atan2(across, along) if known else 0.0
        c, s = math.cos(angle), math.sin(angle)
        out = np.array([[c, 0.0, s, 0.0], [0.0, 1.0, 0.0, 0.0], [-s, 0.0, c, 0.0]])
        out[:, 3] = b - (out[:, :3] * a).sum(1)
        return out

    def _points(self, played: Floats) -> Floats:
        """Return points (t,k,3) of the skin at times of the clip; sums with the lead-in would be rounded."""
        character = self.carrier.character
        poses = character.skeleton.poses(character.clips[self.carrier.clip or ""], played)
        return np.stack([self._some.shape(sample) for sample in self._some.sample_of(poses)])

    def _points_at(self, time: float) -> Floats:
        """Return points (k,3) of the skin at a time of the run."""
        return self._some.shape(self._some.sample(np.array([time]))[0])

    @functools.cached_property
    def _some(self) -> Skinned:
        count = self.carrier.character.mesh.n_vertices
        rows = np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64))
        return dataclasses.replace(self.carrier, frame=None, rows=rows)

    @functools.cached_property
    def _rest(self) -> Floats:
        skeleton = self.carrier.character.skeleton
        return self._some.shape(self._some.sample_of(skeleton.rest[None])[0])

    @functools.cached_property
    def _first(self) -> Floats:
        """The transform (3,4) from the rest pose to the first pose of the clip."""
        return self._fit(self._rest, self._points(np.zeros(1))[0])

    @functools.cached_property
    def _weights(self) -> Floats:
        """(k,) share of each point in the surface of the skin, in the rest pose."""
        character = self.carrier.character
        skin = character.mesh.moved(character.shape(None, 0.0))
        area = np.bincount(skin.faces.ravel(), np.repeat(skin.face_areas, 3), skin.n_vertices)[self._some.rows]
        return area / area.sum() if area.sum() > 0.0 else np.full(len(area), 1.0 / len(area))

    @functools.cached_property
    def _size(self) -> float:
        character = self.carrier.character
        return float(np.linalg.norm(np.ptp(character.shape(None, 0.0), axis=0)))


def _after(later: Floats, earlier: Floats) -> Floats:
    return compose(later[None], earlier[None])[0]


def _mean(x: Floats, weights: Floats) -> Floats:
    return np.array([float((weights * x[:, k]).sum()) for k in range(3)])


def _rms(moved: Floats, weights: Floats) -> float:
    return math.sqrt(float((weights * (moved**2).sum(1)).sum()))

"""Deforming: how an obstacle changes its shape over time. By bones that carry its skin, or by recorded frames."""

import dataclasses
import functools
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from . import validate
from .character import Character
from .kernels import skinning as _kernels
from .motion import compose, inverse, slerped

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@runtime_checkable
class Deforming(Protocol):
    """What `Body.motion` is for an obstacle that bends. `sample` is asked once for many times, `shape` once for each.

    A sample is what the shape follows from, (k,3,4): the matrices of bones, or nothing but the time.
    """

    def sample(self, times: Floats) -> Floats: ...

    def shape(self, sample: Floats) -> Floats: ...

    def taking(self, rows: Rows) -> "Deforming": ...

    def fastest(self) -> float: ...

    @property
    def key(self) -> tuple[Any, ...]: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Skinned:
    """A character that plays one of its clips, once or (`loop`) for ever, after `lead_in` seconds.

    In the lead-in it goes from its rest pose to the clip's first: every bone turns evenly about its joint, in the frame
    of its parent, slowly at first and at last. `rows` are the vertices of the character's mesh that are asked for.
    """

    character: Character
    clip: str | None = None
    lead_in: float = 0.0
    loop: bool = False
    rows: Any = None

    def __post_init__(self) -> None:
        clips = self.character.clips
        if self.clip is not None:
            validate.choice("clip", self.clip, tuple(clips))
        validate.number("lead_in", self.lead_in, low=0.0)

    @property
    def duration(self) -> float:
        """Seconds of the clip and its lead-in; 0 for a character that stands."""
        return self.lead_in + (self.character.clips[self.clip].duration if self.clip is not None else 0.0)

    def sample(self, times: Floats) -> Floats:
        """(t,b,3,4) matrices that carry the skin, at `times` (t,) seconds; each depends on its own time only."""
        t = np.asarray(times, np.float64) - self.lead_in
        if self.loop and self.clip is not None:
            span = self.character.clips[self.clip].duration
            t = np.where(t > span, np.mod(t, span), t) if span > 0.0 else t
        t_clip = np.maximum(t, 0.0)
        out = self.character.bones(self.clip, t_clip)
        early = np.flatnonzero(t < 0.0)
        if len(early) and self.clip is not None:
            s = 1.0 + t[early] / self.lead_in
            out[early] = self._lead.at(s * s * (3.0 - 2.0 * s))
        if self.character.morphs:  # a row more, for the time of the clip, from which its morph weights follow
            row = np.zeros((len(out), 1, 3, 4))
            row[:, 0, 0, 3] = t_clip
            out = np.concatenate([out, row], 1)
        return out

    def shape(self, sample: Floats) -> Floats:
        """(n,3) where bones with these matrices (b,3,4) carry the skin."""
        x, joints, weights = self._skin
        if self.character.morphs:
            x = self.character.morph(self.clip, float(sample[-1, 0, 3]))
            x = x if self.rows is None else np.ascontiguousarray(x[self.rows])
        out = np.empty_like(x)
        _kernels.skin(x, joints, weights, np.ascontiguousarray(sample), out)
        return out

    def taking(self, rows: Rows) -> "Skinned":
        """The same for some of its vertices."""
        return dataclasses.replace(self, rows=rows if self.rows is None else self.rows[rows])

    def fastest(self) -> float:
        """m/s: about the highest speed of any vertex, from differences over a sixtieth of a second."""
        t = np.arange(0.0, self.duration + 1.0 / 60.0, 1.0 / 60.0)
        x = np.stack([self.shape(m) for m in self.sample(t)])
        return float(np.linalg.norm(np.diff(x, axis=0), axis=2).max(initial=0.0) * 60.0)

    @property
    def key(self) -> tuple[Any, ...]:
        """What a run depends on."""
        t = np.linspace(0.0, self.duration, 17)
        c = self.character
        return (c.mesh.vertices, c.joints, c.weights, self.sample(t), self.lead_in, self.loop)

    @functools.cached_property
    def _lead(self) -> "_Lead":
        first = self.character.bones(self.clip, np.zeros(1))[0]
        return _Lead(self.character, self.character.bones(None, np.zeros(1))[0], first)

    @property
    def joints(self) -> NDArray[Any]:
        """(n,k) bones that hold each vertex, and `weights` (n,k)."""
        return self._skin[1]

    @property
    def weights(self) -> Floats:
        return self._skin[2]

    @functools.cached_property
    def _skin(self) -> tuple[Floats, NDArray[Any], Floats]:
        c, rows = self.character, slice(None) if self.rows is None else self.rows
        return tuple(np.ascontiguousarray(a[rows]) for a in (c.mesh.vertices, c.joints, c.weights))  # type: ignore


class _Lead:
    """From one pose of a skeleton to another: each bone turns about its joint within the frame of its parent."""

    def __init__(self, character: Character, before: Floats, after: Floats) -> None:
        self._before, self._parents = before, character.parents
        # parents first, wherever they stand in the list
        depth = np.zeros(len(before), np.int64)
        for b in range(len(before)):
            p = int(character.parents[b])
            while p >= 0:
                depth[b], p = depth[b] + 1, int(character.parents[p])
        self._order = np.argsort(depth, kind="stable")
        moved = compose(after, inverse(before))  # in the world, from the one pose to the other
        back = inverse(moved)
        own = np.array([moved[b] if p < 0 else compose(back[p][None], moved[b][None])[0] for b, p in self._pairs()])
        # where a joint is in the bind shape, and from there in the pose it starts from
        self._own, self._joint = own, _at(before, inverse(character.inverse)[:, :, 3])

    def _pairs(self) -> list[tuple[int, int]]:
        return [(b, int(p)) for b, p in enumerate(self._parents)]

    def at(self, shares: Floats) -> Floats:
        """(t,b,3,4) matrices at `shares` (t,) of the way."""
        out = np.empty((len(shares), *self._own.shape))
        for b in self._order.tolist():
            p = int(self._parents[b])
            own = slerped(self._own[b], self._joint[b], shares)
            out[:, b] = own if p < 0 else compose(out[:, p], own)
        before = np.broadcast_to(self._before, out.shape)
        return compose(out.reshape(-1, 3, 4), before.reshape(-1, 3, 4)).reshape(out.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class Recorded:
    """Frames (t,n,3) of a mesh's vertices at `times` (t,), seconds; straight lines between them."""

    times: Floats
    frames: Floats

    def __post_init__(self) -> None:
        times = validate.floats("times", self.times, (None,))
        frames = validate.floats("frames", self.frames, (len(times), None, 3))
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if not len(times) or len(late):
            k = int(late[0]) if len(late) else -1
            wrong = f"times[{k + 1}] = {times[k + 1]:g} follows {times[k]:g}; they must increase" if len(late) else ""
            raise ValueError(wrong or "times is empty; expected at least one frame")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "frames", frames)

    def sample(self, times: Floats) -> Floats:
        """(t,1,3,4): nothing but the time, in the corner."""
        out = np.zeros((len(times), 1, 3, 4))
        out[:, 0, 0, 3] = times
        return out

    def shape(self, sample: Floats) -> Floats:
        t = float(sample[0, 0, 3])
        k = int(np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, max(len(self.times) - 2, 0)))
        if len(self.times) == 1:
            return self.frames[0].copy()
        s = min(max((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0.0), 1.0)
        return np.asarray((1.0 - s) * self.frames[k] + s * self.frames[k + 1])

    def taking(self, rows: Rows) -> "Recorded":
        return Recorded(self.times, self.frames[:, rows])

    def fastest(self) -> float:
        steps = np.linalg.norm(np.diff(self.frames, axis=0), axis=2).max(1, initial=0.0)
        return float((steps / np.diff(self.times)).max(initial=0.0))

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.times, self.frames)


def _at(matrices: Floats, points: Floats) -> Floats:
    """(b,3) where each matrix brings its own point."""
    return np.asarray((matrices[:, :, :3] * points[:, None, :]).sum(2) + matrices[:, :, 3])

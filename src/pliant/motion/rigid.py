"""Motion: the pose of a rigid body over time, interpolated between keyframes (slerp and linear translation)."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..brief import brief

Floats = NDArray[np.float64]
Point = tuple[float, float, float]
IDENTITY_POSE = np.eye(3, 4)  # identity pose, of a static body
_SLACK = 1e-5  # tolerance of a rotation, for matrices in float32 or with few digits
_EASE = 48  # keyframes per span of a smooth hinge, so that steps in velocity do not disturb resting contacts


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class Motion:
    """Keyframes of a rigid motion: poses (k,3,4) or (k,4,4) at `times` (k,) seconds, with x_world = pose[:, :3] @ x +
    pose[:, 3] for mesh coordinates x.

    Between two keyframes rotation is interpolated by slerp, and `pivot`, a point in mesh coordinates, moves on a
    straight line. The body rests before the first keyframe; after the last it rests or repeats the last `cycle`
    seconds. Poses are relative to the `parent` motion, if given.
    """

    times: Floats
    poses: Floats
    pivot: Point = (0.0, 0.0, 0.0)
    cycle: float | None = None
    parent: "Motion | None" = None
    _skew: Floats = dataclasses.field(init=False, repr=False)  # (k,3,3) cross product with the axis of each span
    _angle: Floats = dataclasses.field(init=False, repr=False)  # (k,) radians over the span
    _path: Floats = dataclasses.field(init=False, repr=False)  # (k,3) position of the pivot at each keyframe
    _leap: Floats = dataclasses.field(init=False, repr=False)  # (k,3) displacement of the pivot over the span
    _rate: Floats = dataclasses.field(init=False, repr=False)  # (k,) 1 / duration of the span

    __repr__ = brief

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        times = validate.floats("motion times", self.times, (None,))
        poses = rigid_poses("motion poses", self.poses)
        if not len(times) or len(times) != len(poses):
            raise ValueError(f"motion has {len(times)} times and {len(poses)} poses; expected as many, at least one")
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if len(late):
            k = int(late[0])
            raise ValueError(
                f"motion times[{k + 1}] = {times[k + 1]:g} follows times[{k}] = {times[k]:g}; times must increase"
            )
        pivot = validate.floats("motion pivot", self.pivot, (3,))
        put("times", times)
        put("poses", poses)
        put("pivot", tuple(pivot.tolist()))
        axes, angles = _turns(poses)
        path = poses[:, :, :3] @ pivot + poses[:, :, 3]
        rest = np.zeros(1)
        # a span of zero length after the last keyframe avoids a special case for resting there
        put("_skew", np.concatenate([_skew(axes), np.zeros((1, 3, 3))]))
        put("_angle", np.concatenate([angles, rest]))
        put("_path", path)
        put("_leap", np.concatenate([np.diff(path, axis=0), np.zeros((1, 3))]))
        put("_rate", np.concatenate([1.0 / np.diff(times), rest]))
        if self.cycle is not None:
            self._check_cycle()
        for array in (times, poses):
            array.flags.writeable = False

    def _check_cycle(self) -> None:
        cycle = validate.number("motion cycle", self.cycle, above=0.0)
        begin = self.times[-1] - cycle
        if begin < self.times[0] - 1e-9 * cycle:
            raise ValueError(f"motion cycle = {cycle:g} s is longer than its keyframes, {np.ptp(self.times):g} s")
        gap = float(np.abs(self._own(np.array([begin]))[0] - self.poses[-1]).max())
        if gap > _SLACK:
            raise ValueError(
                f"motion cycle = {cycle:g} s does not close: the pose at {begin:g} s and the last one, at "
                f"{self.times[-1]:g} s, differ by {gap:.3g}; end with the pose at which the cycle begins"
            )

    @check_arguments
    @classmethod
    def hinge(
        cls, axis: Any, centre: Any, times: Any, angles: Any, *, smooth: bool = False, parent: "Motion | None" = None
    ) -> "Motion":
        """Rotate about `axis` through `centre` by `angles` (k,) radians at `times`; `smooth` eases in and out."""
        u, c = _axis(axis), validate.floats("centre", centre, (3,))
        t, a = validate.floats("times", times, (None,)), validate.floats("angles", angles, (None,))
        if len(t) != len(a):
            raise ValueError(f"a hinge has {len(t)} times and {len(a)} angles; expected one angle for each time")
        # a span may contain any number of turns; between two keyframes the direction must be unambiguous
        most = float(np.abs(np.diff(a)).max(initial=0.0))
        parts = max(_EASE if smooth else 1, math.ceil(most / 2.0))
        s = np.arange(parts) / parts
        share = s * s * (3.0 - 2.0 * s) if smooth else s
        t = np.append((t[:-1, None] + s * np.diff(t)[:, None]).ravel(), t[-1:])
        a = np.append((a[:-1, None] + share * np.diff(a)[:, None]).ravel(), a[-1:])
        poses = np.zeros((len(a), 3, 4))
        poses[:, :, :3] = rotations(u, a)
        poses[:, :, 3] = c - poses[:, :, :3] @ c
        return cls(t, poses, pivot=(float(c[0]), float(c[1]), float(c[2])), parent=parent)

    @check_arguments
    @classmethod
    def spin(
        cls,
        axis: Any,
        centre: Any,
        rate: float,
        start: float = 0.0,
        *,
        ramp: float = 0.0,
        parent: "Motion | None" = None,
    ) -> "Motion":
        """Rest until `start`, then rotate about `axis` through `centre` at `rate` rad/s without end.

        `ramp`: seconds of constant acceleration up to that rate.
        """
        rate = validate.number("rate", rate, low=-1e12, high=1e12)
        start = validate.number("start", start, low=-1e9, high=1e9)
        ramp = validate.number("ramp", ramp, low=0.0, high=1e9)
        if abs(rate) < 1e-9:
            raise ValueError(f"rate = {rate:g} is too small for a spin; omit the motion")
        if 0.0 < ramp < 1e-9:
            raise ValueError(f"ramp = {ramp:g} must be 0 or at least 1e-9 seconds")
        s = np.linspace(0.0, 1.0, _EASE, endpoint=False) if ramp else np.zeros(0)
        period, begin = 2.0 * math.pi / abs(rate), start + ramp
        times = np.concatenate([start + ramp * s, begin + period * np.arange(4) / 3.0])
        first = 0.5 * rate * ramp
        angles = np.concatenate([first * s * s, first + math.copysign(2.0 * math.pi, rate) * np.arange(4) / 3.0])
        made = cls.hinge(axis, centre, times, angles, parent=parent)
        return dataclasses.replace(made, cycle=period)

    def at(self, time: float) -> Floats:
        """Return the world pose (3,4) at `time` seconds."""
        return self.sample(np.array([validate.number("time", time)]))[0]

    def sample(self, times: Floats) -> Floats:
        """Return world poses (m,3,4) at `times` (m,); each depends bitwise on its own time only."""
        own = self._own(times)
        return own if self.parent is None else compose(self.parent.sample(times), own)

    def _own(self, times: Floats) -> Floats:
        t, last = times, self.times[-1]
        if self.cycle is not None:
            t = np.where(t > last, last - self.cycle + np.mod(t - last, self.cycle), t)
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 1)
        s = np.maximum((t - self.times[k]) * self._rate[k], 0.0)
        angle = (s * self._angle[k]).tolist()
        # scalar calls: rounding of vectorised sines may depend on the position in the array
        sine = np.array([math.sin(a) for a in angle])[:, None, None]
        rest = np.array([2.0 * math.sin(0.5 * a) ** 2 for a in angle])[:, None, None]
        w = self._skew[k]
        out = np.empty((len(t), 3, 4))
        first = self.poses[k, :, :3]
        out[:, :, :3] = first + _multiply(first, sine * w + rest * _multiply(w, w))
        out[:, :, 3] = self._path[k] + s[:, None] * self._leap[k] - (out[:, :, :3] * np.array(self.pivot)).sum(2)
        return out

    def fastest(self, box: Floats) -> float:
        """Estimate the highest speed (m/s) of any point of the box (2,3), by differences over 1/8 of each span."""
        keys, motion = np.zeros(0), self
        while True:
            keys = np.union1d(keys, motion.times)
            if motion.parent is None:
                break
            motion = motion.parent
        keys = keys[np.append(True, np.diff(keys) > 1e-9 * max(1.0, np.abs(keys).max(initial=0.0)))]
        if len(keys) < 2:
            return 0.0
        t = np.append((keys[:-1, None] + np.diff(keys)[:, None] * np.arange(8) / 8.0).ravel(), keys[-1])
        corners = np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        poses = self.sample(t)
        x = np.einsum("tij,cj->tci", poses[:, :, :3], corners) + poses[:, None, :, 3]
        return float((np.linalg.norm(np.diff(x, axis=0), axis=2) / np.diff(t)[:, None]).max())


def placed(points: Floats, pose: Floats) -> Floats:
    """Transform points (n,3) from body to world coordinates; the result does not depend on n, bitwise."""
    return (points[:, None, :] * pose[:, :3]).sum(2) + pose[:, 3]


def brought(points: Floats, pose: Floats) -> Floats:
    """Transform points (n,3) from world to body coordinates."""
    return ((points - pose[:, 3])[:, None, :] * pose[:, :3].T).sum(2)


def compose(outer: Floats, inner: Floats) -> Floats:
    """Return poses (m,3,4) that apply `inner` first, then `outer`."""
    out = np.empty_like(inner)
    out[:, :, :3] = _multiply(outer[:, :, :3], inner[:, :, :3])
    out[:, :, 3] = (outer[:, :, :3] * inner[:, None, :, 3]).sum(2) + outer[:, :, 3]
    return out


def rotations(axis: Floats, angles: Floats) -> Floats:
    """Return rotations (m,3,3) about a unit `axis` by `angles` (m,) radians (right-hand rule)."""
    w = _skew(axis[None])[0]
    sine, rest = np.sin(angles)[:, None, None], 2.0 * np.sin(0.5 * angles)[:, None, None] ** 2
    return np.eye(3) + sine * w + rest * (w @ w)


def rigid_poses(name: str, value: Any) -> Floats:
    """Return a new array (k,3,4) of rigid transforms, rotations re-orthonormalised; raise ValueError if not rigid."""
    array = validate.numbers(name, value)
    if array.ndim != 3 or array.shape[1:] not in ((3, 4), (4, 4)):
        raise ValueError(f"{name} has shape {array.shape}; expected (k, 3, 4) or (k, 4, 4)")
    full = validate.floats(name, array, (None, None, 4), finite=False)
    for k in range(len(full)):
        _check_rigid(f"{name}[{k}]", full[k])
    out = np.ascontiguousarray(full[:, :3])
    r = out[:, :, :3]
    for _ in range(3):  # Newton steps to the nearest rotation: an error of 1e-5 becomes 1e-10, 1e-20
        r = 1.5 * r - 0.5 * r @ (r.transpose(0, 2, 1) @ r)
    out[:, :, :3] = r
    return out


def _check_rigid(name: str, pose: Floats) -> None:
    wrong = ""
    if not np.isfinite(pose).all():
        bad = ~np.isfinite(pose)
        wrong = f"its entry [{validate.first_index(bad)}] is {pose[bad][0]}"
    elif np.abs(pose[:3]).max() > validate.LARGEST:
        wrong = f"its largest entry is {np.abs(pose[:3]).max():g}"
    elif len(pose) == 4 and not np.allclose(pose[3], (0.0, 0.0, 0.0, 1.0), rtol=0.0, atol=_SLACK):
        wrong = f"its last row is {pose[3].tolist()}, not 0 0 0 1"
    else:
        r = pose[:3, :3]
        off, size = float(np.abs(r.T @ r - np.eye(3)).max()), float(np.linalg.det(r))
        if abs(size - 1.0) > 10.0 * _SLACK:
            what = "mirrors" if -1.0 - 10.0 * _SLACK < size < -1.0 + 10.0 * _SLACK else "scales"
            wrong = f"its rotation part has determinant {size:.6g} (it {what}); expected 1"
        elif off > 4.0 * _SLACK:
            wrong = f"its axes deviate by {off:.3g} from orthonormal (it shears or scales)"
    if wrong:
        raise ValueError(f"{name} is not a rigid transform: {wrong}; pass a rotation and a translation")


def _turns(poses: Floats) -> tuple[Floats, Floats]:
    """Return unit axis (k-1,3), in the frame of the earlier pose, and angle (k-1,) from each pose to the next."""
    r = poses[:-1, :, :3].transpose(0, 2, 1) @ poses[1:, :, :3]
    twice = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], 1)
    sine = 0.5 * np.linalg.norm(twice, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(r, axis1=1, axis2=2) - 1.0))
    back = np.flatnonzero(angle > math.pi - 1e-6)
    if len(back):
        k = int(back[0])
        raise ValueError(f"motion poses[{k}] and [{k + 1}] are half a turn apart, which is ambiguous; add a keyframe")
    return 0.5 * twice / np.maximum(sine, 1e-300)[:, None], angle


def _skew(axes: Floats) -> Floats:
    """Return the cross product matrices (m,3,3) of the axes."""
    x, y, z = axes.T
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], 1), np.stack([z, o, -x], 1), np.stack([-y, x, o], 1)], 1)


def _multiply(a: Floats, b: Floats) -> Floats:
    """Return the products a[i] @ b[i] of matrices (m,3,3). With `@` the order of summation, and so the rounding, may
    depend on m."""
    return (a[:, :, :, None] * b[:, None, :, :]).sum(2)


def _axis(value: Any) -> Floats:
    axis = validate.floats("axis", value, (3,))
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise ValueError("axis is zero; expected a direction")
    return axis / length

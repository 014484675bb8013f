"""The walking mannequin: one stride, generated from joint angles.

The angles of hip, knee and ankle follow the curves of level walking in D. A. Winter, Biomechanics and Motor Control of
Human Movement, 1990, sampled at a few points; arms, trunk and pelvis follow sine curves.
"""

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..validate import Floats
from .mannequin import mannequin
from .rig import Rig, mannequin_rig

if TYPE_CHECKING:
    from ..motion.animation import Animation, Skeleton
    from ..motion.character import Character

STRIDE = 1.1  # seconds between two heel strikes of the left foot
KEYS = 44  # keyframes per stride
# fraction of the stride since the heel strike, and degrees: hip flexion, knee flexion, ankle dorsiflexion
_HIP = ((0.0, 28), (0.12, 24), (0.30, 5), (0.50, -12), (0.60, -6), (0.75, 20), (0.87, 30), (1.0, 28))
_KNEE = ((0.0, 4), (0.14, 18), (0.40, 6), (0.50, 12), (0.62, 38), (0.72, 60), (0.86, 26), (0.96, 4), (1.0, 4))
_ANKLE = ((0.0, 0), (0.07, -6), (0.30, 5), (0.46, 10), (0.62, -18), (0.75, -4), (0.87, 1), (1.0, 0))
_LOWERED, _IN = 22.0, 3.0  # degrees from the rest pose: arms towards the sides, legs towards each other
_X, _Y, _Z = np.eye(3)


@check_arguments
def walking_mannequin(detail: float = 1.0) -> "Character":
    """`mannequin(detail)` with its rig and the clip "walk": one stride of 1.1 s that loops seamlessly.

    It walks in place, facing +z, as on a treadmill; the lowest point of the soles is at y = 0.
    """
    return _walking(validate.number("detail", detail, low=0.7, high=2.0))


@functools.lru_cache(2)
def _walking(detail: float) -> "Character":
    from ..motion.animation import Skeleton
    from ..motion.character import MOST_WEIGHTS, Character

    mesh, rig = mannequin(detail), mannequin_rig(detail)
    skeleton = Skeleton.of_heads(rig.parents, rig.heads)
    joints = np.argsort(-rig.weights, 1, kind="stable")[:, :MOST_WEIGHTS].astype(np.int32)
    weights = np.take_along_axis(rig.weights, joints, 1)
    inverse = np.tile(np.eye(3, 4), (len(rig.names), 1, 1))
    inverse[:, :, 3] = -rig.heads

    def with_clip(clip: "Animation") -> Character:
        return Character(
            mesh,
            rig.names,
            rig.parents,
            joints,
            weights / weights.sum(1)[:, None],
            {"walk": clip},
            skeleton,
            np.arange(len(rig.names), dtype=np.int32),
            inverse,
        )

    turns, sway = _turns(rig), 0.02 * np.sin(2.0 * np.pi * _phases())
    level = np.full(KEYS + 1, float(rig.heads[0, 1]))
    flying = with_clip(_clip(skeleton, rig, turns, sway, level))
    lowest = np.array([flying.shape("walk", float(t))[:, 1].min() for t in STRIDE * _phases()])
    lowest[-1] = lowest[0]
    return with_clip(_clip(skeleton, rig, turns, sway, level - lowest))


def _phases() -> Floats:
    return np.linspace(0.0, 1.0, KEYS + 1)


def _clip(skeleton: "Skeleton", rig: Rig, turns: dict[str, Floats], sway: Floats, height: Floats) -> "Animation":
    from ..motion.animation import Animation, Track

    times = STRIDE * _phases()
    at = np.column_stack([sway, height, np.full(len(times), rig.heads[0, 2])])
    tracks = [Track(skeleton.column(0, "translation"), times, _with_slopes(times, at), "cubic")]
    for name, quaternions in turns.items():
        column = skeleton.column(rig.names.index(name), "rotation")
        tracks.append(Track(column, times, _with_slopes(times, quaternions), "cubic", True))
    return Animation(tuple(tracks))


def _with_slopes(times: Floats, values: Floats) -> Floats:
    """(k,3,w) in-tangent, value and out-tangent of the smoothest periodic curve through values (k,w)."""
    from scipy.interpolate import CubicSpline

    slope = CubicSpline(times, values, bc_type="periodic")(times, 1)
    return np.stack([slope, values, slope], 1)


def _turns(rig: Rig) -> dict[str, Floats]:
    """(k,4) rotations over the stride, as quaternions relative to the rest pose, of every animated bone."""
    from scipy.spatial.transform import Rotation

    s = _phases()
    wave, lift = np.cos(2.0 * np.pi * s), np.sin(2.0 * np.pi * s)

    def turn(axis: Floats, degrees: Floats | float) -> Rotation:
        return Rotation.from_rotvec(np.radians(np.broadcast_to(degrees, s.shape))[:, None] * axis)

    pelvis = turn(_Y, -5.0 * wave) * turn(_Z, 3.0 * lift)
    trunk = turn(_Y, 4.0 * wave) * turn(_Z, -1.5 * lift)
    found = {"hips": pelvis, "spine": trunk, "chest": trunk, "neck": turn(_Y, -3.0 * wave) * turn(_X, 3.0)}
    for side, sign, start in (("left", 1.0, 0.0), ("right", -1.0, 0.5)):
        own = (s + start) % 1.0
        swing = np.cos(2.0 * np.pi * own)  # 1 at the heel strike of this side
        lean = turn(_Z, -sign * _IN)
        # the legs compensate the rotation of the pelvis, so that they swing straight ahead
        found[f"thigh.{side}"] = pelvis.inv() * turn(_X, -_curve(_HIP, own)) * lean
        found[f"shin.{side}"] = turn(_X, _curve(_KNEE, own))
        found[f"foot.{side}"] = turn(_X, -_curve(_ANKLE, own)) * lean.inv()
        found[f"upper_arm.{side}"] = turn(_X, 18.0 * swing + 4.0) * turn(_Z, -sign * _LOWERED)
        arm = rig.tails[rig.names.index(f"upper_arm.{side}")] - rig.heads[rig.names.index(f"upper_arm.{side}")]
        ahead = np.cross(arm, _Z) / math.hypot(arm[0], arm[1])
        found[f"forearm.{side}"] = turn(ahead, 20.0 - 10.0 * swing)
    return {name: _continuous(rotation.as_quat()) for name, rotation in found.items()}


def _curve(points: tuple[tuple[float, float], ...], at: Floats) -> Floats:
    """Degrees at fractions of the stride (k,), on the smooth periodic curve through `points`."""
    from scipy.interpolate import CubicSpline

    shares, degrees = np.array(points).T
    return np.asarray(CubicSpline(shares, degrees, bc_type="periodic")(at))


def _continuous(q: Floats) -> Floats:
    """The quaternions with signs chosen to be continuous; the last equals the first, so that the stride closes."""
    for k in range(1, len(q)):
        if q[k] @ q[k - 1] < 0.0:
            q[k] = -q[k]
    q[-1] = q[0]
    return q

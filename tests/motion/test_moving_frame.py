"""Jumps of a whole character are found, and the frame that follows them moves rigidly; fast limbs are none."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from characters import post
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.motion.deforming import Skinned, relative
from pliant.motion.moving_frame import MovingFrame
from pliant.motion.playing import FASTEST, lead_in_of, played

WAY = {"teleports": True, "root_motion": "keep", "turn": True}


def travelling(times, places, turns=None, *, how="linear", more=()):
    """The post, whose root is at `places` (k,3), turned about y by `turns` (k,) degrees."""
    tracks = [Track(Skeleton.column(0, "translation"), np.array(times, float), np.array(places, float), how)]
    if turns is not None:
        quaternions = Rotation.from_euler("y", np.asarray(turns, float)[:, None], degrees=True).as_quat()
        tracks.append(Track(Skeleton.column(0, "rotation"), np.array(times, float), quaternions, how, True))
    return dataclasses.replace(post(rings=7, around=8), clips={"go": Animation((*tracks, *more))})


def walk(jump=(5.0, 0.0, 2.0), turn=90.0, at=15, count=31, fps=30.0):
    """A walk at 1 m/s along x, with a jump after keyframe `at`."""
    k = np.arange(count)
    places = np.stack([k / fps, 0.0 * k, 0.0 * k], 1) + np.where(k[:, None] > at, jump, 0.0)
    return k / fps, places, np.where(k > at, turn, 0.0)


def test_a_jump_between_two_keyframes_is_found_with_its_distance_and_turn():
    frame = MovingFrame(Skinned(travelling(*walk()), "go"))
    (jump,) = frame.jumps
    assert (jump.begin, jump.end) == pytest.approx((15 / 30, 16 / 30))
    assert jump.distance == pytest.approx(np.hypot(5.0 + 1 / 30, 2.0), abs=1e-9)
    assert np.degrees(jump.turn) == pytest.approx(90.0, abs=1e-6)
    assert frame.moves


def test_a_step_is_an_instantaneous_jump():
    character = travelling([0.0, 0.5, 1.0], [[0, 0, 0], [3, 0, 0], [3, 0, 0]], how="step")
    (jump,) = MovingFrame(Skinned(character, "go")).jumps
    assert jump.end == 0.5
    assert jump.end - jump.begin < 1e-12
    assert jump.distance == pytest.approx(3.0)


def test_keyframes_of_other_tracks_do_not_hide_a_jump():
    times = np.sort(np.concatenate([np.linspace(0.0, 1.0, 97), [0.51, 0.52]]))
    still = Track(Skeleton.column(1, "translation"), times, np.tile([0.0, 0.5, 0.0], (len(times), 1)))
    (jump,) = MovingFrame(Skinned(travelling(*walk(), more=(still,)), "go")).jumps
    assert jump.distance == pytest.approx(np.hypot(5.0 + 1 / 30, 2.0), abs=1e-3)


@pytest.mark.parametrize("kind", ["run", "fall", "whip", "spin"])
def test_fast_motion_is_no_teleport(kind):
    t = np.arange(31) / 30.0
    more, places, turns = (), np.zeros((31, 3)), None
    if kind == "run":
        places[:, 0] = 20.0 * t
    elif kind == "fall":
        places[:, 1] = -0.5 * 9.81 * t**2 * 9.0
    elif kind == "whip":  # the upper half turns by 170 degrees from one keyframe to the next, 45 m/s at its end
        angles = np.where(np.arange(31) % 7 == 3, 170.0, 0.0)
        turned = Rotation.from_euler("z", angles[:, None], degrees=True).as_quat()
        more = (Track(Skeleton.column(1, "rotation"), t, turned, rotation=True),)
    else:
        turns = 720.0 * t
    frame = MovingFrame(Skinned(travelling(t, places, turns, more=more), "go"))
    assert frame.jumps == ()
    assert not frame.moves


@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_in_its_frame_the_character_walks_on(how):
    times, places, turns = walk()
    if how == "cubic":  # eases in and out of every keyframe, which overshoots nothing but is not linear
        zero = np.zeros_like(places)
        track = Track(Skeleton.column(0, "translation"), times, np.stack([zero, places, zero], 1), "cubic")
        character = dataclasses.replace(post(rings=7, around=8), clips={"go": Animation((track,))})
    else:
        character = travelling(times, places, turns)
    motion = played(character, "go", 0.1, False, **WAY)
    assert motion.frame is not None
    t = np.arange(0.0, 1.1, 0.002)
    x = np.stack([motion.shape(sample) for sample in motion.sample(t)])
    speed = np.linalg.norm(np.diff(x, axis=0), axis=2).max() / 0.002
    assert speed < 2.5  # 1 m/s, eased; the jump is at 160 m/s
    world = np.stack([Skinned(character, "go", 0.1).shape(s) for s in Skinned(character, "go", 0.1).sample(t)])
    poses = motion.frame.poses(t)
    back = np.einsum("tij,tnj->tni", poses[:, :, :3], x) + poses[:, None, :, 3]
    assert np.abs(back - world).max() < 1e-12


def test_a_repeated_clip_that_travels_goes_on():
    t = np.arange(31) / 30.0
    character = travelling(t, np.stack([2.0 * t, 0.0 * t, 0.0 * t], 1))
    motion = played(character, "go", 0.0, True, **WAY)
    x = np.stack([motion.shape(s).mean(0) for s in motion.sample(np.arange(0.0, 3.5, 0.05))])
    np.testing.assert_allclose(np.diff(x[:, 0]), 0.1, atol=1e-9)


def test_relative_to_the_identity_nothing_changes(rng):
    matrices = rng.normal(size=(3, 4, 3, 4))
    assert (relative(np.tile(np.eye(3, 4), (3, 1, 1)), matrices) == matrices).all()


def test_the_lead_in_lasts_until_no_point_is_too_fast():
    turned = Rotation.from_euler("z", [[170.0], [170.0]], degrees=True).as_quat()
    bend = Track(Skeleton.column(1, "rotation"), np.array([0.0, 1.0]), turned, rotation=True)
    character = dataclasses.replace(post(rings=7, around=8), clips={"bent": Animation((bend,))})
    motion = played(character, "bent", None, False, **WAY)
    assert motion.lead_in > 0.6
    t = np.linspace(0.0, motion.lead_in, 500)
    x = np.stack([motion.shape(sample) for sample in motion.sample(t)])
    speed = np.linalg.norm(np.diff(x, axis=0), axis=2).max() / (t[1] - t[0])
    assert 0.98 * FASTEST < speed < 1.01 * FASTEST
    assert played(character, "bent", 0.3, False, **WAY).lead_in == 0.3
    assert lead_in_of(Skinned(post(), "sway", 1.0)) == 0.5


@pytest.mark.parametrize("teleports", [True, False])
def test_a_far_first_pose_is_reached_in_the_frame_of_the_character(teleports):
    character = travelling([0.0, 1.0], [[30, 0, 10], [30, 0, 10]], [120.0, 120.0])
    motion = played(character, "go", None, False, teleports=teleports, root_motion="keep", turn=True)
    if not teleports:
        assert motion.frame is None
        assert motion.lead_in > 15.0
        return
    assert motion.lead_in == 0.5
    assert motion.frame.travels
    x = np.stack([motion.shape(sample) for sample in motion.sample(np.linspace(0.0, 1.5, 50))])
    assert np.abs(x - x[0]).max() < 1e-9
    assert motion.frame.poses(np.zeros(1))[0] == pytest.approx(np.eye(3, 4))


def test_without_root_motion_the_centroid_stays():
    t = np.arange(31) / 30.0
    character = travelling(t, np.stack([10.0 * t, np.sin(3.0 * t), 0.0 * t], 1), 300.0 * t)
    motion = played(character, "go", 0.2, False, teleports=True, root_motion="remove", turn=True)
    x = np.stack([motion.shape(sample) for sample in motion.sample(np.linspace(0.0, 1.2, 25))])
    assert np.abs(x.mean(1) - x[0].mean(0)).max() < 0.02  # of 10 m
    assert np.ptp(x[:, 0, 0]) > 0.1  # it turns


def test_a_collapsed_character_has_no_turn_but_a_place():
    t = np.array([0.0, 0.5, 1.0])
    scale = Track(Skeleton.column(0, "scale"), t, np.array([[1.0, 1, 1], [0, 0, 0], [1, 1, 1]]), "step")
    frame = MovingFrame(Skinned(travelling(t, [[0, 0, 0], [9, 0, 0], [9, 0, 0]], how="step", more=(scale,)), "go"))
    assert np.isfinite(frame.poses(np.linspace(0.0, 1.0, 21))).all()

"""Where a rigid body is over time: keys, what lies between them, joints, and poses that are none."""

import numpy as np
import pytest

from pliant.motion.rigid import Motion, brought, placed, rigid_poses, rotations
from pliant.scene import Body
from pliant.shapes import ball, cloth

UP = (0.0, 1.0, 0.0)


def random_poses(rng: np.random.Generator, count: int) -> np.ndarray:
    """Turns of up to two radians about any axis, and translations."""
    poses = np.empty((count, 3, 4))
    for k in range(count):
        axis = rng.normal(size=3)
        poses[k, :, :3] = rotations(axis / np.linalg.norm(axis), rng.uniform(0.0, 1.0, 1))[0]
    poses[:, :, 3] = rng.normal(size=(count, 3))
    return poses


def good(count: int = 5) -> np.ndarray:
    return random_poses(np.random.default_rng(1), count)


def spoilt(change) -> np.ndarray:
    """Five poses, as (4,4), of which `change` spoils number 3."""
    poses = np.concatenate([good(), np.broadcast_to([0.0, 0.0, 0.0, 1.0], (5, 1, 4))], 1)
    change(poses[3])
    return poses


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda p: p[:3, :3].__imul__(1.0626585), r".*determinant 1\.2 \(it scales\)"),
        (lambda p: p[:3, 0].__imul__(-1.0), r".*determinant -1 \(it mirrors\)"),
        (lambda p: p[:3, 0].__iadd__(0.2 * p[:3, 1]), r"its axes deviate by 0\.2 .*shears"),
        (lambda p: p[:3, 0].__imul__(0.0), r".*determinant 0 \(it scales\)"),
        (lambda p: p[:3, 3].__imul__(np.nan), r"its entry \[0, 3\] is nan"),
        (lambda p: p[3].__iadd__(0.5), r"its last row is \[0\.5, 0\.5, 0\.5, 1\.5\], not 0 0 0 1"),
    ],
)
def test_a_pose_that_is_not_rigid_is_named_with_what_was_found(change, found):
    with pytest.raises(ValueError, match=rf"motion poses\[3\] is not a rigid transform: {found}"):
        Motion(range(5), spoilt(change))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motion([0.0, 1.0, 1.0], good(3)), r"times\[2\] = 1 follows times\[1\] = 1; times must increase"),
        (lambda: Motion([0.0, 1.0], good(3)), "2 times and 3 poses"),
        (lambda: Motion([], np.zeros((0, 3, 4))), "0 times and 0 poses"),
        (lambda: Motion([0.0], np.eye(3)[None]), r"poses has shape \(1, 3, 3\); expected \(k, 3, 4\)"),
        (lambda: Motion([0.0, np.nan], good(2)), r"motion times\[1\] is not finite"),
        (lambda: Motion([0.0, 1.0], [np.eye(4), np.diag([-1.0, 1.0, -1.0, 1.0])]), "half a turn apart"),
        (lambda: Motion([0.0, 1.0], good(2), cycle=1.0), "cycle = 1 s does not close"),
        (lambda: Motion([0.0, 1.0], good(2), cycle=3.0), "longer than its keyframes"),
        (lambda: Motion.hinge(UP, (0, 0, 0), [0, 1], [0]), "2 times and 1 angles"),
        (lambda: Motion.spin((0, 0, 0), (0, 0, 0), 1.0), "axis is zero"),
        (lambda: Motion.spin(UP, (0, 0, 0), 0.0), "rate = 0 is too small for a spin"),
        (lambda: Body(cloth(), motion=Motion([0.0], good(1))), "'cloth' is deformable and has no motion"),
        (lambda: Body(cloth(), group="arm"), "'cloth' is deformable and has no group"),
    ],
)
def test_bad_motions_are_refused_in_words(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_poses_in_single_precision_become_rotations_to_the_last_digit():
    r = rigid_poses("poses", good().astype(np.float32))[:, :, :3]
    assert np.abs(r.transpose(0, 2, 1) @ r - np.eye(3)).max() < 1e-15


def test_a_body_is_at_its_keys_at_their_times_and_rests_before_and_after(rng):
    poses = random_poses(rng, 4)
    motion = Motion([1.0, 1.5, 3.0, 3.1], poses, pivot=(0.3, -0.2, 0.1))
    found = motion.sample(np.array([-7.0, 1.0, 1.5, 3.0, 3.1, 99.0]))
    assert np.abs(found - poses[[0, 0, 1, 2, 3, 3]]).max() < 1e-15


def test_between_keys_it_turns_evenly_and_its_pivot_goes_straight(rng):
    poses, pivot = random_poses(rng, 2), np.array([0.4, 0.1, -0.7])
    found = Motion([0.0, 1.0], poses, pivot=tuple(pivot)).sample(np.linspace(0.0, 1.0, 9))
    steps = found[:-1, :, :3].transpose(0, 2, 1) @ found[1:, :, :3]
    assert np.abs(steps - steps[0]).max() < 1e-14
    path = found[:, :, :3] @ pivot + found[:, :, 3]
    assert np.abs(np.diff(path, axis=0, n=2)).max() < 1e-15


def test_a_pose_depends_on_its_own_time_alone_to_the_bit(rng):
    motion = Motion.spin(UP, (0.1, 0.2, 0.3), 3.0, 0.5, ramp=0.4)
    times = rng.uniform(0.0, 9.0, 37)
    assert (motion.sample(times) == np.stack([motion.at(t) for t in times])).all()


@pytest.mark.parametrize("rate", [2.0, -5.0])
def test_a_spin_rests_then_turns_for_ever_about_its_centre(rate):
    centre = np.array([1.0, -2.0, 0.5])
    motion = Motion.spin((0.0, 3.0, 0.0), centre, rate, 0.5)
    assert (motion.at(0.4) == np.eye(3, 4)).all()
    for time in (0.6, 2.0, 500.0):
        pose = motion.at(time)
        assert np.abs(pose[:, :3] - rotations(np.array(UP), np.array([rate * (time - 0.5)]))[0]).max() < 1e-11
        assert np.abs(placed(centre[None], pose) - centre).max() < 1e-14


def test_a_ramp_reaches_the_rate_without_a_jump():
    motion = Motion.spin(UP, (0, 0, 0), 4.0, 1.0, ramp=1.0)
    pose = motion.sample(np.linspace(0.0, 4.0, 401))
    angle = np.unwrap(np.arctan2(pose[:, 0, 2], pose[:, 0, 0]))
    rate = np.diff(angle) / 0.01
    assert rate[-1] == pytest.approx(4.0, abs=1e-9)
    assert np.diff(rate).max() <= 4.0 / 48 + 1e-9


def test_a_hinge_may_turn_more_than_once_between_its_keys():
    pose = Motion.hinge(UP, (0, 0, 0), [0.0, 1.0], [0.0, 20.0]).at(0.5)
    assert np.abs(pose[:, :3] - rotations(np.array(UP), np.array([10.0]))[0]).max() < 1e-14


def test_a_smooth_hinge_starts_and_stops_gently():
    motion = Motion.hinge(UP, (0, 0, 0), [0.0, 1.0], [0.0, 1.0], smooth=True)
    steps = np.diff(motion.sample(np.linspace(0.0, 1.0, 17))[:, 0, 2])
    assert steps[0] < 0.2 * steps.max()
    assert steps[-1] < 0.2 * steps.max()


def test_a_joint_stays_together_whatever_its_bones_do(rng):
    elbow = np.array([[0.3, 1.1, 0.0]])
    arm = Motion.hinge((0, 0, 1), (0.1, 1.4, 0.0), [0.0, 1.0, 2.0], [0.0, 1.2, 0.3], smooth=True)
    forearm = Motion.hinge((1, 0, 1), elbow[0], [0.0, 0.7, 1.9], [0.0, -1.0, 2.0], parent=arm)
    for time in rng.uniform(0.0, 2.5, 20):
        assert np.abs(placed(elbow, arm.at(time)) - placed(elbow, forearm.at(time))).max() < 1e-15


def test_the_fastest_point_of_a_spinning_box_is_its_corner():
    motion = Motion.spin(UP, (0, 0, 0), 3.0)
    assert motion.fastest(np.array([[-1.0, 0.0, -1.0], [1.0, 5.0, 1.0]])) == pytest.approx(3.0 * 2**0.5, rel=0.02)
    assert Motion([0.0], good(1)).fastest(np.zeros((2, 3))) == 0.0


def test_placed_and_brought_undo_each_other(rng):
    points = rng.normal(size=(50, 3))
    for pose in random_poses(rng, 10):
        assert np.abs(brought(placed(points, pose), pose) - points).max() < 1e-14


def test_a_scene_starts_with_its_bodies_in_their_first_pose():
    from pliant.scene import Scene

    scene = Scene([Body(cloth(0.2, 0.2, 3)), Body(ball(0.1, 1), obstacle=True, motion=Motion([0.5], good(1)))])
    state = scene.start()
    assert (state.pose[0] == np.eye(3, 4)).all()
    assert (state.x[scene.rows(1)] == placed(scene.bodies[1].mesh.vertices, state.pose[1])).all()

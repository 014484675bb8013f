"""Cloth on bodies that move, against closed forms: it sticks, slides and turns as Coulomb and Newton say."""

import numpy as np
import pytest

from pliant.kernels import jit
from pliant.motion.rigid import Motion, placed
from pliant.scene import Body, Cloth, Scene
from pliant.scenes import SCENES
from pliant.scenes.waving import mannequin_parts
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.measure.referee import Referee
from pliant.simulation.record import record
from pliant.state import State
from scenes.test_scenes import digest

pytestmark = pytest.mark.compiled
G, EPS = 9.81, 0.005
STILL = np.eye(3, 4)


def shifted(distance: float, axis: int = 0) -> np.ndarray:
    pose = STILL.copy()
    pose[axis, 3] = distance
    return pose


def on_a_table(motion: Motion, friction: float, at: float = 0.0, method: str = "distance-field") -> Simulation:
    """A patch of cloth in vacuum, at rest on a table that moves; `at` metres from its middle."""
    patch = cloth(0.04, 0.04, 3, centre=(at, 0.05 + EPS, 0.0))
    table = Body(box((1.0, 0.1, 1.0), 1), obstacle=True, motion=motion)
    bodies = [Body(patch, material=Cloth(air=0.0, damping=0.0)), table]
    scene = Scene(bodies, eps=EPS, friction=friction, self_contact="off")
    return Simulation(scene, substeps=10, method=method)


def accelerating(a: float, seconds: float) -> Motion:
    """From rest along x at `a` m/s2, to within the steps of its keys."""
    t = np.linspace(0.0, seconds, 1 + round(1000 * seconds))
    return Motion(t, np.stack([shifted(0.5 * a * s * s) for s in t]))


def run(sim: Simulation, frames: int) -> np.ndarray:
    for _ in sim.run(frames):
        pass
    return sim.state.x[sim.scene.rows(0)]


@pytest.mark.parametrize("method", ["distance-field", "brute-force"])
def test_a_patch_rides_along_on_a_table_that_accelerates_less_than_friction_allows(method):
    sim = on_a_table(accelerating(0.8 * 0.5 * G, 0.2), 0.5, method=method)
    rest = sim.state.x[sim.scene.rows(0)].copy()
    moved = run(sim, 20) - rest
    assert np.abs(moved - sim.state.pose[1, :, 3]).max() < 5e-5  # m; it settles on its contacts first
    assert moved[:, 0].min() > 0.07


def test_a_patch_slides_at_the_acceleration_of_friction_on_a_table_that_is_pulled_away():
    sim = on_a_table(Motion([0.0, 1.0], [STILL, shifted(2.0)]), 0.2)
    run(sim, 20)
    v = sim.state.v[sim.scene.rows(0), 0]
    assert v == pytest.approx(0.2 * G * sim.state.time, rel=0.02)


def test_without_friction_a_table_is_pulled_away_from_under_the_patch():
    sim = on_a_table(Motion([0.0, 1.0], [STILL, shifted(0.5)]), 0.0)
    rest = sim.state.x[sim.scene.rows(0)].copy()
    assert np.abs(run(sim, 20) - rest)[:, [0, 2]].max() < 1e-9


def test_a_patch_turns_with_a_turntable_while_friction_holds_it_on_its_circle():
    rate = np.sqrt(0.5 * 0.5 * G / 0.3)  # half of what friction could hold at this radius
    t = np.linspace(0.0, 1.0, 2001)
    angle = rate * np.where(t < 0.5, t * t, t - 0.25)  # half a second to start
    sim = on_a_table(Motion.hinge((0, 1, 0), (0, 0, 0), t, angle), 0.5, at=0.3)
    rest = sim.state.x[sim.scene.rows(0)].copy()
    found = run(sim, 90)
    assert np.abs(found - placed(rest, sim.state.pose[1])).max() < 1e-4
    assert np.arctan2(found[4, 2], found[4, 0]) < -1.0


def test_a_patch_leaves_a_turntable_that_is_too_fast_to_hold_it():
    rate = np.sqrt(3.0 * 0.2 * G / 0.3)
    sim = on_a_table(Motion.spin((0, 1, 0), (0, 0, 0), rate, ramp=0.2), 0.2, at=0.3)
    assert np.linalg.norm(run(sim, 50)[4]) > 0.34


@pytest.mark.parametrize("method", ["distance-field", "brute-force"])
def test_a_lift_carries_the_patch_up_and_its_speed_is_the_lifts(method):
    sim = on_a_table(Motion([0.0, 0.1, 1.0], [STILL, STILL, shifted(0.9, 1)]), 0.3, method=method)
    x = run(sim, 30)
    assert x[:, 1] == pytest.approx(0.05 + EPS + 0.2, abs=1e-5)
    assert sim.state.v[sim.scene.rows(0), 1] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("method", ["distance-field", "brute-force"])
def test_a_table_that_comes_up_throws_the_patch_by_the_elastic_share_of_its_speed(method):
    patch = cloth(0.04, 0.04, 3, centre=(0.0, 0.07, 0.0))
    lift = Motion([0.0, 0.02, 1.02], [STILL, STILL, shifted(1.0, 1)])
    table = Body(box((1.0, 0.1, 1.0), 1), obstacle=True, motion=lift)
    bodies = [Body(patch, material=Cloth(air=0.0)), table]
    scene = Scene(bodies, eps=EPS, gravity=(0, 0, 0), restitution=0.5, self_contact="off")
    sim = Simulation(scene, substeps=10, method=method)
    run(sim, 6)
    assert sim.state.v[sim.scene.rows(0), 1] == pytest.approx(1.5, abs=1e-6)


def falling(u: tuple[float, float, float]) -> Simulation:
    """A sheet falls on a ball; all of it, and the air, moves at `u`."""
    track = np.stack([STILL, STILL])
    track[1, :, 3] = 10.0 * np.array(u)
    sheet = Body(cloth(0.5, 0.5, 12, centre=(0.02, 0.17, 0.01)), velocity=u)
    stone = Body(ball(0.15, 3), obstacle=True, motion=Motion([0.0, 10.0], track))
    return Simulation(Scene([sheet, stone], wind=u, self_contact="off"), substeps=10)


def test_a_scene_that_moves_evenly_as_a_whole_runs_as_one_that_stands():
    u = (1.0, 0.25, -0.5)
    rest, moving = falling((0.0, 0.0, 0.0)), falling(u)
    a, b = run(rest, 40), run(moving, 40)
    assert np.abs(b - np.array(u) * moving.state.time - a).max() < 5e-4  # m; its vectors are in single precision
    assert len(rest.step().contacts) > 20


def test_friction_takes_the_cloth_along_with_a_ball_that_starts_to_spin():
    scene = SCENES["spinning-ball"](resolution=16, self_contact="off")
    x = record(Simulation(scene, substeps=4), 250, measure=False).x[0]
    p, q = x[:-1], x[1:]
    turn = (p[..., 2] * q[..., 0] - p[..., 0] * q[..., 2]).sum(1) / (p[..., 0] ** 2 + p[..., 2] ** 2).sum(1)
    rate = turn / 0.01  # rad/s, frame by frame; the ball's goes from 0 at 0.8 s to 2 pi at 1.6 s
    assert abs(rate[60:80].mean()) < 0.2
    assert rate[-10:].mean() > 0.5 * np.pi  # the air brakes the rest


@pytest.mark.parametrize("name", ["rod", "waving-mannequin"])
def test_at_the_end_of_a_frame_the_vertices_of_a_body_are_in_its_pose(name):
    sim = Simulation(SCENES[name](resolution=8, self_contact="off"), substeps=2)
    for _ in range(100):
        frame = sim.step()
    for b in sim.scene.moving:
        body = sim.scene.bodies[b]
        assert (frame.pose[b] == body.motion.at(frame.time)).all()
        assert (frame.x[sim.scene.rows(b)] == placed(body.mesh.vertices, frame.pose[b])).all()
        assert not (frame.pose[b] == STILL).all()


def test_a_run_on_moving_parts_stopped_saved_and_resumed_gives_the_same_bits(tmp_path):
    make = lambda state=None: Simulation(SCENES["rod"](resolution=12), substeps=6, state=state)  # noqa: E731
    straight = make()
    digest(straight, 90)
    straight.state.save(tmp_path / "state.npz")
    assert digest(make(State.load(tmp_path / "state.npz")), 20) == digest(straight, 20)


def test_moving_parts_give_the_same_bits_on_one_and_two_threads():
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            sim = Simulation(SCENES["rod"](resolution=56), substeps=6)
            sim.state.time = 0.9
            found.append(digest(sim, 15))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]


def test_cloth_that_starts_in_the_overlap_of_two_parts_comes_out():
    aside = shifted(0.06)
    patch = Body(cloth(0.02, 0.02, 3, centre=(0.031, 0.085, 0.0)), material=Cloth(air=0.0))
    parts = [
        Body(ball(0.1, 4), obstacle=True, group="two", motion=motion) for motion in (None, Motion([0.0], aside[None]))
    ]
    result = record(Simulation(Scene([patch, *parts], gravity=(0, 0, 0)), substeps=10), 10)
    assert result.least_distance[0] < -0.008
    assert result.least_distance[-1] > 0.9 * EPS


def test_the_referee_judges_in_the_frame_of_the_body():
    turn = Motion.hinge((0, 0, 1), (0, 0, 0), [0.0, 1.0], [0.0, np.pi / 2])
    sheet = cloth(0.02, 0.02, 2, centre=(0.0, 0.3, 0.0))
    scene = Scene([Body(sheet), Body(box((1.0, 0.1, 0.1), 1), obstacle=True, motion=turn)])
    referee, x = Referee(scene), scene.start().x
    assert referee.least_distance(x, scene.poses(0.0)) == pytest.approx(0.25)
    assert referee.least_distance(x, scene.poses(1.0)) == pytest.approx(-0.05)
    with pytest.raises(ValueError, match=r"bodies \[1\] move; pass the pose"):
        referee.least_distance(x)


def test_substeps_are_divided_where_a_body_moves_farther_than_the_contact_offset():
    sim = on_a_table(Motion([0.0, 0.1, 0.2], [STILL, shifted(0.0), shifted(1.0)]), 0.0)
    substeps = [frame.substeps for frame in sim.run(14)]
    assert substeps[:9] == [10] * 9
    assert substeps[11:] == [20] * 3  # 10 m/s are 10 mm in 1 ms, twice the offset


def test_a_frame_has_at_most_128_substeps_however_fast_a_body_is():
    sim = on_a_table(Motion([0.0, 0.1], [STILL, shifted(10.0)]), 0.0)
    assert next(sim.run(1)).substeps == 80  # of 10 substeps; twice as many would be above the bound


def test_the_mannequin_is_cut_into_closed_pieces_that_overlap_where_they_join():
    parts = {mesh.name: mesh for mesh in mannequin_parts()}
    assert len(parts) == 14
    assert all(mesh.issues.closed and not mesh.issues.inward for mesh in parts.values())
    low, high = (np.stack([mesh.bounds[k] for mesh in parts.values()]) for k in (0, 1))
    assert (low[:, 1].min(), high[:, 1].max()) == pytest.approx((0.0, 1.75), abs=0.01)
    for a, b in (("left upper arm", "left forearm"), ("left forearm", "left hand"), ("torso", "left upper arm")):
        assert (parts[a].bounds[1] > parts[b].bounds[0]).all()
        assert (parts[b].bounds[1] > parts[a].bounds[0]).all()

"""Friction, bounce and momentum of the response, against closed forms and against its own promises."""

import numpy as np
import pytest

from pliant import contacts as _contacts
from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.kernels.jit import COMPILED
from pliant.mesh import Mesh
from pliant.respond import Projection
from pliant.respond.projection import RECOVERY
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import box, cloth
from pliant.simulation import Simulation
from pliant.state import State

G = 9.81
EPS = 0.005


def slope(angle: float, friction: float, model: str = "coulomb", **options: object) -> Simulation:
    """A small patch of cloth at rest, eps above a long box tilted by `angle` about z; it would slide towards +x."""
    c, s = np.cos(-angle), np.sin(-angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    plank = box((2.0, 0.1, 0.3), (2, 1, 1))
    patch = cloth(0.04, 0.04, 3)
    patch = patch.moved((patch.vertices + np.array([-0.5, 0.05 + EPS, 0.0])) @ turn.T)
    bodies = [Body(patch, material=Cloth(air=0.0)), Body(plank.moved(plank.vertices @ turn.T), obstacle=True)]
    scene = Scene(bodies, eps=EPS, friction=friction, friction_model=model, **{"self_contact": "off"} | options)
    return Simulation(scene, substeps=10)


def along(sim: Simulation, angle: float) -> float:
    """Mean speed down the slope."""
    return float((sim.state.v[sim.scene.rows(0)] @ [np.cos(angle), -np.sin(angle), 0.0]).mean())


def run(sim: Simulation, frames: int) -> None:
    for _ in sim.run(frames if COMPILED else frames // 4):
        pass


@pytest.mark.compiled
@pytest.mark.parametrize(("degrees", "self_contact"), [(10.0, "off"), (20.0, "safe"), (35.0, "off")])
def test_a_patch_sticks_where_friction_exceeds_the_slope(degrees, self_contact):
    a = np.radians(degrees)
    sim = slope(a, 1.05 * np.tan(a), self_contact=self_contact)
    run(sim, 20)  # it settles on its contacts
    start = sim.state.x.copy()
    run(sim, 60)
    assert np.abs(sim.state.x - start).max() < 3e-6


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("degrees", "share", "self_contact"), [(20.0, 0.0, "off"), (20.0, 0.5, "safe"), (35.0, 0.9, "off")]
)
def test_a_patch_slides_as_coulomb_says_below_that(degrees, share, self_contact):
    a = np.radians(degrees)
    mu = share * np.tan(a)
    sim = slope(a, mu, self_contact=self_contact)
    run(sim, 10)  # it settles on its contacts
    before, time = along(sim, a), sim.state.time
    run(sim, 40)
    wanted = G * (np.sin(a) - mu * np.cos(a)) * (sim.state.time - time)
    assert along(sim, a) - before == pytest.approx(wanted, rel=0.04)


@pytest.mark.compiled
def test_the_simple_model_brakes_but_cannot_stick():
    a = np.radians(10.0)
    sim = slope(a, 0.5, "simple")
    run(sim, 40)
    free = G * np.sin(a) * sim.state.time
    assert 0.0 < along(sim, a) < 0.1 * free


@pytest.mark.compiled
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_the_speed_after_an_impact_is_the_elastic_share_of_the_speed_before(restitution):
    sim = slope(0.0, 0.0, restitution=restitution)
    sim.state.x[sim.scene.rows(0), 1] += 0.1
    speeds = []
    for _ in sim.run(30):
        speeds.append(float(sim.state.v[sim.scene.rows(0), 1].mean()))
    assert min(speeds) == pytest.approx(-np.sqrt(2 * G * 0.1), rel=0.1)
    assert max(speeds) == pytest.approx(restitution * np.sqrt(2 * G * 0.1), rel=0.12, abs=0.02)


@pytest.mark.compiled
def test_moving_something_out_of_a_body_does_not_throw_it():
    sim = slope(0.0, 0.0)
    sim.state.x[sim.scene.rows(0), 1] -= 0.9 * EPS
    run(sim, 8)
    assert np.abs(sim.state.v).max() < 0.05
    assert (sim.state.x[sim.scene.rows(0), 1] >= 0.05 + 0.9 * EPS - 1e-7).all()


@pytest.mark.compiled
def test_what_starts_deep_inside_comes_out_at_a_walking_pace_and_stops_there():
    sim = slope(0.0, 0.3)
    rows = sim.scene.rows(0)
    sim.state.x[rows, 1] -= 4 * EPS
    heights = [sim.state.x[rows, 1].copy()]
    for _ in sim.run(6):
        heights.append(sim.state.x[rows, 1].copy())
    steps = np.diff(heights, axis=0) / sim.dt
    assert steps.max() <= 1.001 * RECOVERY
    assert steps[0].min() > 0.5 * RECOVERY
    assert (heights[-1] >= 0.05 + 0.9 * EPS - 1e-7).all()
    assert heights[-1] == pytest.approx(0.05 + EPS, abs=0.1 * EPS + 1e-4)


@pytest.mark.compiled
def test_friction_never_leaves_the_cone():
    a = np.radians(25.0)
    sim = Simulation(slope(a, 0.3).scene, substeps=10, solver="xpbd")  # contacts do not repel inside its sweep
    for _ in sim.run(15):
        normal_correction, friction_correction = (
            sim.response.normal_correction,
            np.linalg.norm(sim.response.friction_correction, axis=1),
        )
        assert (friction_correction <= 0.3 * normal_correction * (1 + 1e-12)).all()
        assert normal_correction.max() > 0.0


def test_impulses_between_two_soft_things_cancel():
    upper, lower = cloth(0.2, 0.2, 5, irregular=True, seed=1), cloth(0.2, 0.2, 5, irregular=True, seed=2)
    upper = upper.moved(upper.vertices + np.array([0.01, 0.002, 0.003]))
    scene = Scene([Body(upper), Body(lower, material=Cloth(density=0.7))], eps=EPS, friction=0.4)
    state = scene.start()
    state.v[: upper.n_vertices] = [0.3, -1.0, 0.2]
    state.x_start[:] = state.x - state.v * 1e-3
    found = BruteForceDetector(Side(upper, 0, 0), Side(lower, upper.n_vertices, 1), within=EPS).find(state)
    before = state.x.copy()
    response = Projection(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    impulse = scene.masses[:, None] * (state.x - before)
    assert len(found) > 20
    assert np.abs(impulse).sum() > 0.0
    assert np.abs(impulse.sum(0)).max() <= 1e-12 * np.abs(impulse).sum()


def test_the_order_in_which_detectors_report_does_not_matter():
    sheet, other = cloth(0.2, 0.2, 5), cloth(0.2, 0.2, 5, irregular=True)
    other = other.moved(other.vertices + np.array([0.0, -0.001, 0.0]))
    state = State.at(np.concatenate([sheet.vertices, other.vertices]))
    found = BruteForceDetector(Side(sheet, 0, 0), Side(other, 25, 1), within=EPS).find(state)
    mixed = found[np.random.default_rng(3).permutation(len(found))]
    assert (_contacts.concatenate([mixed[:7], mixed[7:]]) == found).all()


def test_a_contact_that_nothing_can_move_is_left_alone():
    rigid = box(0.2, 1)
    scene = Scene([Body(rigid, obstacle=True), Body(Mesh(rigid.vertices, rigid.faces), obstacle=True)])
    state = scene.start()
    found = BruteForceDetector(Side(rigid, 0, 0), Side(rigid, 8, 1), within=EPS).find(state)
    before = state.x.copy()
    response = Projection(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    response.finish(found, state, 1e-3)
    assert len(found) > 0
    assert (state.x == before).all()
    assert (state.v == 0.0).all()

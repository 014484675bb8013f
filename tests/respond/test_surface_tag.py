"""Set to the surface, tagged until it leaves: against closed forms, on surfaces that stand and that move."""

import numpy as np
import pytest

from pliant.detect.base import Side
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.motion.rigid import Motion
from pliant.respond import SurfaceTag
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import box, cloth
from pliant.simulation import Simulation

G, EPS = 9.81, 0.005


def tagging(sim: Simulation, hold: bool = True, **options: float) -> Simulation:
    """The simulation with this response; without `hold` it acts on contacts alone."""
    sim.response = SurfaceTag(sim.scene, reads_obstacle_vertices=bool(sim.scene.moving), **options)
    if not hold:
        sim.response.hold = lambda state, dt: None
    return sim


def patch_on(plank: Body, friction: float, turn: np.ndarray | None = None, lift: float = 0.0) -> Simulation:
    """A small patch of cloth in vacuum, at rest, eps above a table 0.1 m thick (and both turned)."""
    turn = np.eye(3) if turn is None else turn
    patch = cloth(0.04, 0.04, 3)
    patch = patch.moved((patch.vertices + np.array([0.0, 0.05 + EPS + lift, 0.0])) @ turn.T)
    bodies = [Body(patch, material=Cloth(air=0.0, damping=0.0)), plank]
    scene = Scene(bodies, eps=EPS, friction=friction, self_contact="off")
    return Simulation(scene, substeps=10, method="bone-boxes", options={"midpoints": False})


def slope(angle: float, friction: float) -> Simulation:
    c, s = np.cos(-angle), np.sin(-angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    plank = box((2.0, 0.1, 0.3), (2, 1, 1))
    return patch_on(Body(plank.moved(plank.vertices @ turn.T), obstacle=True), friction, turn)


def table(motion: Motion | None = None) -> Body:
    return Body(box((2.0, 0.1, 1.0), 1), obstacle=True, motion=motion)


def run(sim: Simulation, frames: int) -> np.ndarray:
    for _ in sim.run(frames):
        pass
    return sim.state.x[sim.scene.rows(0)]


def shifted(*by: float) -> np.ndarray:
    pose = np.eye(3, 4)
    pose[:, 3] = by
    return pose


@pytest.mark.compiled
@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("degrees", [10.0, 35.0])
def test_a_patch_sticks_where_friction_exceeds_the_slope(degrees, hold):
    a = np.radians(degrees)
    sim = tagging(slope(a, 1.05 * np.tan(a)), hold)
    start = sim.state.x.copy()
    run(sim, 40)
    assert np.abs(sim.state.x - start).max() < 1e-6
    assert len(sim.response.tagged) == 9


@pytest.mark.compiled
@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize(("degrees", "share"), [(20.0, 0.0), (20.0, 0.5), (35.0, 0.9)])
def test_a_patch_slides_as_coulomb_says_below_that(degrees, share, hold):
    a = np.radians(degrees)
    mu = share * np.tan(a)
    sim = tagging(slope(a, mu), hold)
    run(sim, 30)
    down = sim.state.v[sim.scene.rows(0)] @ [np.cos(a), -np.sin(a), 0.0]
    assert down == pytest.approx(G * (np.sin(a) - mu * np.cos(a)) * sim.state.time, rel=0.02)


@pytest.mark.compiled
def test_what_falls_is_set_to_the_surface_and_does_not_bounce():
    sim = tagging(patch_on(table(), 0.3, lift=0.1))
    fastest = 0.0
    for _ in sim.run(30):
        fastest = max(fastest, float(sim.state.v[:, 1].max()))
    assert sim.state.x[sim.scene.rows(0), 1] == pytest.approx(0.05 + EPS, abs=2e-6 * EPS)
    assert fastest < 1e-9


@pytest.mark.compiled
def test_what_is_tagged_is_not_moved_towards_its_surface_and_may_leave_it():
    sim = tagging(patch_on(table(), 0.0))
    run(sim, 3)
    tag, state, rows = sim.response, sim.state.copy(), sim.scene.rows(0)
    assert tag.tagged.tolist() == list(range(9))
    for way, kept in ((-1.0, 0.0), (1.0, 1.0)):
        state.x_start[:] = state.x
        state.x[rows] += [0.001, way * 0.001, 0.0]
        tag.constrain_prediction(state, 1e-3)
        np.testing.assert_allclose((state.x - state.x_start)[rows], np.tile([1e-3, kept * 1e-3, 0], (9, 1)), atol=1e-15)


@pytest.mark.compiled
def test_a_tag_goes_when_its_vertex_leaves():
    sim = tagging(patch_on(table(), 0.3))
    run(sim, 3)
    assert len(sim.response.tagged) == 9
    sim.state.v[sim.scene.rows(0), 1] = 0.5
    run(sim, 1)
    assert len(sim.response.tagged) == 0
    assert sim.state.v[sim.scene.rows(0), 1] == pytest.approx(0.5 - G * 0.01, abs=1e-3)


def test_the_former_name_of_the_stiffness_works_and_warns():
    with pytest.warns(DeprecationWarning, match="stiffness_per_mass"):
        assert tagging(patch_on(table(), 0.3), stiffness=5.0).response.stiffness_per_mass == 5.0


@pytest.mark.compiled
def test_what_starts_deep_is_driven_out_by_a_force_in_proportion_and_stays_out():
    sim = tagging(patch_on(table(), 0.3), stiffness_per_mass=1e4)
    rows, depth = sim.scene.rows(0), 4 * EPS
    sim.state.x[rows, 1] -= depth
    before = sim.state.x[rows, 1].copy()
    dt = sim.dt / sim.substeps
    sim.substeps, sim.dt = 1, dt
    run(sim, 1)
    # gravity's fall is taken back, and the force moves by a dt2
    assert (sim.state.x[rows, 1] - before) == pytest.approx(1e4 * depth * dt * dt, rel=0.02)
    sim.substeps, sim.dt = 10, 0.01
    speeds = []
    for _ in sim.run(12):
        speeds.append(np.abs(sim.state.v[rows, 1]).max())
    assert max(speeds) < depth * np.sqrt(1e4)
    assert sim.state.x[rows, 1] == pytest.approx(0.05 + EPS, abs=2e-6 * EPS)
    assert speeds[-1] < 1e-9


@pytest.mark.compiled
def test_a_surface_that_moves_takes_along_what_it_holds_and_brakes_what_it_does_not():
    t = np.linspace(0.0, 0.2, 201)
    slow = Motion(t, np.stack([shifted(0.5 * 0.8 * 0.5 * G * s * s, 0, 0) for s in t]))
    sim = tagging(patch_on(table(slow), 0.5))
    rest = sim.state.x[sim.scene.rows(0)].copy()
    assert np.abs(run(sim, 20) - rest - sim.state.pose[1, :, 3]).max() < 5e-6
    sim = tagging(patch_on(table(Motion([0.0, 1.0], [shifted(0, 0, 0), shifted(2.0, 0, 0)])), 0.2))
    run(sim, 20)
    assert sim.state.v[sim.scene.rows(0), 0] == pytest.approx(0.2 * G * sim.state.time, rel=0.02)


@pytest.mark.compiled
def test_a_lift_carries_the_patch_at_its_own_speed():
    sim = tagging(patch_on(table(Motion([0.0, 0.1, 1.0], [np.eye(3, 4), np.eye(3, 4), shifted(0, 0.9, 0)])), 0.3))
    run(sim, 30)
    assert sim.state.v[sim.scene.rows(0), 1] == pytest.approx(1.0, abs=1e-6)
    assert sim.state.x[sim.scene.rows(0), 1] == pytest.approx(0.05 + EPS + 0.2, abs=1e-6)


def test_contacts_that_nothing_can_move_are_left_alone():
    rigid = box(0.2, 1)
    scene = Scene([Body(rigid, obstacle=True), Body(rigid, obstacle=True)])
    state = scene.start()
    detector = BoneBoxesDetector(Side(rigid, 0, 0), Side(rigid, 8, 1), within=EPS)
    found = detector.update(state).find(state)
    before, response = state.x.copy(), SurfaceTag(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    response.finish(found, state, 1e-3)
    response.constrain_prediction(state, 1e-3)
    assert len(found) > 0
    assert (state.x == before).all()
    assert len(response.tagged) == 0

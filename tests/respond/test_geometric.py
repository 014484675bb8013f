"""Set apart until nothing touches: with every detector, without giving speed, and with an honest count of the rest."""

from fractions import Fraction

import numpy as np
import pytest

import naive
from pliant import contacts as _contacts
from pliant.detect import METHODS, Reports
from pliant.detect.base import Finds, Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.queries.intersections import Intersections
from pliant.kernels import jit
from pliant.mesh import Mesh
from pliant.respond import RESPONSES, Geometric
from pliant.respond.geometric import FREE
from pliant.scene import Body, Cloth, Scene
from pliant.scenes import SCENES
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.retraction import Retraction

G, EPS = 9.81, 0.005
SETTING = ("geometric", "penalty+geometric")
OBSTACLES = [n for n, m in METHODS.items() if m.finds & Finds.OBSTACLE and m.reports is not Reports.INSIDE]


def patch(angle: float = 0.0, friction: float = 0.3, restitution: float = 0.0, **options) -> Simulation:
    """A small patch of cloth in vacuum at rest, eps above a long box tilted by `angle` about z."""
    c, s = np.cos(-angle), np.sin(-angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    plank, sheet = box((2.0, 0.1, 0.3), (2, 1, 1)), cloth(0.04, 0.04, 3)
    sheet = sheet.moved((sheet.vertices + np.array([-0.5, 0.05 + EPS, 0.0])) @ turn.T)
    bodies = [Body(sheet, material=Cloth(air=0.0)), Body(plank.moved(plank.vertices @ turn.T), obstacle=True)]
    scene = Scene(bodies, eps=EPS, friction=friction, restitution=restitution, self_contact="off")
    return Simulation(scene, **{"substeps": 10, "method": "bone-boxes", "response": "geometric", **options})


def layers(rng: np.random.Generator, count: int = 4, heavy: float = 0.7, **options):
    """Sheets that lie through each other, every other one heavier: the scene, its state, and who looks."""
    sheets = [cloth(0.1, 0.1, 6, irregular=True, seed=k, centre=(0.01 * k, 0.001 * k, 0.003)) for k in range(count)]
    bodies = [Body(s, material=Cloth(density=0.2 if k % 2 else heavy)) for k, s in enumerate(sheets)]
    scene = Scene(bodies, eps=EPS, friction=0.4, **options)
    state = scene.start()
    state.x += 0.001 * rng.normal(size=state.x.shape)
    sides = [Side(s, 36 * k, k) for k, s in enumerate(sheets)]
    pairs = [BruteForceDetector(a, b, within=EPS) for k, a in enumerate(sides) for b in sides[k + 1 :]]
    return scene, state, lambda at: _contacts.concatenate([pair.find(at) for pair in pairs])


def least(found) -> float:
    return float(found["distance"].min(initial=np.inf))


@pytest.mark.compiled
@pytest.mark.parametrize("method", OBSTACLES)
@pytest.mark.parametrize("response", SETTING)
def test_with_every_detector_each_frame_is_free_of_contact_and_says_so(method, response):
    bodies = [Body(cloth(0.3, 0.3, 9, centre=(0.01, 0.12, 0.0))), Body(ball(0.1, 2), obstacle=True)]
    sim = Simulation(Scene(bodies, eps=EPS, self_contact="off"), substeps=4, method=method, response=response)
    most = 0
    for frame in sim.run(20):
        found = sim.detect(sim.state)
        assert frame.unresolved == (found["distance"] < FREE * EPS * (1.0 - 1e-9)).sum() == 0, frame.index
        most = max(most, len(frame.contacts))
    assert most >= 4
    assert np.abs(sim.state.v).max() < 3.0


@pytest.mark.compiled
def test_layers_that_lie_through_each_other_end_apart_and_momentum_cancels(rng):
    scene, state, look = layers(rng)
    response = Geometric(scene)
    state.v[:] = rng.normal(size=state.v.shape)
    x, v = state.x.copy(), state.v.copy()
    assert least(look(state)) < 0.1 * EPS
    response.end_frame(state, 1e-3, look)
    assert response.unresolved == 0
    assert least(look(state)) >= FREE * EPS * (1.0 - 1e-9)
    for before, after in ((x, state.x), (v, state.v)):
        given = scene.masses[:, None] * (after - before)
        assert np.abs(given).sum() > 0.0
        assert np.abs(given.sum(0)).max() <= 1e-12 * np.abs(given).sum()


@pytest.mark.compiled
def test_what_there_is_no_room_for_remains_and_is_counted(rng):
    scene, state, look = layers(rng)
    # nothing of the outer sheets can move, and they are nearer to each other than twice eps
    scene.inverse_masses[:36] = scene.inverse_masses[-36:] = 0.0
    response = Geometric(scene, rounds=6)
    response.end_frame(state, 1e-3, look)
    found = look(state)
    held = np.isin(found["bodies"], (0, 3)).all(1)
    assert response.unresolved == (found["distance"][~held] < FREE * EPS).sum() > 0
    assert response.passes == 6


def test_what_has_passed_through_is_counted_although_nothing_is_near():
    # a large triangle through the middle of another: its features are farther apart than the distance
    one = Mesh([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 0.0, 1.0]], [[0, 1, 2]])
    two = Mesh([[0.0, -1.0, 0.0], [0.0, 1.0, -0.1], [0.1, 1.0, 0.1]], [[0, 1, 2]])
    scene = Scene([Body(one), Body(two)], thickness=EPS, self_contact="push", gravity=(0.0, 0.0, 0.0))
    sim = Simulation(scene, self_method="bvh", self_response="geometric")
    frame = sim.step()
    assert (frame.unresolved, frame.intersections) == (0, 1)
    apart = scene.start()
    apart.x[3:, 1] += 3.0
    frame = Simulation(scene, self_method="bvh", self_response="geometric", state=apart).step()
    assert (frame.unresolved, frame.intersections) == (0, 0)


@pytest.mark.parametrize("response", SETTING)
def test_cloth_that_passes_through_cloth_in_a_frame_returns_to_its_side(response, monkeypatch):
    sheets = [cloth(0.1, 0.1, 5, irregular=True, seed=k, centre=(0.003 * k, 0.06 * k, 0.0)) for k in range(2)]
    slope = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    bodies = [Body(sheets[0], pins=np.arange(25))]
    bodies.append(Body(sheets[1].moved(sheets[1].vertices @ slope), velocity=(0.0, -4.0, 0.0)))
    scene = Scene(bodies, thickness=EPS, self_contact="push", gravity=(0.0, 0.0, 0.0))

    def crossing(sim):
        faces = [(scene.bodies[b].mesh.faces + int(scene.first[b])).tolist() for b in (0, 1)]
        x = [tuple(map(Fraction, p)) for p in sim.state.x.tolist()]
        between = [naive.triangles_intersect([x[i] for i in f], [x[i] for i in g]) for f in faces[0] for g in faces[1]]
        crumpled = Intersections(scene.bodies[1].mesh).update(sim.state.x[25:]).pairs()  # the falling sheet with itself
        return sum(between) + len(crumpled)

    sim = Simulation(scene, substeps=2, self_method="bvh", self_response=response)
    assert [(sim.step().intersections, crossing(sim)) for _ in range(4)] == [(0, 0)] * 4
    assert sim.state.x[25:, 1].mean() > 0.0
    monkeypatch.setattr(Retraction, "apply", lambda self, state: 0)
    without = Simulation(scene, substeps=2, self_method="bvh", self_response=response)
    seen = [(without.step().intersections, crossing(without)) for _ in range(4)]
    assert all(counted == truth for counted, truth in seen)
    assert max(truth for _, truth in seen) > 10


def test_nobody_to_look_means_the_contacts_that_were_given(rng):
    scene, state, look = layers(rng, 2)
    found, response = look(state), Geometric(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    assert response.passes == 0
    gaps = (_contacts.gap(found, state.x) * found["normal"]).sum(1)
    assert response.unresolved == (gaps < FREE * EPS).sum()


@pytest.mark.compiled
def test_what_is_deep_is_set_out_at_once_and_gets_no_speed():
    sim = patch()
    rows = sim.scene.rows(0)
    sim.state.x[rows, 1] -= 4 * EPS
    sim.step()
    assert sim.state.x[rows, 1] == pytest.approx(0.05 + EPS, abs=1e-6)
    assert np.abs(sim.state.v).max() < 1e-6


@pytest.mark.compiled
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_the_response_velocity_is_the_elastic_share_of_the_speed_before(restitution):
    sim = patch(restitution=restitution, friction=0.0)
    sim.state.x[sim.scene.rows(0), 1] += 0.1
    speeds = [float(sim.state.v[sim.scene.rows(0), 1].mean()) for _ in sim.run(30)]
    assert min(speeds) == pytest.approx(-np.sqrt(2 * G * 0.1), rel=0.1)
    assert max(speeds) == pytest.approx(restitution * np.sqrt(2 * G * 0.1), rel=0.12, abs=0.02)


@pytest.mark.compiled
@pytest.mark.parametrize(("degrees", "share"), [(20.0, 0.0), (20.0, 0.5), (35.0, 0.9), (20.0, 1.05)])
def test_a_patch_slides_as_coulomb_says_and_sticks_where_friction_exceeds_the_slope(degrees, share):
    a = np.radians(degrees)
    mu = share * np.tan(a)
    sim = patch(a, mu)
    start = sim.state.x.copy()
    for _ in sim.run(30):
        assert (
            np.linalg.norm(sim.response.friction_correction, axis=1) <= mu * sim.response.stopped * (1 + 1e-12)
        ).all()
    down = sim.state.v[sim.scene.rows(0)] @ [np.cos(a), -np.sin(a), 0.0]
    if share < 1.0:
        assert down == pytest.approx(G * (np.sin(a) - mu * np.cos(a)) * sim.state.time, rel=0.02)
    else:
        assert np.abs(sim.state.x - start).max() < 1e-6


def test_a_corner_beside_a_pin_does_not_fly():
    sheet, small = cloth(0.1, 0.1, 2), cloth(0.02, 0.02, 2)
    # a vertex over a corner that is pinned: next to nothing of that pair can move
    over = small.moved(small.vertices - small.vertices[0] + sheet.vertices[0] + np.array([1e-7, 0.1 * EPS, 1e-7]))
    scene = Scene([Body(sheet, pins=[0]), Body(over, pins=[0, 1, 2, 3])], eps=EPS)
    state = scene.start()
    found = BruteForceDetector(Side(sheet, 0, 0), Side(over, 4, 1), within=EPS).find(state)
    before, response = state.x.copy(), Geometric(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    assert len(found) > 0
    assert np.abs(state.x - before).max() < 6 * EPS


@pytest.mark.compiled
@pytest.mark.parametrize("response", ["penalty", *SETTING])
def test_energy_never_rises_above_its_start_in_a_damped_scene(response):
    sim = Simulation(SCENES["tablecloth-on-ball"](resolution=12), substeps=8, response=response)
    mass, energies, lows = sim.scene.masses.sum(), [], []
    for _ in sim.run(60):
        energies.append(sum(sim.dynamics.energy(sim.state).values()))
        lows.append(sim.state.x[sim.scene.deformable_rows, 1].min())
    energies = np.array(energies) - mass * G * min(lows)
    assert energies.max() <= 1.01 * energies[0]


@pytest.mark.compiled
@pytest.mark.parametrize("response", ["penalty", *SETTING])
def test_one_and_two_threads_give_the_same_bits(response):
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            sim = Simulation(SCENES["tablecloth-on-ball"](resolution=9), substeps=4, method="tree", response=response)
            found.append(b"".join(frame.x.tobytes() + sim.state.v.tobytes() for frame in sim.run(25)))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["penalty", *SETTING])
def test_contacts_in_canonical_order_give_the_same_bits_however_they_were_found(name, rng):
    ends = []
    for mixed in (False, True):
        scene, state, look = layers(np.random.default_rng(7), 2)
        found = look(state)
        if mixed:
            found = _contacts.concatenate([found[rng.permutation(len(found))]])
        response = RESPONSES[name](scene)
        response.begin(found, state)
        response.apply(found, state, 1e-3)
        ends.append(state.x.tobytes())
    assert ends[0] == ends[1]


class Counted:
    """A detector that counts how often it is asked."""

    def __init__(self, inner):
        self.inner, self.obstacle_may_deform, self.asked = inner, inner.obstacle_may_deform, 0

    def update(self, state):
        self.inner.update(state)
        return self

    def find(self, state):
        self.asked += 1
        return self.inner.find(state)


def test_detectors_that_are_exchanged_are_those_that_a_response_looks_by():
    sheet = Body(cloth(0.5, 0.5, 4, centre=(0.0, 0.205, 0.0)))
    sim = Simulation(Scene([sheet, Body(ball(0.2, 1), obstacle=True)]), substeps=1, method="tree", response="geometric")
    sim.detectors = [Counted(one) for one in sim.detectors]
    sim.step()
    assert sim.detectors[0].asked > 1

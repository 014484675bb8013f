"""Repulsion by mass: against the closed forms of a damped spring, and what it promises about momentum and friction."""

import numpy as np
import pytest

from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.kernels.respond import penalty as kernels
from pliant.respond import Penalty
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import box, cloth
from pliant.simulation import Simulation

G, EPS = 9.81, 0.005
BOTH = ("penalty", "penalty+geometric")


def patch(angle: float = 0.0, friction: float = 0.3, substeps: int = 10, **options) -> Simulation:
    """A small patch of cloth in vacuum at rest, eps above a long box tilted by `angle` about z."""
    c, s = np.cos(-angle), np.sin(-angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    plank, sheet = box((2.0, 0.1, 0.3), (2, 1, 1)), cloth(0.04, 0.04, 3)
    sheet = sheet.moved((sheet.vertices + np.array([-0.5, 0.05 + EPS, 0.0])) @ turn.T)
    bodies = [Body(sheet, material=Cloth(air=0.0)), Body(plank.moved(plank.vertices @ turn.T), obstacle=True)]
    options = {"method": "bone-boxes", "options": {"midpoints": False}, **options}
    scene = Scene(bodies, eps=EPS, friction=friction, self_contact="off")
    return Simulation(scene, substeps=substeps, **options)


def met(heavy: float = 0.7) -> tuple[Scene, object, object]:
    """Two sheets that go through each other, the second of them heavier; their state and contacts."""
    upper, lower = cloth(0.2, 0.2, 5, irregular=True, seed=1), cloth(0.2, 0.2, 5, irregular=True, seed=2)
    upper = upper.moved(upper.vertices + np.array([0.01, 0.002, 0.003]))
    scene = Scene([Body(upper), Body(lower, material=Cloth(density=heavy))], eps=EPS, friction=0.4)
    state = scene.start()
    state.v[: upper.n_vertices] = [0.3, -1.0, 0.2]
    state.x_start[:] = state.x - state.v * 1e-3
    return scene, state, BruteForceDetector(Side(upper, 0, 0), Side(lower, 25, 1), within=EPS).find(state)


@pytest.mark.parametrize("pace", [1e-3, 0.3, 10.0, 1e6])
def test_what_is_missing_is_regained_as_a_damped_spring_would_and_never_overshoots(pace):
    missing = [1.0]
    out = 0.0
    for _ in range(max(20, int(8.0 / pace))):
        # free flight by the last step's opening, then the spring
        now = missing[-1] - out
        out += kernels.spring(now, out, pace) if now > 0.0 else 0.0
        missing.append(missing[-1] - out)
    assert min(missing) >= -1e-15
    assert (np.diff(missing) <= 1e-15).all()
    t = pace * np.arange(len(missing))
    if pace < 0.01:
        assert np.abs(missing - (1.0 + t) * np.exp(-t)).max() < 2e-3
    assert missing[-1] < 0.01


def test_a_gap_that_opens_fast_is_braked_but_does_not_close(rng):
    for missing, out, pace in 10.0 ** rng.uniform(-4, 1, (200, 3)):
        assert -out < kernels.spring(missing, out, pace) <= missing


def test_momentum_of_a_pair_cancels_and_each_object_moves_as_one():
    scene, state, found = met()
    before, response = state.x.copy(), Penalty(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    impulse = scene.masses[:, None] * (state.x - before)
    assert len(found) > 20
    assert np.abs(impulse).sum() > 0.0
    assert np.abs(impulse.sum(0)).max() <= 1e-12 * np.abs(impulse).sum()
    one = found[:1]
    state.x[:] = before
    response.begin(one, state)
    response.apply(one, state, 1e-3)
    v = one["vertices"][0]
    split = 1 if one["kind"][0] == 0 else 2
    moved, masses = (state.x - before)[v], scene.masses[v]
    for side in (slice(0, split), slice(split, 4)):
        assert np.ptp(moved[side], axis=0).max() < 1e-15
    assert moved[0] * masses[:split].sum() == pytest.approx(-moved[3] * masses[split:].sum(), rel=1e-9)


def test_no_contact_rubs_harder_than_its_push_allows():
    scene, state, found = met()
    response = Penalty(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    friction_correction = np.linalg.norm(response.friction_correction, axis=1)
    assert (friction_correction <= 0.4 * response.normal_correction * (1 + 1e-12)).all()
    assert friction_correction.max() > 0.0


@pytest.mark.compiled
@pytest.mark.parametrize("substeps", [1, 10, 40])
def test_its_own_weight_presses_cloth_by_g_tau2_whatever_the_step(substeps):
    sim = patch(substeps=substeps, response="penalty")
    for _ in sim.run(30):
        pass
    sunk = 0.05 + EPS - sim.state.x[sim.scene.rows(0), 1]
    assert sunk == pytest.approx(G * sim.response.tau**2, rel=1e-3)
    assert np.abs(sim.state.v).max() < 1e-6


@pytest.mark.compiled
@pytest.mark.parametrize("response", BOTH)
@pytest.mark.parametrize(("degrees", "share"), [(20.0, 0.5), (35.0, 0.9), (20.0, 1.05)])
def test_a_patch_slides_as_coulomb_says_and_sticks_where_friction_exceeds_the_slope(degrees, share, response):
    a = np.radians(degrees)
    mu = share * np.tan(a)
    sim = patch(a, mu, response=response)
    start = sim.state.x.copy()
    for _ in sim.run(40):
        pass
    down = sim.state.v[sim.scene.rows(0)] @ [np.cos(a), -np.sin(a), 0.0]
    if share < 1.0:
        assert down == pytest.approx(G * (np.sin(a) - mu * np.cos(a)) * sim.state.time, rel=0.03)
    else:
        # it settles g tau2 deeper, and slips while it does
        assert np.abs(sim.state.x - start).max() < 5.0 * G * sim.response.tau**2
        assert np.abs(down).max() < 1e-6


@pytest.mark.compiled
@pytest.mark.parametrize("substeps", [1, 16])
@pytest.mark.parametrize("response", BOTH)
def test_what_falls_does_not_bounce_and_what_starts_deep_is_not_thrown(response, substeps):
    for lift in (0.1, -0.8 * EPS):
        sim = patch(substeps=substeps, response=response)
        sim.state.x[sim.scene.rows(0), 1] += lift
        tops = [sim.state.x[sim.scene.rows(0), 1].max()]
        for _ in sim.run(40):
            tops.append(sim.state.x[sim.scene.rows(0), 1].max())
        rest = 0.05 + EPS
        assert max(tops[25:]) < rest + 0.02 * EPS
        if lift < 0.0:
            # what was set out keeps the speed that the force had given it by then
            assert max(tops) < rest + (0.1 if response == BOTH[1] else 0.02) * EPS
        assert tops[-1] > rest - 0.15 * EPS


def test_contacts_that_nothing_can_move_are_left_alone():
    rigid = box(0.2, 1)
    scene = Scene([Body(rigid, obstacle=True), Body(rigid, obstacle=True)])
    state = scene.start()
    found = BruteForceDetector(Side(rigid, 0, 0), Side(rigid, 8, 1), within=EPS).find(state)
    before, response = state.x.copy(), Penalty(scene)
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    response.finish(found, state, 1e-3)
    assert len(found) > 0
    assert (state.x == before).all()
    assert (state.v == 0.0).all()

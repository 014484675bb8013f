"""Strands hang, bend and fly as closed forms say, stay out of bodies, and do not pass through each other."""

import dataclasses

import numpy as np
import pytest

from pliant import Body, Grip, Mesh, Motion, Scene, Simulation, Strands, shapes
from pliant.dynamics import StrandDynamics
from pliant.kernels import jit
from pliant.kernels.dynamics import strands as kernels
from pliant.simulation.measure.referee import Referee

G = 9.81


def strand(points, **fields) -> Mesh:
    n = len(points)
    return Mesh.from_lines(points, np.stack([np.arange(n - 1), np.arange(1, n)], 1), **fields)


def line(a, b, count: int) -> np.ndarray:
    return np.asarray(a) + np.linspace(0.0, 1.0, count)[:, None] * (np.asarray(b, float) - np.asarray(a))


def alone(mesh: Mesh, material: Strands, **body) -> Scene:
    return Scene([Body(mesh, material=material, **body)], self_contact="off")


def settled(scene: Scene, frames: int) -> np.ndarray:
    sim = Simulation(scene)
    for _ in sim.run(frames):
        pass
    return sim.state.x


@pytest.mark.compiled
def test_a_hanging_strand_is_longer_by_its_weight_over_twice_its_stiffness():
    stuff = Strands(stretch=2.0, density=4e-3, air=0.0, damping=2.0)
    x = settled(alone(strand(line((0, 0, 0), (0, -0.5, 0), 11)), stuff, pins=[0]), 120)
    assert -x[-1, 1] - 0.5 == pytest.approx(stuff.density * G * 0.5**2 / (2.0 * stuff.stretch), rel=1e-3)


@pytest.mark.compiled
def test_a_strand_between_two_points_hangs_as_a_catenary():
    from scipy.optimize import brentq

    span, length = 0.4, 0.5
    stuff = Strands(stretch=1e4, bend=0.0, air=0.0, damping=0.1)
    a = brentq(lambda a: 2.0 * a * np.sinh(span / (2.0 * a)) - length, 0.01, 10.0)
    t = np.linspace(-1.0, 1.0, 41)
    sharp = np.stack([0.5 * span * t, -0.15 * (1.0 - np.abs(t)), 0.0 * t], 1)  # 0.5 m long in two straight parts
    x = settled(alone(strand(sharp), stuff, pins=[0, 40]), 120)
    sag = a * np.cosh(span / (2.0 * a)) - a
    assert -x[20, 1] == pytest.approx(sag, rel=1e-3)
    assert np.abs(x[:, 1] + sag - a * np.cosh(x[:, 0] / a) + a).max() < 2e-4


@pytest.mark.compiled
@pytest.mark.parametrize("segments", [10, 30])
def test_a_cantilever_sinks_as_the_theory_of_beams_says(segments):
    stuff = Strands(stretch=1e5, bend=1e-2, air=0.0, damping=1.0)
    step = 0.5 / segments
    x = settled(alone(strand(line((-step, 0, 0), (0.5, 0, 0), segments + 2)), stuff, pins=[0, 1]), 150)
    assert -x[-1, 1] == pytest.approx(stuff.density * G * 0.5**4 / (8.0 * stuff.bend), rel=0.01)


@pytest.mark.compiled
def test_a_curl_keeps_its_shape_where_nothing_acts_on_it_and_opens_under_its_weight():
    mesh = shapes.strands([(0, 0, 0)], [(0, -1, 0)], 0.1, 30, curl=0.01, turns=3)
    weightless = dataclasses.replace(alone(mesh, Strands(), pins=[0, 1]), gravity=(0, 0, 0))
    assert np.abs(settled(weightless, 20) - mesh.vertices).max() < 1e-9
    assert settled(alone(mesh, Strands(), pins=[0, 1]), 60)[-1, 1] < -0.12


@pytest.mark.compiled
def test_a_strand_in_free_flight_keeps_its_momentum_and_angular_momentum():
    mesh = strand(line((0, 0, 0), (0.3, 0.1, 0), 12))
    scene = dataclasses.replace(alone(mesh, Strands(air=0.0, damping=0.0)), gravity=(0, 0, 0))
    sim = Simulation(scene)
    sim.state.v[:] = np.random.default_rng(3).normal(size=(12, 3)) + np.array([1.0, 0.0, 2.0])
    m, before = scene.masses[:, None], sim.state.copy()
    for _ in sim.run(10):
        pass
    after = sim.state
    assert (m * after.v).sum(0) == pytest.approx((m * before.v).sum(0), abs=1e-9)
    # implicit Euler steps lose angular momentum with the motion inside, and never gain any
    spin = [np.linalg.norm((m * np.cross(s.x - (m * s.x).sum(0) / m.sum(), s.v)).sum(0)) for s in (before, after)]
    assert spin[1] <= spin[0] * (1.0 + 1e-9)


@pytest.mark.compiled
def test_energy_of_a_strand_without_damping_does_not_grow():
    scene = alone(strand(line((0, 0, 0), (0.4, 0, 0), 16)), Strands(air=0.0, damping=0.0), pins=[0])
    sim = Simulation(scene)
    totals = [sum(sim.dynamics.energy(sim.state).values()) for _ in sim.run(60)]
    assert max(np.diff(totals)) < 1e-3 * (max(totals) - min(totals))


@pytest.mark.compiled
def test_wind_carries_a_strand_to_the_angle_at_which_drag_balances_weight():
    stuff = Strands(bend=0.0, damping=0.1)
    still = alone(strand(line((0, 0, 0), (0, -0.3, 0), 10)), stuff, pins=[0])
    x = settled(dataclasses.replace(still, wind=(3.0, 0.0, 0.0)), 160)
    tilt = np.arctan2(x[-1, 0], -x[-1, 1])
    # across the strand, per metre: half of air density, drag coefficient, diameter and the square of the speed
    drag = 0.5 * 1.2 * 1.2 * 2.0 * stuff.radius * (3.0 * np.cos(tilt)) ** 2
    assert drag == pytest.approx(stuff.density * G * np.sin(tilt), rel=0.01)


def test_forces_and_stiffness_are_the_derivatives_of_the_potential():
    mesh = shapes.strands([(0, 0, 0)], [(0, -1, 0)], 0.1, 7, curl=0.01, turns=1)
    scene = alone(mesh, Strands(stretch=50.0, bend=1e-3))
    c, dt = StrandDynamics(scene).chains, 0.01
    rng = np.random.default_rng(7)
    start, predicted = (mesh.vertices + 0.002 * rng.normal(size=(7, 3)) for _ in range(2))
    x = mesh.vertices * 1.2 + 0.001 * rng.normal(size=(7, 3))  # stretched: nothing of the second derivative is dropped
    work = kernels.workspace(c)
    kernels.assemble(c, 0, x, start, predicted, dt, work)
    gradient = -work.step.copy()

    def potential(k: int, h: float) -> float:
        y = x.copy()
        y.ravel()[k] += h
        return kernels.potential(c, 0, y, start, predicted, dt)

    numeric = [(potential(k, 1e-6) - potential(k, -1e-6)) / 2e-6 for k in range(21)]
    assert gradient == pytest.approx(np.array(numeric), rel=1e-6, abs=1e-6 * np.abs(numeric).max())
    forces = work.step.copy()
    whole = np.zeros((21, 21))
    for r in range(21):
        for k in range(max(0, r - 8), r + 1):
            whole[r, k] = whole[k, r] = work.band[r, k - r + 8]
    assert kernels.factorise_and_solve(work.band, work.step, 21)
    assert work.step == pytest.approx(np.linalg.solve(whole, forces), rel=1e-8)


METHODS = ("distance-field", "bvh", "bone-boxes", "height-grid", "continuous")


def wreath(count: int = 5) -> Mesh:
    """Strands over a ball of 10 cm, in two layers that cross each other."""
    side = np.linspace(-0.05, 0.05, count)
    one = np.stack([side, 0.0 * side + 0.125, 0.0 * side - 0.15], 1)
    two = np.stack([0.0 * side - 0.15, 0.0 * side + 0.135, side], 1)
    along = np.repeat([[0, 0, 1], [1, 0, 0]], count, axis=0)
    return shapes.strands(np.concatenate([one, two]), along, 0.3, 16)


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
def test_no_point_of_strands_on_a_ball_is_inside_in_any_frame(method):
    ball = shapes.ball(0.1, 3)
    bodies = [Body(wreath(3), material=Strands()), Body(ball, obstacle=True)]
    scene = Scene(bodies, eps=0.004, friction=0.6, self_contact="off")
    sim, referee, touched = Simulation(scene, method=method), Referee(scene), 0
    for frame in sim.run(25):
        assert referee.least_distance(frame.x, frame.pose) > 0.5 * scene.eps
        touched = max(touched, len(frame.contacts))
    assert touched > 5


def segment_distances(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Distances of segments (k,2,3), by the interior solution and the four ends; shares no code with the product."""

    def point(x, a, b):
        t = np.clip(((x - a) * (b - a)).sum(1) / ((b - a) ** 2).sum(1), 0.0, 1.0)
        return np.linalg.norm(x - a - t[:, None] * (b - a), axis=1)

    d, e, r = p[:, 1] - p[:, 0], q[:, 1] - q[:, 0], p[:, 0] - q[:, 0]
    least = np.min(
        [point(p[:, k], q[:, 0], q[:, 1]) for k in (0, 1)] + [point(q[:, k], p[:, 0], p[:, 1]) for k in (0, 1)], 0
    )
    dd, ee, de, dr, er = ((a * b).sum(1) for a, b in ((d, d), (e, e), (d, e), (d, r), (e, r)))
    det = dd * ee - de * de
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = (de * er - ee * dr) / det, (dd * er - de * dr) / det
        inner = np.linalg.norm(r + s[:, None] * d - t[:, None] * e, axis=1)
    inside = (det > 1e-300) & (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    return np.where(inside, np.minimum(inner, least), least)


def crossing(scene: Scene, x: np.ndarray) -> np.ndarray:
    """Distances of all pairs of segments of different strands of the first body."""
    lines = scene.bodies[0].mesh.lines
    owner = scene.bodies[0].mesh.topology.components[lines[:, 0]]
    i, j = np.triu_indices(len(lines), 1)
    apart = owner[i] != owner[j]
    return segment_distances(x[lines[i[apart]]], x[lines[j[apart]]])


@pytest.mark.compiled
def test_strands_keep_their_diameter_from_each_other_and_without_self_contact_they_do_not():
    least = {}
    for mode in ("off", "safe"):
        bodies = [Body(wreath(), material=Strands()), Body(shapes.ball(0.1, 3), obstacle=True)]
        scene = Scene(bodies, eps=0.004, self_contact=mode)
        assert scene.thickness == 2.0 * Strands().radius
        sim = Simulation(scene)
        least[mode] = min(crossing(scene, frame.x).min() for frame in sim.run(30))
    assert least["off"] < 1e-4
    assert least["safe"] > 0.3 * scene.thickness


@pytest.mark.compiled
def test_a_strand_that_is_pulled_down_hangs_on_the_strand_under_it():
    bar, rider = line((-0.1, 0, 0), (0.1, 0, 0), 9), line((0, 0.01, -0.15), (0, 0.01, 0.15), 15)
    mesh = Mesh.from_lines(
        np.concatenate([bar, rider]),
        np.concatenate(
            [np.stack([np.arange(8), np.arange(1, 9)], 1), np.stack([np.arange(9, 23), np.arange(10, 24)], 1)]
        ),
    )
    scene = Scene([Body(mesh, material=Strands(stretch=500.0), pins=[0, 8])], thickness=0.002, self_contact="safe")
    sim = Simulation(scene)
    for frame in sim.run(60):
        assert crossing(scene, frame.x).min() > 0.0
    x = sim.state.x
    assert x[16, 1] > x[4, 1] > -0.05, "the middle of the rider is above that of the bar"
    assert max(x[9, 1], x[23, 1]) < -0.1, "its ends hang down on both sides"


@pytest.mark.compiled
def test_strands_lie_on_cloth_without_an_intersection():
    from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

    sheet = shapes.cloth(0.2, 0.2, 9)
    corners = np.flatnonzero(np.abs(sheet.vertices[:, [0, 2]]).min(1) > 0.0999)
    hair = shapes.strands([(-0.08, 0.02, z) for z in (-0.04, 0.0, 0.04)], [(1, 0, 0)] * 3, 0.16, 9)
    scene = Scene([Body(hair, material=Strands()), Body(sheet, pins=corners)], thickness=0.003, self_contact="safe")
    sim = Simulation(scene)
    count = IntersectionStatistics(scene, sim.state.x)
    for frame in sim.run(40):
        assert count.at(frame.x) == (0, 0)
    rows = scene.rows(0)
    assert sim.state.x[rows, 1].min() > -0.1, "the cloth carries them"


@pytest.mark.compiled
def test_a_run_of_strands_has_the_same_bits_on_two_threads_and_from_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.dynamics.strands._WORTH_THREADS", 0)

    def made() -> Scene:
        ball = Body(shapes.ball(0.1, 3), obstacle=True, motion=Motion.spin((0, 1, 0), (0, 0, 0), 6.0))
        return Scene([Body(wreath(), material=Strands(), name="hair"), ball], eps=0.004, self_contact="safe")

    ends, before = [], jit.threads()
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            sim = Simulation(made())
            for frame in sim.run(14):
                if frame.index == 8:
                    sim.save(tmp_path / "run.npz")
            ends.append((sim.state.x.tobytes(), sim.state.v.tobytes()))
    finally:
        jit.set_threads(before)
    assert ends[0] == ends[1]
    sim = Simulation.load(tmp_path / "run.npz", made())
    for _ in sim.run(6):
        pass
    assert (sim.state.x.tobytes(), sim.state.v.tobytes()) == ends[0]


@pytest.mark.compiled
def test_roots_follow_the_motion_that_grips_them():
    turn = Motion.hinge((0, 0, 1), (0, 0, 0), (0.0, 0.2), (0.0, 1.0), smooth=True)
    mesh = strand(line((0.1, 0, 0), (0.3, 0, 0), 9))
    sim = Simulation(Scene([Body(mesh, material=Strands(), grips=[Grip([0, 1], turn)])], self_contact="off"))
    for _ in sim.run(20):
        pass
    c, s = np.cos(1.0), np.sin(1.0)
    assert sim.state.x[0] == pytest.approx(0.1 * np.array([c, s, 0.0]), abs=1e-9)
    lengths = np.linalg.norm(np.diff(sim.state.x, axis=0), axis=1)
    assert lengths == pytest.approx(0.025, rel=2e-3)


REFUSED = {
    "lines meet at vertex 1": lambda: Body(
        Mesh.from_lines(np.random.default_rng(0).random((4, 3)), [(0, 1), (1, 2), (1, 3)]), material=Strands()
    ),
    "closed loop": lambda: Body(Mesh.from_lines(np.eye(3), [(0, 1), (1, 2), (2, 0)]), material=Strands()),
    "has lines, and it is an obstacle": lambda: Body(strand(np.eye(3)), obstacle=True),
    "has lines, and it is Cloth": lambda: Body(strand(np.eye(3))),
    "is Strands without lines": lambda: Body(shapes.cloth(1.0, 1.0, 3), material=Strands()),
    "layer and flat are for cloth": lambda: Body(strand(np.eye(3)), material=Strands(), layer=1),
    "only cloth has stitches": lambda: Body(strand(np.eye(3)), material=Strands(), rest_scale=0.9),
    "has no length": lambda: Mesh.from_lines(np.zeros((2, 3)), [(0, 1)]),
    "either lines or faces": lambda: Mesh(np.eye(3), [(0, 1, 2)], lines=[(0, 1)]),
    "radius = 0 must be": lambda: Strands(radius=0.0),
    "at least 4 points per turn": lambda: shapes.strands([(0, 0, 0)], [(0, 1, 0)], points=8, curl=0.01, turns=4),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_no_strand_is_refused_by_name(why):
    with pytest.raises(ValueError, match=why):
        REFUSED[why]()


def test_fibres_side_by_side_add_up():
    one, many = Strands.fibre(40e-6, 4e9, 1300.0), Strands.fibre(40e-6, 4e9, 1300.0, 100)
    area = np.pi * 40e-6**2
    assert (one.stretch, one.bend, one.density) == pytest.approx((4e9 * area, 1e9 * area * 40e-6**2, 1300.0 * area))
    sums = (100.0 * one.stretch, 100.0 * one.bend, 100.0 * one.density, 10.0 * one.radius)
    assert (many.stretch, many.bend, many.density, many.radius) == pytest.approx(sums)

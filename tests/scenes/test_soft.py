"""Soft bodies that meet: no two triangles ever do, what one gives the other takes, and they part."""

import numpy as np
import pytest

from pliant.dynamics import DeformableDynamics
from pliant.kernels import jit
from pliant.scene import Body, Cloth, Scene, Solid
from pliant.scenes import SCENES
from pliant.shapes import bar, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from pliant.simulation.record import record
from scenes.test_self_contact import Watched, digest

pytestmark = pytest.mark.compiled
LONG = [pytest.param(mode, 500, marks=pytest.mark.long) for mode in ("push", "safe")]


def small(**options: object) -> Simulation:
    return Simulation(SCENES["cylinders"](resolution=2, **options), substeps=8)


def in_empty_space(mode: str, **options: object) -> Simulation:
    """The two cylinders alone, with no gravity."""
    made = SCENES["cylinders"](resolution=2, self_contact=mode)
    scene = Scene(made.bodies[:2], gravity=(0, 0, 0), eps=made.eps, friction=0.5, self_contact=mode, **options)
    return Simulation(scene)


def between(frame, scene: Scene) -> int:
    """How many contacts are of the first soft body with the second."""
    pair = np.sort(frame.contacts["bodies"], 1)
    return int(((pair[:, 0] == scene.deformable[0]) & (pair[:, 1] == scene.deformable[1])).sum())


def test_cylinders_collide_bend_part_and_come_to_rest_without_a_triangle_meeting_another():
    sim = small()
    count, start = IntersectionStatistics(sim.scene, sim.state.x), sim.dynamics.energy(sim.state)
    mesh, touched, bent = sim.scene.bodies[0].mesh.welded, [], 0.0
    for frame in sim.run(340):
        assert count.at(frame.x) == (0, 0), frame.index
        touched.append(between(frame, sim.scene))
        if frame.index <= 20:  # before they land
            bent = max(bent, sim.dynamics.energy(sim.state)["elastic"] / start["kinetic"])
        assert mesh.moved(frame.x[sim.scene.rows(0)]).tet_volumes.sum() > 0.9 * mesh.volume
    assert max(touched) > 20
    assert bent > 0.3, "a third of their motion must have gone into their shape"
    assert not any(touched[40:80]), "they must part"
    assert sim.dynamics.energy(sim.state)["kinetic"] < 2e-3 * start["kinetic"]
    assert sim.self_contact.failed_substeps == 0


def test_they_meet_by_other_detectors_and_responses_too():
    scene = SCENES["cylinders"](resolution=2)
    options = {"self_method": "sphere-surface", "self_response": "penalty+geometric"}
    sim = Simulation(scene, substeps=8, **options)
    count, touched = IntersectionStatistics(scene, sim.state.x), []
    for frame in sim.run(40):
        assert count.at(frame.x) == (0, 0), frame.index
        touched.append(between(frame, scene))
    assert max(touched) > 20
    assert touched[-1] == 0


def test_without_self_contact_they_pass_through_each_other():
    sim = small(self_contact="off")
    count = IntersectionStatistics(sim.scene, sim.state.x)
    assert max(count.at(frame.x)[0] for frame in sim.run(14)) > 20


def test_one_and_two_threads_give_the_same_bits():
    before, found = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            found.append(digest(small(), 16))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]


def test_a_run_that_is_saved_and_resumed_goes_on_with_the_same_bits(tmp_path):
    sim = small()
    digest(sim, 12)
    sim.save(tmp_path / "run.npz")
    resumed = Simulation.load(tmp_path / "run.npz", small().scene)
    assert digest(resumed, 6) == digest(sim, 6)


def test_what_one_body_gives_the_other_takes_and_friction_stays_in_its_cone():
    sim = in_empty_space("push")
    sim.self_contact._cloth = watch = Watched(sim.scene, sim.self_contact.thickness)
    m = sim.scene.masses[:, None]
    before, size = (m * sim.state.v).sum(0), (m * np.abs(sim.state.v)).sum()
    most = max(between(frame, sim.scene) for frame in sim.run(16))
    assert most > 20
    assert watch.worst_sum < 1e-12
    assert watch.worst_slip < 1e-12
    assert np.abs((m * sim.state.v).sum(0) - before).max() < 1e-12 * size * 30


@pytest.mark.parametrize(("mode", "frames"), [("push", 40), ("safe", 40), *LONG])
def test_energy_of_a_collision_never_rises_above_its_start(mode, frames):
    sim = in_empty_space(mode)
    start = sum(sim.dynamics.energy(sim.state).values())
    totals = [sum(sim.dynamics.energy(sim.state).values()) for _ in sim.run(frames)]
    assert max(totals) <= 1.01 * start
    # they fly apart
    speeds = [(sim.scene.masses[rows] @ sim.state.v[rows])[0] for rows in (sim.scene.rows(0), sim.scene.rows(1))]
    assert speeds[0] < 0.0 < speeds[1]


def test_what_lies_inside_a_body_is_not_what_touches():
    sim = small()
    skins = np.concatenate([sim.scene.first[b] + np.unique(sim.scene.bodies[b].mesh.welded.faces) for b in (0, 1)])
    assert (sim.self_contact.rows == skins).all()
    seen = np.unique(np.concatenate([frame.contacts["vertices"].ravel() for frame in sim.run(34)]))
    soft = seen[(seen >= 0) & (seen < sim.scene.first[2])]
    assert len(soft) > 50
    assert np.isin(soft, skins).all()


@pytest.mark.parametrize("mode", ["push", "safe"])
def test_a_plate_thinner_than_the_thickness_is_not_blown_up_by_its_own_sides(mode):
    plate = bar((0.2, 0.002, 0.2), (4, 1, 4))
    sim = Simulation(Scene([Body(plate, material=Solid())], gravity=(0, 0, 0), eps=0.005, self_contact=mode))
    start = sim.state.x.copy()
    for _ in sim.run(3):
        pass
    assert np.abs(sim.state.x - start).max() < 1e-12


def test_cloth_falls_over_a_soft_bar_that_lies_on_the_floor():
    log = bar((0.3, 0.1, 0.1), (6, 2, 2), centre=(0.0, 0.053, 0.0))
    floor = box((0.6, 0.04, 0.6), (3, 1, 3), centre=(0.0, -0.02, 0.0))
    bodies = [
        Body(cloth(0.3, 0.3, 14, centre=(0.02, 0.12, 0.01)), material=Cloth()),
        Body(log, material=Solid(2e4, 0.4)),
        Body(floor, obstacle=True),
    ]
    scene = Scene(bodies, eps=0.003, self_contact="safe")
    result = record(Simulation(scene, substeps=8), 50)
    assert result.intersecting_pairs is not None
    assert not result.intersecting_pairs.any()
    assert result.least_distance.min() >= 0.0
    lies = result.x[0][-1]
    over = (np.abs(lies[:, 0]) < 0.1) & (np.abs(lies[:, 2]) < 0.03)
    assert lies[over, 1].min() > 0.09
    assert lies[:, 1].min() < 0.08, "its sides hang down"


def test_inner_vertices_of_an_obstacle_beside_solids_stay():
    """Rows between soft bodies that belong to something fixed are not moved by anything."""
    bodies = [Body(bar(0.1, 1), material=Solid()), Body(bar(0.1, 2, centre=(1, 0, 0)), obstacle=True)]
    bodies.append(Body(bar(0.1, 1, centre=(2, 0, 0)), material=Solid()))
    scene = Scene(bodies)
    dynamics, state = DeformableDynamics(scene), scene.start()
    before = state.x.copy()
    for step in (dynamics.predict, dynamics.relax, dynamics.finish):
        step(state, 1e-3)
    assert (state.x[scene.rows(1)] == before[scene.rows(1)]).all()
    assert (state.x[scene.rows(0), 1] < before[scene.rows(0), 1]).all()


@pytest.mark.long
def test_600_frames_at_full_size_never_meet():
    sim = Simulation(SCENES["cylinders"]())
    count = IntersectionStatistics(sim.scene, sim.state.x)
    for frame in sim.run(600):
        assert count.at(frame.x) == (0, 0), frame.index
    assert sim.self_contact.failed_substeps == 0


@pytest.mark.long
def test_bodies_large_enough_for_threads_have_the_same_bits_on_one_and_on_two():
    before, found = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            found.append(digest(Simulation(SCENES["cylinders"](resolution=4)), 60))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]

"""Cloth on cloth by any detector and any response: what the guard promises where it stands behind, and restarts."""

import hashlib

import numpy as np
import pytest

from pliant.detect import METHODS, Reports
from pliant.detect.base import Finds
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.kernels import jit
from pliant.respond import RESPONSES
from pliant.respond.geometric import FREE
from pliant.scene import Body, Cloth, Scene
from pliant.scenes import SCENES
from pliant.shapes import ball, cloth
from pliant.simulation import Simulation
from pliant.simulation.deformable_contact import DeformableContact
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

THICK = 0.004
SOFT = [n for n, m in METHODS.items() if Finds.SELF | Finds.PAIR in m.finds and m.reports is not Reports.INSIDE]
BETWEEN = [name for name, response in RESPONSES.items() if response.between and not response.needs_closed]


def two(mode: str = "push", speed: float = 0.5, **options) -> Scene:
    """Two sheets in empty space that fly into each other."""
    bodies = [
        Body(cloth(0.1, 0.1, 7, centre=(0.004 * k, 0.012 * k, 0.003 * k)), material=Cloth(air=0.0), velocity=(0, v, 0))
        for k, v in ((0, speed), (1, -speed))
    ]
    return Scene(bodies, gravity=(0, 0, 0), eps=0.003, thickness=THICK, self_contact=mode, **options)


def ribbon(mode: str = "push", method: str = "tree", response: str = "penalty+geometric", **options) -> Simulation:
    scene = SCENES["ribbon"](resolution=20, self_contact=mode)
    return Simulation(scene, substeps=8, self_method=method, self_response=response, **options)


def digest(sim: Simulation, frames: int) -> str:
    total = hashlib.sha256()
    for frame in sim.run(frames):
        total.update(frame.x.tobytes() + frame.contacts.tobytes() + sim.state.v.tobytes())
    return total.hexdigest()


@pytest.mark.compiled
@pytest.mark.parametrize("response", BETWEEN)
@pytest.mark.parametrize("method", SOFT)
def test_sheets_that_meet_keep_their_sides_and_the_momentum_they_had(method, response):
    scene = two(friction=0.2)
    sim = Simulation(scene, substeps=8, self_method=method, self_response=response)
    for _ in sim.run(8):
        pass
    # they have met: what each had is gone
    assert np.abs(sim.state.v[scene.rows(0), 1].mean()) < 0.1
    assert (sim.state.x[scene.rows(0), 1] < sim.state.x[scene.rows(1), 1]).all()
    assert np.abs(scene.masses @ sim.state.v).max() < 1e-12 * scene.masses.sum() * 0.5 + 1e-15


@pytest.mark.compiled
@pytest.mark.parametrize("response", ["penalty", "geometric", "penalty+geometric"])
def test_every_frame_that_is_shown_is_free_of_contact_if_anything_sets_apart(response):
    sim = Simulation(two(speed=2.0), 0.002, substeps=2, self_method="tree", self_response=response)
    near = []
    for frame in sim.run(12):
        near.append((sim.self_contact.detect(sim.state)["distance"] < FREE * THICK * (1.0 - 1e-9)).sum())
        assert frame.unresolved == 0
    assert (max(near) > 0) == (response == "penalty")


@pytest.mark.compiled
def test_bodies_are_kept_when_cloth_is_set_apart_before_a_frame_is_shown():
    sim = ribbon()
    for frame in sim.run(60):
        assert frame.unresolved == 0
        on_floor = sim.detect(sim.state)
        assert on_floor["distance"].min(initial=1.0) > (FREE * THICK - THICK) + sim.scene.eps
    assert len(on_floor) > 0


@pytest.mark.compiled
@pytest.mark.parametrize("response", ["penalty", "geometric", "penalty+geometric"])
@pytest.mark.parametrize("name", ["ribbon", pytest.param("stack", marks=pytest.mark.long)])
def test_in_safe_mode_no_two_triangles_meet_whatever_the_detector_missed(name, response):
    scene = SCENES[name](resolution={"ribbon": 20, "stack": 8}[name], self_contact="safe")
    # a detector that sees a tenth of the thickness misses nearly everything in time
    sim = Simulation(scene, substeps=8, self_method="tree", self_response=response)
    for part in sim.self_contact._parts:
        part.detector.within = 0.1 * sim.self_contact.thickness
    count, most = IntersectionStatistics(scene, sim.state.x), 0
    for frame in sim.run(55):
        assert count.at(frame.x) == (0, 0), frame.index
        most = max(most, len(frame.contacts))
    assert sim.self_contact.failed_substeps == 0
    assert most > 10
    assert np.abs(sim.state.v).max() < 20.0


@pytest.mark.compiled
def test_one_and_two_threads_and_a_restart_change_no_bit(tmp_path):
    before, found = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            sim = ribbon()
            begin = digest(sim, 45)
            sim.save(tmp_path / f"{threads}.npz")
            found.append((begin, digest(sim, 15)))
        back = Simulation.load(tmp_path / "1.npz", SCENES["ribbon"](resolution=20, self_contact="push"))
        assert isinstance(back.self_contact, DeformableContact)
        assert (back.self_contact.method, back.self_contact.response_name) == ("bvh", "penalty+geometric")
        found.append((found[0][0], digest(back, 15)))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1] == found[2]


def test_pairs_that_are_close_in_the_rest_shape_are_left_alone():
    fine = cloth(0.013, 0.013, 6)  # edges of 2.6 mm, less than the thickness
    scene = Scene([Body(fine)], thickness=THICK, self_contact="push")
    soft = DeformableContact(scene, scene.start())
    everything = BruteForceDetector(soft._parts[0].detector.one.side, within=THICK).find(scene.start())
    assert len(everything) > 50
    assert len(soft.detect(scene.start())) == 0


def test_bodies_far_apart_are_not_asked_about():
    scene = two()
    soft, state = DeformableContact(scene, scene.start()), scene.start()
    soft._parts[2].detector.find = lambda state: pytest.fail("asked")
    for far in (1.0, -2.0):
        state.x[scene.rows(1), 1] += far
        state.x_start[:] = state.x
        assert len(soft.detect(state)) == 0


@pytest.mark.parametrize(
    ("mode", "options", "said"),
    [
        (
            "push",
            {"self_method": "distance-field"},
            "'distance-field' does not detect self-contact; use one of: brute-f",
        ),
        (
            "push",
            {"self_method": "distance-field:field=adaptive"},
            "It is for obstacles: a body that is simulated is one",
        ),
        ("push", {"self_method": "bhv"}, "unknown method 'bhv'"),
        ("push", {"self_response": "surface-tag"}, "works against obstacles only; use one of: projection, penalty"),
        ("push", {"self_response": "glue"}, "unknown self_response 'glue'"),
        ("push", {"self_options": {"cull": False}}, "self_options are options of a self_method"),
        ("off", {"self_method": "tree"}, "has self_contact 'off'; make it with"),
    ],
)
def test_what_does_not_fit_together_is_one_clear_error(mode, options, said):
    with pytest.raises(ValueError, match=said):
        Simulation(two(mode), **options)


def test_without_a_name_the_guard_works_as_ever_and_one_name_brings_the_other():
    scene = Scene(
        [Body(cloth(0.1, 0.1, 4, centre=(0, 0.2, 0))), Body(ball(0.05, 1), obstacle=True)], self_contact="push"
    )
    assert not isinstance(Simulation(scene, method="brute-force").self_contact, DeformableContact)
    one = Simulation(scene, method="brute-force", self_method="brute_force").self_contact
    two = Simulation(scene, method="brute-force", self_response="penalty").self_contact
    assert (one.method, one.response_name) == ("brute-force", "penalty+geometric")
    assert (two.method, two.response_name) == ("bvh", "penalty")


def test_a_substep_whose_corrections_are_forgotten_has_no_effect_on_the_velocities():
    sim = Simulation(two(), substeps=8, self_method="bvh", self_response="projection")
    corrected = []
    for _ in sim.run(8):
        contact, state = sim.self_contact, sim.state.copy()
        contact.apply(state, sim.dt / 8)
        corrected.append(contact.response.normal_correction.max(initial=0.0))
        contact.forget(state)
        assert not contact.response.normal_correction.any()
        contact.finish(after := state.copy(), sim.dt / 8)
        assert np.array_equal(after.v, state.v)
    assert max(corrected) > 0.0

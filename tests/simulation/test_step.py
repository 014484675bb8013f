"""The loop: what takes part in it is interchangeable, nothing refers back to it, and former names still work."""

import gc
import importlib
import weakref

import numpy as np
import pytest

from pliant.contacts import CONTACT
from pliant.detect.base import Side
from pliant.detect.choose import resolve_method_for_scene
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.scene import Body, Scene
from pliant.scenes import SCENES
from pliant.shapes import ball, cloth
from pliant.simulation import Frame, Simulation
from pliant.simulation.checkpoint import Checkpoint
from pliant.simulation.clock import Clock
from pliant.simulation.deformable_contact import DeformableContact
from pliant.simulation.drape import drape
from pliant.simulation.guard import Guard
from pliant.simulation.record import record
from pliant.simulation.result import Result
from pliant.simulation.self_contact_interface import NoGuard, SelfContact

RESULT = {
    "contacts": "n_contacts",
    "deepest": "least_distance",
    "crossings": "intersecting_pairs",
    "cuts": "crossing_pairs",
    "through": "intersecting_pairs_bodies_at_end",
    "start": "initial_intersections",
    "shapes": "deforming_x",
    "cut": "crosses_bodies",
    "tangled": "self_intersects_at_end",
    "broken": "safe_mode_failed",
    "start_words": "initial_intersections_text",
}
STAGES = {"predict", "move", "relax", "relax in contact", "detect", "respond", "guard", "finish", "end of frame"}


def little(mode: str = "off") -> Scene:
    sheet = Body(cloth(0.2, 0.2, 4, centre=(0.0, 0.105, 0.0)))
    return Scene([sheet, Body(ball(0.1, 1), obstacle=True)], self_contact=mode)


def run(mode: str = "off", **options) -> Simulation:
    return Simulation(little(mode), **{"substeps": 2, "method": "brute-force", **options})


@pytest.mark.parametrize(
    ("mode", "options", "kind"),
    [
        ("off", {}, NoGuard),
        ("push", {}, Guard),
        ("safe", {}, Guard),
        ("push", {"self_response": "penalty"}, DeformableContact),
        ("safe", {"self_method": "brute-force"}, DeformableContact),
    ],
)
def test_everything_that_handles_self_contact_has_the_whole_interface(mode, options, kind):
    sim = run(mode, **options)
    assert type(sim.self_contact) is kind
    members = {*SelfContact.__annotations__, *vars(SelfContact)}
    wanted = {name for name in members if not name.startswith("_")}
    assert len(wanted) >= 16
    assert {name for name in wanted if not hasattr(sim.self_contact, name)} == set()
    assert (sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs) == (0, 0)
    assert sim.self_contact.intersections(sim.state.x) == []
    assert bool(sim.self_contact) == (kind is not NoGuard)


@pytest.mark.parametrize("options", [{}, {"response": "geometric"}, {"response": "penalty+geometric"}])
@pytest.mark.parametrize("own", [{}, {"self_response": "geometric"}])
def test_nothing_that_a_simulation_owns_refers_back_to_it(options, own):
    sim = run("push", **options, **own)
    sim.step()
    parts = [weakref.ref(one) for one in (sim, sim.self_contact, sim.response)]
    gc.disable()
    try:
        del sim
        assert [part() for part in parts] == [None, None, None]
    finally:
        gc.enable()


def test_a_clock_counts_every_stage_once_per_substep_or_frame():
    sim = run(clock=Clock())
    sim.step()
    assert set(sim.clock.seconds) == STAGES
    assert (sim.clock.calls["predict"], sim.clock.calls["end of frame"]) == (2, 1)


def test_a_simulation_detects_the_contacts_with_obstacles_of_a_given_state():
    sim, state = run(), little().start()
    alone = BruteForceDetector(Side(cloth(0.2, 0.2, 4), 0, 0), Side(ball(0.1, 1), 16, 1), within=sim.scene.eps)
    state.x[:16, 1] -= 0.004
    found = sim.detect(state)
    assert len(found) > 0
    assert found.tobytes() == alone.update(state).find(state).tobytes()


def test_the_method_is_chosen_in_one_place_with_a_reason():
    scene = little()
    found = resolve_method_for_scene(scene)
    assert resolve_method_for_scene(scene, "brute_force") == ("brute-force", "requested", {})
    assert found == resolve_method_for_scene(scene, "auto") == resolve_method_for_scene(scene, None)
    assert found == Simulation(scene, method="auto").chosen
    assert found.why != "requested"
    assert Simulation(scene, method=found).chosen is found  # the reason is kept


def test_results_and_checkpoints_are_made_by_keywords_only():
    for kind in (Result, Checkpoint):
        with pytest.raises(TypeError, match="positional"):
            kind(little())


def test_former_names_give_the_same_and_warn():
    sim = run("safe")
    result, guard = record(sim, 2), sim.self_contact
    frame = Frame(1, 0.1, np.zeros((0, 3)), np.zeros((0, 3, 4)), np.zeros(0), 0.1, unresolved=3, intersections=4)
    former = [(frame, "remained", "unresolved"), (frame, "cut", "intersections")]
    former += [(result, "forced", "failed_substeps"), (result, "unheld", "given_up_pairs")]
    former += [(result, "remained", "unresolved"), (guard, "forced", "failed_substeps"), (guard, "looks", "passes")]
    former += [(guard, "unheld", "given_up_pairs"), (guard, "crossed", "intersections")]
    former += [(run("push", self_response="geometric").self_contact, "look", "detect")]
    former += [(result, old, new) for old, new in RESULT.items()]
    former += [(sim, "guard", "self_contact"), (sim.scene.bodies[1], "fixed", "obstacle")]
    former += [(sim.scene, "fixed", "obstacles"), (sim.scene, "shapes", "deforming_motions")]
    for one, old, new in former:
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
            found = getattr(one, old)
        assert found is getattr(one, new) or found == getattr(one, new)


def test_former_keywords_do_the_same_and_warn():
    with pytest.warns(DeprecationWarning, match="fixed is now obstacle"):
        assert Body(ball(0.1, 1), fixed=True).obstacle
    with pytest.warns(DeprecationWarning, match="crossings is now count_intersections"):
        result = record(run(), 1, crossings=True)
    assert result.intersecting_pairs.shape == (2, 2)
    with pytest.raises(TypeError, match="Scene has no option 'fixed'"):  # not one that was renamed there
        Scene([Body(ball(0.1, 1))], fixed=True)


def test_a_response_has_a_state_under_its_former_name_too():
    response = run(response="surface-tag").response
    one = np.zeros(1, CONTACT)
    response.restore(one)
    with pytest.warns(DeprecationWarning, match=r"SurfaceTag.memory is now state\(\)"):
        assert response.memory is response.state() is one
    with pytest.warns(DeprecationWarning, match=r"SurfaceTag.memory is now restore\(state\)"):
        response.memory = one[:0]
    assert len(response.state()) == 0
    plain = run().response
    plain.restore(one)  # it keeps nothing, so that responses can be exchanged
    assert len(plain.state()) == 0


def test_the_recording_loop_is_still_found_where_it_was():
    old = importlib.import_module("pliant.report.result")
    for name, now in (("record", record), ("drape", drape)):
        with pytest.warns(DeprecationWarning, match=rf"result\.{name} is now pliant\.simulation\.{name}\.{name}"):
            assert getattr(old, name) is now
    with pytest.raises(AttributeError, match="no attribute 'rekord'"):
        _ = old.rekord


def test_the_summary_of_an_iterative_response_counts_what_it_could_not_separate():
    sim = Simulation(SCENES["ribbon"](resolution=8, self_contact="push"), substeps=2, self_response="geometric")
    summary = record(sim, 2).summary
    assert summary["unresolved_most"] is not None

"""The loop: what takes part in it is interchangeable, nothing refers back to it, and former names still work."""

import gc
import importlib
import weakref

import numpy as np
import pytest

from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.report.result import Result
from pliant.scene import Body, Scene
from pliant.scenes import SCENES
from pliant.shapes import ball, cloth
from pliant.simulation import Frame, Simulation
from pliant.simulation.build import choose
from pliant.simulation.checkpoint import Checkpoint
from pliant.simulation.clock import Clock
from pliant.simulation.deformable_contact import DeformableContact
from pliant.simulation.guard import Guard
from pliant.simulation.record import drape, record
from pliant.simulation.self_contact import NoGuard, SelfContact

STAGES = {"predict", "move", "relax", "detect", "respond", "guard", "finish", "end of frame"}


def little(mode: str = "off") -> Scene:
    sheet = Body(cloth(0.2, 0.2, 4, centre=(0.0, 0.105, 0.0)))
    return Scene([sheet, Body(ball(0.1, 1), fixed=True)], self_contact=mode)


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
    assert type(sim.guard) is kind
    members = {*SelfContact.__annotations__, *vars(SelfContact)}
    wanted = {name for name in members if not name.startswith("_")}
    assert len(wanted) >= 16
    assert {name for name in wanted if not hasattr(sim.guard, name)} == set()
    assert (sim.guard.failed_substeps, sim.guard.given_up_pairs, sim.guard.intersections(sim.state.x)) == (0, 0, [])
    assert bool(sim.guard) == (kind is not NoGuard)


@pytest.mark.parametrize("options", [{}, {"response": "geometric"}, {"response": "penalty+geometric"}])
@pytest.mark.parametrize("own", [{}, {"self_response": "geometric"}])
def test_nothing_that_a_simulation_owns_refers_back_to_it(options, own):
    sim = run("push", **options, **own)
    sim.step()
    parts = [weakref.ref(one) for one in (sim, sim.guard, sim.response)]
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
    assert choose(scene, "brute_force") == ("brute-force", "requested")
    assert choose(scene) == choose(scene, "auto") == choose(scene, None) == Simulation(scene, method="auto").chosen
    assert choose(scene).why != "requested"


def test_results_and_checkpoints_are_made_by_keywords_only():
    for kind in (Result, Checkpoint):
        with pytest.raises(TypeError, match="positional"):
            kind(little())


def test_former_names_give_the_same_and_warn():
    sim = run("safe")
    result, guard = record(sim, 2), sim.guard
    frame = Frame(1, 0.1, np.zeros((0, 3)), np.zeros((0, 3, 4)), np.zeros(0), 0.1, unresolved=3, intersections=4)
    former = [(frame, "remained", "unresolved"), (frame, "cut", "intersections")]
    former += [(result, "forced", "failed_substeps"), (result, "unheld", "given_up_pairs")]
    former += [(result, "remained", "unresolved"), (guard, "forced", "failed_substeps"), (guard, "looks", "passes")]
    former += [(guard, "unheld", "given_up_pairs"), (guard, "crossed", "intersections")]
    former += [(run("push", self_response="geometric").guard, "look", "detect")]
    for one, old, new in former:
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
            found = getattr(one, old)
        assert found == getattr(one, new)


def test_the_recording_loop_is_still_found_where_it_was():
    old = importlib.import_module("pliant.report.result")
    for name, now in (("record", record), ("drape", drape)):
        with pytest.warns(DeprecationWarning, match=rf"result\.{name} is now pliant\.simulation\.record\.{name}"):
            assert getattr(old, name) is now
    with pytest.raises(AttributeError, match="no attribute 'rekord'"):
        _ = old.rekord


def test_the_summary_has_its_figures_under_their_former_names_too():
    sim = Simulation(SCENES["ribbon"](resolution=8, self_contact="push"), substeps=2, self_response="geometric")
    summary = record(sim, 2).summary
    former = {"forced": "failed_substeps", "unheld": "given_up_pairs"}
    former |= {"remained_most": "unresolved_most", "frames_with_remained": "frames_with_unresolved"}
    assert {old: summary[old] for old in former} == {old: summary[new] for old, new in former.items()}
    assert summary["unresolved_most"] is not None

"""A scene that is changed while it runs: what begins again knows nothing of before, what fails changes nothing."""

import dataclasses

import numpy as np
import pytest

from pliant import Motion, shapes
from pliant.scene import Body, Cloth, Scene, Solid
from pliant.scenes import SCENES, tablecloth_scene
from pliant.simulation import Simulation
from pliant.simulation.build import refusal_of
from pliant.view import interactive_run
from pliant.view.interactive_run import InteractiveRun, StartOptions
from pliant.view.method_menus import option_menus, typed_options
from pliant.view.overlays import Overlays

pytestmark = pytest.mark.compiled
SMALL = StartOptions(scene="tablecloth-on-ball", method="bvh", options={"resolution": 16})


def quiet(_: str) -> None:
    pass


def walked(run: InteractiveRun, count: int = 4) -> list[bytes]:
    return [run.step().x.tobytes() for _ in range(count)]


def test_fields_on_bones_begin_again_where_the_bones_begin():
    run = InteractiveRun(StartOptions(own=SCENES["walking-skirt"](resolution=24), method="distance-field"))
    assert run.unavailable_reasons()["distance-field"] == ""
    first = walked(run)
    walked(run, 12)
    run.reset()
    assert walked(run) == first
    run.set_method("bvh", quiet)
    walked(run, 12)
    run.set_method("distance-field", quiet)
    run.step()
    seen = [one for one in run.sim.detectors if one.obstacle_may_deform]
    # from where the bones were a small step ago, not from where they were when it was used last
    assert all(np.abs(one.poses - one._before).max() < 0.02 for one in seen)
    assert seen


@pytest.mark.parametrize("layer", [0, 1])
def test_active_pairs_guess_anew_after_a_reset_and_go_on_after_a_slider(layer):
    own = tablecloth_scene(shapes.ball(0.1, 2), resolution=12)
    own = dataclasses.replace(own, bodies=[dataclasses.replace(own.bodies[0], layer=layer), *own.bodies[1:]])
    run = InteractiveRun(StartOptions(own=own, method="active-pairs"))
    run.set_substeps_per_part(4)
    first = walked(run, 12)
    followed = sum((one.detector if layer else one).followed for one in run.sim.detectors)
    run.set_parameter("friction", 0.4)
    assert sum((one.detector if layer else one).followed for one in run.sim.detectors) == followed > 0
    run.set_parameter("friction", 0.3)
    run.reset()
    run.set_substeps_per_part(4)
    assert walked(run, 12) == first


def test_what_lies_far_from_the_origin_can_be_played():
    ball = shapes.ball(0.1, 2)
    far = ball.moved(ball.vertices + np.array([4e5, 0.0, 5.5e6]))
    run = InteractiveRun(StartOptions(own=tablecloth_scene(far, resolution=9), method="bvh"))
    walked(run, 3)


@pytest.mark.parametrize("error", [MemoryError, ValueError])
def test_a_scene_that_there_is_no_memory_for_leaves_the_one_there_is(monkeypatch, error):
    run = InteractiveRun(StartOptions(scene="tablecloth-on-ball", method="bvh", options={"resolution": 8}))
    run.set_substeps_per_part(4)
    run.step()

    def fails(*_, **__):
        raise error("no room")

    with monkeypatch.context() as patch:
        patch.setattr(interactive_run, "Simulation", fails)
        with pytest.raises(error, match="no room"):
            run.load_scene("curtain", "bvh")
        with pytest.raises(error, match="no room"):
            run.set_method("brute-force", quiet)
    assert (run.name, run.method, run.substeps_per_part) == ("tablecloth-on-ball", "bvh", 4)
    assert run.sim.scene is run.scene
    run.step()


def test_a_slice_through_what_moves_follows_it_although_frames_are_counted_anew():
    turns = Motion.hinge((0, 0, 1), (0, 0, 0), (0.0, 2.0), (0.0, 3.0))
    sheet = shapes.cloth(0.3, 0.3, 6, centre=(0.0, 0.3, 0.0))
    scene = Scene([Body(sheet), Body(shapes.box((0.3, 0.1, 0.1), 2), obstacle=True, motion=turns)])
    run = InteractiveRun(StartOptions(own=scene, method="bvh"))
    looks = Overlays(scene)
    looks.on["slice"] = True
    drawn = []
    for _ in range(2):
        run.set_parameter("friction", 0.31)
        run.set_substeps_per_part(4)
        for _ in range(40):
            frame = run.step()
        drawn.append(looks.draw(run.sim, frame)["slice_image"].tobytes())
        assert frame.index == 40
    assert drawn[0] != drawn[1]


def test_contacts_are_coloured_by_the_offset_of_their_kind():
    layers = [Body(shapes.cloth(0.3, 0.3, 6, centre=(0.0, height, 0.0))) for height in (0.052, 0.0535)]
    scene = Scene([*layers, Body(shapes.box((0.3, 0.1, 0.3), 2), obstacle=True)], eps=0.004, thickness=0.002)
    run = InteractiveRun(StartOptions(own=scene, method="bvh"))
    overlays = Overlays(scene)
    overlays.on["contacts"] = True
    frame = run.step()
    drawn = overlays.draw(run.sim, frame)
    among = (frame.contacts["bodies"] < 2).all(1)
    assert 0 < among.sum() < len(among)
    offset = np.where(among, 0.002, 0.004)
    assert np.array_equal(drawn["depths"], offset - frame.contacts["distance"])
    assert drawn["points"].shape == (len(among), 3)
    assert "normals" not in drawn


def test_sliders_hold_the_stiffness_of_a_large_tablecloth_with_room_above():
    body = shapes.ball(1.5, 2)
    run = InteractiveRun(StartOptions(own=tablecloth_scene(body, resolution=8), method="bvh"))
    for name in ("bend", "damping"):
        assert run.ranges[name].high >= 10.0 * run.initial_values[name] > run.ranges[name].low


def test_detectors_that_another_run_used_begin_with_nothing_of_it():
    own = tablecloth_scene(shapes.ball(0.1, 2), resolution=12)
    first = Simulation(own, substeps=4, method="active-pairs")
    ran = [first.step().x.tobytes() for _ in range(20)]
    again = Simulation(own, substeps=4, detectors=first.detectors)
    assert [again.step().x.tobytes() for _ in range(20)] == ran


def test_what_a_response_remembers_outlives_a_slider_and_another_method():
    run = InteractiveRun(SMALL)
    run.set_response("surface-tag")
    run.set_substeps_per_part(run.substeps_per_frame)
    while not len(run.sim.response.state()):
        run.step()
    for change in (
        lambda: run.set_parameter("friction", 0.7),
        lambda: run.set_substeps_per_part(run.substeps_per_frame // 2),
        lambda: run.set_method("brute-force", quiet),
    ):
        before = run.sim.response.state()
        change()
        assert (run.sim.response.state() == before).all()
    run.reset()
    assert not len(run.sim.response.state())


def test_detectors_of_a_distance_that_is_kept_no_more_are_forgotten():
    run = InteractiveRun(SMALL)
    for k in range(4):
        run.set_parameter("eps", 0.004 + 0.001 * k)
        run.set_method("brute-force", quiet)
        run.set_method("bvh", quiet)
    assert sorted(run._detectors) == ["brute-force", "bvh"]
    assert run.sim.detectors[0].within == pytest.approx(0.007)


@pytest.mark.parametrize("method", ["bone-boxes", "bvh"])
def test_a_response_gets_detectors_of_its_own_distance(method):
    """Contacts that repel cloth are detected from farther away, by detectors of points."""
    scene = tablecloth_scene(shapes.ball(0.1, 2), resolution=9)
    run = InteractiveRun(StartOptions(own=scene, method="distance-field"))
    fields = run.sim.detectors
    for response in ("penalty", "projection", "penalty"):
        run.set_response(response)
        run.set_method(method, quiet)
        alone = Simulation(scene, method=method, response=response)
        assert [one.within for one in run.sim.detectors] == [one.within for one in alone.detectors]
        run.set_method("distance-field", quiet)
        assert run.sim.detectors == fields  # the distance of a field is the same for all


def test_the_options_of_a_method_change_while_it_runs_and_a_wrong_one_changes_nothing():
    run = InteractiveRun(SMALL)
    menus = option_menus(run.scene, run.method, refusal_of)
    assert ("bvh:volume=sphere", "sphere", False, "") in menus["volume"]
    assert ("bvh", "box", True, "") in menus["volume"]
    assert "skinned" in {text: why for _, text, _, why in menus["update"]}["blend"]
    plain = walked(run)
    run.reset()
    run.set_method("bvh:volume=sphere,leaf=2", quiet)
    menus = option_menus(run.scene, run.method, refusal_of)
    assert ("bvh:leaf=2", "box", False, "") in menus["volume"]
    assert ("bvh:volume=sphere,arity=8,leaf=2", "8", False, "") in menus["arity"]
    assert typed_options(run.method)["leaf"] == {
        "text": "2",
        "fallback": "1",
        "wanted": "a whole number of at least 1 and at most 1000000",
    }
    assert walked(run) == plain
    with pytest.raises(ValueError, match="update 'blend' is for an obstacle of a scene"):
        run.set_method("bvh:update=blend", quiet)
    assert run.method == "bvh:volume=sphere,leaf=2"
    run.step()


@pytest.mark.parametrize("method", ["active-pairs:tracking=levels", "stochastic-bvh:quality=0.7", "bvh:update=lazy"])
def test_drawing_a_data_structure_changes_nothing(method):
    runs = [InteractiveRun(StartOptions(own=tablecloth_scene(shapes.ball(0.1, 2), resolution=6))) for _ in range(2)]
    overlays = Overlays(runs[1].scene)
    overlays.on["structure"] = True
    for run in runs:
        run.set_method(method, quiet)
        run.set_substeps_per_part(4)
    for _ in range(4):
        frames = [run.step() for run in runs]
        assert overlays.draw(runs[1].sim, frames[1])["lines"].size
        assert frames[0].x.tobytes() == frames[1].x.tobytes()


def test_a_response_that_needs_closed_bodies_says_so_in_the_menu_and_runs_where_they_are():
    run = InteractiveRun(SMALL)
    assert "needs closed bodies" in run.response_reasons()["volume"]
    assert run.response_reasons()["penalty"] == ""
    with pytest.raises(ValueError, match="needs closed bodies"):
        run.set_response("volume")
    assert run.response == "projection"
    soft = shapes.tet_box(0.1, 0.05, centre=(0.0, 0.05, 0.0))
    floor = Body(shapes.box((1.0, 0.2, 1.0), 1, centre=(0.0, -0.1, 0.0)), obstacle=True)
    own = Scene([Body(soft, material=Solid(young=1e5)), floor], self_contact="off")
    run = InteractiveRun(StartOptions(own=own, method="bvh"))
    assert run.response_reasons()["volume"] == ""
    run.set_response("volume")
    walked(run)


def test_steps_end_at_events_while_the_method_gives_times_of_impact():
    light = Cloth(air=0.0)
    sheet = Body(shapes.cloth(0.1, 0.1, 5, centre=(0.0, 0.3, 0.0)), material=light, velocity=(0.0, -40.0, 0.0))
    thrown = Scene([sheet, Body(shapes.box((1.0, 0.01, 1.0), 1), obstacle=True)], self_contact="off")
    run = InteractiveRun(StartOptions(own=thrown, method="continuous", stepping="events"))
    assert (run.stepping, run.sim.stepping) == ("events", "events")
    assert sum(run.step().events for _ in range(4)) > 0
    run.set_method("bvh", quiet)
    assert (run.stepping, run.sim.stepping) == ("fixed", "fixed")
    assert "continuous" in run.stepping_reasons()["events"]
    with pytest.raises(ValueError, match="stepping events needs times of impact"):
        run.set_stepping("events")
    run.step()
    run.set_method("continuous", quiet)
    assert run.stepping_reasons()["events"] == ""
    run.set_stepping("events")
    assert run.sim.stepping == "events"
    run.load_scene("tablecloth-on-ball", "continuous")  # the options of the start are those of its scene
    assert run.stepping == "fixed"
    with pytest.raises(ValueError, match="--stepping events needs times of impact"):
        InteractiveRun(StartOptions(own=thrown, method="bvh", stepping="events"))

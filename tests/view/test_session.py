"""The thread in which a scene runs: it does what it is told, shows the newest frame, and never stands still."""

import json
import logging
import pathlib
import time

import numpy as np
import pytest

from pliant import shapes
from pliant.detect.choose import choose_method_for_scene
from pliant.detect.detectors.structures.volumes import depths_of
from pliant.detect.methods import METHODS
from pliant.detect.structure import box_edges
from pliant.io.animation import load_clip
from pliant.scenes import SCENES, drape_scene
from pliant.simulation.measure.referee import Referee
from pliant.view.commands import Choose, Do, FreePins, Grab, LetGo, Pull, Set, Show
from pliant.view.frame_encoding import decode, encode
from pliant.view.interactive_run import InteractiveRun, StartOptions
from pliant.view.overlays import OVERLAYS
from pliant.view.session import Session
from pliant.view.sliders import value_of, with_parameter

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("frozen")]  # every session collects garbage
SMALL = StartOptions(scene="tablecloth-on-ball", method="bvh", options={"resolution": 16})


def until(what, seconds=200.0):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)
    return found


@pytest.fixture
def session(tmp_path):
    made = Session(SMALL, tmp_path)
    made.start()
    until(lambda: made.newest.data and header(made)["part"] >= 2)
    yield made
    made.stop()
    made._thread.join(60.0)
    assert not made._thread.is_alive()


def header(session):
    return decode(session.newest.data)[2]


def arrays(session):
    return decode(session.newest.data)[3]


def shown_after(session, command, client=1):
    """The first frame that was begun after a command was taken."""
    session.post(client, command)
    until(lambda: not session._queue)
    serial = session.newest.serial
    until(lambda: session.newest.serial > serial + 1)
    return decode(session.newest.data)


def shown_after_a_step(session):
    before = header(session)["time"]  # frames may be counted anew
    session.post(1, Do("step"))
    until(lambda: header(session)["time"] > before)


def problems(session):
    return [json.loads(text)["problem"] for _, text in session.messages if "problem" in json.loads(text)]


def test_frames_are_read_as_they_were_written():
    rng = np.random.default_rng(0)
    given = {
        "x0": rng.normal(size=(7, 3)),
        "image": rng.integers(0, 255, (4, 3, 4)).astype(np.uint8),
        "no": np.empty(0),
    }
    generation, serial, header, found = decode(encode(3, 2**32 + 5, {"time": 0.25}, given))
    assert (generation, serial, header["time"]) == (3, 5, 0.25)
    assert found["x0"].tobytes() == given["x0"].astype("<f4").tobytes()
    assert (found["image"] == given["image"]).all()
    assert found["no"].shape == (0,)


def test_every_slider_says_what_the_scene_has_and_changes_it():
    run = InteractiveRun(SMALL)
    for name, r in run.ranges.items():
        to = 0.5 * (r.low + r.high)
        assert r.low <= value_of(run.scene, name) <= r.high
        assert value_of(with_parameter(run.scene, name, to), name) == pytest.approx(to)
        run.set_parameter(name, to)
        assert run.sim.scene is run.scene
        assert value_of(run.sim.scene, name) == pytest.approx(to)


def test_a_slider_changes_the_run_and_not_where_the_cloth_is():
    run = InteractiveRun(SMALL)
    run.set_substeps_per_part(4)
    for _ in range(5):
        run.step()
    before = run.sim.state.x.copy()
    run.set_parameter("wind_y", 12.0)
    assert (run.sim.state.x == before).all()
    after = [run.step() for _ in range(10)][-1].x
    assert after[:256, 1].mean() > before[:256, 1].mean()  # blown upwards, against gravity


def test_a_scene_begins_with_the_method_that_pliant_drape_takes():
    own = SCENES["tablecloth-on-ball"](resolution=4, eps=1e-4)
    assert InteractiveRun(StartOptions(own=own)).method == choose_method_for_scene(own).name == "bvh"


def test_smaller_frames_are_the_same_run():
    one, two = InteractiveRun(SMALL), InteractiveRun(SMALL)
    one.set_substeps_per_part(4)
    two.set_substeps_per_part(2)
    assert (one.parts_per_frame, two.parts_per_frame) == (1, 2)
    for _ in range(20):
        a = one.step()
        two.step()
        b = two.step()
    np.testing.assert_allclose(a.x, b.x, atol=1e-9)


def test_it_goes_at_the_pace_of_the_clock(session):
    began, a = time.monotonic(), header(session)["time"]
    time.sleep(0.5)
    b, passed = header(session)["time"], time.monotonic() - began
    assert 0.0 < b - a < 1.3 * passed + 0.05  # a busy machine may be slower than the clock


def test_pause_step_and_go(session):
    session.post(1, Do("pause"))
    until(lambda: header(session)["paused"])
    stood = header(session)["part"]
    time.sleep(0.1)
    assert header(session)["part"] == stood
    session.post(1, Do("step"))
    until(lambda: header(session)["part"] == stood + 1)
    session.post(1, Do("go"))
    until(lambda: header(session)["part"] > stood + 3)


def test_every_method_goes_on_from_where_the_cloth_is(session):
    until(lambda: header(session)["time"] > 0.4)
    referee = Referee(session._run.scene)
    for name, why in session._run.unavailable_reasons().items():
        assert not why
        before = header(session)["time"]
        *_, head, _ = shown_after(session, Choose("method", name))
        assert head["time"] >= before
        assert session._run.method == name
        session.post(1, Do("pause"))
        until(lambda: header(session)["paused"])
        x = session._run.sim.state.x
        if METHODS[name].guarantee == "A":  # others may miss, or be off by a bound
            assert referee.least_distance(x) > 0.0, name
        session.post(1, Do("go"))
    assert not problems(session)


def test_a_drag_moves_the_cloth_and_leaving_lets_it_go(session):
    until(lambda: header(session)["time"] > 0.3)
    session.post(1, Do("pause"))  # or the corner would have swung away
    until(lambda: header(session)["paused"])
    x = arrays(session)["x0"]
    corner = x[np.argmax(x[:, 0] + x[:, 2])].astype(float)
    session.post(1, Grab(tuple(corner + np.array([-0.01, 1.0, -0.01])), (0.0, -1.0, 0.0), False))
    until(lambda: header(session)["held"] or header(session)["missed"])
    assert header(session)["held"]
    to = arrays(session)["drag"][0] + [0.15, 0.25, 0.15]
    session.post(1, Do("go"))
    session.post(1, Pull(tuple(to.tolist())))
    until(lambda: np.linalg.norm(arrays(session)["drag"][0] - to) < 0.03)
    session.leave(1)
    until(lambda: not header(session)["held"])
    assert not session._run.drags


def test_a_grab_that_meets_nothing_is_told(session):
    assert header(session)["missed"] == 0
    away = Grab((5.0, 5.0, 5.0), (0.0, 1.0, 0.0), False)
    head = shown_after(session, away)[2]
    assert (head["held"], head["missed"]) == (False, 1)


def test_a_pin_stays_until_it_is_freed(session):
    session.post(1, Do("pause"))
    x = arrays(session)["x0"]
    at = x[len(x) // 2].astype(float)
    session.post(1, Grab(tuple(at + np.array([0.003, 1.0, 0.002])), (0.0, -1.0, 0.0), True))
    session.post(1, LetGo())
    until(lambda: header(session)["pins"] == 1)
    session.post(1, Do("go"))
    before = arrays(session)["pins"][0]
    frame = header(session)["part"]
    until(lambda: header(session)["part"] > frame + 20)
    assert (arrays(session)["pins"][0] == before).all()
    session.post(1, FreePins())
    until(lambda: header(session)["pins"] == 0)


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_overlay_is_drawn(session, name):
    until(lambda: header(session)["contacts"] > 0)
    if name == "self_structure":
        session.post(1, Choose("self", "push"))
        session.post(1, Choose("self_method", "bvh"))
    arrays = {
        "contacts": "points",
        "structure": "lines",
        "self_structure": "lines",
        "slice": "slice_image",
        "layers": "lines",
    }
    drawn = arrays.get(name, name)
    found = shown_after(session, Show(name, True))[3]
    assert len(found[drawn]) > 0
    assert drawn not in shown_after(session, Show(name, False))[3]


def test_a_recording_becomes_files_of_as_many_frames(session, tmp_path):
    session.post(1, Do("record"))
    until(lambda: header(session)["recording"] >= 10)
    session.post(1, Do("keep"))
    until(lambda: any("written" in text for _, text in session.messages))
    assert (tmp_path / "play-1.html").stat().st_size > 10_000
    clip, fps = load_clip(tmp_path / "play-1.glb")[:2]
    assert len(clip) >= 10
    assert fps == pytest.approx(100.0)


def test_a_recording_that_cannot_be_written_is_not_lost(session, tmp_path, monkeypatch):
    session.post(1, Do("record"))
    until(lambda: header(session)["recording"] >= 5)
    with monkeypatch.context() as patch:
        patch.setattr("pliant.view.recording.Recording.write", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        session.post(1, Do("keep"))
        until(lambda: problems(session))
    assert "disk full" in problems(session)[0]
    session.post(1, Do("keep"))
    until(lambda: any('"note": "written' in text for _, text in session.messages))
    assert len(load_clip(tmp_path / "play-1.glb")[0]) >= 5


def test_while_it_stands_still_the_depth_is_that_of_what_is_shown(session):
    until(lambda: header(session)["contacts"])
    session.post(1, Do("pause"))
    until(lambda: header(session)["paused"])
    for _ in range(3):
        shown_after_a_step(session)
        state = session._run.sim.state
        exact = Referee(session._run.scene).least_distance(state.x, state.pose)
        assert header(session)["least"] == pytest.approx(1e3 * exact, abs=1e-3)


def test_every_field_that_goes_over_the_line_is_explained(session):
    text = (pathlib.Path(__file__).parents[2] / "docs" / "play.md").read_text("utf-8")
    for name in OVERLAYS:
        found = shown_after(session, Show(name, True))
    sent = {*json.loads(session.hello())["hello"], *found[2], *found[3]}
    assert sorted(name for name in sent if f"`{name}`" not in text) == []


def test_another_scene_is_another_generation(session):
    generation = session.newest.generation
    session.post(1, Choose("scene", "cloth-on-box-corner"))
    until(lambda: session.newest.generation > generation and session.newest.data and header(session)["part"] > 1)
    assert json.loads(session.hello())["hello"]["scene"] == "cloth-on-box-corner"
    assert not problems(session)


def test_a_scene_that_cannot_be_shown_gives_way_to_the_one_before(session, monkeypatch):
    class Fails(Referee):
        def __init__(self, scene):
            if scene.name == "cloth-on-box-corner":
                raise MemoryError("no room for its referee")
            super().__init__(scene)

    monkeypatch.setattr("pliant.view.session.Referee", Fails)
    generation = session.newest.generation
    session.post(1, Choose("scene", "cloth-on-box-corner"))
    until(lambda: problems(session))
    until(lambda: session.newest.generation > generation and session.newest.data and header(session)["part"] > 1)
    assert json.loads(session.hello())["hello"]["scene"] == "tablecloth-on-ball"
    assert problems(session) == ["no room for its referee"]


def test_a_slider_that_moves_on_waits_only_once():
    session = Session(SMALL)
    for k in range(5):
        session.post(1, Set("friction", 0.1 * k))
        session.post(2, Pull((0.0, 0.0, float(k))))
        session.post(2, Pull((0.0, 1.0, float(k))))
    assert [c for _, c in session._queue if isinstance(c, Pull)] == [Pull((0.0, 1.0, float(k))) for k in range(5)]


def test_to_let_go_a_thousand_times_waits_once():
    session = Session(SMALL)
    for _ in range(1000):
        session.post(1, LetGo())
    assert list(session._queue) == [(1, LetGo())]


def test_depths_follow_from_a_tree_in_depth_first_order():
    assert depths_of(np.array([6, 4, 3, 4, 6, 6], np.int32)).tolist() == [0, 1, 2, 2, 1, 2]


def test_a_box_has_twelve_edges_along_its_sides():
    edges = box_edges(np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0]]))
    lengths = np.sort(np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1))
    assert lengths.tolist() == [1.0] * 4 + [2.0] * 4 + [3.0] * 4


def test_what_is_typed_is_for_the_scene_it_was_typed_for():
    choice = StartOptions(
        scene="tablecloth-on-ball", method="bvh", options={"resolution": 12, "eps": 0.02, "friction": 0.0}
    )
    run = InteractiveRun(choice)
    assert (run.scene.eps, run.scene.friction) == (0.02, 0.0)
    run.load_scene("curtain", "bvh")
    assert run.scene.friction > 0.0
    assert len(run.sim.state.x) > 200


@pytest.mark.parametrize("end", ["low", "high"])
def test_every_slider_can_be_drawn_to_its_ends(end):
    run = InteractiveRun(SMALL)
    run.set_substeps_per_part(4)
    for name, r in run.ranges.items():
        run.set_parameter(name, getattr(r, end))
        run.step()
        run.set_parameter(name, run.initial_values[name])
    assert np.isfinite(run.sim.state.x).all()


def test_a_method_that_cannot_be_used_changes_nothing():
    sheet = shapes.cloth(0.8, 0.8, 9)
    own = drape_scene(shapes.cloth(0.5, 0.5, 9), sheet.moved(sheet.vertices - [0.0, 0.2, 0.0]), eps=0.005)
    run = InteractiveRun(StartOptions(method="bvh", own=own))
    run.set_substeps_per_part(4)
    sim = run.sim
    with pytest.raises(ValueError, match="closed"):
        run.set_method("image-space", lambda _: None)
    assert run.sim is sim
    assert (run.substeps_per_part, run.method) == (4, "bvh")
    assert "closed" in run.unavailable_reasons()["image-space"]


def test_what_is_warned_of_reaches_the_page_once(session):
    session.post(1, Choose("method", "distance-field"))
    for eps in (0.001, 0.002, 0.001):
        session.post(1, Set("eps", eps))
        session.post(1, LetGo())
    until(lambda: not session._queue and session._run.scene.eps == 0.001)
    logging.getLogger("pliant.detect").warning("said by another thread")
    messages = [json.loads(text).get("warning", "") for _, text in session.messages]
    assert len([text for text in messages if "cells" in text and "larger than eps = 0.001 m" in text]) == 1
    assert not any("another thread" in text for text in messages)


def test_many_pulls_do_not_change_how_fast_time_goes(session):
    session.post(1, Choose("speed", "1/4"))
    until(lambda: json.loads(session.hello())["hello"]["chosen"]["speed"] == "1/4")
    until(lambda: header(session)["part"] > 0)
    began, a = time.monotonic(), header(session)["time"]
    for k in range(100):
        session.post(1, Pull((0.0, 0.001 * k, 0.0)))
        time.sleep(0.01)
    b, passed = header(session)["time"], time.monotonic() - began
    assert b - a < 0.25 * 1.3 * passed + 0.05


def test_a_scene_that_cannot_be_made_is_told_and_ends():
    session = Session(StartOptions(scene="waving-mannequin", method="image-space", options={"eps": -1.0}))
    session.start()
    until(lambda: session.failed)
    assert "eps" in session.failed
    until(lambda: problems(session))
    assert json.loads(session.messages[-1][1])["ended"] is True
    session.stop()


def test_a_step_that_fails_begins_again_and_lets_go(session):
    x = arrays(session)["x0"]
    at = x[len(x) // 2].astype(float)
    head = shown_after(session, Grab(tuple(at + np.array([0.003, 1.0, 0.002])), (0.0, -1.0, 0.0), False))[2]
    assert head["held"]
    kept, seen = session._run.step, []
    session.subscribe(lambda: seen.append(header(session)))  # all of them: it soon is later again

    def step():
        session._run.step = kept
        raise ValueError("too many contacts for the memory there is")

    session._run.step = step
    until(lambda: problems(session))
    until(lambda: any(head["time"] < 0.1 and not head["held"] for head in seen))
    session.post(1, LetGo())
    frame = header(session)["part"]
    until(lambda: header(session)["part"] > frame + 5)
    assert problems(session) == ["too many contacts for the memory there is; back to the beginning"]

"""What is not needed any more is gone: scenes and simulations from before, methods used long ago, too many frames."""

import contextlib
import gc
import pathlib
import weakref

import numpy as np
import pytest

from pliant import shapes
from pliant.contacts import empty
from pliant.io.animation import load_clip
from pliant.scene import Body, Scene, Solid
from pliant.simulation import Frame
from pliant.view import heap, recording
from pliant.view.commands import Choose, Do, Show
from pliant.view.interactive_run import RECENT, InteractiveRun, StartOptions
from pliant.view.overlays import OVERLAYS
from pliant.view.recording import SPARSEST, Recording
from pliant.view.session import Session

SMALL = StartOptions(scene="tablecloth-on-ball", method="bvh", options={"resolution": 8})


@contextlib.contextmanager
def uncollected():
    """Rings of things that nobody has would stay, as they do for long where most of memory is in few things."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def replaced() -> list[bool]:
    """Of each change in turn whether the simulation before it is gone."""
    run, gone = InteractiveRun(SMALL), []
    for change in (
        lambda: run.set_parameter("friction", 0.7),
        lambda: run.set_parameter("eps", 0.011),
        lambda: run.set_response("geometric"),
        lambda: run.set_self_contact("safe"),
        lambda: run.set_method("brute-force", lambda _: None),
        run.reset,
    ):
        run.step()
        before = weakref.ref(run.sim)
        change()
        gone.append(before() is None)
    return gone


@pytest.mark.compiled
def test_a_simulation_that_a_slider_replaced_is_gone_at_once():
    replaced()  # while it compiles, the compiler keeps what it was called with
    with uncollected():
        assert all(replaced())


@pytest.mark.compiled
def test_a_run_that_begins_again_knows_nothing_of_the_one_before():
    foam = Solid(young=1e3, poisson=0.3, density=100.0)
    through = shapes.bar((0.2, 0.045, 0.045), (9, 2, 2), centre=(0.003, 0.004, 0.002))
    soft = Body(through, material=foam, velocity=(0.0, 0.3, 0.1))
    scene = Scene([soft, Body(shapes.bar((0.06, 0.06, 0.16), (3, 3, 8)), obstacle=True)], gravity=(0.0, 0.0, 0.0))
    run = InteractiveRun(StartOptions(own=scene, method="spatial-hash"))
    first = [run.step().x.tobytes() for _ in range(6)]
    kept = [len(one.state()) for one in run.sim.detectors]
    run.set_parameter("friction", 0.4)
    assert [len(one.state()) for one in run.sim.detectors] == kept != [0]
    run.set_parameter("friction", 0.3)
    run.reset()
    assert [run.step().x.tobytes() for _ in range(6)] == first
    run.set_method("bvh", lambda _: None)
    run.set_method("spatial-hash", lambda _: None)
    assert [len(one.state()) for one in run.sim.detectors] == [0]


@pytest.mark.compiled
def test_nothing_of_a_scene_is_left_after_the_next(tmp_path):
    session = Session(SMALL, tmp_path)
    session._run = InteractiveRun(SMALL)
    session._open_scene()
    for name in OVERLAYS:
        session._execute(1, Show(name, True))
    session._control("record")
    session._advance()
    session._control("drop")
    run = session._run
    things = [run.scene, run.sim, run.sim.detectors[0], session._overlays, session._description, session._referee]
    left = [weakref.ref(thing) for thing in (*things, *(body.mesh for body in run.scene.bodies))]
    del things
    session._execute(1, Choose("scene", "cloth-on-box-corner"))
    assert [ref() for ref in left if ref() is not None] == []


@pytest.mark.compiled
def test_only_the_methods_used_last_stay_ready():
    run = InteractiveRun(SMALL)
    used = ["brute-force", "spatial-hash", "image-space", "continuous", "brute-force"]
    for name in used:
        run.set_method(name, lambda _: None)
    assert list(run._detectors) == used[-RECENT:]
    assert run._detectors["brute-force"] is run.sim.detectors


def test_free_memory_is_given_back_where_the_system_can_take_it(monkeypatch):
    asked = []
    monkeypatch.setattr(heap, "_trim", lambda: asked.append)
    heap.trim_heap()
    monkeypatch.setattr(heap, "_trim", lambda: None)  # another system
    heap.trim_heap()
    assert asked == [0]


def frames(scene, count):
    """Frame t of the cloth is t millimetres higher, and took t seconds."""
    state = scene.start()
    for t in range(count):
        yield Frame(t, 0.01 * t, state.x + np.array([0.0, 0.001 * t, 0.0]), state.pose, empty(), float(t))


def kept_heights(kept):
    (x,) = kept.result().x.values()
    return np.rint(1000.0 * (x - x[0])[:, 0, 1]).astype(int).tolist()


@pytest.fixture
def of_five(monkeypatch):
    """A recording with room for five frames."""
    scene = Scene([Body(shapes.cloth(0.5, 0.5, 4))])
    monkeypatch.setattr(recording, "MOST", 5 * (12 * 16 + 96 + 16))
    made = Recording(scene, 0.01)
    assert made.capacity == 5
    return made


@pytest.mark.parametrize(
    ("count", "every", "heights"),
    [
        (5, 1, [0, 1, 2, 3, 4]),
        (6, 2, [0, 2, 4]),
        (9, 2, [0, 2, 4, 6, 8]),
        (10, 2, [0, 2, 4, 6, 8]),
        (11, 4, [0, 4, 8]),
        (20, 4, [0, 4, 8, 12, 16]),
    ],
)
def test_a_long_recording_keeps_all_of_the_time_with_fewer_frames(of_five, count, every, heights):
    for frame in frames(of_five.scene, count):
        assert not of_five.full
        of_five.add(frame)
    result = of_five.result()
    assert kept_heights(of_five) == heights
    assert (of_five.every, result.dt) == (every, pytest.approx(0.01 * every))
    assert result.seconds.sum() == sum(range(heights[-1] + 1))  # what was forgotten took its time too
    assert of_five.full == (count == 5 * SPARSEST)


def test_a_full_recording_takes_no_more(of_five):
    for frame in frames(of_five.scene, 30):
        of_five.add(frame)
    assert kept_heights(of_five) == [0, 4, 8, 12, 16]
    assert of_five.seconds == pytest.approx(of_five.longest) == pytest.approx(0.19)


@pytest.mark.compiled
def test_a_method_chosen_in_the_middle_of_a_frame_leaves_recorded_frames_a_hundredth_of_a_second_apart(tmp_path):
    session = Session(SMALL, tmp_path)
    session._run = run = InteractiveRun(SMALL)
    session._open_scene()
    session._wait = session._adapt_substeps = lambda *_: None
    session._control("record")
    times = [run.sim.state.time]
    session._record = lambda frame, keep=session._record: (times.append(frame.time), keep(frame))
    whole = run.substeps_per_frame
    half = whole // 2
    assert half > 1
    run.set_substeps_per_part(half)
    session._advance()
    session._execute(1, Choose("method", "brute-force"))  # from here on in single small steps
    for _ in range(whole - half):
        session._advance()
    run.set_substeps_per_part(whole)
    session._advance()
    np.testing.assert_allclose(np.diff(times), 0.01)
    session._execute(1, Do("keep"))
    assert len(load_clip(pathlib.Path(tmp_path / "play-1.glb"))[0]) == 3

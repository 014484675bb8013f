"""Methods from outside the package: registered, compared, played with, and removed; and the names of built-in ones."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import pliant
from detect import sampled_points
from detect.sampled_points import SampledPoints
from pliant import cli
from pliant.detect import METHODS, BaseDetector, Finds, Reports
from pliant.detect.base import with_defaults
from pliant.detect.detectors.offset import OffsetDetector
from pliant.detect.methods import EARLIER, method_name
from pliant.scene import Body, Scene
from pliant.simulation import Simulation
from pliant.view.commands import Choose
from pliant.view.interactive_run import InteractiveRun, StartOptions
from pliant.view.session import Session
from time_limit import PATIENCE

SRC = pathlib.Path(pliant.__file__).parents[1]
BALL = pliant.shapes.ball(0.1, 2)
CLOTH = pliant.shapes.cloth(0.24, 0.24, 9, centre=(0.0, 0.09, 0.0))


@pytest.fixture
def registered():
    before = list(METHODS)
    yield pliant.register(SampledPoints)
    if SampledPoints.name in METHODS:
        pliant.unregister(SampledPoints.name)
    assert list(METHODS) == before


def fresh(code: str, *more: str) -> str:
    """Output of Python code in a process of its own; `more`: further folders to import from."""
    paths = os.pathsep.join([str(SRC), *more])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.compiled
def test_a_method_from_outside_is_compared_like_the_others(registered, capsys):
    found = pliant.compare(CLOTH, BALL, within=0.006, methods=["sampled_points", "bvh"], seed=3)
    row = found.row("sampled-points")
    assert (row.guarantee, row.kind, row.estimate) == ("C", "points", 0.5)
    assert 0 < row.found < row.expected
    assert row.extra == row.beyond == 0
    assert row.depth_max < 1e-12
    assert row.kept
    assert cli.run(["methods", "--json"]) in (0, None)
    assert json.loads(capsys.readouterr().out)[-1]["name"] == "sampled-points"
    with pytest.raises(TypeError, match="method 'sampled-points' has no option 'shere'; did you mean 'share'"):
        pliant.detector("sampled-points", CLOTH, BALL, shere=0.5)


@pytest.mark.compiled
def test_a_method_from_outside_is_in_the_menu_of_play_and_runs_there(registered, tmp_path):
    own = Scene([Body(CLOTH), Body(BALL, obstacle=True)], eps=0.004, name="toy")
    assert InteractiveRun(StartOptions(own=own)).unavailable_reasons()["sampled-points"] == ""
    session = Session(StartOptions(own=own, method="sampled-points"), tmp_path)
    session.start()
    try:
        for name in ("sampled-points", "bvh", "sampled-points"):
            session.post(1, Choose("method", name))
            end = time.monotonic() + 200.0
            while not (session.newest.data and session._run.method == name and session._run.sim.index > 1):
                assert not session.failed
                assert time.monotonic() < end
                time.sleep(0.01)
        assert isinstance(session._run.sim.detectors[0], SampledPoints)
    finally:
        session.stop()
        session._thread.join(60.0)


def test_the_page_on_adding_a_method_shows_this_one():
    page = (SRC.parent / "docs" / "adding-a-method.md").read_text("utf-8")
    assert f"```python\n{pathlib.Path(sampled_points.__file__).read_text('utf-8')}```" in page


def test_a_method_that_is_removed_is_unknown_again(registered):
    pliant.unregister("sampled_points")
    assert "sampled-points" not in METHODS
    with pytest.raises(ValueError, match="unknown method 'sampled-points'"):
        method_name("sampled-points")
    with pytest.raises(ValueError, match="unknown method 'sampled-points'"):
        pliant.unregister("sampled-points")


@pytest.mark.compiled
def test_an_installed_package_brings_its_method_by_an_entry_point(tmp_path):
    shutil.copy(sampled_points.__file__, tmp_path / "toy_method.py")
    info = tmp_path / "toy_method-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-method\nVersion: 1.0\n", "utf-8")
    points = "[pliant.detectors]\nsampled-points = toy_method:SampledPoints\nabsent = toy_method:Absent\n"
    (info / "entry_points.txt").write_text(points + "bvh = toy_method:SampledPoints\n", "utf-8")
    told = fresh(
        "import logging, sys; logging.basicConfig(); import pliant\n"
        "from pliant.detect import METHODS\n"
        "a = pliant.shapes.cloth(0.24, 0.24, 9, centre=(0, 0.09, 0)); b = pliant.shapes.ball(0.1, 2)\n"
        "pliant.find_contacts(a, b); print('toy_method' in sys.modules)\n"
        "print(len(pliant.find_contacts(a, b, method='sampled_points', within=0.006)) > 0)\n"
        "print([*METHODS][-2:], METHODS['bvh'].__name__)\n"
        "pliant.unregister('sampled-points'); print('sampled-points' in METHODS)\n",
        str(tmp_path),
    )
    lines = told.splitlines()
    assert lines[:4] == ["False", "True", "['image-space', 'sampled-points'] BvhDetector", "False"]
    assert "detection method 'absent' (toy_method:Absent) is not available" in told
    assert "detection method 'bvh' (toy_method:SampledPoints) is not available" in told


def named(**changes):
    return type("Odd", (SampledPoints,), changes)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (int, TypeError, "is not a detector class; derive it from pliant.detect.BaseDetector"),
        (SampledPoints(None, None, within=0.0), TypeError, "is not a detector class"),
        (type("Silent", (BaseDetector,), {"name": "silent"}), TypeError, r"Silent does not implement find\(state\)"),
        (named(name="Sampled_Points"), ValueError, "expected lower case with hyphens"),
        (named(name=""), ValueError, "expected lower case with hyphens"),
        (named(name="auto"), ValueError, "expected lower case with hyphens"),
        (named(name="tree"), ValueError, "expected lower case with hyphens"),
        (named(name="bvh"), ValueError, "method 'bvh' is already registered"),
        (named(guarantee="D"), ValueError, "guarantee = 'D'; expected 'A', 'B' or 'C'"),
        (named(finds=Finds(0)), ValueError, "expected one or more flags of Finds"),
    ],
)
def test_a_class_that_does_not_state_itself_is_refused(wrong, error, text):
    before = dict(METHODS)
    with pytest.raises(error, match=text):
        pliant.register(wrong)
    assert dict(METHODS) == before


def test_built_in_methods_cannot_be_removed():
    with pytest.raises(ValueError, match="method 'bvh' is built in and cannot be removed"):
        pliant.unregister("tree")


def test_earlier_names_are_accepted_and_the_present_ones_are_told():
    assert not EARLIER.keys() & set(METHODS)
    for old, new in EARLIER.items():
        assert method_name(old) == new
        assert METHODS[old] is METHODS[new]
        assert METHODS[new].name == new
        assert old in METHODS
    scene = Scene([Body(CLOTH), Body(BALL, obstacle=True)], self_contact="push")
    sim = Simulation(scene, method="tree", self_method="stochastic_tree")
    assert (sim.method, sim.self_contact.method) == ("bvh", "stochastic-bvh")
    run = InteractiveRun(StartOptions(own=scene, method="brute-force"))
    run.set_method("tree", lambda _: None)
    assert run.method == "bvh"


@pytest.mark.compiled
def test_a_checkpoint_with_earlier_names_goes_on(tmp_path):
    scene = Scene([Body(CLOTH), Body(BALL, obstacle=True)], self_contact="push")
    sim = Simulation(scene, substeps=2, method="bvh", self_method="bvh", self_response="penalty")
    list(sim.run(2))
    sim.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as saved:
        kept = dict(saved)
    assert str(kept["method"]) == kept["between"][0] == "bvh"
    np.savez(tmp_path / "old.npz", **kept | {"method": "tree", "between": np.array(["tree", "penalty"])})
    back = Simulation.load(tmp_path / "old.npz", scene)
    assert (back.method, back.self_contact.method) == ("bvh", "bvh")
    assert [f.x.tobytes() for f in back.run(2)] == [f.x.tobytes() for f in sim.run(2)]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.compiled
def test_a_query_imports_only_the_method_that_it_runs(closed):
    told = fresh(
        "import sys, pliant\n"
        "def count(): return sum(name.split('.')[0] == 'pliant' for name in sys.modules)\n"
        "light = count(), 'numba' in sys.modules\n"
        "a = pliant.Mesh([[0.1, 0.1, -0.001], [0.5, 0.1, -0.001], [0.1, 0.5, -0.0012]], [[0, 1, 2]])\n"
        "b = pliant.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]"
        f"[:{4 if closed else 1}])\n"
        f"assert len(pliant.find_contacts(a, b, method='auto' if {closed} else 'bvh'))\n"
        "print(*light, count())\n"
    )
    light, compiler, modules = told.split()
    assert int(light) <= 3
    assert compiler == "False"
    assert int(modules) <= 67  # three of them keep compiled kernels on disk


UNSTATED = ("update", "find", "against", "for_moving_vertices", "refuses", "follows")
STATED = [n for n in vars(BaseDetector) if not n.startswith("_") and n not in UNSTATED]
OWN = {
    "name",
    "finds",
    "needs",
    "gives",
    "source",
    "more_options",
    "variants",
    "other_guarantees",
    "skinned_guarantee",
}  # of the wrapper, or of the class only


@pytest.mark.compiled
@pytest.mark.parametrize(
    "method", ["bvh", "distance-field", "height-grid", "bone-boxes", "image-space", "active-pairs"]
)
def test_a_wrapped_detector_states_what_the_wrapped_one_states(method):
    inner = pliant.detector(method, CLOTH, BALL, within=0.01)._detector
    outer = OffsetDetector(inner, 0.002)
    for name in set(STATED) - OWN:
        mine, theirs = getattr(outer, name), getattr(inner, name)
        if name in ("state", "box_corners"):
            mine, theirs = mine(), theirs()
        elif name in ("covers", "bound_at"):
            mine, theirs = mine(np.linspace(-1, 1, 99)), theirs(np.linspace(-1, 1, 99))
        elif name in ("restore", "reset", "ignore", "structure"):
            assert name in vars(OffsetDetector)
            continue
        np.testing.assert_array_equal(mine, theirs, err_msg=name)


class Earlier:
    """A detector as callers wrote them before there was a base class."""

    name, finds, guarantee, follows = "earlier", Finds.OBSTACLE, "A", True
    needs = gives = source = "-"

    def __init__(self, *sides, within=0.0):
        self.memory, self.forgot = np.zeros((0, 10)), 0

    def update(self, state):
        return self

    def find(self, state):
        return pliant.contacts.empty()

    def forget(self):
        self.forgot += 1


def test_a_detector_without_the_base_class_still_serves():
    own, scene = Earlier(), Scene([Body(CLOTH), Body(BALL, obstacle=True)])
    own.memory = np.ones((2, 10))
    sim = Simulation(scene, substeps=1, detectors=[own])
    assert len(own.memory) == 0
    assert own.forgot == 1
    sim.step()
    assert sim.detectors == [own]
    one = with_defaults(own)
    assert one.remembers
    one.restore(np.ones((3, 10)))
    assert len(own.memory) == len(one.state()) == 3
    METHODS["earlier"] = Earlier
    try:
        assert METHODS["earlier"].reports is Reports.FEATURES
        assert len(pliant.detector("earlier", CLOTH, BALL).find()) == 0
    finally:
        del METHODS["earlier"]


@pytest.mark.compiled
def test_the_state_of_a_detector_has_an_earlier_name():
    one = pliant.shapes.bar((0.06, 0.06, 0.16), (3, 3, 8))
    two = pliant.shapes.bar((0.2, 0.045, 0.045), (9, 2, 2), centre=(0.003, 0.004, 0.002))
    loose = pliant.detector("spatial-hash", one, two)
    loose.find()
    with pytest.warns(DeprecationWarning, match=r"MeshDetector.memory is now state\(\)"):
        kept = loose.memory
    assert len(kept) > 10
    assert kept.tobytes() == loose.state().tobytes()
    with pytest.warns(DeprecationWarning, match=r"now restore\(state\) or reset\(\)"):
        loose.memory = kept[:0]
    assert len(loose.state()) == 0
    with pytest.raises(ValueError, match="method 'bvh' has no state; expected 0 rows, found 1"):
        pliant.detector("bvh", one, two).restore(np.ones((1, 10)))


def test_a_class_that_is_defined_again_replaces_the_earlier_one_and_another_class_does_not(registered):
    again = type("SampledPoints", (SampledPoints,), {"__module__": SampledPoints.__module__})
    assert pliant.register(again) is METHODS["sampled-points"] is again
    with pytest.raises(ValueError, match="method 'sampled-points' is already registered"):
        pliant.register(named())


@pytest.mark.compiled
def test_what_only_the_method_states_is_reached_by_its_detector():
    found = pliant.detector("distance-field", CLOTH, BALL, within=0.01)
    distance, _ = pliant.closest_point(BALL, CLOTH.vertices)
    assert found.detector.bounds[0] == pytest.approx(0.866 * found.detector.field.spacing, rel=1e-3)
    assert (found.detector.bound_at(distance[np.abs(distance) < 0.01]) == found.detector.bounds[0]).all()
    with pytest.raises(AttributeError):
        found.detector = None

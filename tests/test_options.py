"""Every option of every public function, with every kind of wrong value: a value, or one sentence that names it."""

import inspect
import json
import os
import pathlib
import subprocess
import sys

import pytest

import pliant
from conftest import SEED
from pliant.detect.methods import METHODS
from pliant.detect.options import options_of

HERE = pathlib.Path(__file__).parent


def walked(share: float, compiled: bool, limit: float) -> list[dict]:
    """What a walk in a process of its own found; a crash or a hang is a finding, too."""
    surroundings = os.environ | {"PLIANT_COMPILE": "1" if compiled else "0"}
    command = [sys.executable, str(HERE / "walk.py"), str(share), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=surroundings)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-2000:])
    assert "tried" in lines[-1]
    assert lines[-1]["tried"] > 1000 * share
    return [line for line in lines if "fault" in line]


def test_no_wrong_value_of_a_random_share_crashes_hangs_or_passes():
    assert walked(0.2, compiled=False, limit=240) == []


@pytest.mark.long
def test_no_wrong_value_crashes_hangs_or_passes():
    assert walked(1.0, compiled=False, limit=1800) == []


@pytest.mark.long
@pytest.mark.compiled
def test_no_wrong_value_ends_the_process_when_kernels_are_compiled():
    assert walked(1.0, compiled=True, limit=3600) == []


def test_the_walk_knows_every_public_function_and_every_parameter(tmp_path):
    sys.path.insert(0, str(HERE))
    import walk
    import walk_table

    calls = {call.name: call for call in walk.calls(tmp_path)}
    # classes that others make, and errors
    made = {"__version__", "Character", "DistanceField", "MeshFileError", "Attached", "contacts", "geometry", "shapes"}
    made |= {"register", "unregister"}  # change the list of methods: tests/detect/test_registering.py
    assert {name for name in pliant.__all__ if name not in calls} <= made
    for room in ("shapes", "geometry"):
        own = vars(getattr(pliant, room)).items()
        functions = {n for n, f in own if inspect.isfunction(f) and f.__module__.startswith(f"pliant.{room}")}
        assert {n for n in functions if n[0] != "_" and f"{room}.{n}" not in calls} == set()
    assert set(walk_table.OPTIONS) == set(METHODS)
    for method, options in walk_table.OPTIONS.items():
        assert set(options) == set(options_of(method))
    for call in calls.values():
        # what a mesh is carried along with, and what only tests pass
        passed_over = {"materials", "source", "cls", "self", "method", "a", "b", "within", "options", "given", "fields"}
        known = {p.name for p in inspect.signature(call.call).parameters.values()}
        assert known - set(call.kinds) - passed_over - {"out"} == set(), call.name


def test_a_misspelt_option_of_drape_is_told_as_one_of_drape():
    with pytest.raises(TypeError, match=r"drape has no option 'frame'; did you mean 'frames'\?"):
        pliant.drape(pliant.shapes.cloth(), pliant.shapes.ball(0.25), frame=3)

"""Kernels that are compiled ahead of need, by processes or by the machine that built the package."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from numba import from_dtype, types

from pliant.contacts import CONTACT
from pliant.kernels import ahead, jit, shipped
from pliant.kernels.bvh.tree import Tree
from pliant.kernels.call_text import from_text, to_text

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shipped.baseline() is None, reason="no baseline for this machine"),
]
SMALL = "simulation.kinematics.bounds"
RUN = (
    "import json, numpy as np; from pliant.kernels.simulation.kinematics import bounds as f;"
    "x = np.random.default_rng(1).normal(size=(50, 3)); found = f(x); f = getattr(f, 'compiled', f);"
    "counts = [sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values())];"
    "print(json.dumps([*counts, np.asarray(found).tolist()]))"
)


def run_small(cache: pathlib.Path, **environment: str) -> list:
    """How often a new process finds the small kernel in `cache` and how often it compiles it, and the result."""
    env = {**os.environ, "PLIANT_CACHE": str(cache), "PLIANT_COMPILE": "1", **environment}
    done = subprocess.run([sys.executable, "-c", RUN], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_types_of_calls_survive_as_text() -> None:
    row = types.Array(types.float64, 2, "C")
    fixed = types.Array(types.int32, 1, "A", readonly=True)
    records = types.Array(from_dtype(np.dtype(CONTACT)), 1, "C")
    tree = types.BaseTuple.from_types((records, fixed, row, fixed, fixed), Tree)
    some = [types.boolean, types.int64, row, fixed, records, tree]
    some += [types.Tuple((types.float64, types.int64)), types.UniTuple(row, 2), types.Tuple((tree, types.uint8))]
    for kind in some:
        text = json.loads(json.dumps(to_text(kind)))
        assert from_text(text) == kind, text
    with pytest.raises(TypeError, match="no text is defined"):
        to_text(types.unicode_type)


@pytest.mark.parametrize("command", ahead.LISTS)
def test_every_kernel_of_a_list_exists_and_every_type_can_be_made(command: str) -> None:
    for call in ahead.calls(command):
        module, _, function = call.name.rpartition(".")
        found = getattr(__import__(f"pliant.kernels.{module}", fromlist=[function]), function)
        code = getattr(found, "compiled", found).py_func.__code__ if jit.COMPILED else found.__code__
        assert len(call.arguments) == code.co_argcount, call.name
        assert [to_text(from_text(text)) for text in call.arguments] == call.arguments, call.name
        assert call.seconds > 0


def test_only_kernels_that_are_not_cached_are_compiled_ahead_and_few_are_not_worth_it(monkeypatch) -> None:
    monkeypatch.setattr(jit, "COMPILED", True)
    monkeypatch.delenv("PLIANT_AHEAD", raising=False)
    listed = ahead.calls("drape")
    monkeypatch.setattr(jit, "is_cached", lambda name: False)
    assert ahead.missing("drape") == listed
    monkeypatch.setattr(jit, "is_cached", lambda name: name != listed[0].name)
    assert listed[0].seconds < ahead.FEW
    assert ahead.missing("drape") == []
    monkeypatch.setattr(jit, "is_cached", lambda name: False)
    monkeypatch.setenv("PLIANT_AHEAD", "0")
    assert ahead.missing("drape") == []


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> pathlib.Path:
    """A cache that `compile_ahead` has filled with the small kernel, for the baseline of this kind of machine."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(cache))
        patch.setenv("PLIANT_COMPILE", "1")
        patch.setenv("NUMBA_CPU_NAME", shipped.baseline()[0])
        patch.setenv("NUMBA_CPU_FEATURES", "")
        wanted = [call for call in ahead.calls("drape") if call.name == SMALL]
        assert [call.name for call in ahead.compile_ahead("drape", wanted) if call] == [SMALL]
    return cache


def test_a_process_finds_what_was_compiled_ahead(compiled) -> None:
    assert run_small(compiled, NUMBA_CPU_NAME=shipped.baseline()[0], NUMBA_CPU_FEATURES="")[:2] == [1, 0]


@pytest.fixture
def package(compiled, tmp_path) -> pathlib.Path:
    """A folder as it is in a wheel for a platform."""
    folder, kernels = tmp_path / "compiled", {}
    for index in (compiled / "kernels").glob("*/**/kinematics.bounds-*.nbi"):
        names = [index, *index.parent.glob(f"{index.stem}.*.nbc")]
        files = {}
        for file in names:
            name = file.relative_to(compiled / "kernels").as_posix()
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(file.read_bytes())
            files[name] = hashlib.sha256(file.read_bytes()).hexdigest()
        kernels[index.relative_to(compiled / "kernels").as_posix()] = files
    assert len(kernels) == 1
    (folder / "manifest.json").write_text(json.dumps({"stamp": shipped.stamp(), "kernels": kernels}))
    return folder


def test_shipped_kernels_are_used_and_give_what_compiled_ones_give(package, tmp_path) -> None:
    cache = tmp_path / "cache"
    assert shipped.install(cache / "kernels", package) == 1
    assert shipped.install(cache / "kernels", package) == 0  # once
    hits, misses, found = run_small(cache)
    assert (hits, misses) == (1, 0)
    assert run_small(tmp_path / "other") == [0, 1, found]


def test_kernels_that_are_damaged_or_for_another_machine_are_not_installed(package, tmp_path, monkeypatch) -> None:
    target = tmp_path / "kernels"
    monkeypatch.setattr(shipped, "stamp", lambda: "another")
    assert shipped.install(target, package) == 0
    monkeypatch.undo()
    monkeypatch.setitem(shipped.BASELINES, shipped.platform.machine().lower(), ("x", ("a feature to come",)))
    assert shipped.install(tmp_path / "second", package) == 0
    monkeypatch.undo()
    (code,) = package.rglob("*.nbc")
    code.write_bytes(code.read_bytes()[:-1] + b"?")
    assert shipped.install(tmp_path / "third", package) == 0
    assert not [*tmp_path.rglob("kernels/**/*.nbi")]
    assert shipped.install(tmp_path / "none", tmp_path / "absent") == 0

"""Twenty thousand mutants of small files, in a process with little memory to spare; and once-broken inputs, kept."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import SEED, cases

FUZZ = pathlib.Path(__file__).with_name("fuzz.py")
CORPUS = sorted(pathlib.Path(__file__).parents[1].joinpath("corpus").glob("*.*"))


def test_mutants_load_or_are_refused_quickly_and_in_little_memory() -> None:
    count = max(cases(20_000), 1000)  # fewer say nothing
    run = subprocess.run(
        [sys.executable, str(FUZZ), "--cases", str(count), "--seed", str(SEED)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout, run.stderr[-3000:]
    said = json.loads(run.stdout)
    assert said["complaints"] == []
    assert said["bad"] == 0
    # mutants of which all or none are meshes would test nothing
    assert said["mesh"] > count // 20
    assert said["error"] > count // 4


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_an_input_that_once_broke_something_no_longer_does(tmp_path: pathlib.Path, path: pathlib.Path) -> None:
    sys.path.insert(0, str(FUZZ.parent))
    try:
        import fuzz
    finally:
        sys.path.remove(str(FUZZ.parent))
    kind, why = fuzz.try_one(tmp_path / path.name, path.read_bytes(), save=True)
    assert kind != "bad", why

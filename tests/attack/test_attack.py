"""The attacks of `make attack` in short form: the same cases in this process, a few dozen per guarantee.

`python tests/attack/run.py --only GUARANTEE --case SEED:INDEX` repeats one case.
"""

import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import pliant
from attack import detect, meshes
from attack.guarantees import GUARANTEES
from attack.minimise import minimised
from attack.worker import Worker, run_case
from conftest import SEED, cases
from pliant.contacts import VERTEX_FACE

DETECTOR = pliant.detector

NEEDS = {"sides": "igl", "fields": "igl", "safe": "ipctk", "steps": "ipctk", "audit": "igl"}
SHORT = {
    "detect": 25,
    "sides": 30,
    "fields": 12,
    "safe": 6,
    "crossings": 40,
    "gradients": 40,
    "drapes": 2,
    "tets": 40,
    "steps": 6,
    "temporal": 33,
    "restart": 5,
    "threads": 6,
    "audit": 8,
    "pairings": 1,
}

# cases of longer runs that found a bug, since fixed: guarantee, seed, index
MENDED = [("audit", 2, 74), ("audit", 2, 169), ("restart", 5, 35), ("pairings", 12, 50)]


def assert_nothing_breaks(guarantee: str, first: int, count: int) -> None:
    if guarantee in NEEDS:
        pytest.importorskip(NEEDS[guarantee], reason="needs `pip install 'pliant[attack]'`")
    broken, checks = [], 0
    for index in range(first, first + count):
        found = run_case(guarantee, SEED, index)
        checks += found["checks"]
        broken += [f"{text}\n  {found['line']}" for text in found["failures"][:1]]
    assert not broken, f"{len(broken)} of {count} cases failed:\n" + "\n".join(broken[:10])
    assert checks >= count // 2  # most cases must check something


def answer_of(worker: Worker, index: int, limit: float) -> dict:
    worker.ask("broken", SEED, index, limit)
    while (found := worker.answer()) is None:
        time.sleep(0.01)
    return found


def test_a_case_that_ends_its_process_or_never_ends_is_a_finding_and_the_worker_goes_on():
    worker = Worker()
    try:
        ended, late = answer_of(worker, 0, 60.0), answer_of(worker, 1, 1.0)
        assert ended["failures"][0].startswith("the process ended with exit code 3")
        assert late["failures"][0].startswith("timed out")
        assert (ended["timed_out"], late["timed_out"]) == (False, True)
        assert answer_of(worker, 2, 60.0)["failures"] == ["KeyError: 'nobody expected this' (broken.py:11)"]
    finally:
        worker.close()


@pytest.mark.compiled
def test_a_resumed_attack_adds_the_cases_that_are_left(tmp_path):
    def attacked(cases):
        words = ["--only", "tets", "--cases", str(cases), "--jobs", "1", "--json", "found.json", "--resume"]
        run = pathlib.Path(__file__).with_name("run.py")
        subprocess.run([sys.executable, run, *words], cwd=tmp_path, check=True, capture_output=True, timeout=600)
        return json.loads((tmp_path / "found.json").read_text())

    first = attacked(2)["guarantees"]["tets"]
    assert (first["cases"], first["next"], first["open"]) == (2, 2, [])
    told = json.loads((tmp_path / "found.json").read_text())
    told["guarantees"]["tets"] |= {"cases": 1, "open": [1]}  # as if the second one had been interrupted
    (tmp_path / "found.json").write_text(json.dumps(told))
    second = attacked(5)
    tets = second["guarantees"]["tets"]
    assert (tets["cases"], tets["next"], tets["open"]) == (5, 5, [])
    assert second["minutes"] > told["minutes"]


class Lossy:
    """A detector that loses its vertex-face contacts."""

    def __init__(self, *args, **options):
        self.inner = DETECTOR(*args, **options)

    def update(self, *args):
        self.inner.update(*args)
        return self

    def find(self):
        hits = self.inner.find()
        return hits[hits["kind"] != VERTEX_FACE]


@pytest.mark.compiled
def test_contacts_that_are_lost_are_noticed_and_the_input_shrinks_to_the_faces_that_matter(monkeypatch):
    x, faces = meshes.grid(np.random.default_rng(SEED), 3, 3)
    y = x + 0.01
    given = {"rest": x, "faces": faces, "x": x, "rest_b": y, "faces_b": faces, "y": y, "within": 0.05}
    given["method"] = "brute-force"
    assert detect.fails(given) == ""
    monkeypatch.setattr(pliant, "detector", Lossy)
    assert "misses" in detect.fails(given)
    small = minimised("detect", given)
    assert (len(small["faces"]), len(small["faces_b"])) == (1, 1)


def test_every_guarantee_that_is_attacked_has_a_short_form():
    assert SHORT.keys() == GUARANTEES.keys()


@pytest.mark.compiled
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_guarantee_holds_in_random_cases(guarantee):
    assert_nothing_breaks(guarantee, 0, cases(SHORT[guarantee]))


@pytest.mark.compiled
@pytest.mark.parametrize(("guarantee", "seed", "index"), MENDED)
def test_a_case_that_was_mended_stays_so(guarantee, seed, index):
    if guarantee in NEEDS:
        pytest.importorskip(NEEDS[guarantee], reason="needs `pip install 'pliant[attack]'`")
    assert run_case(guarantee, seed, index)["failures"] == []


@pytest.mark.compiled
@pytest.mark.long
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_guarantee_holds_in_many_random_cases(guarantee):
    assert_nothing_breaks(guarantee, 1000, 40 * cases(SHORT[guarantee]))

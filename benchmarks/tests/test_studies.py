"""Studies that judge: long runs, and two commits."""

import argparse
import importlib
import pathlib

import pytest

from pliant.kernels import jit
from pliant.scenes import SCENES

STUDIES = pathlib.Path(__file__).resolve().parents[1] / "studies"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module


@pytest.fixture
def long_runs(study):
    return study("long_runs")


def _row(**changes) -> dict:
    row = {"hashes": {"10": "a", "20": "b"}, "finite": True, "lost": 0, "frames": 20, "cpu": 1.0, "bad_frames": 0}
    figures = dict.fromkeys(("cloth_pairs", "avoidable_pairs", "body_pairs", "pinched_pairs", "given_up"), 0)
    more = dict.fromkeys(("avoidable_pairs_sum", "body_pairs_sum", "avoidable_points", "deep_points", "start_pairs"), 0)
    return row | figures | more | changes


@pytest.mark.parametrize(
    ("part", "change", "wrong"),
    [
        ("one thread", {}, []),
        ("one thread", {"cloth_pairs": 2, "first_bad": 7}, ["pairs from frame 7"]),
        ("one thread", {"avoidable_pairs": 1, "body_pairs": 3, "first_bad": 9}, ["pairs from frame 9"]),
        ("one thread", {"body_pairs": 3}, []),
        ("two threads", {"hashes": {"10": "a", "20": "c"}}, ["two threads: differ at 20"]),
        ("restart", {"hashes": {"20": "b"}}, []),
        ("restart", {"hashes": {"20": "x"}}, ["restart: differ at 20"]),
        ("two threads", {"finite": False}, ["two threads: not finite"]),
    ],
)
def test_a_long_run_is_judged_by_pairs_states_and_bits(long_runs, part, change, wrong) -> None:
    rows = {name: _row(**change) if name == part else _row() for name in long_runs.PARTS}
    assert long_runs.verdict(rows)[1] == wrong


def test_cases_are_scenes_and_garments(long_runs) -> None:
    assert set(long_runs.cases(["scenes"], 300)) == set(long_runs.SCENES)
    assert list(long_runs.cases(["curtain", "mannequin/skirt"], 300)) == ["curtain", "mannequin/skirt"]


@pytest.mark.compiled
def test_the_parts_of_a_run_have_equal_bits(long_runs, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(long_runs, "HASHED", 1)
    scene = SCENES["tablecloth-on-ball"](resolution=8)
    judge = long_runs.OfScene(scene)
    before, book = jit.threads(), long_runs.Book(tmp_path, {"sources": "s", "wanted": 4, "size": 0})
    try:
        for part in long_runs.PARTS:
            book.write("ball", part, long_runs.play(scene, judge, part, 4, book.path("ball", "middle", "npz")))
    finally:
        jit.set_threads(before)
    rows = {part: book.read("ball", part) for part in long_runs.PARTS}
    assert long_runs.verdict(rows)[1] == []
    assert [len(row["hashes"]) for row in rows.values()] == [4, 4, 2]
    later = long_runs.Book(tmp_path, {"sources": "t", "wanted": 4, "size": 0})
    assert later.read("ball", "restart") is None


def test_times_of_two_commits_are_compared_by_the_least_of_all_rounds(study, monkeypatch, capsys) -> None:
    two_commits = study("two_commits")
    times = {"before": iter([2.0, 1.0]), "after": iter([1.5, 1.2])}
    key = ("T3", "near", "pliant", 1, "us")
    monkeypatch.setattr(two_commits, "measure", lambda python, *_: {key: next(times[python])})
    asked = {"before": "before", "after": "after", "tasks": ["T3"], "rounds": 2, "full": False, "wall": False}
    assert two_commits.main(argparse.Namespace(slower=1.1, **asked)) == 1
    assert "1.20  slower" in capsys.readouterr().out

"""Entries take turns, ratios are to ours, and a peer that breaks does not stop the others."""

import sys
import time

import pytest

from pliant.kernels import jit
from pliant.report.tables import Table
from pliant_bench import contest, machine
from pliant_bench.contest import Entry


def _quiet(_: str) -> None:
    pass


@pytest.fixture
def two_cores(monkeypatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 2)


def test_who_runs_on_one_thread_or_on_all_takes_part_there_only(two_cores) -> None:
    entries = [Entry("pliant", int), Entry("single", int, runs_on="one"), Entry("greedy", int, runs_on="all")]
    rows = contest.compare("case", entries, "ms", 1, _quiet)
    assert [(row["who"], row["threads"]) for row in rows] == [
        ("pliant", 1),
        ("single", 1),
        ("pliant", 2),
        ("greedy", 2),
    ]


def test_the_number_of_threads_is_told_before_and_set_while_it_works(two_cores) -> None:
    told: list[int] = []
    entry = Entry("pliant", jit.threads, lambda count: {"count": count}, ready=told.append)
    rows = contest.compare("case", [entry], "ms", 1, _quiet)
    assert [row["count"] for row in rows] == [1, min(2, jit.threads())]
    assert told == [1, 1, 1, 2, 2]  # once more at first, to compile


def test_ratios_are_to_ours_on_as_many_threads_and_on_all() -> None:
    rows = [
        {"who": "pliant", "threads": 1, "ms": 4.0},
        {"who": "peer", "threads": 1, "ms": 8.0},
        {"who": "pliant", "threads": 2, "ms": 2.0},
        {"who": "broken", "threads": 1},
    ]
    contest.with_ratios(rows, "ms")
    assert [(row.get("ratio"), row.get("ratio_all")) for row in rows] == [(1, 2), (2, 4), (1, 1), (None, None)]


def test_time_is_that_of_one_part() -> None:
    parts = {"one": 1, "hundred": 100}
    entries = [Entry(who, lambda: time.sleep(0.02), parts=n) for who, n in parts.items()]
    one, hundred = contest.compare("case", entries, "ms", 1, _quiet)[:2]
    assert one["ms"] >= 20.0
    assert 0.2 <= hundred["ms"] < 20.0
    assert one["cpu"] < 20.0  # asleep


def test_a_peer_that_breaks_says_so_and_ours_must_not(two_cores) -> None:
    rows = contest.compare("case", [Entry("pliant", int), Entry("peer", lambda: 1 // 0)], "ms", 2, _quiet)
    assert [row["note"] for row in rows if row["who"] == "peer"] == [
        "failed: ZeroDivisionError: integer division or modulo by zero"
    ] * 2
    with pytest.raises(ZeroDivisionError):
        contest.compare("case", [Entry("pliant", lambda: 1 // 0)], "ms", 1, _quiet)


def test_peers_are_gathered_where_they_are_present_and_may_fail_to_begin() -> None:
    def ours(_: object) -> list[Entry]:
        return [Entry("pliant", int)]

    def broken(_: object) -> list[Entry]:
        raise KeyError("old version")

    peers = {"good": lambda case: [Entry(f"good {case}", int)], "away": broken, "broken": broken}
    entries = contest.gather("case", ours, peers, lambda module: None if module == "away" else "1.0")
    assert [entry.who for entry in entries] == ["pliant", "good case", "broken"]
    assert "old version" in contest.compare("case", entries, "ms", 1, _quiet)[2]["note"]
    with pytest.raises(KeyError):
        contest.gather("case", broken, {}, lambda _: None)


def test_what_a_peer_prints_stays_off_stdout(capsys) -> None:
    contest.compare("case", [Entry("peer", lambda: sys.stdout.write("hello"))], "ms", 1, _quiet)
    assert capsys.readouterr().out == ""


def test_sentences_and_bars_are_made_of_those_who_have_a_time() -> None:
    rows = contest.with_ratios(
        [
            {"case": "a", "who": "pliant", "threads": 1, "ms": 2.0},
            {"case": "a", "who": "peer", "threads": 1, "ms": 8.0},
            {"case": "a", "who": "broken", "threads": 1, "note": "failed"},
            {"case": "a", "who": "pliant", "threads": 2, "ms": 1.0},
        ],
        "ms",
    )
    table = Table("t9-x", "x", contest.columns("ms"), rows)
    task = contest.Task(lambda: table, "ms", "Milliseconds", "")
    assert contest.findings(table, "ms") == ["T9 a, 1 thread: 2 ms; times as long: peer 4.0"]
    (chart,) = contest.charts(table, task)
    assert chart.svg.count("<title>") == 2
    assert "pliant: 1 ms" in chart.svg
    assert contest.charts(Table("t9-x", "x", (), rows[2:3]), task) == []

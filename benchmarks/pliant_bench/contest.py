"""One task solved by several participants in turn: time and number of threads of each, and its results."""

import contextlib
import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pliant.report.charts import bars_svg
from pliant.report.tables import Chart, Column, Table

from . import machine, timing
from .timing import alternate

OWN = "pliant"
UNITS = {"ms": 1e3, "us": 1e6}


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """A task: `table(quick=, repeats=, folder=, progress=)` measures it in `unit`; `shown` is the title of the chart,
    `about` describes the measurement, `more` says what else its table shows."""

    table: Callable[..., Table]
    unit: str
    shown: str
    about: str
    more: Callable[[Table], list[str]] = lambda _: []


def _nothing(_: Any) -> dict[str, Any]:
    return {}


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """The solution of one participant.

    `work` is timed; it makes `parts` equal pieces of work, and time is given for one of them. `check` turns an answer
    into columns. `ready` is told the number of threads before the clock starts.
    """

    who: str
    work: Callable[[], Any]
    check: Callable[[Any], dict[str, Any]] = _nothing
    parts: int = 1
    runs_on: str = "any"  # number of threads: "any", "one" or "all"
    ready: Callable[[int], None] = lambda _: None
    note: str = ""

    @property
    def own(self) -> bool:
        return self.who.startswith(OWN)

    def takes(self, threads: int) -> bool:
        return {"any": True, "one": threads == 1, "all": threads == machine.cores()}[self.runs_on]


class _Runner:
    """Runs an entry, and keeps its least CPU time, its last result and the reason of a failure."""

    def __init__(self, entry: Entry, threads: int) -> None:
        self.entry, self.threads = entry, threads
        self.answer: Any = None
        self.cpu, self.failed = float("inf"), ""

    def __call__(self) -> float:
        self.answer = None  # free the memory of the previous result before the next one is computed
        try:
            self.entry.ready(self.threads)
            with timing.threads(self.threads), quiet():
                began, start = time.process_time(), time.perf_counter()
                self.answer = self.entry.work()
                took = time.perf_counter() - start
                self.cpu = min(self.cpu, time.process_time() - began)
        except Exception as error:  # an error of a peer does not stop the others; an error of pliant does
            if self.entry.own:
                raise
            self.failed = f"failed: {type(error).__name__}: {str(error)[:200]}"
            return float("inf")
        return took

    def row(self, times: timing.Times, unit: str) -> dict[str, Any]:
        entry = self.entry
        row = {"who": entry.who, "threads": self.threads, "note": entry.note}
        if self.failed:
            return row | {"note": self.failed}
        scale = UNITS[unit] / entry.parts
        seconds = {unit: times.best * scale, "median": times.median * scale, "cpu": self.cpu * scale}
        return row | seconds | {"runs": len(times.runs)} | entry.check(self.answer)


def compare(
    case: str, entries: Sequence[Entry], unit: str, repeats: int, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Rows for one thread and for all, with alternating runs; ratios to pliant on as many threads and on all."""
    rows: list[dict[str, Any]] = []
    begun: set[str] = set()
    for threads in sorted({1, machine.cores()}):
        progress(f"{case}: {count_text(threads)}")
        runners = {entry.who: _Runner(entry, threads) for entry in entries if entry.takes(threads)}
        for who, runner in runners.items():
            if who not in begun:
                runner()  # a first run, since compiling may use up the time of the rounds below
                begun.add(who)
        times = alternate(runners, repeats)
        rows += [{"case": case} | runner.row(times[who], unit) for who, runner in runners.items()]
    return with_ratios(rows, unit)


def with_ratios(rows: list[dict[str, Any]], unit: str) -> list[dict[str, Any]]:
    """Add `ratio` and `ratio_all` to each row with a time, if pliant has one."""
    ours = {row["threads"]: row[unit] for row in rows if row["who"] == OWN}
    for row in rows:
        if unit in row and row["threads"] in ours:
            row["ratio"] = row[unit] / ours[row["threads"]]
            row["ratio_all"] = row[unit] / ours[max(ours)]
    return rows


def columns(unit: str, *about: Column) -> tuple[Column, ...]:
    """The columns of all tables; `about` are those that describe the results."""
    return (
        Column("case"),
        Column("who"),
        Column("threads", show="{:d}"),
        Column(unit, show="{:.3f}"),
        Column("median", show="{:.3f}", detail=True),
        Column("cpu", show="{:.3f}", detail=True),
        Column("runs", show="{:d}", detail=True),
        Column("ratio", show="{:.2f}"),
        Column("ratio_all", "ratio-all", "{:.2f}"),
        *about,
        Column("note"),
    )


def findings(table: Table, unit: str) -> list[str]:
    """A sentence for each case and number of threads that pliant and a peer ran."""
    said = []
    for case, threads in dict.fromkeys((row["case"], row["threads"]) for row in table.rows):
        rows = [row for row in table.rows if (row["case"], row["threads"]) == (case, threads) and "ratio" in row]
        own = [row for row in rows if row["who"] == OWN]
        peers = [f"{row['who']} {row['ratio']:.1f}" for row in rows if not row["who"].startswith(OWN)]
        if own and peers:
            task, took = table.name.partition("-")[0], f"{own[0][unit]:.3g} {unit}"
            text = f"{task.capitalize()} {case}, {count_text(threads)}: {took}; times as long: {', '.join(peers)}"
            said.append(text)
    return said


def charts(table: Table, task: Task) -> list[Chart]:
    """Time on all threads, or on one for participants that run on one only. Empty without participants."""
    groups: dict[str, dict[str, float]] = {}
    for row in sorted(table.rows, key=lambda row: -row["threads"]):
        if task.unit in row:
            groups.setdefault(row["case"], {}).setdefault(row["who"], row[task.unit])
    ordered = {case: groups[case] for case in dict.fromkeys(row["case"] for row in table.rows) if case in groups}
    caption = (
        f"{task.shown}, on all threads (on one for participants that have only one), logarithmic: shorter is better."
    )
    return [Chart(table.name, caption, bars_svg(ordered, task.unit, task.shown))] if ordered else []


def count_text(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Redirect messages of peers to stderr, so that stdout contains only JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


Maker = Callable[[Any], list[Entry]]  # from a case of the task to the entries of one package


def gather(case: Any, ours: Maker, peers: dict[str, Maker], present: Callable[[str], str | None]) -> list[Entry]:
    """Entries of pliant and of every installed package; a package that cannot prepare its entry is listed as failed."""
    entries = ours(case)
    for module, make in peers.items():
        if present(module) is None:
            continue
        try:
            with quiet():
                entries += make(case)
        except Exception as error:  # such as an unsupported version of the package
            entries.append(Entry(module, functools.partial(_again, error)))
    return entries


def _again(error: Exception) -> None:
    raise error

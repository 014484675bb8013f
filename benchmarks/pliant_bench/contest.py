"""One piece of work done by several in turn: how long it took each, on how many threads, and what they answered."""

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
from .own import Absent
from .timing import alternate

OWN = "pliant"
UNITS = {"ms": 1e3, "us": 1e6}


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """A row of the tasks: `table(quick=, repeats=, folder=, progress=)` measures, in `unit`; `shown` heads the chart,
    `about` says how it is measured."""

    table: Callable[..., Table]
    unit: str
    shown: str
    about: str


def _nothing(_: Any) -> dict[str, Any]:
    return {}


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """Someone's way to do the work.

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
    """Runs an entry, and keeps its least processor time, its last answer and why it failed."""

    def __init__(self, entry: Entry, threads: int) -> None:
        self.entry, self.threads = entry, threads
        self.answer: Any = None
        self.cpu, self.failed = float("inf"), ""

    def __call__(self) -> float:
        self.answer = None  # memory of the answer before is free again when the next is made
        try:
            self.entry.ready(self.threads)
            with timing.threads(self.threads), quiet():
                began, start = time.process_time(), time.perf_counter()
                self.answer = self.entry.work()
                took = time.perf_counter() - start
                self.cpu = min(self.cpu, time.process_time() - began)
        except Exception as error:  # whatever a foreign package raises, the others go on; ours must not fail
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
    """Rows for one thread and for all, entries in turn; ratios to ours on as many threads and on all of them."""
    rows: list[dict[str, Any]] = []
    begun: set[str] = set()
    for threads in sorted({1, machine.cores()}):
        progress(f"{case}: {count_text(threads)}")
        runners = {entry.who: _Runner(entry, threads) for entry in entries if entry.takes(threads)}
        for who, runner in runners.items():
            if who not in begun:
                runner()  # compiles, which may take so long that the rounds below would have no time left
                begun.add(who)
        times = alternate(runners, repeats)
        rows += [{"case": case} | runner.row(times[who], unit) for who, runner in runners.items()]
    return with_ratios(rows, unit)


def with_ratios(rows: list[dict[str, Any]], unit: str) -> list[dict[str, Any]]:
    """`ratio` and `ratio_all` added to each row that has a time, where ours has one."""
    ours = {row["threads"]: row[unit] for row in rows if row["who"] == OWN}
    for row in rows:
        if unit in row and row["threads"] in ours:
            row["ratio"] = row[unit] / ours[row["threads"]]
            row["ratio_all"] = row[unit] / ours[max(ours)]
    return rows


def columns(unit: str, *about: Column) -> tuple[Column, ...]:
    """Those of every table here; `about` are the ones that tell what was answered."""
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
    """A sentence for each case and number of threads in which ours and somebody else took part."""
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
    """Time on all threads; of those who run on one only, on that. None where nobody took part."""
    groups: dict[str, dict[str, float]] = {}
    for row in sorted(table.rows, key=lambda row: -row["threads"]):
        if task.unit in row:
            groups.setdefault(row["case"], {}).setdefault(row["who"], row[task.unit])
    ordered = {case: groups[case] for case in dict.fromkeys(row["case"] for row in table.rows) if case in groups}
    caption = f"{task.shown}, on all threads (those who run on one: on one), logarithmic: shorter is better."
    return [Chart(table.name, caption, bars_svg(ordered, task.unit, task.shown))] if ordered else []


def count_text(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Peers that greet do so on stderr: our JSON must stay alone."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


Maker = Callable[[Any], list[Entry]]  # from a case of the task to the entries of one package


def gather(case: Any, ours: Maker, peers: dict[str, Maker], present: Callable[[str], str | None]) -> list[Entry]:
    """Our entries and those of every package that is there; one that cannot prepare takes part as failed."""
    try:
        entries = ours(case)
    except Absent:
        entries = []
    for module, make in peers.items():
        if present(module) is None:
            continue
        try:
            with quiet():
                entries += make(case)
        except Exception as error:  # a package of another version, say
            entries.append(Entry(module, functools.partial(_again, error)))
    return entries


def _again(error: Exception) -> None:
    raise error

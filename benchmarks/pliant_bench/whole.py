"""All benchmarks of `pliant bench` as chapters of one page, with a summary as the first."""

import dataclasses
import functools
import pathlib
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pliant.report.charts import bars_svg
from pliant.report.tables import Chart, Column, Report, Table

from . import machine, suite, timing
from .contest import OWN, count_text
from .quick import quick_report

REPEATS = 2
HURRY = 4.0  # seconds per participant in a comparison, so that the whole page takes under half an hour
UNITS = {"ms": "ms", "us": "us", "ns": "ns", "seconds": "s"}
Progress = Callable[[str], None]
# seconds of each chapter on two cores with all peers, for the estimate of the remaining time
TYPICAL = {
    "fuhrmann2003": 119.0,
    "jung2005": 35.0,
    "neal": 36.0,
    "pelechano": 13.0,
    "teschner2005": 28.0,
    "garments": 180.0,
    "gradients": 60.0,
    "gpu": 1.0,
    "growth": 5.0,
    "skins": 63.0,
    "stochastic": 93.0,
    "trees": 40.0,
    "peers T1": 118.0,
    "peers T2": 149.0,
    "peers T3": 113.0,
    "peers T4": 246.0,
    "peers T5": 114.0,
    "peers T6": 15.0,
    "peers T6b": 5.0,
    "peers T7": 3.0,
    "peers T8": 77.0,
    "peers T9": 62.0,
    "peers T9b": 18.0,
}


@dataclasses.dataclass(frozen=True)
class Chapter:
    """One report, or the reason of its failure, and its time in seconds."""

    name: str
    report: Report | None
    failed: str
    seconds: float


def chapters() -> dict[str, Callable[..., Report]]:
    """All papers, all other reports and all peer tasks."""
    peers = {f"peers {task}": functools.partial(suite.peers_report, [task]) for task in suite.TASKS}
    return {**suite.PAPERS, **suite.REPORTS, **peers}


def measure(
    names: Sequence[str], *, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress
) -> Iterator[Chapter]:
    """The chapters one after the other; a failing one is reported and does not stop the others."""
    known, left = chapters(), sum(TYPICAL.get(name, 45.0) for name in names)
    pace, spent = 1.0, 0.0
    for k, name in enumerate(names):
        typical, began = TYPICAL.get(name, 45.0), time.perf_counter()
        estimate = f"{k + 1} of {len(names)}, about {max(1, round(pace * left / 60.0))} min left"
        told = functools.partial(_told, progress, f"{name} ({estimate})")
        told("")
        report, failed = None, ""
        try:
            with timing.hurried(HURRY):
                report = known[name](quick=quick, repeats=repeats, folder=folder, progress=told)
                report = quick_report(report) if quick and name in suite.PAPERS else report
        except Exception as error:  # a chapter whose requirements are missing does not stop the others
            last = traceback.extract_tb(error.__traceback__)[-1]
            failed = f"{type(error).__name__}: {error} ({pathlib.Path(last.filename).name}, line {last.lineno})"
        took = time.perf_counter() - began
        left, spent = left - typical, spent + typical
        pace += (took / typical - pace) * typical / spent
        yield Chapter(name, report, failed, took)


def _told(progress: Progress, name: str, note: str) -> None:
    progress(f"{name}: {note}" if note else name)


def summary(found: Sequence[Chapter]) -> Report:
    """pliant against the fastest peer of each task and against each paper; failures, and times."""
    rows = [row for chapter in found if chapter.report for table in chapter.report.tables for row in _rivals(table)]
    columns = [
        Column("task"),
        Column("case"),
        Column("threads", show="{:d}"),
        Column("who", "pliant"),
        Column("ours", "time", "{:.3g}"),
        Column("unit"),
        Column("rival", "fastest peer"),
        Column("theirs", "their time", "{:.3g}"),
        Column("times", "times as long", "{:.2f}"),
    ]
    beside = Table("rivals", "pliant against the fastest peer", columns, rows)
    spent = [
        {"chapter": c.name, "seconds": c.seconds, "outcome": c.failed or "measured", "load": _load(c)} for c in found
    ]
    took = Table(
        "chapters",
        "Chapters",
        [Column("chapter"), Column("seconds", show="{:.0f}"), Column("load", show="{:g}"), Column("outcome")],
        spent,
    )
    said = _verdict(rows, [c for c in found if c.name.startswith("peers")])
    for chapter in found:  # the first finding of each paper
        if chapter.name in suite.PAPERS and chapter.report and chapter.report.findings:
            said.append(f"{chapter.name}: {chapter.report.findings[0]}")
    said += [f"{c.name} could not be measured: {c.failed}" for c in found if c.failed]
    minutes = sum(c.seconds for c in found) / 60.0
    said.append(f"All chapters took {minutes:.1f} minutes on {machine.cores()} cores.")
    return Report(
        title="pliant against papers and peers",
        findings=said,
        tables=[beside, took] if rows else [took],
        charts=_chart(rows),
        notes=[],
        about={},
    )


def _verdict(rows: Sequence[dict[str, Any]], tasks: Sequence[Chapter]) -> list[str]:
    if not rows:
        measured = len(tasks) == len(suite.TASKS) and not any(chapter.failed for chapter in tasks)
        return ["No peer is installed, so only pliant was measured."] if measured else []
    slower = [
        f"{row['task']} {row['case']}, {count_text(row['threads'])} ({row['times']:.2f})"
        for row in rows
        if row["times"] < 1.0
    ]
    others = len({row["rival"] for row in rows})
    told = f"{len(rows)} cases against {others} other programs: pliant is faster in {len(rows) - len(slower)}"
    return [f"{told}, slower in {', '.join(slower)}." if slower else f"{told}."]


def _load(chapter: Chapter) -> float | None:
    """Load of the machine at the start of a chapter; None where it is unknown."""
    return chapter.report.about.get("load") if chapter.report else None


def _rivals(table: Table) -> Iterator[dict[str, Any]]:
    """pliant and the fastest peer, for each case of a peer task and each number of threads of the peers."""
    unit = next((u for u in UNITS if any(column.key == u for column in table.columns)), None)
    if unit is None or not table.name.startswith("t") or not all("who" in row for row in table.rows):
        return
    told = [key for key in ("case", "mesh", "where", "nodes_longest") if any(key in row for row in table.rows)]
    cases: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in table.rows:
        if row.get(unit):
            name = ", ".join(str(row[key]) for key in told if key in row)
            cases.setdefault((name, int(row["threads"])), []).append(row)
    for (case, threads), rows in cases.items():
        own = [row for row in rows if str(row["who"]).startswith(OWN)]
        others = [row for row in rows if row not in own]
        if not own or not others:
            continue
        # the method itself if it takes part, otherwise its fastest variant
        ours = next((row for row in own if row["who"] == OWN), min(own, key=lambda row: row[unit]))
        rival = min(others, key=lambda row: row[unit])
        yield {
            "task": table.name.partition("-")[0].replace("t", "T", 1),
            "case": case,
            "threads": threads,
            "who": ours["who"],
            "ours": ours[unit],
            "unit": UNITS[unit],
            "rival": rival["who"],
            "theirs": rival[unit],
            "times": rival[unit] / ours[unit],
        }


def _chart(rows: Sequence[dict[str, Any]]) -> list[Chart]:
    groups: dict[str, dict[str, float]] = {}
    for row in rows:
        name, who = f"{row['task']} {row['case']}", f"{row['rival']}, {count_text(row['threads'])}"
        groups.setdefault(name if len(name) <= 30 else f"{name[:29]}…", {})[who] = float(row["times"])
    if not groups:
        return []
    label = "How many times as long the fastest other program takes"
    return [Chart("rivals", f"{label}, logarithmic; 1 is the time of pliant.", bars_svg(groups, "x", label))]

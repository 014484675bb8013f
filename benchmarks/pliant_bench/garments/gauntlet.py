"""`pliant bench garments`: garments on moving characters against the bars of cloth that looks like cloth."""

import dataclasses
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pliant.report.tables import Column, Table

from . import hanging, verdicts
from .characters import GARMENTS, NAMES, absent
from .wearing import Run
from .workers import Crew, Task

SIZES = (1000, 4000, 16000, 40000)
QUICK_SIZES = (1000, 4000)  # the second for FINE only, unless --only chooses the runs
FINE = "mannequin"
QUICK_FRAMES = 80
LIMIT, QUICK_LIMIT = 600.0, 60.0  # seconds
# what --quick runs, by character
QUICK = {
    "mannequin": ("T-shirt", "skirt", "long dress", "cape"),
    "mannequin sequence": ("skirt",),
    "human": ("long dress", "poncho"),
    "knight run": ("cape",),
    "knight jump": ("skirt",),
    "knight attack": ("T-shirt",),
    "knight spin": ("long dress",),
    "cesium man": ("T-shirt",),
    "robot": ("snug top",),
    "fox": ("tube",),
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """What to run: None means the default; `only` are words of which one must be in "character/garment"."""

    only: tuple[str, ...] = ()
    sizes: tuple[int, ...] | None = None
    frames: int | None = None
    jobs: int = 1
    solver: str | None = None
    substeps: int | None = None
    self_contact: str | None = None
    limit: float | None = None
    sheet: pathlib.Path | None = None
    hanging: bool = False


COLUMNS = (
    Column("character"),
    Column("garment"),
    Column("particles", show="{:,}"),
    Column("wanted", show="{:d}", detail=True),
    Column("ease", "ease%", "{:.0f}"),
    Column("ease_most", show="{:.0f}", detail=True),
    Column("solver"),
    Column("substeps", "sub", "{:d}"),
    Column("most_substeps", "most-sub", "{:d}"),
    Column("self_contact", "self"),
    Column("frames", show="{:d}", detail=True),
    Column("strain_95", "95%", "{:.1f}"),
    Column("strain_99", "99%", "{:.1f}", detail=True),
    Column("strain_most", "most%", "{:.1f}"),
    Column("depth_mm", "in-mm", "{:.2f}"),
    Column("deep", ">1mm", "{:d}"),
    Column("avoidable_mm", "bar-mm", "{:.2f}", detail=True),
    Column("avoidable", "bar->1mm", "{:d}"),
    Column("pinched", "no-room", "{:d}", detail=True),
    Column("cloth_pairs", "cloth-x", "{:,}"),
    Column("body_pairs", "body-x", "{:,}"),
    Column("avoidable_pairs", "bar-x", "{:,}"),
    Column("pinched_pairs", "no-room-x", "{:,}", detail=True),
    Column("lost", show="{:d}", detail=True),
    Column("given_up", "given-up", "{:d}"),
    Column("ms", "ms/frame", "{:.1f}"),
    Column("cpu_ms", "cpu", "{:.1f}"),
    Column("slowest_ms", "slowest", "{:.0f}"),
    Column("period_ms", "ms/(1/30s)", "{:.0f}"),
    Column("period_cpu_ms", "cpu/(1/30s)", "{:.0f}", detail=True),
    Column("jerk", "jerk99", "{:.0f}"),
    Column("drop", "hangs-m", "{:.3f}"),
    Column("drop_percent", "hangs%", "{:+.1f}"),
    *(Column(f"bar_{name}", name) for name in verdicts.BARS),
    Column("verdict"),
    Column("state"),
)
SLOPE_COLUMNS = (
    Column("character"),
    Column("garment"),
    Column("solver"),
    Column("self_contact", "self"),
    Column("sizes"),
    Column("slope", show="{:.2f}"),
    Column("bar_slope", "bar"),
    Column("drop_spread_percent", "hangs-spread%", "{:.1f}"),
    Column("bar_length", "length"),
)
NOTES = (
    "ease%: by how much rest lengths are larger than those of the surface that starts on the body, on average (CSV: "
    "ease_most, the largest). All frames after the first 0.2 s, each the worst of the run. 95%, most%: elongation of "
    "edges against their rest length, 95th percentile and largest. in-mm, >1mm: the deepest vertex or edge midpoint "
    "inside the body and the largest number deeper than 1 mm in a frame, where the body leaves room; points where an "
    "opposite surface of the body is within twice the contact offset are counted apart (CSV: pinched). cloth-x, "
    "body-x: intersecting pairs of triangles, exact. bar->1mm, bar-x: those of >1mm and body-x that cloth could "
    "avoid, which the bars are on: not at places that a ball of the contact offset cannot touch, nor in a crease of "
    "the body on the straight way out from a corner of the cloth that the body holds. sub, most-sub: substeps of a "
    "frame, and the most of one where bodies are fast. ms/frame, cpu: median wall-clock and CPU time of a frame of 10"
    " ms without measurements; ms/(1/30s): mean time for 1/30 s of animation. jerk99: m/s3, 99th percentile relative "
    "to the skin. hangs-m: median drop from the upper boundary to the hem; hangs%: its difference from the finest "
    "size of the same garment.",
    "Bars: strain 2 % / 6 % (stretch goal 1 % / 3 %); room: no avoidable point deeper than 1 mm (none inside at all);"
    " pairs: no avoidable intersecting pair; finite: no state that is not finite, and an end within the time limit; "
    "cost: the smaller of wall-clock and CPU time for 1/30 s, 33 ms at 1 296 particles, 150 at 10 000, 1 000 at 40 "
    "000 (17, 50, 300), interpolated between, with self-contact on; length: within 2 % of the finest size; slope of "
    "the cost against particles at most 1.2. must, stretch: the bar that is met; missed: none.",
)


def runs(choice: Choice, quick: bool, folder: pathlib.Path | None) -> Iterator[Run]:
    """The runs that were asked for and whose character is there."""
    gone = absent(folder)
    for character in NAMES:
        if character in gone:
            continue
        short = QUICK_SIZES if choice.only or character == FINE else QUICK_SIZES[:1]
        sizes = choice.sizes or (short if quick else SIZES)
        for garment in QUICK[character] if quick and not choice.only else GARMENTS[character]:
            if choice.only and not any(matches(word, character, garment) for word in choice.only):
                continue
            for particles in sizes:
                yield Run(
                    character,
                    garment,
                    particles,
                    choice.frames or (QUICK_FRAMES if quick else None),
                    choice.solver,
                    choice.substeps,
                    choice.self_contact,
                    folder,
                )


def matches(word: str, character: str, garment: str) -> bool:
    """Whether CHARACTER/GARMENT, CHARACTER or GARMENT names this pair; spaces, hyphens and case do not count."""
    who, _, what = word.partition("/")
    named = (_plain(character), _plain(garment))
    if what:
        return _plain(who) in ("", named[0]) and _plain(what) == named[1]
    return _plain(who) in named or named[0].startswith(_plain(who))


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text.lower())


def gauntlet_tables(
    choice: Choice,
    *,
    quick: bool,
    folder: pathlib.Path | None,
    progress: Callable[[str], None],
    done: Callable[[str], None] = lambda _: None,
) -> list[Table]:
    """The table of all runs, and that of costs and lengths against the number of particles; `done` is told each.
    With `choice.hanging` only the table of lengths on a body at rest."""
    wanted = list(runs(choice, quick, folder))
    if choice.hanging:
        wanted = list(hanging.runs(choice, quick, runs(choice, quick, folder)))
    if not wanted:
        every = ", ".join(f"{c}/{g}".replace(" ", "-") for c in NAMES for g in GARMENTS[c])
        raise ValueError(f"--only {' '.join(choice.only)}: no such character and garment here; there are: {every}")
    tasks: list[Task] = [(run, _sheet(choice, run)) for run in wanted]
    crew = Crew(choice.jobs, choice.limit or (QUICK_LIMIT if quick else LIMIT))
    if choice.hanging:
        return [hanging.hanging_table(tasks, crew, progress, done)]
    found = []
    for row in crew.rows(tasks, progress):
        found.append(row)
        done(f"{len(found)} of {len(tasks)}: {summary(row)}")
    rows = verdicts.judged(found)
    table = Table("garments", "The gauntlet: garments on moving characters", COLUMNS, rows)
    growth = Table("garments-growth", "Cost and length against particles", SLOPE_COLUMNS, verdicts.growth(rows))
    return [table, growth] if growth.rows else [table]


def summary(row: dict[str, Any]) -> str:
    """A run in one line."""
    name = f"{row['character']}, {row['garment']}, {row.get('particles', row['wanted'])} particles"
    if "strain_95" not in row:
        return f"{name}: {row['state']}"
    return (
        f"{name}: strain {row['strain_95']:.1f} / {row['strain_most']:.1f} %, {row['deep']} points deeper than 1 mm "
        f"(at most {row['depth_mm']:.1f} mm), {row['cloth_pairs']} + {row['body_pairs']} pairs, "
        f"{row['cpu_ms']:.1f} ms of CPU time"
    )


def _sheet(choice: Choice, run: Run) -> pathlib.Path | None:
    if choice.sheet is None:
        return None
    parts = [run.character, run.garment, str(run.particles), run.solver, run.self_contact, "still" * run.still]
    return choice.sheet / f"{'_'.join(part.replace(' ', '-') for part in parts if part)}.png"


def findings(tables: Sequence[Table], folder: pathlib.Path | None) -> list[str]:
    """What was missed, by bar, and which characters are absent."""
    rows = tables[0].rows
    if tables[0].name == hanging.NAME:
        return hanging.findings(tables[0])
    said = []
    for name, why in verdicts.BARS.items():
        judged = [row for row in rows if row.get(f"bar_{name}")]
        missed = [row for row in judged if row[f"bar_{name}"] == verdicts.MISSED]
        if judged:
            where = _grouped(missed)
            said.append(f"{why}: missed in {len(missed)} of {len(judged)} runs{f' ({where})' if where else ''}")
    unfit = [f"{row['character']} {row['garment']}" for row in rows if str(row.get("state")).startswith("unfit")]
    if unfit:
        said.append(f"Garments that do not fit: {', '.join(dict.fromkeys(unfit))}")
    if gone := absent(folder):
        said.append(f"Characters that are not there: {', '.join(gone)}; --data FOLDER names their folder")
    return said


def _grouped(rows: Sequence[dict[str, Any]], most: int = 8) -> str:
    """Names of the runs, sizes of one garment together."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(f"{row['character']} {row['garment']}", []).append(f"{np.round(row['wanted'] / 1000, 1):g}k")
    names = [f"{name} {'+'.join(sizes)}" for name, sizes in groups.items()]
    return "; ".join(names[:most]) + (f"; and {len(names) - most} more" if len(names) > most else "")

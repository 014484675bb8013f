"""`pliant bench garments --hanging`: the length at which a garment hangs from a body at rest, at every resolution."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pliant.report.tables import Column, Table

from . import verdicts
from .wearing import Run
from .workers import Crew, Task

NAME = "garments-hanging"
GARMENTS = ("skirt", "long dress", "cape")  # those that hang from the upper edge
MODES = ("off", "safe")  # self-contact
FRAMES, QUICK_FRAMES = 200, 100
COLUMNS = (
    Column("character"),
    Column("garment"),
    Column("self_contact", "self"),
    Column("particles", show="{:,}"),
    Column("made", "made-m", "{:.4f}"),
    Column("made_percent", "made%", "{:+.2f}"),
    Column("drop", "hangs-m", "{:.4f}"),
    Column("drop_percent", "hangs%", "{:+.2f}"),
    Column("strain_95", "95%", "{:.2f}"),
    Column("strain_most", "most%", "{:.1f}"),
    Column("speed", "mm/s", "{:.1f}"),
    Column("cloth_pairs", "cloth-x", "{:,}"),
    Column("body_pairs", "body-x", "{:,}"),
    Column("cpu_ms", "cpu", "{:.1f}"),
    Column("bar_length", "length"),
    Column("state"),
)
NOTES = (
    "Hanging: the body stays in the pose in which the garment is put on, for 2 s. made-m, hangs-m: mean height of the "
    "upper edge minus that of the hem, of the mesh as it is made and as it hangs (median of the last 0.2 s); made%, "
    "hangs%: difference from the finest size. mm/s: mean speed of the particles at the end. 95%, most%: strain at the "
    "end. Bar: within 2 % of the finest size.",
)


def runs(choice: Any, quick: bool, wanted: Iterator[Run]) -> Iterator[Run]:
    """The runs of the gauntlet that were chosen, with a body at rest: without `only` those of the mannequin."""
    modes = MODES if choice.self_contact is None else (choice.self_contact,)
    for run in wanted:
        if choice.only or (run.character == "mannequin" and run.garment in GARMENTS[: 1 if quick else None]):
            for mode in modes:
                frames = choice.frames or (QUICK_FRAMES if quick else FRAMES)
                yield dataclasses.replace(run, still=True, frames=frames, self_contact=mode)


def hanging_table(
    tasks: Sequence[Task], crew: Crew, progress: Callable[[str], None], done: Callable[[str], None]
) -> Table:
    """The table of all runs, each garment by the number of particles."""
    found = []
    for row in crew.rows(tasks, progress):
        found.append(row)
        done(f"{len(found)} of {len(tasks)}: {summary(row)}")
    rows = verdicts.judged(sorted(found, key=lambda row: (row["character"], row["garment"], row["self_contact"])))
    for row in rows:
        finest = max((one for one in rows if _same(one, row) and "made" in one), key=_particles, default=None)
        if finest is not None and "made" in row:
            row["made_percent"] = 100.0 * (row["made"] / finest["made"] - 1.0)
    return Table(NAME, "The length at which garments hang from a body at rest", COLUMNS, rows)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one.get(key) == other.get(key) for key in ("character", "garment", "self_contact"))


def _particles(row: dict[str, Any]) -> int:
    return int(row["particles"])


def summary(row: dict[str, Any]) -> str:
    """A run in one line."""
    name = (
        f"{row['character']}, {row['garment']}, {row['self_contact']}, {row.get('particles', row['wanted'])} particles"
    )
    if "drop" not in row:
        return f"{name}: {row['state']}"
    return f"{name}: made {row['made']:.4f} m, hangs {row['drop']:.4f} m, {row['speed']:.1f} mm/s"


def findings(table: Table) -> list[str]:
    """The spread of the length of each garment."""
    said = []
    for row in table.rows:
        group = [one for one in table.rows if _same(one, row) and "drop" in one]
        if len(group) < 2 or row is not group[0]:
            continue
        drops = np.array([one["drop"] for one in group])
        finest = max(group, key=_particles)
        spread, sizes = 100.0 * float(np.ptp(drops)) / finest["drop"], sorted(map(_particles, group))
        name = f"{row['character']}, {row['garment']}, self-contact {row['self_contact']}"
        met = "within" if spread <= verdicts.LENGTH else "beyond"
        said.append(
            f"{name}: hangs {drops.min():.4f} to {drops.max():.4f} m at {sizes[0]} to {sizes[-1]} particles, a spread "
            f"of {spread:.1f} %, {met} {verdicts.LENGTH:g} %"
        )
    return said

"""Figures of the survey of 2005 for its methods, and the same tasks with pliant.

A part of the table is a function `(quick=, repeats=, folder=, progress=)` that gives rows with the keys of COLUMNS; it
is listed in PARTS.
"""

import itertools
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.tet_hash import CELL, HASHES, TetHash, cell_of
from pliant.report.charts import curves_svg
from pliant.report.tables import Chart, Column, Table

from . import inside, layers, machine, stochastic
from .timing import alternate, threads, timed

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Progress = Callable[[str], None]
COLUMNS = (
    Column("what"),
    Column("case"),
    Column("paper"),
    Column("paper_ms", "paper-ms", "{:.1f}"),
    Column("one_ms", "1-thread-ms", "{:.2f}"),
    Column("all_ms", "all-threads-ms", "{:.2f}"),
    Column("ratio", "times-faster", "{:.1f}"),
    Column("answer"),
    Column("wrong", show="{:d}"),
)
FACTORS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 10.0)
BUCKETS = (64, 256, 1024, 4096, 16_384, 65_536, 262_144)
BUCKET_CELLS = (1.0, 2.0)  # times the median box of a tet
COUNTED = {3: "three", 8: "eight"}
_FRAMES = 4
NOTES = (
    "1-thread-ms: CPU time on one thread, all-threads-ms: wall-clock time on all cores, best of several runs; "
    "times-faster is the time of the paper over that of pliant on all cores, on machines twenty years apart. wrong: "
    "number of wrong results.",
    "spatial hash: {blocks} blocks of tets, perturbed, bent and intersecting each other; four positions in turn, time "
    "of one: rehash the vertices and find all vertices in tetrahedra, self and mutual. Ground truth: all pairs by "
    "exact predicates.",
    "layered depth image, points inside: the bumpy torus of T9 and T9b. The images of the survey show a hand with few "
    "faces; the number of faces for its particles is the same. static: the build is not timed; the first table has the "
    "image of a mesh that deforms. wrong: of 200 pixels, and of 200 points.",
)


def notes(quick: bool) -> list[str]:
    """What the tables measure, at their sizes."""
    return [note.replace("{blocks}", COUNTED[_blocks(quick)[0]]) for note in NOTES]


def _blocks(quick: bool) -> tuple[int, int]:
    """Number of the blocks of tets, and cells along a side of each."""
    return (3, 3) if quick else (8, 8)


def several(count: int, n: int, seed: int = 7) -> tuple[Floats, Ints]:
    """Blocks of n^3 cells of five tets, some bent, rotated and translated into each other."""
    rng = np.random.default_rng(seed)
    x, tets, first = [], [], 0
    for k in range(count):
        y, own = inside.block(n, bend=4.0 if k % 4 == 0 else 0.0, seed=k)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        y = y @ turn.T * np.sign(np.linalg.det(turn)) + rng.uniform(-1.4, 1.4, 3)
        x.append(y)
        tets.append(own + np.int32(first))
        first += len(y)
    return np.concatenate(x), np.concatenate(tets)


def hash_rows(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> list[dict[str, Any]]:
    """Section 5: 15 Hz with up to 20 000 tetrahedra and 6 000 vertices, [THM*03]."""
    count, n = _blocks(quick)
    x, tets = several(count, n)
    places = [x + 0.01 * np.sin(9.0 * x[:, [1, 2, 0]] + 0.7 * k) for k in range(_FRAMES)]
    found = TetHash(x, tets)
    progress("vertices in tetrahedra: the truth")
    truth = inside.truth_of(places[-1], tets)
    pairs = found.update(places[-1]).pairs()
    wrong = len({tuple(p) for p in pairs.tolist()} ^ {tuple(p) for p in truth.tolist()})

    def work() -> None:
        for place in places:
            found.update(place).pairs()

    row: dict[str, Any] = {
        "what": "spatial hash",
        "case": f"{len(x):,} vertices, {len(tets):,} tets, {count} bodies",
        "paper": "15 Hz, 20 k tets, 6 k vertices",
        "paper_ms": 1000.0 / 15.0,
        "answer": f"{len(pairs):,} pairs",
        "wrong": wrong,
    }
    return [row | measured(work, repeats, _FRAMES, row["paper_ms"])]


def measured(work: Callable[[], object], repeats: int, parts: int = 1, paper_ms: float | None = None) -> dict[str, Any]:
    """Times of one of the equal `parts` of `work`: CPU time on one thread, wall-clock time on all."""

    def alone() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    took = {}
    for key, count, run in (("one_ms", 1, alone), ("all_ms", machine.cores(), lambda: timed(work))):
        with threads(count):
            took[key] = 1e3 * alternate({key: run}, repeats)[key].best / parts
    return took if paper_ms is None else took | {"ratio": paper_ms / took["all_ms"]}


# one function per method, in the order of the rows
PARTS: tuple[Callable[..., list[dict[str, Any]]], ...] = (hash_rows, layers.survey_rows, stochastic.survey_rows)


def survey_table(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Table:
    rows = []
    for part in PARTS:
        rows += part(quick=quick, repeats=repeats, folder=folder, progress=progress)
    return Table("teschner2005", "Methods of the survey: its figures, and those of pliant", COLUMNS, rows)


def cells_table(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Table:
    """Time of all pairs against the size of a cell."""
    rows = []
    for name, (x, tets) in _cell_cases(quick).items():
        size = cell_of(x, tets) / CELL
        tried = [TetHash(x, tets, cell=factor * size) for factor in FACTORS]
        wanted = tried[0].pairs()
        for factor, found in zip(FACTORS, tried, strict=True):
            progress(f"{name}: cells {factor:g} times a tet")
            same = np.array_equal(found.pairs(), wanted)
            took = measured(lambda found=found, x=x: found.update(x).pairs(), repeats)  # type: ignore[misc]
            rows.append({"scene": name, "factor": factor, "pairs": len(wanted), "same": "yes" if same else "NO"} | took)
    columns = (
        Column("scene"),
        Column("factor", "cell", "{:g}"),
        Column("one_ms", "1-thread-ms", "{:.2f}"),
        Column("all_ms", "all-threads-ms", "{:.2f}"),
        Column("pairs", show="{:,}"),
        Column("same", "same-pairs"),
    )
    return Table("hash-cells", "Cells from 0.1 to 10 times the median box of a tet: ms for all pairs", columns, rows)


def _cell_cases(quick: bool) -> dict[str, tuple[Floats, Ints]]:
    n, (x, tets) = 4 if quick else 13, several(*_blocks(quick))
    one, two = inside.block(n, bend=7.0), inside.block(n, shift=(0.6, 0.3, 0.5), seed=1)
    both = np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1] + np.int32(len(one[0]))])
    return {"two blocks, one rolled up": both, f"{COUNTED[_blocks(quick)[0]]} blocks": (x, tets)}


def cells_chart(table: Table) -> Chart:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        curves.setdefault(row["scene"], []).append((row["factor"], row["one_ms"]))
    label = "Milliseconds for all pairs on one thread against the size of a cell"
    svg = curves_svg(curves, ("cell over the median box of a tet", "milliseconds"), label)
    return Chart("hash-cells", f"{label}, both logarithmic.", svg)


def buckets_table(*, quick: bool, repeats: int, progress: Progress) -> Table:
    """Time of all pairs and hash collisions against the number of buckets and the size of a cell, for both hashes."""
    rows = []
    for name, (x, tets) in _cell_cases(quick).items():
        size, wanted = cell_of(x, tets) / CELL, TetHash(x, tets).pairs()
        for hashed, factor, buckets in itertools.product(HASHES, BUCKET_CELLS, BUCKETS):
            progress(f"{name}: {buckets} buckets, {hashed}")
            found = TetHash(x, tets, cell=factor * size, hash=hashed, table=buckets)
            same = np.array_equal(found.pairs(), wanted)
            took = measured(lambda found=found, x=x: found.update(x).pairs(), repeats)["one_ms"]  # type: ignore[misc]
            row = {"scene": name, "hash": hashed, "factor": factor, "buckets": buckets, "collisions": found.collisions}
            rows.append(row | {"same": "yes" if same else "NO", "one_ms": took})
    columns = (
        Column("scene"),
        Column("hash"),
        Column("factor", "cell", "{:g}"),
        Column("buckets", show="{:,}"),
        Column("collisions", show="{:,}"),
        Column("one_ms", "1-thread-ms", "{:.2f}"),
        Column("same", "same-pairs"),
    )
    return Table("hash-buckets", "Hash functions and numbers of buckets: collisions, ms for all pairs", columns, rows)


def buckets_chart(table: Table) -> Chart:
    curves: dict[str, list[tuple[float, float]]] = {}
    first = table.rows[0]["scene"]
    for row in table.rows:
        if row["scene"] == first:
            curves.setdefault(f"{row['hash']}, cells {row['factor']:g}", []).append((row["buckets"], row["one_ms"]))
    label = f"Milliseconds for all pairs on one thread against the number of buckets: {first}"
    return Chart("hash-buckets", f"{label}, both logarithmic.", curves_svg(curves, ("buckets", "milliseconds"), label))


def findings(survey: Table, cells: Table) -> list[str]:
    said = [
        f"{row['what']}: {row['all_ms']:.2f} ms ({1e3 / row['all_ms']:.0f} Hz) on all threads, {row['one_ms']:.2f} ms "
        f"on one; the survey states {row['paper']}."
        for row in survey.rows
        if "all_ms" in row
    ]
    for scene in dict.fromkeys(row["scene"] for row in cells.rows):
        rows = [row for row in cells.rows if row["scene"] == scene]
        best, own = min(rows, key=lambda row: row["one_ms"]), next(row for row in rows if row["factor"] == CELL)
        said.append(
            f"Cells, {scene}: best {best['factor']:g} times the box of a tet ({best['one_ms']:.2f} ms), the default "
            f"{CELL:g} times ({own['one_ms']:.2f} ms)."
        )
    return said

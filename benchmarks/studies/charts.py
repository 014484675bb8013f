"""Draw the charts of the documentation from the tables in benchmarks/results.

`python benchmarks/studies/charts.py` writes NAME.svg beside every NAME.csv that has a chart. `make docs` draws them,
too, before it builds the pages that show them. The charts are committed, so that pages of a checkout show them.
"""

import csv
import functools
import pathlib
from collections.abc import Callable
from typing import Any

from cost_cases import CASES
from costs import drawn, kept
from strain import chart as strain_chart
from which_method import chart as method_chart

from pliant.report.tables import Chart, Table
from pliant_bench import against_paper, baking, bone_boxes, contest, growth, height_grids, jung, sampling, stochastic
from pliant_bench import teschner as _teschner
from pliant_bench.suite import CONTESTS

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"

# table -> its chart; tables of peer tasks and of costs are found by their names
CHARTS: dict[str, Callable[[Table], Chart]] = {
    "active-pairs": functools.partial(stochastic.cost_chart, name="active-pairs"),
    "fuhrmann2003-table1": against_paper.paper_chart,
    "growth": growth.growth_chart,
    "hash-buckets": _teschner.buckets_chart,
    "hash-cells": _teschner.cells_chart,
    "jung-fall": jung.chart,
    "neal-cost": height_grids.cost_chart,
    "pelechano": bone_boxes.chart,
    "stochastic-tree": stochastic.quality_chart,
    "strain": strain_chart,
    "t1-bake": baking.bake_chart,
    "t2-sample": sampling.sample_chart,
    "which-method": method_chart,
}


def number(text: str) -> Any:
    """Return the cell as an int or a float if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def table_of(path: pathlib.Path) -> Table:
    """Read a table; empty cells are missing keys, as in the rows that were written."""
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [{key: number(text) for key, text in row.items() if text} for row in csv.DictReader(stream)]
    return Table(path.stem, "", [], rows)


def svg_of(path: pathlib.Path) -> str | None:
    """Return the chart of a table as SVG, or None for a table without a chart."""
    name = path.stem
    if name.startswith("cost-"):
        return drawn(CASES[name.removeprefix("cost-")], kept(path))
    if name in CHARTS:
        return CHARTS[name](table_of(path)).svg
    task = {key.lower(): task for key, task in CONTESTS.items()}.get(name.partition("-")[0])  # t3-nearest is task T3
    return contest.charts(table_of(path), task)[0].svg if task else None


def main() -> None:
    for path in sorted(RESULTS.glob("*/*.csv")):
        if (svg := svg_of(path)) is not None:
            path.with_suffix(".svg").write_text(svg + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

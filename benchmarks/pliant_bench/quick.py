"""Reports of `pliant bench --paper ... --quick`: a smoke test at reduced sizes, which is compared with nothing."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from pliant.report.tables import Report, Table

from .against_paper import PAPER
from .statements import COLUMNS as STATED

LINE = "quick: reduced sizes, not comparable with the paper"
_BARS = {"bar", "real", "ratio"}  # columns that judge, or divide by a time of the paper or of another row
_PAPERS = {"paper", "paper_ms"}


def quick_report(report: Report) -> Report:
    """The report without what compares or judges: the places and charts of the paper, bars, ratios and findings."""
    given = [table for table in report.tables if table.columns is not STATED]
    tables = [_measured(table) for table in given]
    hidden = _titles(given) - _titles(tables)
    notes = [_without(note, hidden) for note in report.notes if note and not note.startswith("The first table lists")]
    charts = [chart for chart in report.charts if PAPER not in chart.svg]
    title = f"{report.title} ({LINE})"
    return dataclasses.replace(report, title=title, tables=tables, charts=charts, findings=[LINE], notes=[*notes, LINE])


def _titles(tables: Sequence[Table]) -> set[str]:
    return {column.title for table in tables for column in table.columns}


def _without(note: str, hidden: set[str]) -> str:
    """A note without the clauses that explain columns which are not shown."""
    clauses = re.split(r"(?<=[.;]) ", note)
    told = [
        text for text in clauses if not any(text.startswith((f"{name},", f"{name}:", f"{name} ")) for name in hidden)
    ]
    return re.sub(r";$", ".", " ".join(told))


def _without_ratio(value: Any) -> Any:
    return re.sub(r"[:,;] [\d.,]+ times as long", "", value) if isinstance(value, str) else value


def _measured(table: Table) -> Table:
    dropped = {column.key for column in table.columns if column.key in _BARS | _PAPERS or column.show.endswith("}x")}
    rows = [
        {key: _without_ratio(value) for key, value in row.items() if key not in dropped}
        for row in table.rows
        if row.get("who") != PAPER
    ]
    return dataclasses.replace(table, columns=[c for c in table.columns if c.key not in dropped], rows=rows)

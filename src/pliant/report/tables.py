"""Tables of measured figures, shared by terminal, HTML, CSV and JSON output."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from typing import Any

from ..validate import size_text

BYTES = "bytes"  # the format of sizes


@dataclasses.dataclass(frozen=True)
class Column:
    """`key`: in the rows and in CSV; `heading` (one word): displayed name; `show`: format of numbers, or `BYTES`.

    `detail` columns appear in CSV and JSON only.
    """

    key: str
    heading: str = ""
    show: str = ""
    detail: bool = False

    @property
    def title(self) -> str:
        return self.heading or self.key

    @property
    def right(self) -> bool:
        return bool(self.show)

    def text(self, value: Any) -> str:
        if value is None or value == "":
            return ""
        if self.show == BYTES:
            return size_text(value)
        return self.show.format(value) if self.show else str(value)


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of plain values; a missing key is an empty cell."""

    name: str  # of the CSV file
    title: str
    columns: Sequence[Column]
    rows: Sequence[dict[str, Any]]

    @property
    def shown(self) -> list[Column]:
        """The displayed columns."""
        return [column for column in self.columns if not column.detail]

    @property
    def headings(self) -> list[str]:
        return [column.title for column in self.shown]

    @property
    def right(self) -> list[str]:
        """Headings of the right-aligned columns."""
        return [column.title for column in self.shown if column.right]

    def texts(self) -> list[list[str]]:
        return [[column.text(row.get(column.key)) for column in self.shown] for row in self.rows]

    def csv(self) -> str:
        """The table as CSV in full precision, with a header of keys."""
        stream = io.StringIO()
        keys = [column.key for column in self.columns]
        writer = csv.DictWriter(stream, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: row.get(key) for key in keys} for row in self.rows)
        return stream.getvalue()


@dataclasses.dataclass(frozen=True)
class Chart:
    """A self-contained SVG chart."""

    name: str  # of the file
    caption: str
    svg: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a benchmark: findings as sentences, charts and tables, and notes on how it was measured."""

    title: str
    findings: Sequence[str]
    tables: Sequence[Table]
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    about: dict[str, Any] = dataclasses.field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return {
            "title": self.title,
            "findings": list(self.findings),
            "tables": {table.name: list(table.rows) for table in self.tables},
            "notes": list(self.notes),
            "about": self.about,
        }

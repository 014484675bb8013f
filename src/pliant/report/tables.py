"""Tables of measured figures: what a terminal, a page, a CSV file and a program are shown alike."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from typing import Any

from ..validate import size_text

BYTES = "bytes"  # the format of sizes


@dataclasses.dataclass(frozen=True)
class Column:
    """`key` in the rows and in CSV, `heading` (one word) for readers, `show`: how a number is written, or `BYTES`.

    `detail` columns are for CSV and JSON: a reader has enough to look at without them.
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
    """Rows of plain values; a key that a row does not have is an empty cell."""

    name: str  # of the CSV file
    title: str
    columns: Sequence[Column]
    rows: Sequence[dict[str, Any]]

    @property
    def shown(self) -> list[Column]:
        """The columns for readers."""
        return [column for column in self.columns if not column.detail]

    @property
    def headings(self) -> list[str]:
        return [column.title for column in self.shown]

    @property
    def right(self) -> list[str]:
        """Headings of the columns that are flush right."""
        return [column.title for column in self.shown if column.right]

    def texts(self) -> list[list[str]]:
        return [[column.text(row.get(column.key)) for column in self.shown] for row in self.rows]

    def csv(self) -> str:
        """Full precision, one line a row, the keys first."""
        stream = io.StringIO()
        keys = [column.key for column in self.columns]
        writer = csv.DictWriter(stream, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: row.get(key) for key in keys} for row in self.rows)
        return stream.getvalue()


@dataclasses.dataclass(frozen=True)
class Chart:
    """A picture as SVG that needs nothing around it."""

    name: str  # of the file
    caption: str
    svg: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What one command found: sentences first, then pictures and tables, then how it was measured."""

    title: str
    findings: Sequence[str]
    tables: Sequence[Table]
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    about: dict[str, Any] = dataclasses.field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "findings": list(self.findings),
            "tables": {table.name: list(table.rows) for table in self.tables},
            "notes": list(self.notes),
            "about": self.about,
        }

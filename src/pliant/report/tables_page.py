"""A report of tables and charts as one HTML page, and as files in a folder."""

import html
import importlib.resources
import json
import os
import pathlib
import re

from .. import __version__
from ..files import atomic_write
from .tables import Chart, Report, Table


def tables_page(report: Report) -> str:
    """The page as text; it holds everything it shows and runs no script."""
    parts = {
        "title": html.escape(report.title),
        "style": _static("tables.css"),
        "findings": "".join(f"<li>{html.escape(text)}</li>" for text in report.findings),
        "charts": "".join(map(_chart, report.charts)),
        "tables": "".join(map(_table, report.tables)),
        "notes": "".join(f"<p>{html.escape(text)}</p>" for text in [*report.notes, _about(report)] if text),
        "made": f"pliant {html.escape(__version__)}; this page holds everything it shows and asks nobody for more.",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], _static("tables.html"))


def write_tables_page(path: str | os.PathLike[str], report: Report) -> None:
    """Write the page to `path`, whole or not at all."""
    page = tables_page(report)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def write_files(folder: pathlib.Path, report: Report, name: str) -> list[pathlib.Path]:
    """A CSV file for each table, an SVG file for each chart, and `name`.json with what they were measured on."""
    texts = {f"{table.name}.csv": table.csv() for table in report.tables}
    texts |= {f"{chart.name}.svg": chart.svg + "\n" for chart in report.charts}
    told = {"title": report.title, "findings": report.findings, "notes": report.notes, "about": report.about}
    texts[f"{name}.json"] = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    for file, text in texts.items():
        with atomic_write(folder / file, "w") as stream:
            stream.write(text)
    return [folder / file for file in texts]


def _chart(chart: Chart) -> str:
    return f"<section><figure>{chart.svg}<figcaption>{html.escape(chart.caption)}</figcaption></figure></section>"


def _table(table: Table) -> str:
    def row(tag: str, cells: list[str]) -> str:
        sides = (' class="right"' if column.right else "" for column in table.shown)
        return "<tr>" + "".join(f"<{tag}{s}>{html.escape(c)}</{tag}>" for s, c in zip(sides, cells)) + "</tr>"

    body = "".join(row("td", cells) for cells in table.texts())
    head = f"<h2>{html.escape(table.title)}</h2>"
    return f'<section>{head}<div class="wide"><table>{row("th", table.headings)}{body}</table></div></section>'


def _about(report: Report) -> str:
    return "; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in report.about.items())


def _static(name: str) -> str:
    return importlib.resources.files(__package__).joinpath("static", name).read_text("utf-8")

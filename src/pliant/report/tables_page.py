"""A report of tables and charts as one HTML page, and as files in a folder."""

import html
import json
import os
import pathlib
import re
from collections.abc import Mapping

from ..files import atomic_write
from .page import filled
from .tables import Chart, Report, Table


def tables_page(report: Report) -> str:
    """The self-contained page as text, without scripts."""
    parts = {
        "findings": _findings(report),
        "charts": "".join(map(_chart, report.charts)),
        "tables": "".join(map(_table, report.tables)),
        "notes": "".join(f"<p>{html.escape(text)}</p>" for text in [*report.notes, _about(report)] if text),
    }
    return filled("tables.html", report.title, ("report.css", "tables.css"), parts)


def book_page(first: Report, chapters: Mapping[str, Report]) -> str:
    """Several reports on one page: `first`, a table of contents, then the chapters."""
    links = "".join(f'<li><a href="#{_anchor(name)}">{html.escape(name)}</a></li>' for name in chapters)
    parts = {
        "findings": _findings(first) + (f'</ul><ul class="contents">{links}' if links else ""),
        "charts": "".join(map(_chart, first.charts)),
        "tables": "".join(map(_table, first.tables)) + "".join(_chapter(n, r) for n, r in chapters.items()),
        "notes": f"<p>{html.escape(_about(next(iter(chapters.values()))))}</p>" if chapters else "",
    }
    return filled("tables.html", first.title, ("report.css", "tables.css"), parts)


def write_book_page(path: str | os.PathLike[str], first: Report, chapters: Mapping[str, Report]) -> None:
    """Write the page to `path` atomically."""
    page = book_page(first, chapters)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def write_tables_page(path: str | os.PathLike[str], report: Report) -> None:
    """Write the page to `path` atomically."""
    page = tables_page(report)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def write_files(folder: pathlib.Path, report: Report, name: str) -> list[pathlib.Path]:
    """A CSV file for each table, an SVG file for each chart, and `name`.json with findings, notes and environment."""
    texts = {f"{table.name}.csv": table.csv() for table in report.tables}
    texts |= {f"{chart.name}.svg": chart.svg + "\n" for chart in report.charts}
    plain = {"title": report.title, "findings": report.findings, "notes": report.notes, "about": report.about}
    texts[f"{name}.json"] = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    for file, text in texts.items():
        with atomic_write(folder / file, "w") as stream:
            stream.write(text)
    return [folder / file for file in texts]


def _chapter(name: str, report: Report) -> str:
    notes = "".join(f"<p>{html.escape(text)}</p>" for text in report.notes if text)
    return (
        f'<article id="{_anchor(name)}"><h1>{html.escape(report.title)} <small>{html.escape(name)}</small></h1>'
        f'<ul class="findings">{_findings(report)}</ul>{"".join(map(_chart, report.charts))}'
        f"{''.join(map(_table, report.tables))}"
        f"<details><summary>How it was measured</summary>{notes}</details></article>"
    )


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _findings(report: Report) -> str:
    return "".join(f"<li>{html.escape(text)}</li>" for text in report.findings)


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

"""The HTML report of a comparison: a table per role, the cost of each method, and where methods differ."""

import base64
import dataclasses
import html
import io
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..files import atomic_write
from .page import fill_template
from .tables import Table


@dataclasses.dataclass(frozen=True)
class Shot:
    """A picture (h,w,3) of the errors of a method, with its caption."""

    method: str
    caption: str
    pixels: NDArray[np.uint8]


@dataclasses.dataclass(frozen=True)
class Part:
    """One role: its table (`wrong`: rows that violate a guarantee), methods that do not apply, a chart, pictures."""

    table: Table
    wrong: Sequence[int]
    unfit: Sequence[tuple[str, str, str]]  # name, needs, why
    chart: str  # SVG
    shots: Sequence[Shot]
    remarks: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Shown:
    """Everything the page shows, as plain data."""

    title: str
    verdict: str
    kept: bool
    broken: Sequence[str]
    parts: Sequence[Part]
    words: Sequence[tuple[str, str]]  # what the columns mean
    notes: Sequence[str]


def compare_page(shown: Shown) -> str:
    """The self-contained page as text."""
    parts = {
        "verdict": html.escape(shown.verdict),
        "mood": "kept" if shown.kept else "broken",
        "broken": "".join(f"<li>{html.escape(text)}</li>" for text in shown.broken),
        "parts": "".join(_part(part, k) for k, part in enumerate(shown.parts)),
        "words": "".join(f"<dt>{html.escape(a)}</dt><dd>{html.escape(b)}</dd>" for a, b in shown.words),
        "notes": "".join(f"<p>{html.escape(text)}</p>" for text in shown.notes),
    }
    styles = "report.css", "tables.css", "compare.css"
    return fill_template("compare.html", shown.title, styles, parts, scripts=("compare.js",))


def write_compare_page(path: str | os.PathLike[str], shown: Shown) -> None:
    """Write the page to `path` atomically."""
    page = compare_page(shown)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def _part(part: Part, number: int) -> str:
    table = part.table
    shots = "".join(map(_shot, part.shots))
    alike = "" if shots else f'<p class="quiet">{_alike(part)}</p>'
    unfit = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(why)}</td><td>{html.escape(needs)}</td></tr>"
        for name, needs, why in part.unfit
    )
    count = "1 method does" if len(part.unfit) == 1 else f"{len(part.unfit)} methods do"
    others = (
        f'<details><summary>{count} not apply</summary><div class="wide"><table>'
        f"<tr><th>method</th><th>why</th><th>needs</th></tr>{unfit}</table></div></details>"
        if unfit
        else ""
    )
    remarks = "".join(f"<p>{html.escape(text)}</p>" for text in part.remarks)
    return (
        f'<section aria-labelledby="part-{number}"><h2 id="part-{number}">{html.escape(table.title)}</h2>'
        f'<div class="wide"><table class="sorted">{_head(table)}<tbody>{_rows(table, part.wrong)}</tbody></table></div>'
        f'{remarks}{others}<h3>Where they differ</h3>{alike}<div class="shots">{shots}</div>'
        f"<h3>CPU time, milliseconds per state</h3><figure>{part.chart}</figure></section>"
    )


def _alike(part: Part) -> str:
    """The text that replaces the pictures where there are none."""
    if not part.table.rows:
        return "No method applies."
    if part.wrong:
        return "No contact is missed or extra; errors of distance exceed the guarantee."
    return "All methods agree with the exact contacts."


def _head(table: Table) -> str:
    cells = "".join(
        f'<th scope="col"{_side(column.right)}><button type="button">{html.escape(column.title)}</button></th>'
        for column in table.shown
    )
    return f"<thead><tr>{cells}</tr></thead>"


def _rows(table: Table, wrong: Sequence[int]) -> str:
    out = []
    for k, (row, texts) in enumerate(zip(table.rows, table.texts(), strict=True)):
        cells = []
        for column, text in zip(table.shown, texts, strict=True):
            value = row.get(column.key)
            sort = f' data-sort="{value:.12g}"' if isinstance(value, (int, float)) and column.right else ""
            cells.append(f"<td{_side(column.right)}{sort}>{html.escape(text)}</td>")
        mark = ' class="wrong"' if k in wrong else ""
        out.append(f'<tr{mark} data-method="{html.escape(str(row["method"]))}">{"".join(cells)}</tr>')
    return "".join(out)


def _side(right: bool) -> str:
    return ' class="right"' if right else ""


def _shot(shot: Shot) -> str:
    stream = io.BytesIO()
    Image.fromarray(shot.pixels).save(stream, format="PNG", optimize=True)
    text, method = base64.b64encode(stream.getvalue()).decode(), html.escape(shot.method)
    picture = f'<img alt="{method}: {html.escape(shot.caption)}" src="data:image/png;base64,{text}">'
    return (
        f'<figure data-method="{method}"><button type="button" aria-expanded="false">{picture}</button>'
        f"<figcaption><b>{method}</b> {html.escape(shot.caption)}</figcaption></figure>"
    )

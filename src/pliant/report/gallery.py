"""The HTML gallery of a sweep: thumbnails and a table, sortable by any column, with the errors of failed runs."""

import html
import json
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..files import atomic_write
from ..validate import size_text
from .page import SELF_CONTAINED, fill_template, script_data

_MISSING = "–"
_SHARES = ("stretch_most", "stretch_mean", "share_most")  # fractions, shown in percent


class Card(NamedTuple):
    """One run: `row` of plain values, including its `error`; `picture`: a data URL, a file name relative to the page,
    or ""; `files`: links by name; `notes`: sentences below its figures, after those of the row."""

    row: dict[str, Any]
    picture: str
    files: dict[str, str]
    notes: Sequence[str] = ()


def gallery_html(
    *, title: str, lines: Sequence[str], columns: Sequence[str], displayed: Sequence[str], cards: Sequence[Card]
) -> str:
    """The page as text, with links to files next to it. `displayed`: columns below a thumbnail."""
    # columns without any value are left out
    listed = [c for c in columns if c not in ("notes", "error") and any(card.row.get(c) is not None for card in cards)]
    keys = [[_key(card.row.get(column)) for column in listed] for card in cards]
    marks = {mark for card in cards for mark in _css_classes(card.row)}
    words = {"failed": "failed", "beyond": "over the limits"}
    parts = {
        "lines": "".join(f"<li>{html.escape(text)}</li>" for text in lines),
        "options": "".join(f'<option value="{k}">{html.escape(label(c))}</option>' for k, c in enumerate(listed)),
        "unmarked": "" if marks else " hidden",
        "marked": " or ".join(word for mark, word in words.items() if mark in marks),
        "cards": "".join(_card(n, card, displayed) for n, card in enumerate(cards)),
        "head": "".join(
            f'<th scope="col"><button data-k="{k}">{html.escape(label(c))}</button></th>' for k, c in enumerate(listed)
        ),
        "rows": "".join(_row(n, card, listed) for n, card in enumerate(cards)),
        "keys": script_data(keys),
    }
    styles = "report.css", "tables.css", "gallery.css"
    beside = {"images": "data: file: 'self'", "made": _footer(cards)}
    return fill_template("gallery.html", title, styles, parts, scripts=("gallery.js",), **beside)


def write_gallery(path: str | os.PathLike[str], **given: Any) -> None:
    """Write the page to `path` atomically."""
    page = gallery_html(**given)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def _footer(cards: Sequence[Card]) -> str:
    if all(card.picture.startswith("data:") for card in cards if card.picture):
        return SELF_CONTAINED
    return "pictures are read from the folder next to this page; it makes no network requests."


def label(column: str) -> str:
    """The displayed name of a column: metres are shown as millimetres, fractions in percent."""
    name = column.removesuffix("_m") + ", mm" if column.endswith("_m") else column
    return name.replace("_", " ") + (", %" if column in _SHARES else "")


def text(column: str, value: Any) -> str:
    """The displayed value, with four significant digits."""
    if value is None:
        return _MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if column.endswith("bytes"):
        return size_text(value)
    if isinstance(value, (int, float)):
        scaled = 1e3 * value if column.endswith("_m") else 1e2 * value if column in _SHARES else value
        return f"{scaled:,}" if isinstance(scaled, int) else f"{scaled:.4g}"
    return value if isinstance(value, str) else json.dumps(value)


def _key(value: Any) -> Any:
    """Sort key of a value: numbers as they are, other values as text."""
    return value if value is None or isinstance(value, (int, float, str)) else json.dumps(value)


def _card(number: int, card: Card, displayed: Sequence[str]) -> str:
    row, error = card.row, card.row.get("error")
    facts = "".join(
        f"<dt>{html.escape(label(c))}</dt><dd{_alignment_class(row[c])}>{_breakable(text(c, row[c]), row[c])}</dd>"
        for c in displayed
        if row.get(c) is not None
    )
    words = html.escape(f"run {row.get('number', number + 1)}")
    picture = f'<img src="{html.escape(card.picture)}" alt="{words}" loading="lazy">' if card.picture else ""
    failure = f'<p class="error">{html.escape(error)}</p>' if error is not None else ""
    broken = f'<p class="error">{html.escape(row["broken"])}</p>' if row.get("broken") else ""
    links = " ".join(f'<a href="{html.escape(to)}">{html.escape(name)}</a>' for name, to in card.files.items())
    notes = "".join(f'<p class="quiet">{html.escape(text)}</p>' for text in (row.get("notes"), *card.notes) if text)
    kind = " ".join(["card", *_css_classes(row)])
    head = f"<h3>{words}</h3>"
    frame = f'<div class="frame">{picture or failure or words}</div>'
    below = (failure if picture else "") + broken
    return (
        f'<article class="{kind}" data-n="{number}">{frame}{head}{below}<dl>{facts}</dl>{notes}<p>{links}</p></article>'
    )


def _css_classes(row: dict[str, Any]) -> list[str]:
    """CSS classes of a run that failed or exceeds its limits."""
    return ["failed"] if row.get("error") is not None else ["beyond"] if row.get("within_limits") is False else []


def _breakable(displayed: str, value: Any) -> str:
    """Escaped text with line break opportunities after separators of file names."""
    escaped = html.escape(displayed)
    return re.sub(r"(?<=\w)([/_.-])(?=\w)", r"\1<wbr>", escaped) if isinstance(value, str) else escaped


def _alignment_class(value: Any) -> str:
    """Right alignment for numbers and missing values."""
    return ' class="right"' if value is None or type(value) in (int, float) else ""


def _row(number: int, card: Card, columns: Sequence[str]) -> str:
    cells = []
    for column in columns:
        value = card.row.get(column)
        side = ' class="error"' if column == "broken" else _alignment_class(value)
        cells.append(f"<td{side}>{html.escape(text(column, value))}</td>")
    error = card.row.get("error")
    last = f'<td class="error">{html.escape(error)}</td>' if error is not None else "<td></td>"
    kind = "".join(f' class="{mark}"' for mark in _css_classes(card.row))
    return f'<tr data-n="{number}"{kind}>{"".join(cells)}{last}</tr>'

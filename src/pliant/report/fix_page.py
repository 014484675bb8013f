"""The HTML report of a repair: the garment before and after, both coloured by depth, and what changed."""

import dataclasses
import html
import os
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from .check_page import MOST_PLACES, SCRIPTS, STYLES, curves, rounded, row, spots, stage_page
from .check_view import CheckView
from .histogram import histogram_svg
from .pack import pack

_AT = SCRIPTS.index("heat.js") + 1
FIX_SCRIPTS = (*SCRIPTS[:_AT], "pair.js", *SCRIPTS[_AT:], "fix.js")
SIDES = ("before", "both", "after")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FixView:
    """Data of the page: the checks before and after; figures: rows (name, before, after); changes: further figures by
    name; moved: (T,n) displacement of each vertex, metres."""

    before: CheckView
    after: CheckView
    figures: Sequence[tuple[str, str, str]]
    changes: Mapping[str, str]
    moved: NDArray[np.float32]


def fix_page(found: FixView) -> str:
    """The self-contained page as text."""
    one, two = found.before, found.after
    garment, *body = one.clips
    clips = [garment, two.clips[0], *body]
    top = one.top if (one.distances < 0.0).any() else two.top  # one scale for both
    left, were = spots(two, group="What remains", side=1), spots(one, group="What was wrong before", side=0)
    run = {
        "pair": True,
        "clips": [
            pack(clips[0], one.heat(top)) | {"side": 0},
            pack(clips[1], two.heat(top)) | {"side": 1},
            *(pack(clip) for clip in body),
        ],
        "curves": curves(one, side=0) | curves(two, " after", side=1),
        "series": [
            {"name": name, "unit": unit, "values": rounded(some)} | _after(two, name)
            for name, (unit, some) in one.series.items()
        ],
        "spots": left + were,
        "unlisted": sum(max(len(each.places) - MOST_PLACES, 0) for each in (one, two)),
        "opens": len(left) if were else 0,
    }
    heads = '<th scope="col" class="before">before</th><th scope="col" class="after">after</th>'
    both = "".join(f"<div><b>{when}</b> {html.escape(each.verdict)}</div>" for when, each in _named(one, two))
    parts = {
        "verdict": both,
        "facts": f"<thead><tr><td></td>{heads}</tr></thead>" + "".join(row(*each) for each in found.figures),
        "pair": '<div class="ring" hidden></div><div id="captions"><span class="before">before</span>'
        '<span class="after">after</span></div>',
        "sides": _sides(),
        "more": _changes(found),
    }
    return stage_page(one, clips, run, parts, scripts=FIX_SCRIPTS, styles=(*STYLES, "fix.css"))


def write_fix_page(path: str | os.PathLike[str], found: FixView) -> None:
    """Write the page to `path` atomically."""
    page = fix_page(found)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def _named(one: CheckView, two: CheckView) -> tuple[tuple[str, CheckView], ...]:
    return ("Before:", one), ("After:", two)


def _after(two: CheckView, name: str) -> dict[str, list[float | None]]:
    """The values after the repair; empty where only the first check has the series (intersection volume)."""
    return {"after": rounded(two.series[name][1])} if name in two.series else {}


def _sides() -> str:
    buttons = "".join(f'<button type="button" value="{name}">{name}</button>' for name in SIDES)
    return f'<div id="sides" role="group" aria-label="What is shown (B)">{buttons}</div>'


def _changes(found: FixView) -> str:
    """The section with the changes and a histogram of vertex displacements."""
    rows = "".join(row(name, value) for name, value in found.changes.items())
    at, drawn = found.moved[found.moved > 0.0].astype(np.float64), ""
    if len(at):
        chart = histogram_svg(at, float(at.max()), float(np.quantile(at, 0.95)))
        words = "Displacement of the moved vertices in millimetres, and their share. 95 % are left of the line."
        drawn = f"<figure>{chart}<figcaption>{words}</figcaption></figure>"
    table = f"<table>{rows}</table>"
    return f'<section id="changes"><h2 id="changes-title">What was changed</h2>{table}{drawn}</section>'

"""The HTML report of a check: the garment coloured by depth, charts over time, and its worst locations."""

import html
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..files import atomic_write
from ..motion.clip import Clip
from .camera import unoccluded_elevation
from .check_view import COLOURS, CheckView, PlaceView, angles, srgb_to_linear
from .pack import checked_frame_count, pack, planes
from .page import fill_template, script_data, static

SCRIPTS = (
    "decode.js", "subdivide.js", "tubes.js", "matrix.js", "shaders.js", "scene.js", "heat.js", "view.js", "player.js",
    "check.js",
)  # fmt: skip
STYLES = "replay.css", "check.css"
MOST_PLACES = 40


def check_page(found: CheckView) -> str:
    """The self-contained page as text."""
    clips = found.clips
    run = {
        "clips": [pack(clip, found.heat(found.top) if k == 0 else None) for k, clip in enumerate(clips)],
        "curves": curves(found),
        "series": [
            {"name": name, "unit": unit, "values": rounded(some)} for name, (unit, some) in found.series.items()
        ],
        "spots": spots(found),
        "unlisted": max(len(found.places) - MOST_PLACES, 0),
    }
    facts = "".join(row(name, value) for name, value in found.facts.items())
    parts = {"verdict": html.escape(found.verdict), "facts": facts, "more": shells_section(found.shells)}
    return stage_page(found, clips, run, parts)


def stage_page(
    found: CheckView,
    clips: Sequence[Clip],
    run: dict[str, Any],
    parts: dict[str, str],
    *,
    scripts: Sequence[str] = SCRIPTS,
    styles: Sequence[str] = STYLES,
) -> str:
    """A page with the layout of a check report: `parts` fill the template, `run` is the data of its `scripts`."""
    run |= {
        "fps": validate.number("fps", found.fps, above=0.0),
        "frameCount": checked_frame_count(clips),
        "elevation": unoccluded_elevation(clips),
        "facts": [],
        "ramp": srgb_to_linear(COLOURS).round(5).tolist(),
        "numbers": [int(n) for n in found.numbers],
    }
    common = {
        "bar": _bar(),
        "notes": "".join(f"<li>{html.escape(text)}</li>" for text in found.notes),
        "unnoted": "" if found.notes else "hidden",
        "legend": _legend(found),
        "pair": "",
        "sides": "",
        "more": "",
        "run": script_data(run),
    }
    return fill_template("check.html", found.title, styles, common | parts, scripts=scripts)


def row(name: str, *values: str) -> str:
    """A table row: a heading cell and value cells."""
    cells = "".join(f"<td>{html.escape(value)}</td>" for value in values)
    return f'<tr><th scope="row">{html.escape(name)}</th>{cells}</tr>'


def shells_section(shells: Sequence[Sequence[str]]) -> str:
    """The table of the body's shells, its first row the headings; empty without one."""
    if not shells:
        return ""
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in shells[0])
    rows = "".join(row(*each) for each in shells[1:])
    table = f'<table id="shells"><thead><tr>{heads}</tr></thead>{rows}</table>'
    title = '<h2 id="shells-title">Shells of the body</h2>'
    return f'<section aria-labelledby="shells-title">\n  {title}\n  {table}\n</section>\n'


def write_check_page(path: str | os.PathLike[str], found: CheckView) -> None:
    """Write the page to `path` atomically."""
    page = check_page(found)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def ramp_css() -> str:
    """The colours of the heat map as CSS gradient stops."""
    return ", ".join(f"rgb({r:.0f} {g:.0f} {b:.0f})" for r, g, b in COLOURS)


def depth_text(metres: float) -> str:
    """The depth at the end of a scale, as `2 mm`, `0.05 mm` or `3 cm`."""
    return f"{1e3 * metres:.3g} mm" if metres < 0.1 else f"{1e2 * metres:.3g} cm"


def _legend(found: CheckView) -> str:
    rows = []
    if (found.distances < 0.0).any():
        ends = f"<span>surface</span><span>{html.escape(depth_text(found.top))} inside</span>"
        ramp = f'<div class="ramp" style="background: linear-gradient(to right, {ramp_css()})"></div>'
        rows.append(f'<div class="scale">{ramp}<div class="ends">{ends}</div></div>')
    for name, curves, words in (
        ("own", found.self_curves, "intersects itself"),
        ("cut", found.body_curves, "intersects the body"),
    ):
        if any(len(segments) for segments in curves):
            rows.append(f'<div><span class="ink {name}"></span>{words}</div>')
    return "".join(rows)


def spots(found: CheckView, **more: Any) -> list[dict[str, Any]]:
    """The worst locations as dicts, each extended by `more`."""
    return [_place_dict(found, spot) | more for spot in found.places[:MOST_PLACES]]


def _place_dict(found: CheckView, spot: PlaceView) -> dict[str, Any]:
    azimuth, elevation = angles(found.direction(spot))
    return {
        "frame": spot.frame,
        "kind": spot.kind,
        "title": spot.title,
        "detail": spot.detail,
        "place": [float(v) for v in spot.place],
        "radius": float(spot.radius),
        "azimuth": azimuth,
        "elevation": elevation,
    }


def curves(found: CheckView, when: str = "", **more: Any) -> dict[str, Any]:
    """Intersection curves; `when` is appended to their names to distinguish several sets."""
    return {
        f"own{when}": _packed_curves(found.self_curves) | more,
        f"body{when}": _packed_curves(found.body_curves) | more,
    }


def _packed_curves(frames: Sequence[NDArray[np.float32]]) -> dict[str, Any]:
    every = np.concatenate([np.zeros((0, 2, 3), np.float32), *frames]).astype("<f4")
    return {"counts": [len(segments) for segments in frames], "ends": planes(every)}


def rounded(values: Sequence[float]) -> list[float | None]:
    """Values rounded to four significant digits; None where a value is not finite."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]


def _bar() -> str:
    """The controls of the replay."""
    found = re.search(r'<section id="bar".*?</section>', static("replay.html"), re.DOTALL)
    if found is None:
        raise AssertionError("replay.html has no section 'bar'")
    return found[0]

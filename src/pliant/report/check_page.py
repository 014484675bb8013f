"""One HTML file with what a check found: the garment in the colours of its depth, over time, and its worst places."""

import html
import importlib.resources
import json
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__, validate
from ..files import atomic_write
from .audited import COLOURS, Audited, angles, srgb_to_linear
from .camera import open_elevation
from .pack import check, pack, planes

SCRIPTS = (
    "decode.js", "matrix.js", "shaders.js", "scene.js", "heat.js", "view.js", "player.js", "check.js",
)  # fmt: skip
MOST_SPOTS = 40


def check_page(found: Audited) -> str:
    """The page as text; it holds everything it shows."""
    clips = found.clips
    frames = check(clips)
    run = {
        "fps": validate.number("fps", found.fps, above=0.0),
        "frameCount": frames,
        "elevation": open_elevation(clips),
        "facts": [],
        "clips": [pack(clip, found.heat if k == 0 else None) for k, clip in enumerate(clips)],
        "ramp": srgb_to_linear(COLOURS).round(5).tolist(),
        "cuts": {"own": _cuts(found.own), "body": _cuts(found.cut)},
        "numbers": [int(n) for n in found.numbers],
        "series": [
            {"name": name, "unit": unit, "values": [_short(v) for v in values]}
            for name, (unit, values) in found.series.items()
        ],
        "spots": [_spot(found, k) for k in range(min(len(found.spots), MOST_SPOTS))],
    }
    facts = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
        for name, value in found.facts.items()
    )
    parts = {
        "title": html.escape(found.title),
        "verdict": html.escape(found.verdict),
        "style": _static("replay.css") + _static("check.css"),
        "bar": _bar(),
        "facts": facts,
        "notes": "".join(f"<li>{html.escape(text)}</li>" for text in found.notes),
        "unnoted": "" if found.notes else "hidden",
        "legend": _legend(found),
        "script": "\n".join(_static(name) for name in SCRIPTS),
        "run": json.dumps(run, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "made": f"pliant {html.escape(__version__)}; this page holds everything it shows and asks nobody for more.",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], _static("check.html"))


def write_check_page(path: str | os.PathLike[str], found: Audited) -> None:
    """Write the page to `path`, whole or not at all."""
    page = check_page(found)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def ramp_css() -> str:
    """The colours of the heat map as stops of a gradient."""
    return ", ".join(f"rgb({r:.0f} {g:.0f} {b:.0f})" for r, g, b in COLOURS)


def depth_text(metres: float) -> str:
    """`2 mm`, `0.05 mm`, `3 cm` of a scale's end."""
    return f"{1e3 * metres:.3g} mm" if metres < 0.1 else f"{1e2 * metres:.3g} cm"


def _legend(found: Audited) -> str:
    rows = []
    if (found.away < 0.0).any():
        ends = f"<span>surface</span><span>{html.escape(depth_text(found.top))} inside</span>"
        ramp = f'<div class="ramp" style="background: linear-gradient(to right, {ramp_css()})"></div>'
        rows.append(f'<div class="scale">{ramp}<div class="ends">{ends}</div></div>')
    for name, kept, words in (("own", found.own, "cuts itself"), ("cut", found.cut, "cuts the body")):
        if any(len(segments) for segments in kept):
            rows.append(f'<div><span class="ink {name}"></span>{words}</div>')
    return "".join(rows)


def _spot(found: Audited, k: int) -> dict[str, Any]:
    spot = found.spots[k]
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


def _cuts(frames: Sequence[NDArray[np.float32]]) -> dict[str, Any]:
    every = np.concatenate([np.zeros((0, 2, 3), np.float32), *frames]).astype("<f4")
    return {"counts": [len(segments) for segments in frames], "ends": planes(every)}


def _short(value: float) -> float | None:
    """Four digits are more than a chart shows; None where there is no number."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _bar() -> str:
    """The controls of the replay."""
    found = re.search(r'<section id="bar".*?</section>', _static("replay.html"), re.DOTALL)
    if found is None:
        raise AssertionError("replay.html has no section 'bar'")
    return found[0]


def _static(name: str) -> str:
    return importlib.resources.files(__package__).joinpath("static", name).read_text("utf-8")

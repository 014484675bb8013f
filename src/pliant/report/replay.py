"""The HTML replay of a run: self-contained, without libraries, with every frame."""

import html
import os
from collections.abc import Mapping, Sequence

from .. import validate
from ..files import atomic_write
from ..motion.clip import Clip
from .camera import lowest_seen, unoccluded_elevation
from .overlay import Overlay, pack_overlay
from .pack import checked_frame_count, pack
from .page import fill_template, script_data

# in page order; each script may use the names of the earlier ones
SCRIPTS = ("decode.js", "subdivide.js", "tubes.js", "matrix.js", "shaders.js", "scene.js", "view.js", "player.js")


def replay_html(
    clips: Sequence[Clip],
    fps: float,
    *,
    title: str = "pliant replay",
    facts: Mapping[str, str] | None = None,
    overlays: Sequence[Overlay] = (),
    readings: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The page as text. `fps`: frames per second of the run; `facts`: a table shown next to the view; `readings`: rows
    of it with one text per frame; `overlays` are drawn without occlusion."""
    frames = checked_frame_count(clips)
    for what, rows in [("overlay", o.meshes) for o in overlays] + list((readings or {}).items()):
        if len(rows) != frames:
            raise ValueError(f"{what!r} has {len(rows)} frames; expected {frames}, as many as the run")
    lowest = lowest_seen(clips)
    run = {
        "fps": validate.number("fps", fps, above=0.0),
        "frameCount": frames,
        "elevation": unoccluded_elevation(clips),
        "facts": [[str(name), str(value)] for name, value in (facts or {}).items()],
        "clips": [pack(clip, lowest=lowest) for clip in clips],
        "overlays": [pack_overlay(overlay) for overlay in overlays],
        "readings": [[str(name), [str(value) for value in values]] for name, values in (readings or {}).items()],
    }
    return fill_template("replay.html", title, ("replay.css",), {"run": script_data(run)}, scripts=SCRIPTS)


def write_replay(
    path: str | os.PathLike[str],
    clips: Sequence[Clip],
    fps: float,
    *,
    title: str = "pliant replay",
    facts: Mapping[str, str] | None = None,
    overlays: Sequence[Overlay] = (),
    readings: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the page to `path` atomically."""
    page = replay_html(clips, fps, title=title, facts=facts, overlays=overlays, readings=readings)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def iframe_html(page: str, height: int = 520) -> str:
    """An iframe that contains the page, for `_repr_html_`; sandboxed to its own scripts."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" title="replay" '
        f'style="width:100%;height:{int(height)}px;border:0;border-radius:8px" allowfullscreen></iframe>'
    )

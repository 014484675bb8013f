"""Check runs of a sweep: the same audit as `pliant check`."""

import logging
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..audit.check import check
from ..audit.findings import Limits
from ..io.animation import load_clip, pair_clips
from ..motion.clip import Clip
from .inputs import Input
from .parameters import LIMITS
from .plan import Run
from .work import Written, write_json, write_thumbnail

log = logging.getLogger("pliant.sweep")
_CLOTH, _SKIN = (0.45, 0.05, 0.035), (0.80, 0.60, 0.50)


def check_run(run: Run, folder: pathlib.Path) -> Written:
    """Return figures of the worst frame and of all frames, and write the report as the requested files."""
    given = run.parameters
    clip, body_clip = given.get("clip"), given.get("body-clip")
    both = [each.file for name in ("garment", "body") if (each := run.inputs.get(name)) and each.file]
    if len(both) == 2:
        clip, body_clip, notice = pair_clips(both[0], both[1], clip, body_clip)
        if notice:
            log.warning(notice)
    worn, fps = _read(run.inputs["garment"], given, clip, given.get("fps"))
    under = None
    if "body" in run.inputs:
        rate = given.get("fps") or (None if worn.still else fps)
        under, found = _read(run.inputs["body"], given, body_clip, rate)
        fps = found if worn.still else fps
    elif "body-clip" in given:
        raise ValueError("body-clip does not apply: the run has no body")
    report = check(worn, under, fps=fps, every=given.get("every", 1))
    frames = report.frames
    figures: dict[str, Any] = {
        "frames": len(frames),
        "vertices": worn.mesh.n_vertices,
        "triangles": worn.mesh.n_faces,
        "self_pairs_most": report.self_intersections,
        "self_length_m": max(f.self_length for f in frames),
    }
    if under is not None:
        figures |= {
            "penetration_m": report.worst_depth if report.has_inside else None,
            "worst_frame": report.worst.frame,
            "inside_most": max(f.inside for f in frames) if report.has_inside else None,
            "share_most": max(f.share for f in frames) if report.has_inside else None,
            "clearance_m": min(f.clearance for f in frames),
            "overlap_m3": float(np.max([f.overlap for f in frames])),
            "body_pairs_most": max(f.body_pairs for f in frames),
            "crossings_most": report.crossings,
            "crossings_total": sum(f.crossings for f in frames),
            "frames_with_inside": sum(bool(f.inside) for f in frames) if report.has_inside else None,
        }
    verdict = {}
    if (limits := _limits(given)) is not None:
        broken = report.broken(limits)
        verdict = {"within_limits": not broken, "broken": broken}
        figures |= verdict | {"broken": "; ".join(broken) or None}
    figures["defects"] = worn.mesh.issues.words(defects_only=True)
    files = []
    writers: dict[str, tuple[str, Callable[[pathlib.Path], None]]] = {
        "json": ("report.json", lambda path: write_json(path, report.to_json() | verdict)),
        "report": ("report.html", report.to_html),
        "sheet": ("sheet.png", report.to_png),
    }
    for name, write in (writers[kind] for kind in run.files):
        write(folder / name)
        files.append(name)
    if run.thumbnail:
        clips = [Clip(worn.mesh, worn.frames, _CLOTH, worn.poses)]
        clips += [] if under is None else [Clip(under.mesh, under.frames, _SKIN, under.poses)]
        files.append(write_thumbnail(folder, clips, report.worst.frame))
    return Written(figures, files, times={}, check_notes=[note._asdict() for note in report.notes])


def _limits(given: dict[str, Any]) -> Limits | None:
    """Return the limits, with the defaults of `pliant check`; None if no limit is given."""
    if not given.keys() & LIMITS.keys():
        return None
    return Limits(
        depth=given.get("max-depth", 0.0),
        inside=given.get("max-inside"),
        self_pairs=given.get("max-self", 0),
        body_pairs=given.get("max-body-pairs"),
        clearance=given.get("min-clearance"),
    )


def _read(found: Input, given: dict[str, Any], clip: str | None, fps: float | None) -> tuple[Clip, float]:
    if found.file is None:
        mesh = found.load(given)
        return Clip(mesh, mesh.vertices[None]), fps or 30.0
    return load_clip(found.file, clip=clip, fps=fps, units=given.get("units", "m"), up=given.get("up", "y"))

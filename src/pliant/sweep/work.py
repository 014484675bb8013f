"""Execution of one run: its inputs are read, its files written, and its record last and atomically."""

import importlib
import io
import json
import logging
import math
import pathlib
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..files import atomic_write
from .plan import Run
from .worker import in_one_line

FORMAT = 1
RECORD, TIMES, THUMBNAIL = "run.json", "times.json", "thumbnail.jpg"
WIDE, HIGH = 288, 216  # pixels of a thumbnail
# kind -> function: (run, folder) -> Written
WORK = {
    "drape": "pliant.sweep.drapes:drape_run",
    "check": "pliant.sweep.checks:check_run",
    "bake": "pliant.sweep.bakes:bake_run",
}


class Written(NamedTuple):
    """What a run computed: figures by name, names of the files it wrote, seconds by name, and the notes of a check as
    {"kind", "text"}."""

    figures: dict[str, Any]
    files: list[str]
    times: dict[str, float]
    check_notes: Sequence[dict[str, str]] = ()


def carry_out(task: dict[str, Any]) -> dict[str, Any]:
    """Carry out the run and write its record, also on failure; return {"failed": bool}."""
    run, folder = Run.of(task["run"]), pathlib.Path(task["folder"])
    began = time.perf_counter()
    notes = _Notes()
    logger = logging.getLogger("pliant")
    logger.addHandler(notes)
    try:
        for found in run.inputs.values():
            found.check()
        module, _, name = WORK[run.kind].partition(":")
        done: Written = getattr(importlib.import_module(module), name)(run, folder)
        times, lines = done.times, [_named(run, line) for line in notes.lines]
        record = record_of(run, figures=done.figures, files=done.files, notes=lines, check_notes=done.check_notes)
    except Exception as error:
        lines = [_named(run, line) for line in notes.lines]
        times, record = {}, record_of(run, error=_named(run, in_one_line(error)), notes=lines)
    finally:
        logger.removeHandler(notes)
    if record["error"] is not None and (kept := good_record(run, folder)) is not None:
        return {"failed": kept["error"] is not None}
    seconds = {"seconds": time.perf_counter() - began} | times
    write_json(folder / TIMES, seconds)
    write_json(folder / RECORD, record)
    if run.kind == "bake" and record["error"] is None:
        # only now: if killed earlier, the next start joins the slabs instead of baking them again
        from .bakes import delete_slabs

        delete_slabs(folder)
    return {"failed": record["error"] is not None}


def _named(run: Run, line: str) -> str:
    """Replace paths of this machine by the names in the sweep."""
    for found in run.inputs.values():
        line = line if found.path is None else line.replace(found.path, found.name)
    return line


class _Notes(logging.Handler):
    """Collects the warnings of the library."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, line: logging.LogRecord) -> None:
        self.lines.append(" ".join(line.getMessage().split()))


def record_of(
    run: Run,
    *,
    figures: dict[str, Any] | None = None,
    files: Sequence[str] = (),
    notes: Sequence[str] = (),
    check_notes: Sequence[dict[str, str]] = (),
    error: str | None = None,
) -> dict[str, Any]:
    """Return the record of a finished run, without machine-dependent measurements."""
    return {
        "format": FORMAT,
        "id": run.id,
        "run": run.kind,
        "inputs": {what: {"name": f.name, "sha256": f.digest} for what, f in run.inputs.items()},
        "parameters": run.parameters,
        "figures": figures or {},
        "files": list(files),
        "notes": list(notes),
        "check_notes": list(check_notes),
        "error": error,
    }


def read_record(run: Run, folder: pathlib.Path) -> dict[str, Any] | None:
    """Return the record of a finished run; None if it is missing, belongs to another run or lacks a file."""
    try:
        found = json.loads((folder / RECORD).read_text("utf-8"))
        fits = (found["format"], found["id"]) == (FORMAT, run.id)
        whole = all((folder / name).is_file() for name in found["files"])
        needed = {"figures", "notes", "error"} | ({"check_notes"} if run.kind == "check" else set())
        return found if fits and whole and needed <= set(found) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def good_record(run: Run, folder: pathlib.Path) -> dict[str, Any] | None:
    """Return the record of a successful run, possibly of another sweep in this folder; failures must not replace it."""
    found = read_record(run, folder)
    return found if found is not None and found["error"] is None else None


def read_times(folder: pathlib.Path) -> dict[str, float]:
    try:
        found = json.loads((folder / TIMES).read_text("utf-8"))
        return {str(k): float(v) for k, v in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_json(path: pathlib.Path, value: Any) -> None:
    """Write JSON atomically; non-finite numbers become null."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_write(path, "w") as stream:
        stream.write(text + "\n")


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_thumbnail(folder: pathlib.Path, clips: Sequence[Any], frame: int) -> str:
    """Write a thumbnail of the clips at `frame`; return its file name."""
    from PIL import Image

    from ..motion.clip import Clip
    from ..report.camera import Camera
    from ..report.picture import render

    now = [Clip(clip.mesh, np.asarray(clip.at(frame))[None], clip.color) for clip in clips]
    pixels = render(now, 0, WIDE, HIGH, Camera.framing(now, WIDE / HIGH), samples=2)
    packed = io.BytesIO()
    Image.fromarray(pixels).save(packed, format="JPEG", quality=86)
    with atomic_write(folder / THUMBNAIL) as stream:
        stream.write(packed.getvalue())
    return THUMBNAIL

"""`pliant check`: find intersections and defects of a mesh, a garment on a body or an animation; usable in CI."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from . import output
from .output_paths import check_outputs
from .reading import PLAIN, FileOptions, FrameOptions, body_of, check_sources, read_pair

if TYPE_CHECKING:
    from ..audit.findings import Limits, Report

HTML, PNG, NPZ = (".html", ".htm"), (".png",), (".npz",)
_SHOWN = 12  # most rows in the table of frames; the worst frames are chosen


@dataclasses.dataclass(frozen=True)
class CheckedFrames(FrameOptions):
    """Where the frames come from."""

    every: int = 1
    "Check only every n-th frame."


@dataclasses.dataclass(frozen=True)
class LimitOptions:
    """Limits; the exit code is 1 when one is exceeded."""

    max_depth: str = "0"
    "Largest allowed penetration depth of the garment: 1mm, 0.2cm, or metres."
    max_inside: int | None = None
    "Most vertices allowed inside the body in one frame."
    max_self: int = 0
    "Most pairs of the garment's own triangles that may intersect in one frame."
    max_body_pairs: Annotated[int | None, Parameter(name=["--max-body-pairs", "--max-cuts"])] = None
    """Most pairs of a garment and a body triangle that may cross in one frame. Default: 0, or with a --max-depth
    above 0 those that are no deeper."""
    min_clearance: str | None = None
    "Smallest allowed distance of a vertex from the body: 2mm."


@dataclasses.dataclass(frozen=True)
class ShowOptions:
    """Files to write."""

    report: pathlib.Path | None = None
    "A self-contained HTML page: depth as colour, charts over time, the worst locations."
    sheet: pathlib.Path | None = None
    "A PNG with the worst locations."
    distances: pathlib.Path | None = None
    """An npz with the signed distance of every vertex from the body, for other programs: `distances` (T,n) in metres,
    negative inside, and the numbers `frames` (T,)."""


FRAMES, LIMITS, SHOW = CheckedFrames(), LimitOptions(), ShowOptions()


def check(
    file: pathlib.Path,
    *,
    body: Annotated[pathlib.Path | None, Parameter(name=["--body", "-b"])] = None,
    frames: Annotated[CheckedFrames, Parameter(name="*")] = FRAMES,
    limits: Annotated[LimitOptions, Parameter(name="*")] = LIMITS,
    show: Annotated[ShowOptions, Parameter(name="*")] = SHOW,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
    json: bool = False,
) -> int:
    """Find self-intersections and defects of FILE, and where it is inside a body or intersects it.

    Every frame is tested exactly. The exit code is 0 when everything is within the limits, 1 otherwise.

    Parameters
    ----------
    file
        A mesh, an animated GLB or glTF, an npz with frames, a folder of numbered mesh files or a pattern in quotes.
    body
        The body it is worn on, in the same formats, static or animated.
    json
        Print JSON instead of tables: every frame, and the worst locations.
    """
    body = body_of(file, body, frames)
    check_sources(file, body, frames.points, frames.body_points)
    from ..audit.check import check as check_clips

    allowed = _limits(limits)
    about = {
        "max-inside": limits.max_inside,
        "max-body-pairs": limits.max_body_pairs,
        "min-clearance": limits.min_clearance,
        "distances": show.distances,
    }
    for name, given in about.items():
        if body is None and given is not None:
            raise ValueError(f"--{name} needs a body; name one with --body")
    inputs = [path for path in (file, body, frames.points, frames.body_points) if path is not None]
    outputs = [("--report", show.report, HTML), ("--sheet", show.sheet, PNG), ("--distances", show.distances, NPZ)]
    check_outputs(outputs, inputs)
    lengths = [
        ("--max-depth", limits.max_depth, allowed.depth),
        ("--min-clearance", limits.min_clearance, allowed.clearance),
    ]
    worn, under, fps = read_pair(file, body, frames, files, lengths)
    output.say_if_compiling("queries.intersections.find_intersections")
    with output.fraction_bar(f"checking {file.name}") as done:
        report = check_clips(worn, under, fps=fps, every=frames.every, progress=done)
    broken = report.broken(allowed)
    written = _write(report, show)
    if json:
        output.print_json(report.to_json() | {"within_limits": not broken, "broken": broken, "files": written})
        return int(bool(broken))
    output.table(("", frames.part or file.name), report.facts.items())
    if len(report.frames) > 1:
        _show_frames(report)
    if report.has_shells:
        _show_shells(report)
    if report.places:
        _show_places(report)
    for note in report.notes:
        output.say(note.line)
    if report.crossings and not broken:
        by = "--max-depth" if limits.max_body_pairs is None else "--max-body-pairs"
        output.say(f"note: {report.crossings:,} pairs of triangles of garment and body cross, within {by}")
    for text in broken:
        output.warn(text)
    return int(bool(broken))


def _write(report: "Report", show: ShowOptions) -> list[str]:
    outputs = (show.report, report.to_html), (show.sheet, report.to_png), (show.distances, report.save_distances)
    for path, write in outputs:
        if path is not None:
            with output.progress(f"writing {path.name}"):
                write(path)
            output.say(f"wrote {path}")
    return [str(path) for path, _ in outputs if path is not None]


def _limits(given: LimitOptions) -> "Limits":
    from .. import validate
    from ..audit.findings import Limits

    pairs = given.max_body_pairs
    return Limits(
        depth=validate.length("--max-depth", given.max_depth, low=0.0),
        inside=None if given.max_inside is None else validate.whole("--max-inside", given.max_inside, low=0),
        self_pairs=validate.whole("--max-self", given.max_self, low=0),
        body_pairs=pairs if pairs is None else validate.whole("--max-body-pairs", pairs, low=0),
        clearance=None if given.min_clearance is None else validate.length("--min-clearance", given.min_clearance),
    )


def _show_frames(report: Any) -> None:
    """Print the frames with problems, or the worst of them where there are many."""
    bad = [f for f in report.frames if f.penetrating or f.self_pairs]
    if not bad:
        return
    listed = sorted(
        sorted(bad, key=lambda f: (-f.depth, -f.crossings - f.self_pairs, f.frame))[:_SHOWN], key=lambda f: f.frame
    )
    rows = [
        (
            f.frame,
            f"{f.time:.2f} s",
            f.inside,
            f"{1e3 * f.depth:.2f} mm",
            f"{f.share:.1%}",
            f.crossings,
            f.self_pairs,
            f.loops + f.self_loops,
        )
        for f in listed
    ]
    names = ("frame", "time", "inside", "deepest", "surface", "crossings", "self", "curves")
    of = f"the worst {len(listed)} of {len(bad)} frames" if len(listed) < len(bad) else "frames"
    output.table(names, rows, title=f"{of} with problems, of {len(report.frames)}", right=" ".join(names))


def _show_shells(report: Any) -> None:
    """Print the shells of the body, the deepest ones where there are many; the JSON has all."""
    from ..audit.shells import SHELL_COLUMNS, shell_rows

    rows, total = shell_rows(report.shells, _SHOWN), len(report.shells)
    of = f"the worst {len(rows)} of {total} shells" if len(rows) < total else "shells"
    output.table(SHELL_COLUMNS, rows, title=f"{of} of the body, in their worst frames", right="faces inside deepest")


def _show_places(report: Any) -> None:
    from ..audit.findings import KIND_TEXT, size_words

    rows = []
    for p in report.places[:5]:
        deep = f"{size_words(p.depth)} deep, " if p.depth > 0.0 else ""
        count = f"{p.size} vertex" if p.size == 1 else f"{p.size} vertices"
        how = f"{deep}{count}" if p.kind == "inside" else f"{deep}{size_words(p.length)} long"
        at = ", ".join(f"{v:.3f}" for v in p.place)
        rows.append((p.frame, KIND_TEXT[p.kind], how, f"({at}) m"))
    output.table(("frame", "what", "how much", "where"), rows, title=f"worst locations, of {report.place_count}")

"""`pliant check`: find intersections and defects of meshes, garments on bodies and animations; usable in CI."""

import dataclasses
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..errors import MeshFileError
from . import check_cases, output
from .check_cases import Case
from .check_tables import show_files, show_report
from .check_writing import Checked, ShowOptions, check_written, write_formats, write_own
from .first_run import compile_first
from .reading import FrameOptions, PairOptions, body_of, check_sources, read_pair

if TYPE_CHECKING:
    from ..audit.limits import Limits


@dataclasses.dataclass(frozen=True)
class CheckedFrames(FrameOptions):
    """Where the frames come from."""

    every: int | None = None
    "Check only every n-th frame. Default: 1."


@dataclasses.dataclass(frozen=True)
class LimitOptions:
    """Limits; the exit code is 1 when one is exceeded."""

    max_depth: str | None = None
    "Largest allowed penetration depth of the garment: 1mm, 0.2cm, or metres. Default: 0."
    max_inside: int | None = None
    "Most vertices allowed inside the body in one frame."
    max_self: int | None = None
    "Most pairs of the garment's own triangles that may intersect in one frame. Default: 0."
    max_body_pairs: Annotated[int | None, Parameter(name=["--max-body-pairs", "--max-cuts"])] = None
    """Most pairs of a garment and a body triangle that may cross in one frame. Default: 0, or with a --max-depth
    above 0 those that are no deeper."""
    min_clearance: str | None = None
    "Smallest allowed distance of a vertex from the body: 2mm."


@dataclasses.dataclass(frozen=True)
class UnitOptions:
    """How files are read."""

    units: str | None = None
    "Units of the files: m, cm, mm, in, ft, or metres per unit. Default: m."
    up: Literal["x", "y", "z"] | None = None
    "The axis that points up in the files. Default: y."
    body_units: str | None = None
    "Units of the file of the body, where they are others. Default: those of --units."
    body_up: Literal["x", "y", "z"] | None = None
    "The axis that points up in the file of the body, where it is another. Default: that of --up."


FRAMES, LIMITS, SHOW, UNITS = CheckedFrames(), LimitOptions(), ShowOptions(), UnitOptions()


def check(
    *file: pathlib.Path,
    body: Annotated[pathlib.Path | None, Parameter(name=["--body", "-b"])] = None,
    frames: Annotated[CheckedFrames, Parameter(name="*")] = FRAMES,
    limits: Annotated[LimitOptions, Parameter(name="*")] = LIMITS,
    show: Annotated[ShowOptions, Parameter(name="*")] = SHOW,
    files: Annotated[UnitOptions, Parameter(name="*")] = UNITS,
    config: pathlib.Path | None = None,
    json: bool = False,
) -> int:
    """Find self-intersections and defects of FILE, and where it is inside a body or intersects it.

    Every frame is tested exactly. The exit code is 0 when everything is within the limits, 1 otherwise. Several files,
    a folder of .glb files, or the files that pliant.toml lists are checked one by one, with a row in a table for each.

    Parameters
    ----------
    file
        A mesh, an animated GLB or glTF, an npz with frames, a folder of numbered mesh files or a pattern in quotes; or
        several of them. Default: the files of pliant.toml.
    body
        The body it is worn on, in the same formats, static or animated.
    config
        A TOML file with files and limits. Default: the nearest pliant.toml, in the current folder or above it in the
        same repository.
    json
        Print JSON instead of tables: every frame, and the worst locations.
    """
    check_sources(*file)
    typed = _typed({"body": body}, frames, limits, files)
    settings = check_cases.find_settings(config)
    cases = check_cases.cases_of(file, typed, settings)
    _refuse_body_as_file(cases, files)
    alone = len(cases) == 1
    check_written(show, cases, alone)
    if settings is not None:
        output.say(f"note: limits and files of {settings.path}")
    if not alone and not any("body" in case.options or "body-part" in case.options for case in cases):
        output.say(f"note: {len(cases)} files are checked one by one; --body names the body that they are worn on")
    if alone:
        checked = [_checked(cases[0], show, None)]
    else:
        names = check_cases.file_names(cases)
        checked = [_checked_or_error(case, show, name) for case, name in zip(cases, names, strict=True)]
    written = [path for each in checked for path in each.files] + write_formats(checked, show)
    _print(checked, written, alone, json)
    return 2 if any(each.error for each in checked) else int(any(each.failed for each in checked))


def _refuse_body_as_file(cases: Sequence[Case], files: UnitOptions) -> None:
    """Raise ValueError for two files of which the second is probably the body of the first: checked one by one, what
    the garment has inside it would pass."""
    if len(cases) != 2 or any({"body", "body-part", "part"} & set(case.options) for case in cases):
        return
    import numpy as np

    from ..io import is_animated, load

    paths = [case.file for case in cases]
    if any(not path.is_file() or path.suffix.lower() == ".npz" or is_animated(path) for path in paths):
        return
    try:
        garment, body = (load(path, units=files.units or "m", up=files.up or "y") for path in paths)
    except (MeshFileError, OSError, ValueError):
        return  # told where the file is checked
    low, high = (np.array([mesh.bounds[k] for mesh in (garment, body)]) for k in (0, 1))
    if body.issues.closed and not garment.issues.closed and (low.max(0) < high.min(0)).all():
        raise ValueError(
            f"two files are checked one by one, and {paths[0].name} lies on {paths[1].name}; did you mean pliant check "
            f"{paths[0]} --body {paths[1]}? To check each alone, give one file at a time"
        )


def _typed(*groups: Any) -> dict[str, Any]:
    """The options that were typed, by name."""
    found: dict[str, Any] = {}
    for group in groups:
        values = group if isinstance(group, Mapping) else dataclasses.asdict(group)
        found |= {
            name.replace("_", "-"): value for name, value in values.items() if value is not None and value is not False
        }
    return found


def _checked_or_error(case: Case, show: ShowOptions, name: str) -> Checked:
    """The checked case; a bad file becomes its error, so that the others are checked."""
    from . import one_line

    began = time.perf_counter()
    try:
        return _checked(case, show, name)
    except (ValueError, MeshFileError, OSError) as error:
        output.error(f"{case.name}: {one_line(error)}" if case.file.name not in str(error) else one_line(error))
        return Checked(case, time.perf_counter() - began, error=one_line(error))


def _checked(case: Case, show: ShowOptions, name: str | None) -> Checked:
    """Read and check one case, and write its outputs, under its name where there are several."""
    began, given = time.perf_counter(), case.options
    frames = CheckedFrames(**_fields(given, (*check_cases.FRAMES, "points", "body-points")))
    units = PairOptions(**_fields(given, check_cases.FILES))
    body = body_of(case.file, given.get("body"), frames)
    check_sources(case.file, body, frames.points, frames.body_points)
    from ..audit.check import check as check_clips

    for option in check_cases.OF_BODY:
        if body is None and option in case.own:
            raise ValueError(f"--{option} needs a body; name one with --body")
    if body is None and show.distances is not None:
        raise ValueError("--distances needs a body; name one with --body")
    allowed = _limits(given)
    lengths = [
        ("--max-depth", given.get("max-depth"), allowed.depth),
        ("--min-clearance", given.get("min-clearance"), allowed.clearance),
    ]
    worn, under, fps = read_pair(case.file, body, frames, units, lengths)
    if under is not None and worn.still and not under.still:
        output.say(
            f"note: {case.file.name} does not move and its body does: pliant bind makes it follow, and --rest checks a "
            "single frame"
        )
    compile_first("check")
    output.say_if_compiling("queries.intersections.find_intersections")
    with output.fraction_bar(f"checking {case.file.name}") as done:
        report = check_clips(worn, under, fps=fps, every=1 if frames.every is None else frames.every, progress=done)
    violations = report.violations(allowed)
    files = write_own(report, show, name)
    return Checked(case, time.perf_counter() - began, report, allowed, violations, files=files)


def _fields(given: Mapping[str, Any], names: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): given[name] for name in names if name in given}


def _print(checked: Sequence[Checked], written: list[str], alone: bool, json: bool) -> None:
    from ..audit.findings import NoteKind

    if json:
        values = [_json(each) for each in checked]
        if alone:
            output.print_json(values[0] | {"files": written})
        else:
            good = not any(each.failed for each in checked)
            output.print_json({"within_limits": good, "checks": values, "files": written})
        return
    if not alone:
        show_files(checked)
    for each in checked:
        if each.report is None:
            continue
        prefix = "" if alone else f"{each.case.name}: "
        if alone:
            show_report(each.case.options.get("part") or each.case.file.name, each.report)
        told = [note.line for note in each.report.notes if note.kind is not NoteKind.NO_OVERLAP]  # garments are open
        for line in told if alone else each.notes:
            output.say(f"{prefix}{line}")
        if each.report.crossings and not each.violations:
            by = "--max-depth" if "max-body-pairs" not in each.case.options else "--max-body-pairs"
            cross = f"{each.report.crossings:,} pairs of triangles of garment and body cross"
            output.say(f"{prefix}note: {cross}, within {by}")
        for violation in each.violations:
            output.warn(f"{prefix}{violation.text}")


def _json(each: Checked) -> dict[str, Any]:
    found = {"file": each.case.file, "part": each.case.options.get("part")}
    if each.report is None:
        return found | {"error": each.error, "within_limits": None}
    broken = [violation.text for violation in each.violations]
    listed = [violation._asdict() for violation in each.violations]
    return found | each.report.to_json() | {"within_limits": not broken, "broken": broken, "violations": listed}


def _limits(given: Mapping[str, Any]) -> "Limits":
    from .. import validate
    from ..audit.limits import Limits

    inside, pairs, clearance = (given.get(name) for name in check_cases.OF_BODY)
    return Limits(
        depth=validate.length("--max-depth", given.get("max-depth", "0"), low=0.0),
        inside=None if inside is None else validate.whole("--max-inside", inside, low=0),
        self_pairs=validate.whole("--max-self", given.get("max-self", 0), low=0),
        body_pairs=None if pairs is None else validate.whole("--max-body-pairs", pairs, low=0),
        clearance=None if clearance is None else validate.length("--min-clearance", clearance),
    )

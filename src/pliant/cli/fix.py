"""`pliant fix`: remove a garment's intersections with a body and with itself."""

import fnmatch
import pathlib
import shlex
from typing import Annotated, Any

from cyclopts import Parameter

from . import output
from .check_writing import HTML
from .first_run import compile_first
from .output_paths import check_outputs
from .reading import FRAMES, PAIR, FrameOptions, PairOptions, body_of, check_sources, read_clip, read_pair


def fix(
    garment: pathlib.Path,
    *,
    out: Annotated[pathlib.Path, Parameter(name=["--out", "-o", "--output"])],
    body: Annotated[pathlib.Path | None, Parameter(name=["--body", "-b"])] = None,
    inner: Annotated[list[pathlib.Path] | None, Parameter(name="--over", consume_multiple=False)] = None,
    clearance: str = "1mm",
    max_strain: float | None = None,
    report: pathlib.Path | None = None,
    tangles: Annotated[bool, Parameter(negative="--no-tangles")] = True,
    frames: Annotated[FrameOptions, Parameter(name="*")] = FRAMES,
    files: Annotated[PairOptions, Parameter(name="*")] = PAIR,
    json: bool = False,
) -> int:
    """Move GARMENT out of a body, then remove its self-intersections: one mesh, or every frame of an animation.

    The shape is preserved, and only affected vertices move. A frame is replaced only by a better one. The exit code is
    1 when penetrations, intersections with the body or self-intersections remain; the table lists them.

    Parameters
    ----------
    garment
        A mesh, an animated GLB or glTF, an npz with frames, a folder of numbered mesh files or a pattern in quotes.
    out
        Output file. For one frame: .obj, .ply, .stl, .off, .glb, .npz, .msh, .mesh, .vtk or .usda. For several: .glb,
        .npz, .usda, .pc2, .mdd, .vat.exr, .vat.png, or .obj for a sequence of files. With the extra [usd] also .usdc
        and .usd, with Blender .abc and .fbx.
    body
        The body it is worn on, in the same formats, static or animated.
    inner
        An inner garment that is already fixed; may be given several times.
    clearance
        Distance to keep from the body: 1mm, 0.2cm, or metres.
    max_strain
        Largest relative change of edge lengths; what cannot be resolved within it remains and is reported.
    report
        Write a self-contained HTML page with before and after.
    tangles
        Also remove self-intersections.
    json
        Print JSON instead of a table: figures, and the result of `pliant check` before and after.
    """
    body = body_of(garment, body, frames)
    check_sources(garment, body, frames.points, frames.body_points, *(inner or []))
    _require_part(garment, body, frames)
    from .. import validate
    from ..audit.findings import Limits, NoteKind, size_words
    from ..audit.fix import fix as repair
    from ..audit.score import DEPTH_TOLERANCE
    from ..io import check_libraries
    from ..io.formats import FORMATS, WRITTEN, WRITTEN_ANIMATIONS

    apart = validate.length("--clearance", clearance, low=0.0)
    below = list(inner or [])
    inputs = [path for path in (garment, body, frames.points, frames.body_points, *below) if path is not None]
    endings = [ending for ending in FORMATS if ending in WRITTEN or ending in WRITTEN_ANIMATIONS]
    check_outputs([("--out", out, endings), ("--report", report, HTML)], inputs)
    check_libraries(out)
    worn, under, fps = read_pair(garment, body, frames, files, [("--clearance", clearance, apart)])
    count = max(len(worn), 1 if under is None else len(under))
    if count > 1 and out.suffix.lower() not in WRITTEN_ANIMATIONS:
        able = ", ".join(WRITTEN_ANIMATIONS)
        raise ValueError(f"--out {out}: there are {count} frames, and {out.suffix} holds one; one of: {able}")
    _check_sequence_names(out, count, inputs)
    layers = [read_clip(path, None, None, frames.fps or fps, files, option="")[0] for path in below]
    compile_first("fix")
    output.say_if_compiling("queries.intersections.find_intersections")
    with output.fraction_bar(f"fixing {garment.name}") as done:
        fixed = repair(
            worn, under, clearance=apart, inner=layers, untangle=tangles, max_strain=max_strain, fps=fps, progress=done
        )
    written = _write(out, fixed.garment, fps)
    if report is not None:
        with output.progress(f"writing {report.name}"):
            fixed.to_html(report)
        written.append(str(report))
    depth = DEPTH_TOLERANCE if fixed.after.has_inside else None
    left = fixed.after.broken(Limits(depth=depth, self_pairs=0 if tangles else None, body_pairs=0))
    left += [f"below {layer.name}: {layer.words()}" for layer in fixed.layers_after if layer.wrong]
    if json:
        output.print_json(fixed.to_json() | {"remains": left, "written": written})
    else:
        output.table(("", garment.name), [*fixed.facts.items(), *(("written", name) for name in written)])
        warnings = [f"remains: {text}" for text in left]
        near = min(frame.clearance for frame in fixed.after.frames)
        if under is not None and 0.0 < near < 0.99 * apart:
            warnings.append(f"the clearance is {size_words(near)}, {size_words(apart)} was requested")
        warnings += [text for text in (fixed.remaining if left else "", fixed.shaking) if text]
        for note in fixed.after.notes:
            if note.kind is not NoteKind.NO_OVERLAP:  # not requested, and garments are open
                output.say(note.line)
        for text in warnings:
            output.warn(text)
    if count > 1 and body is not None and not json:
        of_body = [] if frames.body_part is None else ["--body-part", frames.body_part]
        words = shlex.join(["pliant", "check", str(out), "--body", str(body), *of_body])
        output.say(f"note: {out.name} has the garment alone, as positions per frame, without bones; {words} checks it")
    if files != PAIR:
        output.say("note: written in metres, y up; read it without --units and --up")
    return int(bool(left))


def _require_part(garment: pathlib.Path, body: pathlib.Path | None, frames: FrameOptions) -> None:
    """Raise ValueError for a file of several parts of which none is said to be the garment, and none the body: a
    character and its clothes would be fixed as one cloth."""
    from ..io import is_animated
    from ..io.named import parts_of

    if body is not None or frames.part is not None or not garment.is_file() or not is_animated(garment):
        return
    names = parts_of(garment)
    if len(names) > 1:
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        raise ValueError(
            f"{garment} contains {listed}; say which is the garment, and on which it is worn: --part NAME --body-part "
            "NAME (or --body FILE)"
        )


def _check_sequence_names(out: pathlib.Path, count: int, inputs: list[pathlib.Path]) -> None:
    """Raise ValueError where a file of the .obj sequence would overwrite an input or join the input sequence."""
    if count == 1 or out.suffix.lower() != ".obj":
        return
    names = [f"{out.stem}.mtl", *(f"{out.stem}_{t:04d}.obj" for t in range(count))]
    for path in inputs:
        many = any(c in path.name for c in "*?")
        files = path.iterdir() if path.is_dir() else path.parent.glob(path.name) if many else [path]
        read = {file.resolve() for file in files}
        for name in names:
            if out.with_name(name).resolve() in read:
                raise ValueError(f"--out {out} would write {name}, a file that is read; choose another name")
        folder, pattern = (path, "*") if path.is_dir() else (path.parent, path.name)
        if (many or path.is_dir()) and folder.resolve() == out.parent.resolve() and fnmatch.filter(names[1:], pattern):
            raise ValueError(f"--out {out} would be among the frames of {path} that are read; choose another folder")


def _write(out: pathlib.Path, garment: Any, fps: float) -> list[str]:
    from ..io import save, save_animation
    from ..io.formats import WRITTEN

    if garment.still and out.suffix.lower() in WRITTEN:
        save(out, garment.mesh)
        return [str(out)]
    files = [str(path) for path in save_animation(out, [garment], fps)]
    return files if len(files) <= 3 else [files[0], f"... {len(files) - 2} more", files[-1]]

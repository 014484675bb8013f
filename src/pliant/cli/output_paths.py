"""Checks of output paths before the computation starts, so that long runs do not end with "no such folder"."""

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..files import check_writable

if TYPE_CHECKING:
    from ..scene import Scene


def check_outputs(
    outputs: Sequence[tuple[str, pathlib.Path | None, Sequence[str]]], inputs: Sequence[pathlib.Path | None] = ()
) -> None:
    """Check outputs, each (option, path or None, allowed extensions); raises ValueError or OSError, writes nothing."""
    sources = [path.resolve() for path in inputs if path is not None]
    options: dict[pathlib.Path, str] = {}
    for option, path, endings in outputs:
        if path is None:
            continue
        ending = path.suffix.lower()
        if ending not in endings and not path.is_dir():
            other = next((f"; use {name} {path}" for name, _, allowed in outputs if ending in allowed), "")
            from ..io.formats import names_of

            known = names_of(endings) if ".exr" in endings else ", ".join(endings)
            raise ValueError(f"{option} {path}: unknown extension {path.suffix!r}; one of: {known}{other}")
        resolved = path.resolve()
        if resolved in sources:
            raise ValueError(f"{option} {path} would overwrite an input file; choose another name")
        if resolved in options:
            raise ValueError(f"{options[resolved]} and {option} are the same file, {path}")
        options[resolved] = option
        check_output(path)


def check_animation_files(
    option: str, path: pathlib.Path, scene: "Scene", frames: int, inputs: Sequence[pathlib.Path | None]
) -> None:
    """Raise ValueError if a run of `frames` frames, written to `path`, would overwrite an input: a sequence of OBJ
    files and point caches have names of their own."""
    from ..io.named import ClipName, animation_files

    soft = [b for b in range(len(scene.bodies)) if b in scene.deformable or b in scene.deforming_motions]
    written = soft if path.suffix.lower() in (".pc2", ".mdd", ".exr", ".png") else range(len(scene.bodies))
    still = {b for b in written if b not in soft and scene.bodies[b].motion is None}
    clips = [ClipName(scene.bodies[b].mesh.name, b in still) for b in written]
    sources = [each.resolve() for each in inputs if each is not None]
    for file in animation_files(path.resolve(), clips, frames + 1):
        if file in sources:
            raise ValueError(f"{option} {path} would overwrite an input file, {file.name}; choose another name")


def check_output(path: pathlib.Path) -> None:
    """Raise OSError if no file can be created at the path; missing folders are tested at their nearest ancestor."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file name")
    try:
        check_writable(path.resolve().parent)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write {path}: {error.strerror}") from None

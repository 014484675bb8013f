"""Reading mesh files for commands: the same two options everywhere, and a word when something looks wrong."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Literal

from ..errors import MeshFileError
from . import output

if TYPE_CHECKING:
    from ..clip import Clip
    from ..mesh import Mesh


@dataclasses.dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    units: str = "m"
    "units of the files: m, cm, mm, in, ft, or metres per unit"
    up: Literal["x", "y", "z"] = "y"
    "the axis that points up in the files"


PLAIN = FileOptions()


def check_sources(*paths: pathlib.Path | None) -> None:
    """Say at once, before anything is imported, which file is not there; patterns of sequences are looked at later."""
    for path in paths:
        if path is not None and not path.exists() and not any(c in path.name for c in "*?"):
            raise MeshFileError(path, "", "no such file")


def read_mesh(path: pathlib.Path, options: FileOptions) -> "Mesh":
    """Load a mesh; warn about an implausible size and about defects that change results."""
    from ..io import load, size_warning

    mesh = load(path, units=options.units, up=options.up)
    if warning := size_warning(mesh):
        output.warn(f"{path}: {warning}")
    if defects := mesh.issues.words(defects_only=True):
        output.warn(f"{path}: {defects}")
    return mesh


def read_clip(
    path: pathlib.Path,
    points: pathlib.Path | None,
    clip: str | None,
    fps: float | None,
    options: FileOptions,
    part: str | None = None,
) -> "tuple[Clip, float]":
    """Load what moves or stands still, and its frames a second; warn about an implausible size."""
    from ..io import size_warning
    from ..io.footage import load_clip

    found, rate = load_clip(path, points=points, clip=clip, fps=fps, part=part, units=options.units, up=options.up)
    if warning := size_warning(found.mesh):
        output.warn(f"{path}: {warning}")
    return found, rate

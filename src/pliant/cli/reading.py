"""Reading mesh files for commands: the same two options everywhere, and a word when something looks wrong."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Literal

from . import output

if TYPE_CHECKING:
    from ..mesh import Mesh


@dataclasses.dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    units: str = "m"
    "units of the files: m, cm, mm, in, ft, or metres per unit"
    up: Literal["x", "y", "z"] = "y"
    "the axis that points up in the files"


PLAIN = FileOptions()


def read_mesh(path: pathlib.Path, options: FileOptions) -> "Mesh":
    """Load a mesh; warn about an implausible size and about defects that change results."""
    from ..io import load, size_warning

    mesh = load(path, units=options.units, up=options.up)
    if warning := size_warning(mesh):
        output.warn(f"{path}: {warning}")
    if defects := mesh.issues.words(defects_only=True):
        output.warn(f"{path}: {defects}")
    return mesh

"""Reading USD stages (`.usda`, `.usdc`, `.usd`, `.usdz`) through the extra `[usd]`, in a process of its own.

Meshes with their transforms, animated points, skeletons and blend shapes, as the stage composes them from layers,
references, variants and instances. The unit and the up axis are those of the stage.
"""

import dataclasses
import json
import logging
import pathlib
import sys
from typing import NamedTuple

from .converted import Converted, convert
from .loaded_file import Source, digest
from .reading import Input, Parts
from .usd_core import EXTRA, installed

_log = logging.getLogger("pliant.io")
ENDINGS = (".usda", ".usdc", ".usd", ".usdz")


class Block(NamedTuple):
    """The vertices start..start+points-1 of a mesh are the points of the prim at `path`."""

    path: str
    start: int
    points: int


@dataclasses.dataclass
class UsdSource(Source):
    """The stage of a mesh: a writer can override its points. `first`: time code of the first frame; textures: the file
    of the colour texture of each material, or an empty name."""

    stage: pathlib.Path
    blocks: tuple[Block, ...]
    first: float
    textures: tuple[str, ...]


def read(file: Input) -> Parts:
    """Read the meshes of a stage at its first time code."""
    return read_stage(file, single=True).parts


def read_stage(file: Input, *, single: bool, fps: float | None = None) -> Converted:
    """Read the meshes of a stage at every time code, or at `fps` frames per second."""
    if file.path.suffix.lower() == ".gz":
        raise file.fail("", "a stage may refer to files beside it; unpack it")
    if not installed():
        raise file.fail("", f"reading USD needs usd-core: {EXTRA}")
    options = {"part": file.part, "single": single, "fps": fps, "max_bytes": file.max_bytes}
    command = [sys.executable, "-P", "-m", "pliant.io.usd_stage", str(file.path), "{folder}", json.dumps(options)]
    found = convert(file, command, "usd-core")
    for note in found.facts["notes"]:
        _log.warning("%s %s", file.path, note)
    blocks = tuple(Block(**block) for block in found.facts["blocks"])
    textures = tuple(str(entry.get("texture", "")) for entry in found.facts["materials"])
    stage = file.path.resolve()
    source = UsdSource(digest(found.parts.faces), stage, blocks, float(found.facts["first"]), textures)
    source.partly = file.part is not None
    return found._replace(parts=dataclasses.replace(found.parts, source=source))

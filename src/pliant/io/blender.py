"""Alembic and FBX through Blender, which reads and writes them in a Python of its own.

`pip install bpy==4.5.0` in an environment of its own, whose Python the variable PLIANT_BLENDER names; Blender's NumPy
is older than that of pliant.
"""

import dataclasses
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.clip import Clip
from .converted import Converted, convert
from .gltf_write import MOST_TARGETS
from .gltf_write import write_clips as write_glb
from .gltf_write import write_mesh as write_glb_mesh
from .reading import Input, Parts

ENDINGS = (".abc", ".fbx")
_NEEDS = "needs Blender: pip install bpy==4.5.0 in an environment of its own, and set PLIANT_BLENDER to its Python"
_PROGRAM = pathlib.Path(__file__).with_name("blender_program.py")
_SECONDS = 1800.0


def python() -> str | None:
    """The Python that has Blender's module, or None."""
    named = os.environ.get("PLIANT_BLENDER")
    if named:
        return named if pathlib.Path(named).is_file() else None
    return sys.executable if importlib.util.find_spec("bpy") is not None else None


def require(path: str | os.PathLike[str]) -> None:
    """Raise ValueError without Blender; also called before a simulation starts."""
    if python() is None:
        raise ValueError(f"{pathlib.Path(path).suffix} ({path}) {_NEEDS}")


def read(file: Input) -> Parts:
    """Read the meshes of a file at its first frame."""
    return read_file(file, single=True).parts


def read_file(file: Input, *, single: bool, fps: float | None = None) -> Converted:
    """Read the meshes of a file at every frame, or at `fps` frames per second."""
    if file.path.suffix.lower() == ".gz":
        raise file.fail("", "Blender reads no packed files; unpack it")
    program = python()
    if program is None:
        raise file.fail("", _NEEDS)
    options = {"part": file.part, "single": single, "fps": fps, "max_bytes": file.max_bytes}
    words = [program, "-P", str(_PROGRAM), "read", str(file.path.resolve()), "{folder}", json.dumps(options)]
    found = convert(file, words, "Blender")
    # the images of the file may be anywhere: only their colour materials are kept
    materials = tuple({k: v for k, v in entry.items() if k != "texture"} for entry in found.parts.materials)
    return found._replace(parts=dataclasses.replace(found.parts, materials=materials))


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write one static mesh."""
    require(path)
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made.glb"
        write_glb_mesh(made, mesh)
        _written(pathlib.Path(path), made, 24.0, 1)


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> None:
    """Write all clips: deforming ones as points of each frame (Alembic) or as shape keys (FBX)."""
    require(path)
    frames = max(len(clip) for clip in clips)
    if frames > MOST_TARGETS + 1:
        ending = pathlib.Path(path).suffix
        raise ValueError(f"{path}: {frames} frames, and {ending} is written with at most {MOST_TARGETS + 1}; use .usda")
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made.glb"
        write_glb(made, clips, fps)
        _written(pathlib.Path(path), made, fps, frames)


def _written(path: pathlib.Path, made: pathlib.Path, fps: float, frames: int) -> None:
    out = made.with_suffix(path.suffix.lower())
    options = json.dumps({"fps": fps, "frames": frames})
    words = [str(python()), "-P", str(_PROGRAM), "write", str(made), str(out), options]
    ended = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    if not out.is_file():
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(f"Blender could not write {path} ({said[-1][:300] if said else ended.returncode})")
    with atomic_write(path) as stream, out.open("rb") as content:
        shutil.copyfileobj(content, stream)

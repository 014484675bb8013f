"""Mesh files in and out: one table from extension to reader and writer.

Only `MeshFileError` leaves a reader, whatever the file holds. Files are read in metres with y up unless told otherwise.
"""

import importlib
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..clip import Clip
from ..door import door, wrong
from ..errors import MeshFileError
from ..mesh import Mesh
from ..validate import UNITS, choice, number, size_text
from .reading import Input, Parts, default_limit, read_input
from .source import Source

if TYPE_CHECKING:  # its kernels need a compiler, which reading a mesh does not
    from ..character import Character

# rows of the turn that brings an axis up: x up (x,y,z) -> (-y,x,z), z up (x,y,z) -> (x,z,-y)
_TURNS = {
    "x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "y": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
}

_BEGINS = {b"glTF": ".glb", b"ply": ".ply", b"PK": ".npz", b"OFF": ".off", b"$Mesh": ".msh", b"# vtk": ".vtk"}
PARTED = (".obj", ".glb", ".gltf")  # files that hold several things by name
# extension -> module.function, imported when first needed: (read a mesh, write a mesh, write clips)
FORMATS: dict[str, tuple[str | None, str | None, str | None]] = {
    ".obj": ("obj.read", "writing.write_obj", "writing.write_obj_sequence"),
    ".ply": ("ply.read", "writing.write_ply", None),
    ".stl": ("stl.read", "writing.write_stl", None),
    ".off": ("off.read", "writing.write_off", None),
    ".glb": ("gltf.read", "gltf_write.write_mesh", "gltf_write.write_clips"),
    ".gltf": ("gltf.read", None, None),
    ".npz": ("npz.read", "writing.write_npz", "writing.write_clips_npz"),
    ".msh": ("gmsh.read", "tet_writing.write_gmsh", None),
    ".mesh": ("medit.read", "tet_writing.write_medit", None),
    ".meshb": ("medit.read_binary", None, None),
    ".node": ("tetgen.read", None, None),
    ".ele": ("tetgen.read", None, None),
    ".vtk": ("vtk.read", "tet_writing.write_vtk", None),
    ".vtu": ("vtu.read", None, None),
    ".pc2": (None, None, "writing.write_pc2"),
    ".usda": (None, "usd.write_mesh", "usd.write_clips"),
    ".usdc": (None, "usd.write_mesh_binary", "usd.write_clips_binary"),
    ".usd": (None, "usd.write_mesh_binary", "usd.write_clips_binary"),
}


@door
def load(
    path: str | os.PathLike[str],
    *,
    part: str | None = None,
    units: str | float = "m",
    up: str = "y",
    max_bytes: int | None = None,
) -> Mesh:
    """Read a surface from OBJ, PLY, STL, OFF, GLB, glTF or npz, or a mesh of tets (or a surface) from npz, Gmsh .msh,
    MEDIT .mesh, TetGen .node and .ele, VTK .vtk and .vtu; each also as `.gz`.

    `units` the file is in: m, cm, mm, in, ft or metres per unit. `up`: its axis that points up; the mesh is turned so
    that y does. Polygons become fans of triangles; the file's vertices keep their order. A bad file is a MeshFileError.

    `part`: only what has this name, a node or mesh of a GLB or glTF with all below it, an object or group of an OBJ.
    """
    factor = _factor(units)
    choice("axis", up, ("x", "y", "z"))
    target = pathlib.Path(path)
    if target.is_dir():
        raise MeshFileError(target, "", "is a folder; give the name of a file in it")
    reader = _function(target, 0)
    check_part(target, part)
    file = read_input(target, default_limit() if max_bytes is None else max_bytes, part)
    try:
        # what overflows or was never a number is found by the checks, which name its place
        with np.errstate(all="ignore"):
            parts = reader(file)
        if not len(parts.faces):
            raise file.fail(
                "", f"no faces ({len(parts.vertices)} vertices); pliant reads surfaces, not points or lines"
            )
        return _mesh(file, parts, factor, up)
    except MeshFileError as error:
        other = _other_kind(target, file.data)
        if other and error.path == os.fspath(target):
            raise MeshFileError(target, error.where, f"{error.why}; it begins as a {other} file does") from None
        raise
    except MemoryError:
        raise file.fail("", f"too large to read ({size_text(len(file.data))} unpacked)") from None


def _other_kind(path: pathlib.Path, data: bytes) -> str:
    """The ending that the first bytes ask for, where it is another than the file's."""
    found = next((kind for begin, kind in _BEGINS.items() if data.startswith(begin)), "")
    return found if found != extension(path) and FORMATS.get(found) != FORMATS.get(extension(path)) else ""


def check_part(path: pathlib.Path, part: str | None) -> None:
    """Raise where a part is asked for of a kind of file that has none."""
    if part is not None and extension(path) not in PARTED:
        also = "; its clips are named by clip" if extension(path) == ".npz" else ""
        raise MeshFileError(path, "", f"part {part!r} was asked for; only {', '.join(PARTED)} files have parts{also}")


@door
def load_character(
    path: str | os.PathLike[str],
    *,
    part: str | None = None,
    units: str | float = "m",
    up: str = "y",
    max_bytes: int | None = None,
) -> "Character":
    """Read a character from GLB or glTF: its mesh, bones, weights, morph targets and clips; else a MeshFileError.

    `part`, `units` and `up` as for `load`. A mesh that merely hangs on a node is held by a bone of its own, that node.
    """
    factor = _factor(units)
    choice("axis", up, ("x", "y", "z"))
    target = pathlib.Path(path)
    if extension(target) not in (".glb", ".gltf"):
        raise MeshFileError(target, "", f"unknown extension {extension(target)!r}; characters are .glb or .gltf files")
    file = read_input(target, default_limit() if max_bytes is None else max_bytes, part)
    from .gltf_character import read

    try:
        with np.errstate(all="ignore"):
            return read(file, np.array(_TURNS[up]) * factor)
    except MemoryError:
        raise file.fail("", f"too large to read ({size_text(len(file.data))} unpacked)") from None


def is_animated(path: str | os.PathLike[str], max_bytes: int | None = None) -> bool:
    """Whether a file is a GLB or glTF with at least one clip."""
    target = pathlib.Path(path)
    if extension(target) not in (".glb", ".gltf"):
        return False
    from .gltf_document import Document

    file = read_input(target, default_limit() if max_bytes is None else max_bytes)
    return bool(Document(file).items("animations"))


@door
def save_character(path: str | os.PathLike[str], character: "Character") -> None:
    """Write a character with its bones, weights, morph targets and clips as a skinned GLB, in metres with y up."""
    from ..character import Character

    if not isinstance(character, Character):
        raise wrong("character", character, "a Character, as load_character gives it")
    if pathlib.Path(path).suffix.lower() != ".glb":
        raise ValueError(f"cannot write a character as {pathlib.Path(path).suffix!r} ({path}); expected .glb")
    from .gltf_character_write import write_character

    write_character(path, character)


def _mesh(file: Input, parts: Parts, factor: float, up: str) -> Mesh:
    turned = np.array(_TURNS[up])
    # by whole quarters, so exact; adding zero clears the minus of -0
    x = (
        parts.vertices[:, np.abs(turned).argmax(1)] * turned.sum(1) * factor + 0.0
        if up != "y"
        else parts.vertices * factor
    )
    try:
        mesh = Mesh(
            x,
            parts.faces,
            np.zeros((0, 4), np.int32) if parts.tets is None else parts.tets,
            name=file.name,
            uv=parts.uv,
            material=parts.material,
            materials=parts.materials,
            source=parts.source,
        )
        if isinstance(mesh.source, Source):
            mesh.source.vertices = mesh.vertices
            mesh.source.placed[:, :3] = turned * factor
        return mesh
    except ValueError as error:
        raise file.fail("", str(error)) from None


def _factor(units: str | float) -> float:
    if isinstance(units, str) and units in UNITS:
        return UNITS[units]
    try:
        return number("units", float(units) if isinstance(units, str) else units, above=0.0)
    except ValueError:
        raise ValueError(
            f"unknown units {units!r}; one of: {', '.join(UNITS)}, or a number of metres per unit"
        ) from None


@door
def save(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write a mesh as OBJ, PLY, STL, OFF, GLB, npz or USD, with its tets as npz, Gmsh .msh, MEDIT .mesh or VTK .vtk, in
    metres with y up.

    The old file stands until the new one does.

    A mesh loaded from OBJ or GLB goes back into a copy of that file: vertex order, texture coordinates, materials,
    textures, skins kept, positions replaced.
    """
    if not mesh.n_faces and extension(pathlib.Path(path)) != ".npz":
        raise ValueError(f"{mesh.name!r} has no faces to write")
    _function(pathlib.Path(path), 1)(path, mesh)


@door
def save_animation(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write clips as animated GLB, npz or USD, as PC2, or as a sequence of OBJ files, `name_0000.obj` and on.

    Returns the files that were written: PC2 has one for each clip that bends, a sequence one for each frame.
    """
    number("fps", fps, above=0.0)
    if not clips:
        raise ValueError("clips is empty; expected at least one Clip")
    moving = {len(clip) for clip in clips if not clip.still}
    if len(moving) > 1:
        raise ValueError(f"the clips have {' and '.join(map(str, sorted(moving)))} frames; expected the same number")
    return _function(pathlib.Path(path), 2)(path, clips, float(fps)) or [pathlib.Path(path)]


def check_libraries(path: str | os.PathLike[str]) -> None:
    """Raise ValueError where this ending is written through a library that is not there; nothing is written yet."""
    if pathlib.Path(path).suffix.lower() in (".usdc", ".usd"):
        from .usd import require

        require(path)


def _function(path: pathlib.Path, use: int) -> Callable[..., Any]:
    """The reader (0), writer (1) or animation writer (2) for this extension."""
    kind = extension(path) if use == 0 else path.suffix.lower()
    entry = FORMATS.get(kind, (None, None, None))[use]
    if entry is None:
        known = ", ".join(name for name, row in FORMATS.items() if row[use])
        if use == 0:
            raise MeshFileError(path, "", f"unknown extension {kind!r}; one of: {known}, each also with .gz")
        what = "a mesh" if use == 1 else "an animation"
        raise ValueError(f"cannot write {what} as {kind!r} ({path}); one of: {known}")
    module, name = entry.split(".")
    return getattr(importlib.import_module(f".{module}", __name__), name)


def extension(path: pathlib.Path) -> str:
    """Lower-case extension, `.gz` taken off."""
    name = path.name.lower().removesuffix(".gz")
    return pathlib.PurePath(name).suffix


def size_warning(mesh: Mesh) -> str | None:
    """A sentence when the mesh is implausibly large or small for metres, with a guess; None when it is not."""
    sides = mesh.bounds[1] - mesh.bounds[0]
    largest = float(sides.max())
    word = ("wide", "tall", "deep")[int(np.argmax(sides))]
    if largest > 100.0:
        # a person is 170 cm, a brain 170 mm: below a kilometre both are likely
        guess, use = ("centimetres or ", "cm or --units mm") if largest < 1000.0 else ("", "mm")
        return f"the mesh is {largest:.4g} m {word}; is it in {guess}millimetres? use --units {use}"
    if largest < 1e-3:
        return f"the mesh is only {largest:.3g} m {word}; are its units larger than metres? use --units NUMBER"
    return None

"""Reading and writing of mesh files; `formats.FORMATS` maps each extension to its reader and writers.

Readers raise only `MeshFileError`, whatever the file contains. Files are read in metres with y up by default.
"""

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import check_arguments, wrong
from ..errors import MeshFileError
from ..mesh import Mesh
from ..motion.clip import Clip
from ..validate import UNITS, choice, number, size_text
from .formats import FORMATS, NONE, READ, WITH_PARTS, WRITTEN, WRITTEN_ANIMATIONS, WRITTEN_LINES, function, names_of
from .loaded_file import Source
from .reading import Input, Parts, default_limit, read_input

if TYPE_CHECKING:  # its kernels need a compiler; reading a mesh does not
    from ..motion.character import Character

# rows of the rotation from the file's up axis to y: x up (x,y,z) -> (-y,x,z), z up (x,y,z) -> (x,z,-y)
TURNS = {
    "x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "y": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
}

_REMEDIES = {  # files of other programs -> what to do with them
    ".vrm": "a VRM file is a GLB: copy it to a name that ends in .glb",
    ".blend": "in Blender, the extension checks and fixes it (docs/blender.md); or export it as .glb",
}
_MAGIC_BYTES = {b"glTF": ".glb", b"ply": ".ply", b"PK": ".npz", b"OFF": ".off", b"$Mesh": ".msh", b"# vtk": ".vtk"}


@check_arguments
def load(
    path: str | os.PathLike[str],
    *,
    part: str | None = None,
    units: str | float = "m",
    up: str = "y",
    max_bytes: int | None = None,
) -> Mesh:
    """Read a surface from .obj, .ply, .stl, .off, .glb, .gltf or .npz, or a tet mesh (or a surface) from .npz, .msh
    (Gmsh), .mesh (MEDIT), .node and .ele (TetGen), .vtk and .vtu (VTK); each also with .gz. With the extra [usd] also
    the first frame of .usda, .usdc, .usd and .usdz, in the units and axes of the stage; with Blender of .abc and .fbx.

    `units`: the unit of the file, one of m, cm, mm, in, ft, or a number of metres per unit. `up`: the file's up axis;
    the mesh is rotated so that y is up. Polygons are triangulated as fans; the file's vertex order is kept. An invalid
    file raises MeshFileError.

    `part`: read only the node or mesh of that name in a GLB or glTF, with its descendants, the prim of that name or
    path in a USD stage, or the object or group of that name in an OBJ. A file with lines and no
    faces (.obj, .npz) gives a mesh of `lines`, for strands.
    """
    factor = metres_per_unit(units)
    choice("axis", up, ("x", "y", "z"))
    target = pathlib.Path(path)
    if target.is_dir():
        raise MeshFileError(target, "", "is a folder; give the name of a file in it")
    reader = FORMATS.get(extension(target), NONE).read
    if reader is None:
        known = _REMEDIES.get(extension(target), f"one of: {', '.join(READ)}, each also with .gz")
        raise MeshFileError(target, "", f"unknown extension {extension(target)!r}; {known}")
    check_part(target, part)
    file = read_input(target, default_limit() if max_bytes is None else max_bytes, part)
    return _read_mesh(file, function(reader), factor, up)


def _read_mesh(file: Input, reader: Callable[[Input], Parts], factor: float, up: str) -> Mesh:
    """Return the mesh that `reader` finds in a file."""
    target = file.path
    try:
        # the checks below find overflows and NaNs and report where they are
        with np.errstate(all="ignore"):
            parts = reader(file)
        if not len(parts.faces) and not len(parts.marks.lines):
            raise file.fail(
                "", f"no faces ({len(parts.vertices)} vertices); pliant reads surfaces and lines, not points"
            )
        return _mesh(file, parts, factor, up)
    except MeshFileError as error:
        other = _other_kind(target, file.data)
        if other and error.path == os.fspath(target):
            raise MeshFileError(target, error.where, f"{error.why}; it begins like a {other} file") from None
        raise
    except MemoryError:
        raise file.fail("", f"too large to read ({size_text(len(file.data))} unpacked)") from None


def _other_kind(path: pathlib.Path, data: bytes) -> str:
    """Return the extension that the first bytes indicate if it differs from the file's, else an empty string."""
    found = next((kind for begin, kind in _MAGIC_BYTES.items() if data.startswith(begin)), "")
    return found if found != extension(path) and FORMATS.get(found) != FORMATS.get(extension(path)) else ""


def check_part(path: pathlib.Path, part: str | None) -> None:
    """Raise MeshFileError if a part is requested from a format that has no named parts."""
    if part is not None and extension(path) not in WITH_PARTS:
        also = "; use clip to choose one of its clips" if extension(path) == ".npz" else ""
        able = ", ".join(WITH_PARTS)
        raise MeshFileError(path, "", f"part {part!r} was requested; only {able} files have parts{also}")


@check_arguments
def load_character(
    path: str | os.PathLike[str],
    *,
    part: str | None = None,
    units: str | float = "m",
    up: str = "y",
    max_bytes: int | None = None,
) -> "Character":
    """Read a character from GLB or glTF: its mesh, bones, weights, morph targets and clips.

    `part`, `units` and `up` are those of `load`. A mesh without a skin is bound to one bone, its node. An invalid file
    raises MeshFileError.
    """
    factor = metres_per_unit(units)
    choice("axis", up, ("x", "y", "z"))
    target = pathlib.Path(path)
    if extension(target) not in (".glb", ".gltf"):
        raise MeshFileError(target, "", f"characters are .glb or .gltf files, not {extension(target)!r}")
    file = read_input(target, default_limit() if max_bytes is None else max_bytes, part)
    from .gltf_character import read

    try:
        with np.errstate(all="ignore"):
            return read(file, np.array(TURNS[up]) * factor)
    except MemoryError:
        raise file.fail("", f"too large to read ({size_text(len(file.data))} unpacked)") from None


def load_mesh_or_character(
    path: str | os.PathLike[str], *, units: str | float = "m", up: str = "y"
) -> "Mesh | Character":
    """Read a character, as `load_character` does, if the file is a GLB or glTF with at least one clip, and otherwise a
    mesh, as `load` does; the file is read once."""
    target = pathlib.Path(path)
    if extension(target) not in (".glb", ".gltf"):
        return load(path, units=units, up=up)
    factor = metres_per_unit(units)
    choice("axis", up, ("x", "y", "z"))
    from .gltf import Reader
    from .gltf_document import Document

    file = read_input(target, default_limit())
    document = Document(file)
    if not document.items("animations"):
        return _read_mesh(file, lambda _: Reader(document).read(), factor, up)
    from .gltf_character import read_document

    try:
        with np.errstate(all="ignore"):
            return read_document(document, np.array(TURNS[up]) * factor)
    except MemoryError:
        raise file.fail("", f"too large to read ({size_text(len(file.data))} unpacked)") from None


def is_animated(path: str | os.PathLike[str], max_bytes: int | None = None) -> bool:
    """Return True if the file is a GLB or glTF with at least one clip."""
    target = pathlib.Path(path)
    if extension(target) not in (".glb", ".gltf"):
        return False
    from .gltf_document import Document

    file = read_input(target, default_limit() if max_bytes is None else max_bytes)
    return bool(Document(file).items("animations"))


@check_arguments
def save_character(path: str | os.PathLike[str], character: "Character") -> None:
    """Write a character with its bones, weights, morph targets and clips as a skinned GLB, in metres with y up."""
    from ..motion.character import Character

    if not isinstance(character, Character):
        raise wrong("character", character, "a Character, as load_character returns it")
    if pathlib.Path(path).suffix.lower() != ".glb":
        raise ValueError(f"cannot write a character as {pathlib.Path(path).suffix!r} ({path}); expected .glb")
    from .gltf_character_write import write_character

    write_character(path, character)


def _mesh(file: Input, parts: Parts, factor: float, up: str) -> Mesh:
    turned = np.array(TURNS[up])
    # rotation by quarter turns, hence exact; adding zero turns -0 into 0
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
            marks=parts.marks,
            lines=np.zeros((0, 2), np.int32) if len(parts.faces) else parts.marks.lines,
        )
        if isinstance(mesh.source, Source):
            mesh.source.vertices = mesh.vertices
            mesh.source.placed[:, :3] = turned * factor
        return mesh
    except ValueError as error:
        raise file.fail("", str(error)) from None


def metres_per_unit(units: str | float) -> float:
    """Return the length of a unit: one of `UNITS`, or a number of metres."""
    if isinstance(units, str) and units in UNITS:
        return UNITS[units]
    try:
        return number("units", float(units) if isinstance(units, str) else units, above=0.0)
    except ValueError:
        raise ValueError(
            f"unknown units {units!r}; one of: {', '.join(UNITS)}, or a number of metres per unit"
        ) from None


@check_arguments
def save(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write a mesh as .obj, .ply, .stl, .off, .glb, .usda, .usdc or .usd, and with its tets as .npz, .msh (Gmsh), .mesh
    (MEDIT) or .vtk, in metres with y up.

    An existing file is replaced atomically. The extensions .usdc and .usd need the extra [usd], .abc and .fbx Blender.

    A mesh loaded from OBJ and saved as OBJ, or loaded from GLB or glTF and saved as GLB, with unchanged faces, is
    written into a copy of that file: positions are replaced; vertex order, texture coordinates, materials, textures and
    skins are kept. One loaded from a USD stage and saved as USD is written as a layer above the stage.
    """
    if not mesh.n_faces and extension(pathlib.Path(path)) != ".npz":
        raise ValueError(f"{mesh.name!r} has no faces to write")
    kind = pathlib.Path(path).suffix.lower()
    writer = FORMATS.get(kind, NONE).write
    if writer is None:
        raise ValueError(f"cannot write a mesh as {kind!r} ({path}); one of: {', '.join(WRITTEN)}")
    check_lines(path, [mesh])
    function(writer)(path, mesh)


@check_arguments
def save_animation(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write clips as .glb, .npz, .usda, .usdc or .usd, as .pc2 or .mdd, as vertex animation textures (.vat.exr or
    .vat.png), or as .obj files `name_0000.obj`, ...

    Returns the paths of the written files: .pc2 and .mdd have one per deforming clip, a sequence one per frame. The
    extensions .usdc and .usd need the extra [usd], .abc and .fbx Blender.
    """
    number("fps", fps, above=0.0)
    if not clips:
        raise ValueError("clips is empty; expected at least one Clip")
    moving = {len(clip) for clip in clips if not clip.still}
    if len(moving) > 1:
        raise ValueError(f"the clips have {' and '.join(map(str, sorted(moving)))} frames; expected the same number")
    kind = pathlib.Path(path).suffix.lower()
    writer = FORMATS.get(kind, NONE).write_animation
    if writer is None:
        raise ValueError(f"cannot write an animation as {kind!r} ({path}); one of: {names_of(WRITTEN_ANIMATIONS)}")
    check_lines(path, [clip.mesh for clip in clips])
    return function(writer)(path, clips, float(fps)) or [pathlib.Path(path)]


def check_lines(path: str | os.PathLike[str], meshes: Sequence[Mesh]) -> None:
    """Raise ValueError if a mesh has lines and this extension cannot hold them; nothing is written."""
    kind = pathlib.Path(path).suffix.lower()
    for mesh in meshes:
        if len(mesh.lines) and not FORMATS.get(kind, NONE).lines:
            raise ValueError(f"{mesh.name!r} has lines, which {kind!r} cannot hold; one of: {', '.join(WRITTEN_LINES)}")


def check_libraries(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if writing this extension needs a library that is not installed, or another name; nothing is
    written."""
    if pathlib.Path(path).suffix.lower() in (".usdc", ".usd"):
        from .usd_core import require

        require(path)
    if pathlib.Path(path).suffix.lower() in (".exr", ".png"):
        from .vat import require_name

        require_name(pathlib.Path(path))
    if pathlib.Path(path).suffix.lower() in (".abc", ".fbx"):
        from .blender import require as require_blender

        require_blender(path)


def extension(path: pathlib.Path) -> str:
    """Return the lower-case extension without `.gz`."""
    name = path.name.lower().removesuffix(".gz")
    return pathlib.PurePath(name).suffix


def size_warning(mesh: Mesh) -> str | None:
    """Return a warning with a guess of the unit if the size in metres is implausible, else None."""
    sides = mesh.bounds[1] - mesh.bounds[0]
    largest = float(sides.max())
    word = ("wide", "tall", "deep")[int(np.argmax(sides))]
    if largest > 100.0:
        # a person measures 170 cm, a brain 170 mm: below 1000 both units are likely
        guess, use = ("centimetres or ", "cm or --units mm") if largest < 1000.0 else ("", "mm")
        return f"the mesh is {largest:.4g} m {word}; is it in {guess}millimetres? use --units {use}"
    if largest < 1e-3:
        return f"the mesh is only {largest:.3g} m {word}; are its units larger than metres? use --units NUMBER"
    return None

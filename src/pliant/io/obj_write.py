"""Writing of Wavefront OBJ: a mesh, or clips as a sequence of files."""

import dataclasses
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.clip import Clip
from .links import inside
from .named import file_stems, sequence_file
from .obj import ObjSource
from .rows import ROWS, write_rows
from .surfaces import PLAIN, ImageFiles, surfaces

_KEYS = {"color": "map_Kd", "emission": "map_Ke", "normal": "norm"}  # textures of surfaces that are maps of an OBJ
_MAPS = ("map_", "bump", "norm", "disp", "decal", "refl")
Path = str | os.PathLike[str]


def write_mesh(path: Path, mesh: Mesh, library: Path | None = None) -> None:
    """Write into a copy of the source file (texture coordinates, groups, materials kept), if any, else a new file.

    library: an existing .mtl file with its colours, for sequences. Default: a new one next to the file.

    Coordinates are written with up to 17 digits and read back exactly. `vn` lines of a whole file are kept
    only if nothing has moved; of a part that has moved, the faces lose their normals.
    """
    source = mesh.source
    if isinstance(source, ObjSource) and source.fits(mesh):  # has its own material libraries
        _write_patched(pathlib.Path(path), mesh, source)
    else:
        beside = pathlib.Path(path).with_suffix(".mtl")
        if library is None:
            _write_library(beside, mesh)
        _write_new(pathlib.Path(path), mesh, pathlib.Path(library or beside).name)


def _write_patched(path: pathlib.Path, mesh: Mesh, source: ObjSource) -> None:
    """Write the lines of the source with new positions; the rest of a `v` line (colours) is kept."""
    moved_all = not np.array_equal(source.placed, np.eye(3, 4))
    turned = moved_all or source.moved(mesh.vertices)
    rows = {int(line): k for k, line in enumerate(source.vertex_lines)}
    for library in source.libraries:
        copy = path.parent / library.name
        if not copy.exists():
            with atomic_write(copy) as stream:
                stream.write(library.read_bytes())
            _copy_images(library, path.parent)
    lines = source.text.split(b"\n")
    with atomic_write(path) as stream:
        for number, line in enumerate(lines):
            key = line.split(None, 1)[0] if line.strip() else b""
            if number in rows:
                x = " ".join(map(repr, mesh.vertices[rows[number]].tolist()))
                line = b" ".join([b"v", x.encode(), *line.split()[4:]])
            elif source.partly and moved_all and key in (b"v", b"vn"):
                line = _placed(line, source.placed[:, :3], unit=key == b"vn")
            elif turned and key == b"vn" and not source.partly:
                continue
            elif turned and key == b"f" and number in source.face_lines:
                line = _without_normals(line)
            stream.write(line + b"\n" if number + 1 < len(lines) else line)


def _copy_images(library: pathlib.Path, folder: pathlib.Path) -> None:
    """Copy the images of a material library to the same place below `folder`, unless they exist there."""
    for line in library.read_bytes().splitlines():
        key, _, rest = line.decode("utf-8", "replace").strip().partition(" ")
        if not rest.strip() or not key.lower().startswith(_MAPS):
            continue
        for name in dict.fromkeys([rest.strip(), rest.split()[-1]]):  # options come before the name
            image, below = inside(library.parent, name), os.path.normpath(name)
            if image is not None and not below.startswith("..") and not (folder / below).exists():
                with atomic_write(folder / below) as stream:
                    stream.write(image.read_bytes())


def _placed(line: bytes, matrix: NDArray[np.float64], unit: bool) -> bytes:
    """Transform a position or normal line of another part to the coordinates of the written file."""
    words = line.split()
    matrix = matrix / np.abs(matrix).max() if unit else matrix  # the rotation without the unit factor
    try:
        x = matrix @ np.array([float(word) for word in words[1:4]])
    except ValueError:  # not used by any face, hence not validated by the reader
        return line
    return b" ".join([words[0], " ".join(map(repr, x.tolist())).encode(), *words[4:]])


def _without_normals(line: bytes) -> bytes:
    words = line.split()
    if words[0] != b"f":
        return line
    return b" ".join([b"f", *[b"/".join(word.split(b"/")[:2]).rstrip(b"/") for word in words[1:]]])


def _write_library(path: pathlib.Path, mesh: Mesh) -> None:
    """Write its materials, if it has any, and their textures as files beside them: colours, emission, opacity,
    normals, and roughness and metalness as numbers (a texture has both in channels, which no map of an OBJ has)."""
    if mesh.material is None or not mesh.materials:
        return
    files = ImageFiles(path)
    with atomic_write(path) as stream:
        for k, surface in enumerate(surfaces(mesh, (0.8, 0.8, 0.8))):
            color = " ".join(map(repr, surface.color))
            stream.write(f"newmtl {_word(mesh.materials[k], k)}\nKd {color}\n".encode())
            if (surface.metallic, surface.roughness) != (PLAIN.metallic, PLAIN.roughness):
                stream.write(f"Pr {surface.roughness!r}\nPm {surface.metallic!r}\n".encode())
            if any(surface.emission):
                stream.write(f"Ke {' '.join(map(repr, surface.emission))}\n".encode())
            if surface.transparent:
                stream.write(f"d {surface.opacity!r}\n".encode())
            for slot, key in _KEYS.items():
                if slot in surface.textures:
                    stream.write(f"{key} {files.reference(surface.textures[slot])}\n".encode())
    files.write()


def _write_new(path: pathlib.Path, mesh: Mesh, library: str) -> None:
    colored = mesh.material is not None and mesh.materials
    with atomic_write(path) as stream:
        if colored:
            stream.write(f"mtllib {library}\n".encode())
        stream.write(f"o {'_'.join(mesh.name.split()) or 'mesh'}\n".encode())
        colors = mesh.marks.colors
        white = (
            [] if colors is None else [np.clip(np.nan_to_num(colors, nan=1.0), 0.0, 1.0)]
        )  # a colour in every line, or in none
        write_rows(stream, "v ", np.column_stack([mesh.vertices, *white]))
        faces: NDArray[Any] = mesh.faces + 1
        if mesh.uv is not None:
            rows = np.ascontiguousarray(mesh.uv.reshape(-1, 2) + 0.0)
            _, first, inverse = np.unique(rows.view("V16").ravel(), return_index=True, return_inverse=True)
            write_rows(stream, "vt ", rows[first])
            texture = inverse.reshape(-1, 3) + 1
        order = [np.arange(0 if len(mesh.lines) else mesh.n_faces)]
        groups = _groups(mesh)
        if (colored or groups) and len(order[0]):
            own: list[NDArray[Any]] = [*groups.values(), *([mesh.material] if mesh.material is not None else [])]
            # runs of one material and the same groups keep the order of the faces
            ends = np.any([each[1:] != each[:-1] for each in own], axis=0)
            order = np.split(order[0], np.flatnonzero(ends) + 1)
        for run in order:
            if groups and len(run):
                named = [name for name, inside in groups.items() if inside[run[0]]]
                stream.write(f"g {' '.join(named) or 'default'}\n".encode())
            if colored and mesh.material is not None and len(run):
                k = int(mesh.material[run[0]])
                stream.write(f"usemtl {_word(mesh.materials[k], k)}\n".encode())
            for f in range(0, len(run), ROWS):
                part = run[f : f + ROWS]
                if mesh.uv is None:
                    text = "".join(f"f {a} {b} {c}\n" for a, b, c in faces[part].tolist())
                else:
                    both = np.stack([faces[part], texture[part]], 2).reshape(-1, 6).tolist()
                    text = "".join(f"f {a}/{i} {b}/{j} {c}/{k}\n" for a, i, b, j, c, k in both)
                stream.write(text.encode())
        lines = mesh.lines if len(mesh.lines) else mesh.marks.lines
        stream.write("".join(f"l {a} {b}\n" for a, b in (lines + 1).tolist()).encode())


def _groups(mesh: Mesh) -> dict[str, NDArray[np.int8]]:
    """Return, for each named group that has faces, which faces (m,) lie in it with all their corners."""
    found = {}
    for name, rows in mesh.marks.groups.items():
        inside = np.zeros(mesh.n_vertices, np.bool_)
        inside[rows] = True
        faces = np.asarray(inside[mesh.faces].all(1), np.int8)
        if faces.any():
            found["_".join(name.split())] = faces
    return found


def _word(material: dict[str, Any], k: int) -> str:
    return "_".join(str(material.get("name", "")).split()) or f"material_{k}"


def write_clips(path: Path, clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write `name_0000.obj`, `name_0001.obj` ... for a moving clip, `name.obj` for a static one.

    With several moving or several static clips, mesh names are appended: `name-cloth_0000.obj`. Returns the paths.
    """
    target, written = pathlib.Path(path), []
    for clip, name in zip(clips, file_stems(target.stem, clips)):
        library = target.with_name(f"{name}.mtl")  # one for all frames
        source = clip.mesh.source
        if isinstance(source, ObjSource) and source.partly:  # the rest of its file would appear as static copies
            clip = dataclasses.replace(clip, mesh=dataclasses.replace(clip.mesh, source=None))
            source = None
        if not (isinstance(source, ObjSource) and source.fits(clip.mesh)):
            _write_library(library, clip.mesh)
        for t in range(len(clip)):
            written.append(target.with_name(sequence_file(name, clip.still, t)))
            write_mesh(written[-1], clip.mesh.moved(clip.at(t)), library)
    return written

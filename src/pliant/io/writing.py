"""Writing meshes as OBJ, PLY, STL, OFF and npz, and clips as PC2, npz and OBJ sequences."""

import dataclasses
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.clip import Clip
from .obj import ObjSource

Path = str | os.PathLike[str]
_ROWS = 4096  # lines formatted per write


def write_obj(path: Path, mesh: Mesh, library: Path | None = None) -> None:
    """Write into a copy of the source file (texture coordinates, groups, materials kept), if any, else a new file.

    library: an existing .mtl file with its colours, for sequences. Default: a new one next to the file.

    Coordinates are written with up to 17 digits and read back exactly. `vn` lines are kept only if nothing has moved.
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
    """Write the colours of its materials, if it has any."""
    if mesh.material is None or not mesh.materials:
        return
    with atomic_write(path) as stream:
        for k, material in enumerate(mesh.materials):
            color = " ".join(map(repr, map(float, material.get("color", (0.8, 0.8, 0.8)))))
            stream.write(f"newmtl {_word(material, k)}\nKd {color}\n".encode())


def _write_new(path: pathlib.Path, mesh: Mesh, library: str) -> None:
    colored = mesh.material is not None and mesh.materials
    with atomic_write(path) as stream:
        if colored:
            stream.write(f"mtllib {library}\n".encode())
        stream.write(f"o {'_'.join(mesh.name.split()) or 'mesh'}\n".encode())
        write_rows(stream, "v ", mesh.vertices)
        faces: NDArray[Any] = mesh.faces + 1
        if mesh.uv is not None:
            rows = np.ascontiguousarray(mesh.uv.reshape(-1, 2) + 0.0)
            _, first, inverse = np.unique(rows.view("V16").ravel(), return_index=True, return_inverse=True)
            write_rows(stream, "vt ", rows[first])
            texture = inverse.reshape(-1, 3) + 1
        order = [np.arange(mesh.n_faces)]
        if colored and mesh.material is not None:
            starts = np.flatnonzero(np.diff(mesh.material)) + 1  # runs of one material keep the order of the faces
            order = np.split(order[0], starts)
        for run in order:
            if colored and mesh.material is not None and len(run):
                k = int(mesh.material[run[0]])
                stream.write(f"usemtl {_word(mesh.materials[k], k)}\n".encode())
            for f in range(0, len(run), _ROWS):
                part = run[f : f + _ROWS]
                if mesh.uv is None:
                    text = "".join(f"f {a} {b} {c}\n" for a, b, c in faces[part].tolist())
                else:
                    both = np.stack([faces[part], texture[part]], 2).reshape(-1, 6).tolist()
                    text = "".join(f"f {a}/{i} {b}/{j} {c}/{k}\n" for a, i, b, j, c, k in both)
                stream.write(text.encode())


def _word(material: dict[str, Any], k: int) -> str:
    return "_".join(str(material.get("name", "")).split()) or f"material_{k}"


def write_rows(stream: IO[bytes], head: str, rows: NDArray[np.float64]) -> None:
    """Write lines of numbers in the shortest form that reads back as the same float64."""
    for k in range(0, len(rows), _ROWS):
        lines = [head + " ".join(map(repr, row)) + "\n" for row in rows[k : k + _ROWS].tolist()]
        stream.write("".join(lines).encode())


def write_ply(path: Path, mesh: Mesh) -> None:
    """Write binary, little endian, float64 positions; texture coordinates as lists on the faces."""
    fields: list[tuple[Any, ...]] = [("n", "u1"), ("v", "<i4", (3,))]
    texture = ""
    if mesh.uv is not None:
        fields += [("k", "u1"), ("t", "<f8", (6,))]
        texture = "property list uchar double texcoord\n"
    rows = np.zeros(mesh.n_faces, np.dtype(fields))
    rows["n"], rows["v"] = 3, mesh.faces
    if mesh.uv is not None:
        rows["k"], rows["t"] = 6, mesh.uv.reshape(-1, 6)
    head = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {mesh.n_vertices}\nproperty double x\nproperty double y\nproperty double z\n"
        f"element face {mesh.n_faces}\nproperty list uchar int vertex_indices\n{texture}end_header\n"
    )
    with atomic_write(path) as stream:
        stream.write(head.encode())
        stream.write(mesh.vertices.astype("<f8").tobytes())
        stream.write(rows.tobytes())


def write_stl(path: Path, mesh: Mesh) -> None:
    """Write binary STL; the format has float32 positions and no shared vertices."""
    rows = np.zeros(mesh.n_faces, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")]))
    rows["normal"], rows["corners"] = mesh.face_normals, mesh.vertices[mesh.faces]
    with atomic_write(path) as stream:
        stream.write(b"pliant".ljust(80, b"\0") + mesh.n_faces.to_bytes(4, "little"))
        stream.write(rows.tobytes())


def write_off(path: Path, mesh: Mesh) -> None:
    with atomic_write(path) as stream:
        stream.write(f"OFF\n{mesh.n_vertices} {mesh.n_faces} 0\n".encode())
        write_rows(stream, "", mesh.vertices)
        for k in range(0, mesh.n_faces, _ROWS):
            rows = mesh.faces[k : k + _ROWS].tolist()
            stream.write("".join(f"3 {a} {b} {c}\n" for a, b, c in rows).encode())


def write_npz(path: Path, mesh: Mesh) -> None:
    """Write the arrays under their names in Mesh, without pickle."""
    arrays: dict[str, Any] = {"vertices": mesh.vertices, "faces": mesh.faces, "tets": mesh.tets}
    if mesh.uv is not None:
        arrays["uv"] = mesh.uv
    if mesh.material is not None:
        arrays["material"] = mesh.material
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def write_clips_npz(path: Path, clips: Sequence[Clip], fps: float) -> None:
    """Write `fps`, and for clip k `frames_k` (T,n,3), `faces_k` (m,3) and `name_k`."""
    arrays: dict[str, Any] = {"fps": np.float64(fps)}
    for k, clip in enumerate(clips):
        frames = clip.unrolled().frames
        arrays |= {f"frames_{k}": frames, f"faces_{k}": clip.mesh.faces, f"name_{k}": np.str_(clip.mesh.name)}
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def write_pc2(path: Path, clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write each deforming clip, or each moving clip if none deforms, as a point cache; return the paths.

    A file holds one mesh: with several, mesh names are appended, `name-skirt.pc2` and `name-body.pc2`. Header
    (version, points, start, frames per sample, samples), then float32.
    """
    moving = [c for c in clips if c.bends] or [c.unrolled() for c in clips if not c.still] or list(clips)
    target, written = pathlib.Path(path), []
    for clip, name in zip(moving, _names(target.stem, moving)):
        written.append(target.with_name(name + target.suffix))
        with atomic_write(written[-1]) as stream:
            stream.write(b"POINTCACHE2\0" + np.array([1, clip.frames.shape[1]], "<i4").tobytes())
            stream.write(np.array([0.0, 1.0], "<f4").tobytes() + np.array([len(clip.frames)], "<i4").tobytes())
            for frame in clip.frames:
                stream.write(frame.astype("<f4").tobytes())
    return written


def write_obj_sequence(path: Path, clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write `name_0000.obj`, `name_0001.obj` ... for a moving clip, `name.obj` for a static one.

    With several moving or several static clips, mesh names are appended: `name-cloth_0000.obj`. Returns the paths.
    """
    target, written = pathlib.Path(path), []
    for clip, name in zip(clips, _names(target.stem, clips)):
        library = target.with_name(f"{name}.mtl")  # one for all frames
        source = clip.mesh.source
        if isinstance(source, ObjSource) and source.partly:  # the rest of its file would appear as static copies
            clip = dataclasses.replace(clip, mesh=dataclasses.replace(clip.mesh, source=None))
            source = None
        if not (isinstance(source, ObjSource) and source.fits(clip.mesh)):
            _write_library(library, clip.mesh)
        for t in range(len(clip)):
            written.append(target.with_name(f"{name}.obj" if clip.still else f"{name}_{t:04d}.obj"))
            write_obj(written[-1], clip.mesh.moved(clip.at(t)), library)
    return written


def _names(stem: str, clips: Sequence[Clip]) -> Iterator[str]:
    used: set[tuple[bool, str]] = set()  # names of frames end with a number, so the two kinds cannot collide
    for clip in clips:
        alone = sum(other.still == clip.still for other in clips) == 1
        word = "".join(c if c.isalnum() or c in "-_" else "_" for c in clip.mesh.name) or "mesh"
        base = name = stem if alone else f"{stem}-{word}"
        number = 2
        while (clip.still, name) in used:
            name = f"{base}{number}"
            number += 1
        used.add((clip.still, name))
        yield name

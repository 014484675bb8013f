"""npz archives: the arrays of a Mesh or of clips by name, read without NumPy's loader and without pickle."""

import io
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..mesh.marks import Marks
from ..motion.clip import Clip
from ..validate import size_text
from .reading import MAX_RATIO, Input, Parts, check_indices, check_positions

BROKEN = (
    ValueError, TypeError, KeyError, EOFError, OSError, SyntaxError, RuntimeError, NotImplementedError, struct.error,
    tokenize.TokenError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


def read(file: Input) -> Parts:
    """Read vertices and faces or lines, and tets, uv and material if present; other arrays are ignored."""
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            return _parts(file, archive)
    except BROKEN as error:
        raise file.fail("zip", f"not a mesh in npz form ({error})") from None


def _parts(file: Input, archive: zipfile.ZipFile) -> Parts:
    x = array_of(file, archive, "vertices", "f", (None, 3))
    faces = array_of(file, archive, "faces", "iu", (None, 3))
    lines = array_of(file, archive, "lines", "iu", (None, 2))
    if x is None or (faces is None and lines is None):
        if {"frames.npy", "faces.npy"} <= set(archive.namelist()):
            raise file.fail("", "is an animation; expected a single mesh here: are two files in the wrong order?")
        there = ", ".join(sorted(name.removesuffix(".npy") for name in archive.namelist()))
        raise file.fail(
            "zip",
            f"has {there or 'nothing'}; expected arrays 'vertices' (n,3) and 'faces' (m,3) or 'lines' (s,2), or of an "
            "animation 'frames' (T,n,3) and 'faces'",
        )
    vertices = x.astype(np.float64)
    check_positions(file, vertices, lambda i: f"vertices[{i}]")
    if lines is not None and len(lines):
        check_indices(file, lines.ravel(), len(vertices), lambda k: f"lines[{k // 2}]")
        return Parts(vertices, np.zeros((0, 3), np.int32), marks=Marks(lines=lines.astype(np.int32)))
    faces = np.zeros((0, 3), np.int32) if faces is None else faces
    check_indices(file, faces.ravel(), len(vertices), lambda k: f"faces[{k // 3}]")
    parts = Parts(vertices, faces)
    tets = array_of(file, archive, "tets", "iu", (None, 4))
    if tets is not None and len(tets):
        check_indices(file, tets.ravel(), len(vertices), lambda k: f"tets[{k // 4}]")
        parts.tets = tets
    uv = array_of(file, archive, "uv", "f", (len(faces), 3, 2))
    parts.uv = None if uv is None else uv.astype(np.float64)
    material = array_of(file, archive, "material", "iu", (len(faces),))
    if material is not None and len(material):
        names, index = np.unique(material, return_inverse=True)
        parts.material = index.ravel()
        parts.materials = tuple({"name": f"material {k}"} for k in names)
    return parts


def array_of(
    file: Input, archive: zipfile.ZipFile, name: str, kinds: str, shape: tuple[int | None, ...]
) -> NDArray[Any] | None:
    """Read one array, checking its size before unpacking; None if absent."""
    where = f"{name}.npy"
    if where not in archive.namelist():
        return None
    entry = archive.getinfo(where)
    if entry.file_size > min(file.max_bytes, MAX_RATIO * len(file.data)):
        raise file.fail(where, f"unpacks to {size_text(entry.file_size)}, more than the limit for this file")
    with archive.open(entry) as member:
        stream = io.BytesIO(member.read(entry.file_size))
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise file.fail(where, f"npy version {version[0]}.{version[1]} is not read; expected 1.0 or 2.0")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers written by Python 2
        found, fortran, dtype = header(stream)
    if dtype.kind not in kinds or len(found) != len(shape) or any(s not in (None, f) for s, f in zip(shape, found)):
        letters = iter("nmk")
        wanted = f"({', '.join(next(letters) if s is None else str(s) for s in shape)})"
        kind = {"f": "real numbers", "iuf": "a number"}.get(kinds, "whole numbers")
        advice = "; frames of an animation are an array 'frames' (T, n, 3)" if name == "vertices" else ""
        raise file.fail(where, f"has shape {found} and dtype {dtype}; expected {wanted} of {kind}{advice}")
    left = len(stream.getbuffer()) - stream.tell()
    if math.prod(found) * dtype.itemsize != left:
        raise file.fail(where, f"shape {found} needs {math.prod(found) * dtype.itemsize} bytes, {left} are there")
    values = np.frombuffer(stream.getbuffer(), dtype, offset=stream.tell())
    return values.reshape(found, order="F" if fortran else "C")


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write the arrays under their names in Mesh, without pickle."""
    arrays: dict[str, Any] = {"vertices": mesh.vertices, "faces": mesh.faces, "tets": mesh.tets}
    if len(mesh.lines):
        arrays = {"vertices": mesh.vertices, "lines": mesh.lines}
    if mesh.uv is not None:
        arrays["uv"] = mesh.uv
    if mesh.material is not None:
        arrays["material"] = mesh.material
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float) -> None:
    """Write `fps`, and for clip k `frames_k` (T,n,3), `faces_k` (m,3) or `lines_k` (s,2), and `name_k`."""
    arrays: dict[str, Any] = {"fps": np.float64(fps)}
    for k, clip in enumerate(clips):
        frames = clip.unrolled().frames
        lines = clip.mesh.lines
        elements = {f"lines_{k}": lines} if len(lines) else {f"faces_{k}": clip.mesh.faces}
        arrays |= {f"frames_{k}": frames, **elements, f"name_{k}": np.str_(clip.mesh.name)}
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)

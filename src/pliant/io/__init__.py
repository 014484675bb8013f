"""Mesh files in and out: one table from extension to reader and writer.

Only `MeshFileError` leaves a reader, whatever the file holds. Files are read in metres with y up unless told otherwise.
"""

import importlib
import os
import pathlib
from collections.abc import Callable

import numpy as np

from ..errors import MeshFileError
from ..mesh import Mesh
from ..validate import choice, number, size_text
from .reading import Input, Parts, default_limit, read_input

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}

# extension -> module with `read(Input) -> Parts`; imported when first needed
READERS = {".obj": "obj", ".ply": "ply", ".stl": "stl", ".off": "off", ".glb": "gltf", ".gltf": "gltf"}


def load(
    path: str | os.PathLike[str], *, units: str | float = "m", up: str = "y", max_bytes: int | None = None
) -> Mesh:
    """Read a surface mesh from OBJ, PLY, STL, OFF, GLB or glTF, each also as `.gz`.

    `units` the file is in: m, cm, mm, in, ft or metres per unit. `up`: its axis that points up; the mesh is turned so
    that y does. Polygons become fans of triangles; the file's vertices keep their order. A bad file is a MeshFileError.
    """
    factor = _factor(units)
    choice("axis", up, ("x", "y", "z"))
    target = pathlib.Path(path)
    reader = _reader(target)
    file = read_input(target, default_limit() if max_bytes is None else max_bytes)
    try:
        parts = reader(file)
        if not len(parts.faces):
            raise file.fail(
                "", f"no faces ({len(parts.vertices)} vertices); pliant reads surfaces, not points or lines"
            )
        return _mesh(file, parts, factor, up)
    except MemoryError:
        raise file.fail("", f"too large to read ({size_text(len(file.data))} unpacked)") from None


def _mesh(file: Input, parts: Parts, factor: float, up: str) -> Mesh:
    # turning by whole quarters is exact: x up (x,y,z) -> (-y,x,z), z up (x,y,z) -> (x,z,-y)
    x = parts.vertices
    if up == "x":
        x = np.stack([-x[:, 1], x[:, 0], x[:, 2]], 1)
    elif up == "z":
        x = np.stack([x[:, 0], x[:, 2], -x[:, 1]], 1)
    try:
        return Mesh(
            x * factor if factor != 1.0 else x,
            parts.faces,
            name=file.name,
            uv=parts.uv,
            material=parts.material,
            materials=parts.materials,
            source=parts.source,
        )
    except ValueError as error:
        raise file.fail("", str(error)) from None


def _factor(units: str | float) -> float:
    if isinstance(units, str) and units in UNITS:
        return UNITS[units]
    try:
        return number("units", units, above=0.0)
    except ValueError:
        raise ValueError(
            f"unknown units {units!r}; one of: {', '.join(UNITS)}, or a number of metres per unit"
        ) from None


def _reader(path: pathlib.Path) -> Callable[[Input], Parts]:
    kind = extension(path)
    if kind not in READERS:
        known = ", ".join(READERS)
        raise MeshFileError(path, "", f"unknown extension {kind!r}; one of: {known}, each also with .gz")
    module = importlib.import_module(f".{READERS[kind]}", __name__)
    return module.read  # type: ignore[no-any-return]


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

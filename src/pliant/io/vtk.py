"""VTK legacy files (.vtk): reads unstructured grids of versions 1.0 to 5.1, ascii and binary; writes 3.0 in ascii."""

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from .cursor import Cursor
from .elements import LINE, NODES, POINT, QUAD, TET, TRIANGLE, Elements, Where, refuse
from .reading import Input, Parts, as_text, check_positions
from .rows import write_integers, write_rows

KINDS = {1: POINT, 3: LINE, 5: TRIANGLE, 9: QUAD, 10: TET}
IGNORED = (2, 4)  # poly-vertex and poly-line cells, of any length
OTHERS = {6: "triangle strips", 7: "polygons", 8: "pixels", 11: "voxels", 12: "hexahedra", 13: "wedges", 14: "pyramids"}
TYPES = {
    b"float": "f4",
    b"double": "f8",
    b"char": "i1",
    b"unsigned_char": "u1",
    b"short": "i2",
    b"unsigned_short": "u2",
    b"int": "i4",
    b"unsigned_int": "u4",
    b"long": "i8",
    b"unsigned_long": "u8",
    b"vtktypeint64": "i8",
    b"vtkidtype": "i8",
}
_HEAD = re.compile(rb"\s*#\s*vtk\s+DataFile\s+Version\s+(\d)\.(\d)\s*\Z", re.IGNORECASE)


def read(file: Input) -> Parts:
    """Parse a legacy .vtk file; point and cell data are ignored."""
    text = as_text(file).data
    cursor = Cursor(file, text)
    cursor.at = len(text) - len(text.lstrip())
    version = _HEAD.match(cursor.line("'# vtk DataFile Version'"))
    if version is None:
        raise file.fail("line 1", "not a VTK file: expected '# vtk DataFile Version x.y'")
    if (int(version[1]), int(version[2])) > (5, 1):
        raise file.fail(
            "line 1", f"version {version[1].decode()}.{version[2].decode()} is not read; expected up to 5.1"
        )
    cursor.line("a title")
    kind = cursor.word("ASCII or BINARY").upper()
    if kind not in (b"ASCII", b"BINARY"):
        raise file.fail(cursor.where, "expected ASCII or BINARY")
    dataset = (cursor.word("DATASET").upper(), cursor.word("the kind of the data set").upper())
    if dataset != (b"DATASET", b"UNSTRUCTURED_GRID"):
        excerpt = b" ".join(dataset)[:40].decode("latin-1")
        raise file.fail(cursor.where, f"{excerpt!r} is not read; save it as an unstructured grid, or as PLY")
    return _grid(cursor, kind == b"BINARY", new=version[1] == b"5")


def _grid(cursor: Cursor, binary: bool, new: bool) -> Parts:
    x = types = cells = None
    file, where = cursor.file, cursor.line_of_row(3)
    while word := cursor.peek().upper():
        if word in (b"POINT_DATA", b"CELL_DATA"):
            break
        cursor.word("a section")
        if word == b"POINTS":
            n = cursor.count("points", 3)
            dtype = _type(cursor)
            where = cursor.byte_of_row(0) if binary else cursor.line_of_row(3)
            x = _values(cursor, binary, 3 * n, dtype, "points").astype(np.float64).reshape(-1, 3)
            check_positions(file, x, where)
        elif word == b"CELLS":
            cells = _cells_5(cursor, binary) if new else _cells(cursor, binary)
        elif word == b"CELL_TYPES":
            n = cursor.count("cell types", 1)
            types = _values(cursor, binary, n, "i4", "cell types").astype(np.int64)
        elif word == b"METADATA":  # ends with an empty line
            cursor.line("metadata")
            while cursor.at < len(cursor.data) and cursor.line("metadata").strip():
                pass
        elif word == b"FIELD":
            _skip_field(cursor, binary)
        else:
            excerpt = word[:20].decode("latin-1")
            raise file.fail(cursor.where, f"expected POINTS, CELLS or CELL_TYPES, found {excerpt!r}")
    if x is None or cells is None or types is None:
        missing = "POINTS" if x is None else "CELLS" if cells is None else "CELL_TYPES"
        raise file.fail("end of file", f"no section {missing} (truncated?)")
    start, nodes, where = cells
    return assembled(file, start, nodes, types, where).parts(file, x, lambda index: index)


def assembled(
    file: Input, start: NDArray[np.int64], nodes: NDArray[np.int64], types: NDArray[np.int64], where: Where
) -> Elements:
    """Group cells `nodes[start[k]:start[k + 1]]` with VTK `types` by element type."""
    if len(types) != len(start) - 1:
        raise file.fail("", f"{len(start) - 1} cells but {len(types)} cell types")
    count, found = np.diff(start), Elements()
    for kind in np.unique(types).tolist():
        rows = np.flatnonzero(types == kind)
        if kind in IGNORED:
            continue
        if kind not in KINDS:
            raise refuse(file, where(int(rows[0])), f"{OTHERS.get(kind, 'curved or other cells')} (type {kind})")
        width = NODES[KINDS[kind]]
        wrong = count[rows] != width
        if wrong.any():
            k = int(rows[np.argmax(wrong)])
            raise file.fail(where(k), f"cell {k} is a {KINDS[kind]} of {count[k]} nodes; expected {width}")
        found.add(KINDS[kind], nodes[start[rows][:, None] + np.arange(width)], lambda k, rows=rows: where(int(rows[k])))  # type: ignore[misc]
    return found


def _type(cursor: Cursor) -> str:
    word = cursor.word("the type of numbers").lower()
    if word not in TYPES:
        excerpt = word[:20].decode("latin-1")
        raise cursor.file.fail(
            cursor.where, f"unknown type {excerpt!r}; one of: {', '.join(t.decode() for t in TYPES)}"
        )
    return TYPES[word]


def _values(cursor: Cursor, binary: bool, n: int, dtype: str, what: str) -> NDArray[Any]:
    if binary:
        cursor.line("a line break")  # the rest of the header's line
        return cursor.raw(n, ">" + dtype, what)  # always big endian
    return cursor.floats(n, what) if dtype[0] == "f" else cursor.integers(n, what)


def _cells(cursor: Cursor, binary: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], Where]:
    """Read cells of versions before 5: each is its number of nodes, then the nodes."""
    file, n = cursor.file, cursor.count("cells", 2)
    size = cursor.count("numbers of cells", 2)
    cell_line = cursor.where
    flat = _values(cursor, binary, size, "i4", "cells").astype(np.int64)
    start, at, values = np.empty(n + 1, np.int64), 0, flat.tolist()
    for k in range(n):
        start[k] = at - k  # without the counts
        at += 1 + values[at] if at < size and values[at] >= 0 else size + 1
        if at > size:
            raise file.fail(cell_line, f"cell {k} of {n} reaches beyond the {size} numbers declared")
    start[n] = at - n
    if at != size:
        raise file.fail(cell_line, f"{n} cells have {at} numbers, but {size} are declared")
    counts = np.zeros(size, np.bool_)
    counts[start[:-1] + np.arange(n)] = True
    return start, flat[~counts], lambda k: f"cell {k}"


def _cells_5(cursor: Cursor, binary: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], Where]:
    """Read cells of version 5: one more offset than cells, then the nodes of all cells."""
    n, size = cursor.count("offsets", 1), cursor.count("nodes of cells", 1)
    if n == 0:
        raise cursor.file.fail(cursor.where, "no cell offsets; expected at least one")
    parts = []
    for name, count in ((b"OFFSETS", n), (b"CONNECTIVITY", size)):
        if cursor.word(name.decode()).upper() != name:
            raise cursor.file.fail(cursor.where, f"expected {name.decode()}")
        dtype = _type(cursor)
        parts.append(_values(cursor, binary, count, dtype, name.decode().lower()).astype(np.int64))
    check_offsets(cursor.file, parts[0], size)
    return parts[0], parts[1], lambda k: f"cell {k}"


def check_offsets(file: Input, start: NDArray[np.int64], size: int) -> None:
    """Raise unless the offsets rise from 0 to the number of nodes without decreasing."""
    if start[0] != 0 or start[-1] != size or (np.diff(start) < 0).any():
        raise file.fail("offsets", f"expected numbers that rise from 0 to {size}, the number of nodes of all cells")


def _skip_field(cursor: Cursor, binary: bool) -> None:
    """Skip the arrays of a FIELD: name, components, tuples, type, values."""
    cursor.word("the name of the field")
    for _ in range(cursor.count("arrays", 4)):
        cursor.word("the name of an array")
        if (width := cursor.integer("components", 0, 1 << 20)) > 0:
            n = cursor.count("tuples", width)
            dtype = _type(cursor)
            _values(cursor, binary, width * n, dtype, "a field")


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write ascii of the legacy version 3.0, which all VTK readers support: tets, or triangles if there are none."""
    rows, kind = (mesh.tets, 10) if len(mesh.tets) else (mesh.faces, 5)
    k, width = rows.shape
    title = " ".join(mesh.name.split())[:200] or "mesh"
    title = title.encode("ascii", "replace").decode()
    with atomic_write(path) as stream:
        stream.write(f"# vtk DataFile Version 3.0\n{title}\nASCII\nDATASET UNSTRUCTURED_GRID\n".encode())
        stream.write(f"POINTS {mesh.n_vertices} double\n".encode())
        write_rows(stream, "", mesh.vertices)
        stream.write(f"CELLS {k} {k * (width + 1)}\n".encode())
        write_integers(stream, np.column_stack([np.full(k, width), rows]))
        stream.write(f"CELL_TYPES {k}\n".encode() + f"{kind}\n".encode() * k)

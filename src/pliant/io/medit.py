"""MEDIT .mesh (INRIA), read and written in ascii; the binary form .meshb raises an error."""

import os
import re

import numpy as np

from ..files import atomic_write
from ..mesh import Mesh
from .cursor import Cursor
from .elements import QUAD, TET, TRIANGLE, Elements, refuse
from .reading import Input, Parts, as_text, check_positions
from .rows import ROWS, write_integers

# keywords in lower case, because programs differ in case
_READ = {b"triangles": (TRIANGLE, 3), b"quadrilaterals": (QUAD, 4), b"tetrahedra": (TET, 4)}
_REFUSED = (b"hexahedra", b"prisms", b"pyramids", b"wedges", b"tetrahedrap2", b"trianglesp2")
_KEYWORD = re.compile(rb"[A-Za-z]\w*")
_COMMENT = re.compile(rb"#[^\n]*")


def read(file: Input) -> Parts:
    """Parse a .mesh file: vertices, triangles, quadrilaterals, tetrahedra; other sections are skipped."""
    text = as_text(file).data
    cursor = Cursor(file, _COMMENT.sub(b"", text) if b"#" in text else text)
    if cursor.word("'MeshVersionFormatted'").lower() != b"meshversionformatted":
        raise file.fail(cursor.where, "not a MEDIT file: expected 'MeshVersionFormatted'")
    cursor.integer("the version of the format", 1, 4)
    x = None
    found = Elements()
    while True:
        # skip data up to the next keyword
        keyword = _KEYWORD.search(cursor.data, cursor.at)
        if keyword is None or keyword.group().lower() == b"end":
            break
        cursor.at = keyword.end()
        name = keyword.group().lower()
        if name == b"dimension":
            if cursor.integer("the dimension") != 3:
                raise file.fail(cursor.where, "a mesh in the plane; expected dimension 3")
        elif name == b"vertices":
            n = cursor.count("vertices", 8)
            where = cursor.line_of_row(4)
            x = np.ascontiguousarray(cursor.floats(4 * n, "vertices (x, y, z, reference)").reshape(-1, 4)[:, :3])
            check_positions(file, x, where)
        elif name in _READ:
            kind, width = _READ[name]
            n = cursor.count(name.decode(), 2 * (width + 1))
            where = cursor.line_of_row(width + 1)
            rows = cursor.integers((width + 1) * n, f"{name.decode()} (vertices, reference)")
            found.add(kind, rows.reshape(-1, width + 1)[:, :width], where)
        elif name in _REFUSED and cursor.peek() not in (b"", b"0"):
            raise refuse(file, cursor.where, name.decode())
    if x is None:
        raise file.fail("end of file", "no section 'Vertices' (truncated?)")
    return found.parts(file, x, lambda nodes: nodes - 1)


def read_binary(file: Input) -> Parts:
    """Raise for a .meshb file, with advice on what to do."""
    raise file.fail("byte 0", "binary MEDIT files are not read; save it as ascii (.mesh), or as Gmsh .msh or .vtk")


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write ascii: tets, or triangles if there are none."""
    name, rows = ("Tetrahedra", mesh.tets) if len(mesh.tets) else ("Triangles", mesh.faces)
    with atomic_write(path) as stream:
        stream.write(f"MeshVersionFormatted 2\nDimension 3\nVertices\n{mesh.n_vertices}\n".encode())
        for k in range(0, mesh.n_vertices, ROWS):
            part = mesh.vertices[k : k + ROWS].tolist()
            stream.write("".join(" ".join(map(repr, row)) + " 0\n" for row in part).encode())
        stream.write(f"{name}\n{len(rows)}\n".encode())
        write_integers(stream, np.column_stack([rows + 1, np.zeros(len(rows), np.int64)]))
        stream.write(b"End\n")

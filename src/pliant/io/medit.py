"""MEDIT .mesh (INRIA): ascii; its binary form .meshb is refused."""

import re

import numpy as np

from .cursor import Cursor
from .elements import QUAD, TET, TRIANGLE, Elements, refuse
from .reading import Input, Parts, check_positions

_READ = {b"Triangles": (TRIANGLE, 3), b"Quadrilaterals": (QUAD, 4), b"Tetrahedra": (TET, 4)}
_REFUSED = (b"Hexahedra", b"Prisms", b"Pyramids", b"Wedges", b"TetrahedraP2", b"TrianglesP2")
_KEYWORD = re.compile(rb"[A-Za-z]\w*")
_COMMENT = re.compile(rb"#[^\n]*")


def read(file: Input) -> Parts:
    """Parse a .mesh file: vertices, triangles, quadrilaterals, tetrahedra; other sections are passed over."""
    cursor = Cursor(file, _COMMENT.sub(b"", file.data) if b"#" in file.data else None)
    if cursor.word("'MeshVersionFormatted'") != b"MeshVersionFormatted":
        raise file.fail(cursor.where, "not a MEDIT file: expected 'MeshVersionFormatted'")
    cursor.whole("the version of the format", 1, 4)
    x = None
    found = Elements()
    while True:
        # what a section holds beyond what is known of it is passed over
        keyword = _KEYWORD.search(cursor.data, cursor.at)
        if keyword is None or keyword.group() == b"End":
            break
        cursor.at = keyword.end()
        name = keyword.group()
        if name == b"Dimension":
            if cursor.whole("the dimension") != 3:
                raise file.fail(cursor.where, "a mesh in the plane; expected dimension 3")
        elif name == b"Vertices":
            n = cursor.count("vertices", 8)
            place = cursor.places(4)
            x = np.ascontiguousarray(cursor.floats(4 * n, "vertices (x, y, z, reference)").reshape(-1, 4)[:, :3])
            check_positions(file, x, place)
        elif name in _READ:
            kind, width = _READ[name]
            n = cursor.count(name.decode().lower(), 2 * (width + 1))
            place = cursor.places(width + 1)
            rows = cursor.wholes((width + 1) * n, f"{name.decode().lower()} (vertices, reference)")
            found.add(kind, rows.reshape(-1, width + 1)[:, :width], place)
        elif name in _REFUSED and cursor.peek() not in (b"", b"0"):
            raise refuse(file, cursor.where, name.decode().lower())
    if x is None:
        raise file.fail("end of file", "no section 'Vertices' (truncated?)")
    return found.parts(file, x, lambda nodes: nodes - 1)


def read_binary(file: Input) -> Parts:
    """Refuse a .meshb file, and say what to do."""
    raise file.fail("byte 0", "binary MEDIT files are not read; save it as ascii (.mesh), or as Gmsh .msh or .vtk")

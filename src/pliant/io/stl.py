"""STL: unconnected triangles, which `Mesh.welded` connects; read in ascii and binary, written in binary."""

import dataclasses
import os
from array import array

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from .reading import Input, Parts, as_text, check_positions, heading

_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84
_NAMING = (b"solid", b"endsolid")


def read(file: Input) -> Parts:
    """Parse an STL file. Binary files may also start with `solid`, so the file length is tested first."""
    data = file.data
    declared = int.from_bytes(data[80:84], "little") if len(data) >= _HEADER else -1
    exact = len(data) == _HEADER + _RECORD.itemsize * declared
    text = None if exact else _text(file)
    if text is not None:
        corners = _ascii(text)
    else:
        corners = _binary(file, declared)
    check_positions(file, corners, lambda i: f"triangle {i // 3}")
    return Parts(corners, np.arange(len(corners)).reshape(-1, 3))


def _text(file: Input) -> Input | None:
    """Return the file as text without trailing NUL or Ctrl-Z if it begins like an ascii STL, else None."""
    text = as_text(file)
    text = dataclasses.replace(text, data=text.data.rstrip(b"\0\x1a \t\r\n"))
    start = heading(text.data)
    begins = text.data[start : start + 5].lower() == b"solid"
    return text if begins and b"\0" not in text.data[: start + 512] else None


def _binary(file: Input, declared: int) -> NDArray[np.float64]:
    if declared < 0:
        raise file.fail(
            "byte 0", f"neither ascii nor binary STL: {len(file.data)} bytes, a binary header has {_HEADER}"
        )
    left = len(file.data) - _HEADER
    need = declared * _RECORD.itemsize
    # some exporters append less than one triangle; a longer remainder means that the count is wrong
    if not need <= left < need + _RECORD.itemsize:
        raise file.fail(
            "byte 80", f"{declared} triangles declared, which needs {need} bytes; {left} are there (truncated?)"
        )
    return np.frombuffer(file.data, _RECORD, declared, _HEADER)["corners"].reshape(-1, 3).astype(np.float64)


def _ascii(file: Input) -> NDArray[np.float64]:
    """Parse line by line: three `vertex` lines in every `facet`, and `endsolid` at the end."""
    x = array("d")
    corners = -1  # in the current facet, -1 outside
    solid = False
    for number, line in enumerate(file.data.splitlines(), 1):
        words = line.lower().split()
        if not words:
            continue
        where = f"line {number}"
        key = words[0]
        if key not in _NAMING:  # a name may hold any character
            words = line.split(b"#", 1)[0].lower().split()
            if not words:
                continue
            key = b"".join(words[:2]) if words[0] == b"end" else words[0]  # some programs write "end facet"
        if key == b"vertex":
            if corners < 0 or len(words) != 4 or b"_" in line:  # Python reads 1_0 as ten
                raise file.fail(where, "expected 'vertex x y z' inside a facet")
            try:
                x.extend(map(float, words[1:]))
            except ValueError:
                raise file.fail(where, "expected 'vertex x y z' with three numbers") from None
            corners += 1
        elif key == b"facet":
            if corners >= 0 or not solid:
                raise file.fail(where, "a facet starts inside another one, or outside a solid")
            corners = 0
        elif key == b"endfacet":
            if corners != 3:
                raise file.fail(where, f"a facet needs 3 vertices, found {max(corners, 0)}")
            corners = -1
        elif key == b"solid":
            solid = True
        elif key in (b"endsolid", b"end"):
            solid = False
        elif key not in (b"outer", b"endloop"):
            raise file.fail(where, f"unexpected {line[:20].decode('latin-1').strip()!r}")
    if solid or corners >= 0:
        raise file.fail("end of file", "no 'endsolid' (truncated?)")
    return np.array(x, np.float64).reshape(-1, 3)


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write binary STL; the format has float32 positions and no shared vertices."""
    rows = np.zeros(mesh.n_faces, _RECORD)
    rows["normal"], rows["corners"] = mesh.face_normals, mesh.vertices[mesh.faces]
    with atomic_write(path) as stream:
        stream.write(b"pliant".ljust(80, b"\0") + mesh.n_faces.to_bytes(4, "little"))
        stream.write(rows.tobytes())

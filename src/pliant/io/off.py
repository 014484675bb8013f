"""OFF, the Geomview format, with its prefixes (ST, C, N, 4) and comments; colours and normals are ignored.

As in Geomview, the keyword is optional if the file begins with the counts.
"""

import os
import re
from array import array

import numpy as np

from ..files import atomic_write
from ..mesh import Mesh
from ..mesh.polygons import fan
from .reading import Input, Parts, as_text, check_indices, check_positions, heading
from .rows import ROWS, write_rows

_HEAD = re.compile(rb"(?:ST)?(?:C?N?|NC)(4)?OFF(?![A-Z_])", re.IGNORECASE)
_COUNTS = re.compile(rb"\d+\s")


def read(file: Input) -> Parts:
    """Parse an OFF file; polygons are triangulated as fans."""
    file = as_text(file)
    start = heading(file.data)
    head = _HEAD.match(file.data, start)
    if file.data.startswith(b"nOFF", start) or not (head or _COUNTS.match(file.data, start)):
        line = file.data.count(b"\n", 0, start) + 1
        raise file.fail(f"line {line}", "not an OFF file: it does not start with 'OFF' (nOFF is not read)")
    four = head is not None and head.group(1) is not None
    lines = _content(file, head.end() if head else start)
    if not lines:
        raise file.fail("end of file", "no counts of vertices and faces")
    number, words = lines[0]
    if words[0].upper() == b"BINARY":
        raise file.fail(f"line {number}", "binary OFF is not read; save it as ascii, or as PLY")
    while len(words) < 3 and len(lines) > 1 and len(lines[1][1]) == 1:  # one count per line
        words = words + lines.pop(1)[1]
    try:
        n_vertices, n_faces = int(words[0]), int(words[1])
    except (ValueError, IndexError):
        raise file.fail(f"line {number}", "expected the counts of vertices, faces and edges") from None
    if min(n_vertices, n_faces) < 0 or n_vertices + n_faces > len(lines) - 1:
        raise file.fail(
            f"line {number}",
            f"{n_vertices} vertices and {n_faces} faces declared, but {len(lines) - 1} lines follow (truncated?)",
        )
    x = array("d")
    for number, words in lines[1 : 1 + n_vertices]:
        try:
            values = [float(w) for w in words[: 4 if four else 3]]
            x.extend([v / values[3] for v in values[:3]] if four else values)
            if len(values) < 3:
                raise ValueError
        except (ValueError, IndexError, ZeroDivisionError):
            raise file.fail(f"line {number}", f"expected numbers x y z{' w' if four else ''}") from None
    corners: list[int] = []
    counts: list[int] = []
    rows: list[int] = []
    for number, words in lines[1 + n_vertices : 1 + n_vertices + n_faces]:
        try:
            count = int(words[0])
            if not 3 <= count < len(words):
                raise ValueError
            corners += map(int, words[1 : 1 + count])
        except ValueError:
            raise file.fail(f"line {number}", "expected a face: a count of at least 3 and as many indices") from None
        counts.append(count)
        rows.append(number)
    vertices = np.array(x, np.float64).reshape(-1, 3)
    check_positions(file, vertices, lambda i: f"line {lines[1 + i][0]}")
    try:
        flat = np.array(corners, np.int64)
    except OverflowError:
        raise file.fail("faces", "a vertex index beyond 64 bits") from None
    owner = np.cumsum(counts)
    check_indices(file, flat, n_vertices, lambda k: f"line {rows[int(np.searchsorted(owner, k, side='right'))]}")
    triangles, _ = fan(np.array(counts, np.int64))
    return Parts(vertices, flat[triangles])


def _content(file: Input, start: int) -> list[tuple[int, list[bytes]]]:
    """Return the non-empty lines as (number, words), without comments."""
    first = file.data[:start].count(b"\n") + 1
    found = []
    for number, line in enumerate(file.data[start:].splitlines(), first):
        content = line.split(b"#", 1)[0]
        if b"_" in content:  # Python reads 1_0 as ten
            raise file.fail(f"line {number}", "expected numbers")
        words = content.split()
        if words:
            found.append((number, words))
    return found


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write text with up to 17 digits, which read back exactly."""
    with atomic_write(path) as stream:
        stream.write(f"OFF\n{mesh.n_vertices} {mesh.n_faces} 0\n".encode())
        write_rows(stream, "", mesh.vertices)
        for k in range(0, mesh.n_faces, ROWS):
            rows = mesh.faces[k : k + ROWS].tolist()
            stream.write("".join(f"3 {a} {b} {c}\n" for a, b, c in rows).encode())

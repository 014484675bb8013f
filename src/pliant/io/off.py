"""OFF, the Geomview format, with its prefixes (ST, C, N, 4) and comments; colours and normals are passed over."""

import re
from array import array

import numpy as np

from .reading import Input, Parts, check_indices, check_positions, fan

_HEAD = re.compile(rb"\s*(ST)?(C)?(N)?(4)?(n)?OFF", re.ASCII)


def read(file: Input) -> Parts:
    """Parse an OFF file; polygons become fans."""
    head = _HEAD.match(file.data)
    if head is None or head.group(5):
        raise file.fail("line 1", "not an OFF file: it does not start with 'OFF' (nOFF is not read)")
    four = head.group(4) is not None
    lines = _content(file, head.end())
    if not lines:
        raise file.fail("end of file", "no counts of vertices and faces")
    number, words = lines[0]
    if words[0].upper() == b"BINARY":
        raise file.fail(f"line {number}", "binary OFF is not read; save it as ascii, or as PLY")
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
    """Lines that say something, as (number, words), comments taken off."""
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

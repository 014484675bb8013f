"""TetGen: points in a .node file and tets in the .ele file next to it; either path may be given."""

import pathlib
import re

import numpy as np
from numpy.typing import NDArray

from .cursor import Cursor
from .elements import filled, refuse
from .reading import Input, Parts, as_text, check_positions, read_input

_COMMENT = re.compile(rb"#[^\n]*")


def read(file: Input) -> Parts:
    """Parse both files. Points are numbered from 0 or 1, given by the number of the first point."""
    name = file.path.name
    packed = name.lower().endswith(".gz")
    stem = pathlib.PurePath(name[:-3] if packed else name)
    given = stem.suffix.lower()
    other = ".ele" if given == ".node" else ".node"
    partner = _partner(file, stem.stem, other)
    nodes, elements = (file, partner) if given == ".node" else (partner, file)
    x, first = _points(nodes)
    return filled(elements, x, _tets(elements, first, len(x)))


def _partner(file: Input, stem: str, suffix: str) -> Input:
    for ending in (suffix, suffix + ".gz", suffix.upper()):
        path = file.path.with_name(stem + ending)
        if path.is_file():
            return read_input(path, file.max_bytes)
    raise file.fail("", f"a TetGen mesh is two files, and {stem}{suffix} is not in the same folder")


def _cursor(file: Input) -> Cursor:
    text = as_text(file).data
    return Cursor(file, _COMMENT.sub(b"", text) if b"#" in text else text)


def _points(file: Input) -> tuple[NDArray[np.float64], int]:
    """Return positions and the number of the first point."""
    cursor = _cursor(file)
    n = cursor.count("points", 8)
    dimension, attributes, marks = cursor.integers(
        3, "dimension, attributes and boundary marks of the points", 0
    ).tolist()
    if dimension != 3 or attributes > 1000 or marks > 1:
        what = f"dimension {dimension}, {attributes} attributes, {marks} boundary marks"
        raise file.fail(cursor.where, f"{what}; expected dimension 3 and 0 or 1 marks")
    if not n:
        raise file.fail(cursor.where, "no points")
    width = 4 + attributes + marks
    cursor.need(n, 2 * width, "points")
    where = cursor.line_of_row(width)
    rows = cursor.floats(n * width, "points (number, x, y, z ...)").reshape(-1, width)
    first = rows[0, 0]
    if first not in (0.0, 1.0):
        raise file.fail(where(0), f"the first point has number {first:g}; expected 0 or 1")
    wrong = rows[:, 0] != first + np.arange(n)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise file.fail(where(k), f"expected point {first + k:g}, found {rows[k, 0]:g}")
    x = np.ascontiguousarray(rows[:, 1:4])
    check_positions(file, x, where)
    return x, int(first)


def _tets(file: Input, first: int, count: int) -> NDArray[np.int64]:
    cursor = _cursor(file)
    n = cursor.count("tets", 10)
    corners, attributes = cursor.integers(2, "nodes of a tet and its attributes", 0, 1000).tolist()
    if corners != 4:
        raise refuse(file, cursor.where, f"tetrahedra of {corners} nodes")
    if not n:
        raise file.fail(cursor.where, "no tets")
    width = 5 + attributes
    cursor.need(n, 2 * width, "tets")
    where = cursor.line_of_row(width)
    # read as floats because attributes may be any number; node numbers up to 2**53 are exact
    values = cursor.floats(n * width, "tets (number, four nodes ...)").reshape(-1, width)[:, 1:5]
    bad = ~((values >= first) & (values < first + count) & (values == np.floor(values)))
    if bad.any():
        k, j = (int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        last = first + count - 1
        raise file.fail(where(k), f"a tet has node {values[k, j]:g}; expected a whole number in {first}..{last}")
    return values.astype(np.int64) - first

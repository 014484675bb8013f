"""PLY, the Stanford polygon format: ascii, little and big endian; declared counts are checked before reading."""

import dataclasses
import itertools
import re
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh.polygons import fan
from .ply_marks import marks_of
from .reading import Input, Parts, check_indices, check_positions

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "int64": "i8", "uint64": "u8", "float32": "f4", "float64": "f8",
}  # fmt: skip
_CHUNK = 1 << 20
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,4096}(ply)")
_UV = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))


@dataclasses.dataclass
class _Property:
    name: str
    type: str  # NumPy type code without byte order
    count: str | None  # type code of the length, for lists


@dataclasses.dataclass
class _Element:
    name: str
    count: int
    properties: list[_Property]


@dataclasses.dataclass
class _List:
    """A list property: all values concatenated, and the number of values of each element."""

    values: NDArray[Any]
    counts: NDArray[np.int64]


_Columns = dict[str, Any]  # property name -> array, or _List


def read(file: Input) -> Parts:
    """Parse a PLY file; polygons are triangulated as fans, triangle strips are expanded."""
    order, elements, start = _header(file)
    body = _Ascii(file, start) if order == "ascii" else _Binary(file, start, order)
    columns: dict[str, _Columns] = {}
    for element in elements:
        columns[element.name] = body.element(element)
    vertex = columns.get("vertex")
    if vertex is None or not all(isinstance(vertex.get(k), np.ndarray) for k in "xyz"):
        raise file.fail("header", "no element 'vertex' with properties x, y, z")
    x = np.stack([np.asarray(vertex[k], np.float64) for k in "xyz"], 1)
    check_positions(file, x, lambda i: f"vertex {i}")
    parts = _faces(file, columns, x)
    parts.marks = marks_of(columns, len(x))
    return parts


def _faces(file: Input, columns: dict[str, _Columns], x: NDArray[np.float64]) -> Parts:
    face = columns.get("face", {})
    lists = [face[k] for k in ("vertex_indices", "vertex_index") if isinstance(face.get(k), _List)]
    if not lists:
        strips = columns.get("tristrips", {}).get("vertex_indices")
        if isinstance(strips, _List):
            return Parts(x, _strips(file, strips, len(x)))
        raise file.fail("header", "no element 'face' with a list 'vertex_indices'; pliant reads surfaces, not points")
    polygons = lists[0]
    flat = _whole(file, polygons.values)
    owner = np.cumsum(polygons.counts)
    check_indices(file, flat, len(x), lambda k: f"face {int(np.searchsorted(owner, k, side='right'))}")
    if (polygons.counts < 3).any():
        row = int(np.argmax(polygons.counts < 3))
        raise file.fail(f"face {row}", f"a face needs at least 3 corners, found {int(polygons.counts[row])}")
    triangles, _ = fan(polygons.counts)
    parts = Parts(x, flat[triangles])
    parts.uv = _texture(columns, polygons, flat, triangles)
    return parts


def _texture(
    columns: dict[str, _Columns], polygons: _List, flat: NDArray[Any], triangles: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return (m,3,2) from the texcoord lists of the faces, else from the vertices; None if absent or invalid."""
    own = columns["face"].get("texcoord")
    uv: NDArray[np.float64] | None = None
    if isinstance(own, _List) and (own.counts == 2 * polygons.counts).all():
        uv = np.asarray(own.values, np.float64).reshape(-1, 2)[triangles]
    else:
        for names in _UV:
            if all(isinstance(columns["vertex"].get(k), np.ndarray) for k in names):
                uv = np.stack([np.asarray(columns["vertex"][k], np.float64) for k in names], 1)[flat[triangles]]
                break
    if uv is None or not (np.abs(uv) <= 1e12).all():
        return None
    return uv


def _whole(file: Input, values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype.kind == "f" and not (np.isfinite(values) & (np.floor(values) == values)).all():
        raise file.fail("faces", "vertex indices are not whole numbers")
    # an out-of-range unsigned 64-bit index wraps to a negative one, which the range check rejects
    return values.astype(np.int64)


def _strips(file: Input, strips: _List, count: int) -> NDArray[np.int64]:
    """Return the triangles of strips separated by -1; every second one has its winding reversed."""
    flat = _whole(file, strips.values)
    a, b, c = flat[:-2], flat[1:-1], flat[2:]
    check_indices(file, flat[flat != -1], count, lambda k: "tristrips")
    breaks = np.flatnonzero(np.concatenate([[-1], flat]) == -1)
    origin = breaks[np.searchsorted(breaks, np.arange(max(len(flat) - 2, 0)), side="right") - 1]
    odd = (np.arange(len(origin)) - origin) % 2 == 1
    faces = np.stack([np.where(odd, b, a), np.where(odd, a, b), c], 1)
    inner = np.cumsum(strips.counts)
    same = np.searchsorted(inner, np.arange(len(origin)), "right") == np.searchsorted(
        inner, np.arange(len(origin)) + 2, "right"
    )
    keep = (faces >= 0).all(1) & same & (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2])
    return faces[keep & (faces[:, 0] != faces[:, 2])]


def _header(file: Input) -> tuple[str, list[_Element], int]:
    """Return the byte order ("ascii", "<", ">"), the elements, and the offset of the body."""
    data = file.data
    begin = _MAGIC.match(data)
    if begin is None:
        raise file.fail("byte 0", "not a PLY file: it does not start with 'ply'")
    order = ""
    elements: list[_Element] = []
    # the first line defines the line ending (CR on old Macs), so that a binary body that starts with LF keeps it
    at = begin.start(1)
    before = len(data[:at].splitlines()) - (at > 0)  # blank lines
    ends = [data.find(c, at, at + 4096) for c in (b"\r\n", b"\r", b"\n")]
    first = min((e for e in ends if e >= 0), default=0)
    ending = next((c for c, e in zip((b"\r\n", b"\r", b"\n"), ends) if e == first), b"\n")
    for number in itertools.count(1 + max(before, 0)):
        stop = data.find(ending, at, at + 4096)
        if stop < 0:
            raise file.fail(f"line {number}", "the header has no 'end_header'")
        words = data[at:stop].decode("latin-1").split()
        at = stop + len(ending)
        where = f"line {number}"
        if number > 10_000:
            raise file.fail(where, "the header is too long")
        if not words or words[0][0] == "#" or words[0] in ("ply", "comment", "obj_info"):
            continue
        if words[0] == "end_header":
            break
        if words[0] == "format":
            order = {"ascii": "ascii", "binary_little_endian": "<", "binary_big_endian": ">"}.get(
                words[1] if len(words) > 1 else "", ""
            )
            if not order:
                raise file.fail(where, f"unknown format {' '.join(words[1:2])!r}")
        elif words[0] == "element":
            if len(words) != 3 or not words[2].isascii() or not words[2].isdigit() or len(words[2]) > 15:
                raise file.fail(where, "expected 'element name count'")
            elements.append(_Element(words[1], int(words[2]), []))
        elif words[0] == "property" and elements:
            elements[-1].properties.append(_property(file, where, words))
        else:
            raise file.fail(where, f"unexpected {words[0]!r} in the header")
    if not order:
        raise file.fail("header", "no 'format' line")
    return order, elements, at


def _property(file: Input, where: str, words: list[str]) -> _Property:
    kind = [word.lower() for word in words[1:-1]]
    if len(words) == 3 and kind[0] in _TYPES:
        return _Property(words[2], _TYPES[kind[0]], None)
    if len(words) == 5 and kind[0] == "list" and kind[2] in _TYPES and _TYPES.get(kind[1], "f")[0] in "iu":
        return _Property(words[4], _TYPES[kind[2]], _TYPES[kind[1]])
    raise file.fail(where, f"cannot read {' '.join(words)!r}")


class _Ascii:
    """The body as numbers; line breaks are treated as white space."""

    def __init__(self, file: Input, start: int) -> None:
        self.file = file
        self.at = 0
        self.bad = ""  # line of the first word that is not a number; reading stops there
        pieces = []
        line = file.data[:start].count(b"\n") + 1
        while start < len(file.data) and not self.bad:
            # in chunks, because words take ten times the memory of their numbers
            stop = file.data.find(b"\n", start + _CHUNK) + 1 or len(file.data)
            text = file.data[start:stop]
            pieces.append(self._numbers(text, line))
            line += text.count(b"\n")
            start = stop
        self.values = np.concatenate(pieces) if pieces else np.zeros(0)

    def _numbers(self, text: bytes, line: int) -> NDArray[np.float64]:
        words = text.split()
        try:
            if b"_" in text:  # Python reads 1_0 as ten
                raise ValueError
            return np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            good = array("d")
            for number, content in enumerate(text.split(b"\n"), line):
                try:
                    if b"_" in content:
                        raise ValueError
                    good.extend(map(float, content.split()))
                except ValueError:
                    self.bad = f"line {number}"
                    break
            return np.array(good, np.float64)

    def element(self, element: _Element) -> _Columns:
        if element.count == 0 or not element.properties:
            return {p.name: _empty(p) for p in element.properties}
        need = element.count * len(element.properties)
        if need > len(self.values) - self.at:
            raise self._ends(element, f"{element.count} declared, which needs {need} numbers")
        return self._plain(element) or self._mixed(element)

    def _ends(self, element: _Element, what: str) -> Exception:
        if self.bad:
            return self.file.fail(self.bad, f"expected a number for element {element.name!r}")
        left = len(self.values) - self.at
        return self.file.fail(f"element {element.name}", f"{what}; {left} numbers are left (truncated?)")

    def _count(self, element: _Element, value: float) -> int:
        if not 0 <= value <= len(self.values) or value != int(value):
            raise self.file.fail(f"element {element.name}", f"{value:g} is not the length of a list")
        return int(value)

    def _plain(self, element: _Element) -> _Columns | None:
        """Read rows of equal width, all lists as long as in the first row; None if the rows differ."""
        widths = []
        at = self.at
        for p in element.properties:
            if p.count is None:
                widths.append(1)
            else:
                if at >= len(self.values):
                    return None
                widths.append(1 + self._count(element, float(self.values[at])))
            at += widths[-1]
        width = sum(widths)
        total = width * element.count
        if total > len(self.values) - self.at:
            return None
        rows = self.values[self.at : self.at + total].reshape(element.count, width)
        columns: _Columns = {}
        column = 0
        for p, w in zip(element.properties, widths):
            if p.count is None:
                columns[p.name] = rows[:, column]
            else:
                if (rows[:, column] != w - 1).any():
                    return None
                columns[p.name] = _List(rows[:, column + 1 : column + w].ravel(), np.full(element.count, w - 1))
            column += w
        self.at += total
        return columns

    def _mixed(self, element: _Element) -> _Columns:
        found = [array("d") for _ in element.properties]
        counts: list[list[int]] = [[] for _ in element.properties]
        values, at = self.values, self.at
        for row in range(element.count):
            for k, p in enumerate(element.properties):
                size = 1
                if p.count is not None and at < len(values):
                    size = self._count(element, float(values[at]))
                    counts[k].append(size)
                    at += 1
                if at + size > len(values):
                    raise self._ends(element, f"the file ends in row {row}")
                found[k].extend(values[at : at + size].tolist())
                at += size
        self.at = at
        return {
            p.name: np.array(f, np.float64)
            if p.count is None
            else _List(np.array(f, np.float64), np.array(c, np.int64))
            for p, f, c in zip(element.properties, found, counts)
        }


class _Binary:
    """The body as bytes."""

    def __init__(self, file: Input, start: int, order: str) -> None:
        self.file, self.at, self.order = file, start, order

    def element(self, element: _Element) -> _Columns:
        if element.count == 0 or not element.properties:
            return {p.name: _empty(p) for p in element.properties}
        left = len(self.file.data) - self.at
        least = sum(np.dtype(p.count or p.type).itemsize for p in element.properties) * element.count
        if least > left:
            raise self.file.fail(
                f"byte {self.at}",
                f"{element.count} of element {element.name!r} declared, which needs {least} bytes; "
                f"{left} are left (truncated?)",
            )
        return self._plain(element) or self._mixed(element)

    def _plain(self, element: _Element) -> _Columns | None:
        """Read rows of equal size, all lists as long as in the first row; None if the rows differ."""
        data, at = self.file.data, self.at
        fields: list[tuple[Any, ...]] = []
        for k, p in enumerate(element.properties):
            if p.count is not None:
                kind = np.dtype(self.order + p.count)
                if at + kind.itemsize > len(data):
                    return None
                size = int(np.frombuffer(data, kind, 1, at)[0])
                at += kind.itemsize
                if size < 0 or size * np.dtype(p.type).itemsize > len(data) - at:
                    return None
                fields.append((f"n{k}", kind))
                fields.append((f"p{k}", self.order + p.type, (size,)))
                at += size * np.dtype(p.type).itemsize
            else:
                fields.append((f"p{k}", self.order + p.type))
                at += np.dtype(p.type).itemsize
        row = np.dtype(fields)
        if row.itemsize * element.count > len(data) - self.at:
            return None
        rows = np.frombuffer(data, row, element.count, self.at)
        columns: _Columns = {}
        for k, p in enumerate(element.properties):
            values = rows[f"p{k}"]
            if p.count is not None:
                size = values.shape[1]
                if (rows[f"n{k}"] != size).any():
                    return None
                columns[p.name] = _List(values.ravel(), np.full(element.count, size))
            else:
                columns[p.name] = values
        self.at += row.itemsize * element.count
        return columns

    def _mixed(self, element: _Element) -> _Columns:
        data = self.file.data
        pieces: list[list[NDArray[Any]]] = [[] for _ in element.properties]
        counts: list[list[int]] = [[] for _ in element.properties]
        kinds = [
            (np.dtype(self.order + p.type), np.dtype(self.order + p.count) if p.count else None)
            for p in element.properties
        ]
        for row in range(element.count):
            for k, (kind, count_kind) in enumerate(kinds):
                size = 1
                if count_kind is not None and self.at + count_kind.itemsize <= len(data):
                    size = int(np.frombuffer(data, count_kind, 1, self.at)[0])
                    self.at += count_kind.itemsize
                counts[k].append(size)
                if size < 0 or self.at + size * kind.itemsize > len(data):
                    raise self.file.fail(f"byte {self.at}", f"the file ends inside element {element.name!r} {row}")
                pieces[k].append(np.frombuffer(data, kind, size, self.at))
                self.at += size * kind.itemsize
        columns: _Columns = {}
        for p, piece, count in zip(element.properties, pieces, counts):
            values = np.concatenate(piece)
            columns[p.name] = values if p.count is None else _List(values, np.array(count, np.int64))
        return columns


def _empty(p: _Property) -> Any:
    none = np.zeros(0, p.type)
    return none if p.count is None else _List(none, np.zeros(0, np.int64))

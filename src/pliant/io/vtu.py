"""VTK XML unstructured grids (.vtu): ascii, base64 or appended arrays, plain or packed with zlib.

The XML is parsed by expat as a stream. A document type declaration raises an error, which rules out entity expansion.
"""

import base64
import binascii
import dataclasses
import re
import zlib
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ..errors import MeshFileError
from .cursor import Cursor
from .reading import Input, Parts, check_positions
from .vtk import assembled, check_offsets

_TYPES = {
    "Float32": "f4",
    "Float64": "f8",
    "Int8": "i1",
    "UInt8": "u1",
    "Int16": "i2",
    "UInt16": "u2",
    "Int32": "i4",
    "UInt32": "u4",
    "Int64": "i8",
    "UInt64": "u8",
}
_WANTED = ("Points", "Cells")
_APPENDED = re.compile(rb"<AppendedData[^>]*>")


@dataclasses.dataclass
class _Array:
    """A DataArray of Points or Cells: attributes, text, and the line where it starts."""

    attributes: dict[str, str]
    line: int
    text: list[str]


@dataclasses.dataclass
class _Piece:
    attributes: dict[str, str]
    arrays: dict[str, _Array]


class _Document:
    """The parsed tags and the offset of appended data."""

    def __init__(self, file: Input) -> None:
        self.file = file
        self.head: dict[str, str] = {}
        self.pieces: list[_Piece] = []
        self._path: list[str] = []
        self._open: _Array | None = None
        appended = _APPENDED.search(file.data)
        xml = file.data if appended is None else file.data[: appended.start()]
        # appended data may be raw bytes, which are not valid XML
        self.encoding = b"base64" if appended and b"base64" in appended.group() else b"raw"
        underscore = -1 if appended is None else file.data.find(b"_", appended.end())
        self.start = underscore + 1
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.buffer_text = True
        self._parser = parser
        try:
            parser.Parse(xml, appended is None)
        except expat.ExpatError as error:
            raise file.fail(f"line {error.lineno}", f"bad XML ({expat.ErrorString(error.code)})") from None
        if appended is not None and underscore < 0:
            raise file.fail("end of file", "AppendedData has no '_' before its data (truncated?)")

    def _refuse(self, *_: Any) -> None:
        why = "document type declarations and entities are not read"
        raise self.file.fail(f"line {self._parser.CurrentLineNumber}", why)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) > 64:
            raise self.file.fail(f"line {self._parser.CurrentLineNumber}", "elements are nested more than 64 deep")
        if not self._path:
            self.head = attributes if name == "VTKFile" else {}
        elif name == "Piece":
            self.pieces.append(_Piece(attributes, {}))
        elif name == "DataArray" and self._path[-1] in _WANTED and self.pieces:
            self._open = _Array(attributes, self._parser.CurrentLineNumber, [])
            key = "Points" if self._path[-1] == "Points" else attributes.get("Name", "")
            self.pieces[-1].arrays[key] = self._open
        self._path.append(name)

    def _end(self, name: str) -> None:
        self._path.pop()
        if name == "DataArray":
            self._open = None

    def _text(self, text: str) -> None:
        if self._open is not None:
            self._open.text.append(text)


def read(file: Input) -> Parts:
    """Parse a .vtu file; its pieces become one mesh, point and cell data are ignored."""
    document = _Document(file)
    if document.head.get("type") != "UnstructuredGrid":
        kind = document.head.get("type", "nothing")
        raise file.fail("", f'expected <VTKFile type="UnstructuredGrid">, found {kind[:40]!r}')
    x, nodes, start, types = (
        [np.zeros((0, 3))],
        [np.zeros(0, np.int64)],
        [np.zeros(1, np.int64)],
        [np.zeros(0, np.int64)],
    )
    points = corners = 0
    for piece in document.pieces:
        n, k = (_number(file, piece, name) for name in ("NumberOfPoints", "NumberOfCells"))
        here = _array(document, piece, "Points", 3 * n).astype(np.float64).reshape(-1, 3)
        line = piece.arrays["Points"].line if n else 0
        check_positions(file, here, lambda i, line=line: f"row {i} of the array at line {line}")  # type: ignore[misc]
        ends = _array(document, piece, "offsets", k).astype(np.int64)
        index = _array(document, piece, "connectivity", None).astype(np.int64)
        check_offsets(file, np.append(0, ends), len(index))
        bad = (index < 0) | (index >= n)
        if bad.any():
            at = f"the array at line {piece.arrays['connectivity'].line}"
            raise file.fail(at, f"a cell has node {int(index[np.argmax(bad)])}, but there are {n} points")
        types.append(_array(document, piece, "types", k).astype(np.int64))
        x.append(here)
        nodes.append(index + points)
        start.append(ends + corners)
        points, corners = points + n, corners + len(index)
    cells = assembled(file, np.concatenate(start), np.concatenate(nodes), np.concatenate(types), lambda c: f"cell {c}")
    return cells.parts(file, np.concatenate(x), lambda rows: rows)


def _number(file: Input, piece: _Piece, name: str) -> int:
    text = piece.attributes.get(name, "")
    if not text.strip().isdecimal() or len(text) > 18:
        raise file.fail("", f"a Piece has {name}={text[:20]!r}; expected a whole number")
    n = int(text)
    if n > 8 * len(file.data) * 1000:
        raise file.fail("", f"a Piece has {name}={n}, more than {len(file.data)} bytes can hold")
    return n


def _array(document: _Document, piece: _Piece, name: str, count: int | None) -> NDArray[Any]:
    """Read the values of an array; raise unless there are `count`, if given."""
    file, found = document.file, piece.arrays.get(name)
    if found is None:
        if count == 0 or (count is None and _number(file, piece, "NumberOfCells") == 0):
            return np.zeros(0)
        raise file.fail("", f"a Piece has no array {name!r}")
    where = f"the array {name!r} at line {found.line}"
    kind, form = found.attributes.get("type", ""), found.attributes.get("format", "ascii")
    if kind not in _TYPES:
        raise file.fail(where, f"type {kind[:20]!r}; one of: {', '.join(_TYPES)}")
    if form == "ascii":
        values = _ascii(document, found, kind, where)
    elif form in ("binary", "appended"):
        values = _binary(document, found, form, kind, where)
    else:
        raise file.fail(where, f"format {form[:20]!r}; expected ascii, binary or appended")
    if count is not None and len(values) != count:
        raise file.fail(where, f"has {len(values)} values; expected {count}")
    return values


def _ascii(document: _Document, found: _Array, kind: str, where: str) -> NDArray[Any]:
    text = "".join(found.text).encode("ascii", "replace")
    cursor = Cursor(dataclasses.replace(document.file, data=text or b" "))
    n = len(text.split())
    try:
        return cursor.floats(n, "values") if kind[0] == "F" else cursor.integers(n, "values")
    except MeshFileError as error:
        raise document.file.fail(where, error.why) from None


def _binary(document: _Document, found: _Array, form: str, kind: str, where: str) -> NDArray[Any]:
    file, order = document.file, "<" if document.head.get("byte_order") == "LittleEndian" else ">"
    width = 8 if document.head.get("header_type") == "UInt64" else 4
    if form == "binary":
        source, coded = "".join(found.text).strip().encode("ascii", "replace"), True
    else:
        offset = found.attributes.get("offset", "")
        if not offset.strip().isdecimal() or len(offset) > 18 or document.start <= 0:
            raise file.fail(where, f"appended data at offset {offset[:20]!r}; expected a whole number and AppendedData")
        source, coded = file.data[document.start + int(offset) :], document.encoding == b"base64"
    packed = document.head.get("compressor", "")
    if packed not in ("", "vtkZLibDataCompressor"):
        raise file.fail(where, f"packed by {packed[:40]!r}; save it with zlib, or not packed")
    data = (
        _unpacked(file, source, coded, order + f"u{width}", where)
        if packed
        else _plain(file, source, coded, order + f"u{width}", where)
    )
    dtype = np.dtype(order + _TYPES[kind])
    if len(data) % dtype.itemsize:
        raise file.fail(where, f"{len(data)} bytes are not a whole number of {kind}")
    return np.frombuffer(data, dtype)


def _plain(file: Input, source: bytes, coded: bool, head: str, where: str) -> bytes:
    """Read a byte count and that many bytes; base64 encodes both together."""
    size = np.dtype(head).itemsize
    n = int(_numbers(file, _decoded(file, source, coded, size, where), head, 1, where)[0])
    return _decoded(file, source, coded, size + n, where)[size:]


def _unpacked(file: Input, source: bytes, coded: bool, head: str, where: str) -> bytes:
    """Read the number of blocks, their size, the size of the last and the compressed sizes, then the blocks; in base64
    the two parts are encoded separately."""
    size = np.dtype(head).itemsize
    blocks, full, last = _numbers(file, _decoded(file, source, coded, 3 * size, where), head, 3, where).tolist()
    limit = min(file.max_bytes, max(4 << 20, 100 * len(file.data)))
    if blocks * size > len(source) or blocks * full > limit + full or last > limit:
        raise file.fail(where, f"{blocks} packed blocks of {full} bytes are more than this file can hold")
    top = (3 + blocks) * size
    sizes = _numbers(file, _decoded(file, source, coded, top, where), head, 3 + blocks, where)[3:].tolist()
    behind = source[4 * -(-top // 3) :] if coded else source[top:]
    data = _decoded(file, behind, coded, sum(sizes), where)
    out, at = [], 0
    for k, packed in enumerate(sizes):
        expected = last if k == blocks - 1 and last else full
        try:
            piece = zlib.decompressobj().decompress(data[at : at + packed], expected + 1)
        except zlib.error as error:
            raise file.fail(where, f"bad packed data ({error})") from None
        if len(piece) != expected:
            raise file.fail(where, f"packed block {k} does not have the {expected} bytes declared")
        out.append(piece)
        at += packed
    return b"".join(out)


def _decoded(file: Input, source: bytes, coded: bool, n: int, where: str) -> bytes:
    """Return the first `n` bytes of raw or base64 data."""
    need = 4 * -(-n // 3) if coded else n
    if need > len(source):
        raise file.fail(where, f"{n} bytes declared, {len(source)} characters are there (truncated?)")
    if not coded:
        return source[:n]
    try:
        return base64.b64decode(source[:need], validate=True)[:n]
    except (binascii.Error, ValueError):
        raise file.fail(where, "bad base64") from None


def _numbers(file: Input, data: bytes, head: str, n: int, where: str) -> NDArray[Any]:
    if len(data) < n * np.dtype(head).itemsize:
        raise file.fail(where, "the header of the data is cut off")
    return np.frombuffer(data, head, n)

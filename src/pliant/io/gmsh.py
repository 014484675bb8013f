"""Gmsh .msh: reads nodes and elements of versions 1.0, 2.x and 4.1, ascii and binary; writes version 4.1 in ascii."""

import functools
import os

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from .cursor import Cursor
from .elements import LINE, NODES, POINT, QUAD, TET, TRIANGLE, Elements, Where, by_tag, refuse
from .reading import Input, Parts, as_text, check_positions, heading
from .rows import write_integers, write_rows

KINDS = {1: LINE, 2: TRIANGLE, 3: QUAD, 4: TET, 15: POINT}
_OTHERS = {
    5: "hexahedra",
    6: "prisms",
    7: "pyramids",
    8: "lines of 3 nodes",
    9: "triangles of 6 nodes",
    11: "tetrahedra of 10 nodes",
}
Nodes = tuple[NDArray[np.int64], NDArray[np.float64], Where]  # tags, positions, and the file position of a row


def read(file: Input) -> Parts:
    """Parse a .msh file of version 1.0, 2 or 4.1."""
    text = as_text(file)
    cursor = Cursor(file, text.data)
    cursor.at = heading(text.data)
    while cursor.peek() == b"$Comments" and cursor.skip(b"$EndComments"):
        pass
    head = cursor.word("'$MeshFormat' or '$NOD'")
    if head == b"$NOD":
        return _read_1(file, cursor)
    if head != b"$MeshFormat":
        raise file.fail(cursor.where, "not a Gmsh file: expected '$MeshFormat', or '$NOD' of version 1.0")
    version = cursor.word("the version of the format")
    binary = cursor.integer("the file type", 0, 1) == 1
    size = cursor.integer("the size of a number", 1, 64)
    if version[:2] not in (b"2.", b"4.") and version != b"2":
        raise file.fail(cursor.where, f"version {_shown(version)} is not read; save it as version 4.1 or 2.2")
    if version[:2] == b"4." and version != b"4.1":
        raise file.fail(cursor.where, f"version {_shown(version)} is not read; save it as version 4.1 or 2.2")
    if size != 8:
        raise file.fail(cursor.where, f"numbers of {size} bytes are not read; expected 8")
    order = "<"
    if binary:
        cursor.line("a line break")
        one = cursor.raw(1, "<i4", "byte order marks")[0]
        if one not in (1, 1 << 24):
            raise file.fail(f"byte {cursor.at - 4}", f"the byte order mark is {one}; expected 1")
        order = "<" if one == 1 else ">"
    read_nodes, read_elements = (_nodes_4, _elements_4) if version == b"4.1" else (_nodes_2, _elements_2)
    _section(cursor, b"$Nodes", binary)
    tags, x, where = read_nodes(cursor, binary, order)
    check_positions(file, x, where)
    _section(cursor, b"$Elements", binary)
    return read_elements(cursor, binary, order).parts(file, x, by_tag(tags))


def _shown(word: bytes) -> str:
    return word[:20].decode("latin-1")


def _section(cursor: Cursor, name: bytes, binary: bool) -> None:
    """Move to the content of a section, skipping those before it."""
    if binary and cursor.skip(b"\n" + name):  # preceding binary sections may contain any bytes
        cursor.line("a line break")
        return
    while not binary and cursor.peek():
        word = cursor.word("a section")
        if word == name:
            return
        if word[:1] == b"$" and not word.startswith(b"$End"):
            cursor.skip(b"$End" + word[1:])
    raise cursor.file.fail("end of file", f"no section {name.decode()} (truncated?)")


def _nodes_2(cursor: Cursor, binary: bool, order: str) -> Nodes:
    if binary:
        n = _count_line(cursor, "nodes")
        where = cursor.byte_of_row(28)
        rows = cursor.raw(n, [("tag", order + "i4"), ("x", order + "f8", 3)], "nodes")
        return rows["tag"].astype(np.int64), rows["x"].astype(np.float64), where
    n = cursor.count("nodes", 8)
    where = cursor.line_of_row(4)
    values = cursor.floats(4 * n, "nodes (number, x, y, z)").reshape(-1, 4)
    bad = ~((values[:, 0] == np.floor(values[:, 0])) & (np.abs(values[:, 0]) < 2**53))
    if bad.any():
        k = int(np.argmax(bad))
        raise cursor.file.fail(where(k), f"the node number is {values[k, 0]:g}; expected a whole number")
    return values[:, 0].astype(np.int64), np.ascontiguousarray(values[:, 1:]), where


def _nodes_4(cursor: Cursor, binary: bool, order: str) -> Nodes:
    blocks, declared, head = _head_4(cursor, binary, order, "nodes")
    tags, points, origins = [np.zeros(0, np.int64)], [np.zeros((0, 3))], [(0, cursor.line_of_row(1))]
    total = 0
    for _ in range(blocks):
        dim, _, parametric, n = _block_4(cursor, binary, order, "nodes")
        if parametric not in (0, 1) or not 0 <= dim <= 3:
            given = f"a block of dimension {dim}, parametric {parametric}"
            raise cursor.file.fail(_at(cursor, binary), f"{given}; expected a dimension of 0 to 3, parametric 0 or 1")
        width = 3 + parametric * dim
        cursor.need(n, (8 if binary else 2) * (1 + width), "nodes of a block")
        if binary:
            tags.append(cursor.raw(n, order + "u8", "nodes").astype(np.int64))
            origins.append((total, cursor.byte_of_row(8 * width)))
            values = cursor.raw(n * width, order + "f8", "coordinates").astype(np.float64)
        else:
            tags.append(cursor.integers(n, "the number of a node"))
            origins.append((total, cursor.line_of_row(width)))
            values = cursor.floats(n * width, "coordinates of nodes")
        points.append(values.reshape(-1, width)[:, :3])
        total += n
    _check_total_4(cursor, head, "nodes", declared, total)

    def where(row: int) -> str:
        first, name = [p for p in origins if p[0] <= row][-1]
        return name(row - first)

    return np.concatenate(tags), np.concatenate(points), where


def _head_4(cursor: Cursor, binary: bool, order: str, what: str) -> tuple[int, int, str]:
    """Read the header of a version 4.1 section: number of blocks, total number of `what`, and its file position."""
    byte = cursor.at
    counts = cursor.raw(4, order + "u8", "counts") if binary else cursor.integers(4, f"counts of {what}", 0)
    blocks, total = (int(c) for c in counts[:2])
    cursor.need(blocks, 20 if binary else 8, f"blocks of {what}")
    cursor.need(total, 16 if binary else 4, what)
    return blocks, total, f"byte {byte}" if binary else cursor.where


def _at(cursor: Cursor, binary: bool) -> str:
    """Return where the cursor is, for errors: binary files have no lines."""
    return f"byte {cursor.at}" if binary else cursor.where


def _check_total_4(cursor: Cursor, head: str, what: str, declared: int, total: int) -> None:
    if declared != total:
        raise cursor.file.fail(head, f"{declared} {what} declared, but the blocks have {total}")


def _block_4(cursor: Cursor, binary: bool, order: str, what: str) -> tuple[int, int, int, int]:
    """Read a block header: three numbers and its number of `what`."""
    if binary:
        a, b, c = cursor.raw(3, order + "i4", "block headers").tolist()
        n = int(cursor.raw(1, order + "u8", "block sizes")[0])
    else:
        a, b, c, n = cursor.integers(4, f"a block of {what}").tolist()
    if n < 0:
        raise cursor.file.fail(_at(cursor, binary), f"a block of {n} {what}")
    return a, b, c, n


def _elements_2(cursor: Cursor, binary: bool, order: str) -> Elements:
    if not binary:
        return _each(cursor, cursor.count("elements", 6), version_1=False)
    found, left = Elements(), _count_line(cursor, "elements")
    cursor.need(left, 8, "elements")
    while left > 0:
        kind, count, tags = cursor.raw(3, order + "i4", "element headers").tolist()
        if kind not in KINDS:
            raise _other(cursor.file, f"byte {cursor.at - 12}", kind)
        nodes = NODES[KINDS[kind]]
        if not 0 < count <= left or not 0 <= tags < 1000:
            raise cursor.file.fail(f"byte {cursor.at}", f"{count} elements with {tags} tags, {left} are left to read")
        width = 1 + tags + nodes
        where = cursor.byte_of_row(4 * width)
        rows = cursor.raw(count * width, order + "i4", "elements").reshape(-1, width)[:, 1 + tags :]
        found.add(KINDS[kind], rows.astype(np.int64), where)
        left -= count
    return found


def _elements_4(cursor: Cursor, binary: bool, order: str) -> Elements:
    found, total = Elements(), 0
    blocks, declared, head = _head_4(cursor, binary, order, "elements")
    for _ in range(blocks):
        _, _, kind, n = _block_4(cursor, binary, order, "elements")
        if kind not in KINDS:
            raise _other(cursor.file, _at(cursor, binary), kind)
        width = 1 + NODES[KINDS[kind]]
        cursor.need(n, width * (8 if binary else 2), "elements of a block")
        where = cursor.byte_of_row(8 * width) if binary else cursor.line_of_row(width)
        flat = cursor.raw(n * width, order + "u8", "elements") if binary else cursor.integers(n * width, "elements")
        found.add(KINDS[kind], flat.astype(np.int64).reshape(-1, width)[:, 1:], where)
        total += n
    _check_total_4(cursor, head, "elements", declared, total)
    return found


def _read_1(file: Input, cursor: Cursor) -> Parts:
    tags, x, where = _nodes_2(cursor, False, "<")
    check_positions(file, x, where)
    if not cursor.skip(b"$ELM"):
        raise file.fail("end of file", "no section $ELM (truncated?)")
    return _each(cursor, cursor.count("elements", 8), version_1=True).parts(file, x, by_tag(tags))


def _each(cursor: Cursor, n: int, version_1: bool) -> Elements:
    """Read elements one by one: number, type, then two regions and the node count (version 1) or the tags."""
    end = cursor.data.find(b"$E", cursor.at)  # $EndElements or $ENDELM
    text = cursor.data[cursor.at :] if end < 0 else cursor.data[cursor.at : end]
    where = cursor.line_of_row(1)
    words = cursor.integers(len(text.split()), "elements").tolist()
    rows: dict[int, list[list[int]]] = {}
    starts: dict[int, list[int]] = {}
    at, head = 0, 5 if version_1 else 3
    for k in range(n):
        if at + head > len(words):
            raise cursor.file.fail("end of file", f"{n} elements declared, {k} found (truncated?)")
        kind, tags = words[at + 1], 0 if version_1 else words[at + 2]
        if kind not in KINDS:
            raise _other(cursor.file, where(at), kind)
        nodes = NODES[KINDS[kind]]
        if tags < 0:
            raise cursor.file.fail(where(at), f"the number of tags is negative ({tags})")
        if version_1 and words[at + 4] != nodes:
            raise cursor.file.fail(where(at), f"an element of type {kind} has {nodes} nodes, not {words[at + 4]}")
        first = at + head + tags
        row = words[first : first + nodes]
        if len(row) < nodes:
            raise cursor.file.fail("end of file", f"{n} elements declared, {k} found (truncated?)")
        rows.setdefault(kind, []).append(row)
        starts.setdefault(kind, []).append(at)
        at = first + nodes
    if at < len(words):
        raise cursor.file.fail(where(at), f"{n} elements declared, but more numbers follow them")
    found = Elements()
    for kind, nodes_of in rows.items():
        found.add(KINDS[kind], np.array(nodes_of), functools.partial(_line, where, starts[kind]))
    return found


def _line(where: Where, starts: list[int], row: int) -> str:
    return where(starts[row])


def _other(file: Input, where: str, kind: int) -> Exception:
    """Return the error for an element type that is not supported."""
    return refuse(file, where, f"{_OTHERS.get(kind, 'curved or solid elements')} (type {kind})")


def _count_line(cursor: Cursor, what: str) -> int:
    text = cursor.line(f"the number of {what}").strip()
    if not text.isdigit() or len(text) > 18:
        raise cursor.file.fail(f"byte {cursor.at}", f"expected the number of {what}, found {_shown(text)!r}")
    return int(text)


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write ascii of version 4.1, one block of nodes and one of elements: tets, or triangles if there are none."""
    rows, dim, kind = (mesh.tets, 3, 4) if len(mesh.tets) else (mesh.faces, 2, 2)
    n, k = mesh.n_vertices, len(rows)
    with atomic_write(path) as stream:
        stream.write(b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n")
        stream.write(f"$Nodes\n1 {n} 1 {n}\n{dim} 1 0 {n}\n".encode())
        stream.write("".join(f"{tag}\n" for tag in range(1, n + 1)).encode())
        write_rows(stream, "", mesh.vertices)
        stream.write(f"$EndNodes\n$Elements\n1 {k} 1 {k}\n{dim} 1 {kind} {k}\n".encode())
        write_integers(stream, np.column_stack([np.arange(k), rows]) + 1)
        stream.write(b"$EndElements\n")

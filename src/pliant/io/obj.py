"""Wavefront OBJ: positions, texture coordinates, polygons, materials; all other lines are kept as text."""

import dataclasses
import pathlib
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh.marks import grouped_rows
from ..mesh.polygons import fan
from .links import inside
from .loaded_file import Source, digest
from .obj_marks import ObjMarks
from .reading import Input, Parts, as_text, check_positions

_NUMERIC = (b"v", b"vt", b"f")
_SPELT = {b"V": b"v", b"VT": b"vt", b"F": b"f", b"fo": b"f", b"FO": b"f", b"O": b"o", b"G": b"g"}  # rare variants


@dataclasses.dataclass
class ObjSource(Source):
    """The original text, so that writing the mesh again replaces only its positions."""

    text: bytes
    vertex_lines: NDArray[np.int64]  # line number of each vertex, from 0
    libraries: list[pathlib.Path]  # the existing .mtl files
    face_lines: frozenset[int]  # line numbers of its faces


def read(file: Input) -> Parts:
    """Parse an OBJ file; polygons are triangulated as fans, the vertex order is kept."""
    file = as_text(file)
    lines = _lines(file.data)
    x, uv = array("d"), array("d")
    corners = array("q")  # vertex index of every corner, from 0
    corner_uv = array("q")  # the same for texture coordinates, -1 for none
    counts: list[int] = []
    v_lines: list[int] = []
    f_lines: list[int] = []
    face_material: list[int] = []
    face_part: list[bool] = []
    face_section: list[int] = []
    marked = ObjMarks()
    grouped = _Groups(file.part)
    names: dict[bytes, int] = {}
    libraries: list[bytes] = []
    material = -1
    for row, line in enumerate(lines):
        words = line.split()
        if not words:
            continue
        key = _SPELT.get(words[0], words[0])
        try:
            if b"_" in line and key in _NUMERIC:
                raise ValueError  # Python reads 1_0 as ten
            if key == b"v":
                x.extend(map(float, words[1:4]))
                if len(words) > 6:
                    marked.color(len(v_lines), words)
                v_lines.append(row)
                if len(words) < 4:
                    raise ValueError
            elif key == b"f":
                _face(words, len(v_lines), len(uv) // 2, corners, corner_uv)
                counts.append(len(words) - 1)
                f_lines.append(row)
                face_material.append(material)
                face_part.append(grouped.wanted)
                face_section.append(grouped.section)
            elif key == b"vt":
                uv.extend(map(float, [*words, b"0"][1:3]))
                if len(words) < 2:
                    raise ValueError
            elif key == b"usemtl":
                material = names.setdefault(line.split(None, 1)[1].strip() if len(words) > 1 else b"", len(names))
            elif key in (b"o", b"g"):
                grouped.enter(key, line)
            elif key == b"l":
                marked.line(words, len(v_lines))
            elif key == b"mtllib" and len(words) > 1:
                libraries.append(line.split(None, 1)[1].strip())
        except (ValueError, OverflowError):
            raise file.fail(f"line {row + 1}", _why(key, words)) from None
    vertices = np.array(x, np.float64).reshape(-1, 3)
    check_positions(file, vertices, lambda i: f"line {v_lines[i] + 1}")
    count = np.array(counts, np.int64)
    flat, flat_uv = np.array(corners, np.int64), np.array(corner_uv, np.int64)
    texture = np.array(uv, np.float64).reshape(-1, 2)
    _check_corners(file, flat, flat_uv, count, f_lines, len(vertices), len(texture))
    triangles, polygon = fan(count)
    names_of, section = grouped.names, np.array(face_section, np.int64)[polygon]
    groups = grouped_rows(names_of, section, flat[triangles]) if len(names_of) > 1 else {}
    marks = marked.finish(len(vertices), groups)
    of_vertices = np.array(v_lines, np.int64)
    if file.part is not None:
        if not any(face_part):
            raise file.no_part(grouped.known)
        own = np.array(face_part)[polygon]
        triangles, polygon = triangles[own], polygon[own]
        used, flat[triangles] = np.unique(flat[triangles], return_inverse=True)
        marks = marks.of(used, len(vertices))
        vertices, of_vertices = vertices[used], of_vertices[used]
    faces = flat[triangles].reshape(-1, 3)
    parts = Parts(vertices, faces, marks=marks)
    # if only some corners have texture coordinates, the others get (0, 0)
    if (flat_uv >= 0).any() and np.isfinite(texture).all() and np.abs(texture).max() < 1e12:
        parts.uv = np.concatenate([texture, np.zeros((1, 2))])[flat_uv[triangles]]
    found = []
    for name in libraries:  # one name with spaces, or several names
        for part in dict.fromkeys([name, *name.split()]):
            target = inside(file.path.parent, part.decode("utf-8", "replace"))
            if target is not None:
                found.append(target)
    of_faces = frozenset(row for row, wanted in zip(f_lines, face_part) if wanted)
    parts.source = ObjSource(digest(faces), b"\n".join(lines), of_vertices, found, of_faces)
    parts.source.partly = file.part is not None
    if names:
        _materials(parts, names, found, np.array(face_material, np.int64)[polygon])
    return parts


class _Groups:
    """The current object and groups; `wanted` is True if the requested part is one of them. `section` is the index of
    their names in `names`."""

    def __init__(self, part: str | None) -> None:
        self.part, self.wanted = part, part is None
        self.known: dict[str, None] = {}
        self.section = 0
        self._sections: dict[tuple[str, ...], int] = {(): 0}
        self._now: dict[bytes, tuple[str, ...]] = {b"o": (), b"g": ()}

    def enter(self, key: bytes, line: bytes) -> None:
        """Process a line `o NAME` or `g NAME ...`: several groups, or one whose name has spaces."""
        _, *rest = line.decode("utf-8", "replace").split(None, 1)
        whole = rest[0].strip() if rest else ""
        names = dict.fromkeys([whole, *(whole.split() if key == b"g" else ())])
        if key == b"o":  # a new object resets the groups
            self._now[b"g"] = ()
        self.known |= dict.fromkeys(name for name in names if name)
        self._now[key] = tuple(names)
        self.wanted = self.part is None or any(self.part in now for now in self._now.values())
        own = tuple(dict.fromkeys(name for now in self._now.values() for name in now if name))
        self.section = self._sections.setdefault(own, len(self._sections))

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The names of the object and the groups of each section."""
        return tuple(self._sections)


def _lines(data: bytes) -> list[bytes]:
    """Return the lines without trailing comments, continuations joined (empty lines keep the line numbers valid)."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.split(b"\n")
    if b"\\\n" in data:
        joined: list[bytes] = []
        held: list[bytes] = []
        for line in lines:
            held.append(line.removesuffix(b"\\"))
            if not line.endswith(b"\\"):
                joined += [b" ".join(held), *[b""] * (len(held) - 1)]
                held = []
        lines = [*joined, b" ".join(held)] if held else joined
    if b"#" in data:
        for row, line in enumerate(lines):
            if b"#" in line and line.lstrip()[:1] != b"#" and _key(line) in (b"v", b"vt", b"vn", b"f"):
                lines[row] = line[: line.index(b"#")]
    return lines


def _key(line: bytes) -> bytes:
    word = line.split(None, 1)[0]
    return _SPELT.get(word, word)


def _face(words: list[bytes], n_v: int, n_t: int, corners: "array[int]", corner_uv: "array[int]") -> None:
    """Append the corners of one `f` line; negative indices count back from the latest vertex."""
    if len(words) < 4:
        raise ValueError
    if not any(b"/" in word for word in words):
        plain = [int(word) for word in words[1:]]
        if min(plain) > 0 and max(plain) < 2**31:
            corners.extend([i - 1 for i in plain])
            corner_uv.extend([-1] * len(plain))
            return
    for word in words[1:]:
        v, *rest = word.split(b"/")
        i = int(v)
        corners.append(i - 1 if i > 0 else n_v + i if i < 0 else -1)
        t = int(rest[0]) if rest and rest[0] else 0
        if max(abs(i), abs(t)) > 2**31:
            raise ValueError
        corner_uv.append(t - 1 if t > 0 else n_t + t if t < 0 else -1)
        if len(rest) > 2 or (len(rest) == 2 and rest[1] and not int(rest[1])):
            raise ValueError


def _check_corners(
    file: Input,
    flat: NDArray[np.int64],
    flat_uv: NDArray[np.int64],
    counts: NDArray[np.int64],
    f_lines: list[int],
    n_v: int,
    n_t: int,
) -> None:
    for index, total, what in ((flat, n_v, "vertex"), (flat_uv, n_t, "texture coordinate")):
        bad = (index >= total) | (index < (0 if what == "vertex" else -1))
        if bad.any():
            k = int(np.argmax(bad))
            row = f_lines[int(np.searchsorted(np.cumsum(counts), k, side="right"))]
            many = "vertices" if what == "vertex" else "texture coordinates"
            found_index = "0 or before the first" if index[k] < 0 else str(int(index[k]) + 1)
            raise file.fail(f"line {row + 1}", f"{what} index {found_index}, but there are {total} {many}")


def _why(key: bytes, words: list[bytes]) -> str:
    if key == b"f":
        if len(words) < 4:
            return f"a face needs at least 3 corners, found {len(words) - 1}"
        return "expected face corners like 3, 3/1, 3/1/2 or 3//2"
    need = "x y z" if key == b"v" else "u v"
    return f"expected numbers {need} after {key.decode()!r}"


def _materials(parts: Parts, names: dict[bytes, int], libraries: list[pathlib.Path], chosen: NDArray[np.int64]) -> None:
    """Set one material per `usemtl` name, with the colour of its library; faces before the first get a default."""
    found: dict[bytes, dict[str, Any]] = {}
    for library in libraries:
        found |= _library(library)
    table = [{"name": name.decode("utf-8", "replace")} | found.get(name, {}) for name in names]
    if (chosen < 0).any():
        chosen = np.where(chosen < 0, len(table), chosen)
        table.append({"name": "default"})
    parts.material, parts.materials = chosen, tuple(table)


def _library(target: pathlib.Path) -> dict[bytes, dict[str, Any]]:
    """Read colours and texture names of an .mtl file; unreadable entries are ignored."""
    found: dict[bytes, dict[str, Any]] = {}
    current: dict[str, Any] = {}
    try:
        if target.stat().st_size > 1 << 20:
            return {}
        lines = target.read_bytes().splitlines()
    except OSError:
        return {}
    for line in lines:
        words = line.split(None, 1)
        if len(words) < 2:
            continue
        if words[0] == b"newmtl":
            current = found.setdefault(words[1].strip(), {})
        elif words[0] == b"Kd":
            try:
                color = [float(w) for w in words[1].split()[:3]]
            except ValueError:
                continue
            if len(color) == 3 and all(0.0 <= c <= 1.0 for c in color):
                current["color"] = color
        elif words[0] == b"map_Kd":
            current["texture"] = words[1].strip().decode("utf-8", "replace")
    return found

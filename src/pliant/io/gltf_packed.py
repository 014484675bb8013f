"""Compressed geometry of a glTF document: decoded when the document is read, which is then like any other.

Buffer views of EXT_meshopt_compression and KHR_meshopt_compression are replaced by their content, primitives of
KHR_draco_mesh_compression get accessors with data, and the names of the extensions are removed, so that what is written
from the document needs none of them.
"""

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from .draco import EXTRA, decode, installed
from .reading import unpacked_limit

if TYPE_CHECKING:
    from .gltf_document import Document, Json

MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
DRACO = "KHR_draco_mesh_compression"
PACKED = (DRACO, *MESHOPT)
_TRIANGLES, _STRIP = 4, 5
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}
_log = logging.getLogger("pliant.io")


def is_placeholder(buffer: "Json") -> bool:
    """True for a buffer without data, in whose place the decoded data stand."""
    return any(_extension(buffer, name).get("fallback") is True for name in MESHOPT)


def unpack(document: "Document") -> None:
    """Decode all compressed data of a document, within the limits for packed files."""
    limit = unpacked_limit(document.size + sum(map(len, document.buffers)), document.file.max_bytes)
    left = _unpack_views(document, limit)
    _unpack_primitives(document, left)
    for key in ("extensionsUsed", "extensionsRequired"):
        if isinstance(document.json.get(key), list):
            document.json[key] = [name for name in document.json[key] if name not in PACKED]


def _extension(entry: Any, name: str) -> dict[str, Any]:
    found = entry.get("extensions") if isinstance(entry, dict) else None
    inner = found.get(name) if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else {}


def _has(entry: Any, name: str) -> bool:
    """True if an extension is there, whatever it says; one without content is damaged, and must not be passed over."""
    found = entry.get("extensions") if isinstance(entry, dict) else None
    return isinstance(found, dict) and name in found


def _drop(entry: "Json", name: str) -> None:
    entry["extensions"] = {key: value for key, value in entry["extensions"].items() if key != name}
    if not entry["extensions"]:
        del entry["extensions"]


def _unpack_views(document: "Document", limit: int) -> int:
    """Put the content in place of compressed buffer views; return what is left of `limit`."""
    out = bytearray()
    views = []
    for k, view in enumerate(document.items("bufferViews")):
        name = next((name for name in MESHOPT if _has(view, name)), None)
        if name is None:
            continue
        start = len(out)
        out += _content(document, view, f"bufferViews[{k}].{name}", _extension(view, name), limit - start)
        views.append((view, name, start, len(out) - start))
        out += b"\0" * (-len(out) % 4)
    for view, name, start, length in views:
        view |= {"buffer": len(document.buffers), "byteOffset": start, "byteLength": length}
        _drop(view, name)
    if views:
        document.buffers.append(bytes(out))
    return limit - len(out)


def _content(document: "Document", view: "Json", where: str, entry: "Json", limit: int) -> bytes:
    from .meshopt import FILTERS, MODES, MOST_RATIO, Packed
    from .meshopt import decode as decode_meshopt  # compiles

    mode, kind = entry.get("mode"), entry.get("filter", "NONE")
    if mode not in MODES or kind not in FILTERS or (kind != "NONE" and mode != "ATTRIBUTES"):
        raise document.file.fail(where, f"unknown mode {mode!r} with the filter {kind!r}"[:200])
    stride = document.whole(entry, "byteStride", where, low=1)
    count = document.whole(entry, "count", where, low=1)
    fits = {"OCTAHEDRAL": (4, 8), "COLOR": (4, 8), "QUATERNION": (8,)}.get(kind, range(4, 257, 4))
    if stride not in (fits if mode == "ATTRIBUTES" else (2, 4)) or (mode == "TRIANGLES" and count % 3):
        raise document.file.fail(where, f"{count} elements of {stride} bytes do not suit mode {mode} and filter {kind}")
    length = document.whole(entry, "byteLength", where, low=1)
    start = document.whole(entry, "byteOffset", where, 0)
    buffer = document.buffers[document.checked(entry.get("buffer"), where, high=len(document.buffers) - 1)]
    if start + length > len(buffer):
        raise document.file.fail(where, f"ends at byte {start + length}, but its buffer has {len(buffer)}")
    if count * stride > min(limit, MOST_RATIO * length):
        raise document.file.fail(where, f"{count} elements of {stride} bytes are more than {length} bytes can hold")
    if document.whole(view, "byteLength", where, low=1) > count * stride:
        raise document.file.fail(where, f"the view is longer than its {count} elements of {stride} bytes")
    try:
        return decode_meshopt(buffer[start : start + length], Packed(mode, kind, count, stride))
    except ValueError as error:
        raise document.file.fail(where, str(error)) from None


def _unpack_primitives(document: "Document", limit: int) -> None:
    """Give the accessors of Draco primitives the decoded data."""
    found = []
    for m, mesh in enumerate(document.items("meshes")):
        for p, primitive in enumerate(document.array(mesh, "primitives", f"meshes[{m}]")):
            if _has(primitive, DRACO):
                found.append((f"meshes[{m}].primitives[{p}]", primitive, _extension(primitive, DRACO)))
    if found and not installed():
        if not all(_has_fallback(document, primitive) for _, primitive, _ in found):
            raise document.file.fail(DRACO, f"the geometry is compressed with Draco; reading it needs DracoPy: {EXTRA}")
    elif found:
        rows = _encoded(document, found)
        meshes = decode(document.file, [data for data, _ in rows.values()], limit)
        for (_, sharing), arrays in zip(rows.values(), meshes):
            _Primitives(document, arrays).fill(sharing)
    for _, primitive, _ in found:
        _drop(primitive, DRACO)


def _has_fallback(document: "Document", primitive: "Json") -> bool:
    """True if the file also has the uncompressed data of a primitive."""
    attributes = primitive.get("attributes")
    used = [*(attributes.values() if isinstance(attributes, dict) else []), primitive.get("indices")]
    return all("bufferView" in document.item("accessors", k, DRACO) for k in used)


def _encoded(document: "Document", found: Any) -> dict[int, tuple[bytes, list[Any]]]:
    """Return the bytes of every buffer view that primitives refer to, and those primitives."""
    out: dict[int, tuple[bytes, list[Any]]] = {}
    for where, primitive, entry in found:
        view = document.item("bufferViews", entry.get("bufferView"), f"{where}.{DRACO}")
        k = int(entry["bufferView"])
        if k not in out:
            name = f"bufferViews[{k}]"
            buffer = document.buffers[document.checked(view.get("buffer"), name, high=len(document.buffers) - 1)]
            start = document.whole(view, "byteOffset", name, 0)
            stop = start + document.whole(view, "byteLength", name, low=1)
            if stop > len(buffer):
                raise document.file.fail(name, f"ends at byte {stop}, but its buffer has {len(buffer)}")
            out[k] = buffer[start:stop], []
        out[k][1].append((where, primitive, entry))
    return out


class _Primitives:
    """The primitives that share one Draco mesh; their accessors are filled once."""

    def __init__(self, document: "Document", arrays: dict[str, Any]) -> None:
        self.document, self.arrays = document, arrays
        self.filled: dict[tuple[int, str], int] = {}  # accessor and array -> accessor

    def fill(self, primitives: Any) -> None:
        for where, primitive, entry in primitives:
            if self.document.whole(primitive, "mode", where, _TRIANGLES) not in (_TRIANGLES, _STRIP):
                raise self.document.file.fail(where, "is compressed with Draco, but has no triangles")
            primitive.pop("mode", None)  # triangles: strips are decoded to them
            attributes, ids = primitive.get("attributes"), entry.get("attributes")
            if not isinstance(attributes, dict) or not isinstance(ids, dict):
                raise self.document.file.fail(where, "has no attributes")
            for name, k in ids.items():
                if name not in attributes or not isinstance(k, int) or str(k) not in self.arrays:
                    raise self.document.file.fail(f"{where}.{DRACO}", f"the attribute {name[:40]!r} is not in the data")
                attributes[name] = self._accessor(attributes[name], str(k), f"{where}.{name}")
            if "indices" in primitive:
                primitive["indices"] = self._accessor(primitive["indices"], "faces", f"{where}.indices")
            else:
                entry_of_faces = {"componentType": 5125, "type": "SCALAR", "count": 1}
                primitive["indices"] = self._accessor(self._add("accessors", entry_of_faces), "faces", where)

    def _add(self, kind: str, entry: "Json") -> int:
        self.document.json.setdefault(kind, []).append(entry)
        return len(self.document.items(kind)) - 1

    def _accessor(self, index: Any, key: str, where: str) -> int:
        """Return an accessor like `index` with the values of an array."""
        like = self.document.item("accessors", index, where)
        if (int(index), key) in self.filled:
            return self.filled[int(index), key]
        dtype = self.document.dtype(like, where)
        values = self.arrays[key] if key != "faces" else self.arrays[key].reshape(-1, 1)
        with np.errstate(all="ignore"):
            stored = values.astype(dtype)
        if like.get("type") != _KINDS.get(values.shape[1]) or not np.array_equal(stored, values, equal_nan=True):
            raise self.document.file.fail(where, "the type of its accessor cannot hold the decoded values")
        if key != "faces" and like.get("count") != len(values):
            name = self.document.file.name
            _log.warning("%s: %s has %d elements, not %s", name, where, len(values), like.get("count"))
        width = dtype.itemsize * values.shape[1]
        step = width if key == "faces" else width + -width % 4  # elements of vertices start at multiples of four bytes
        rows = np.zeros((len(values), step), np.uint8)
        rows[:, :width] = np.ascontiguousarray(stored).view(np.uint8).reshape(len(values), width)
        self.document.buffers.append(rows.tobytes())
        view = {"buffer": len(self.document.buffers) - 1, "byteLength": rows.size}
        entry = {k: v for k, v in like.items() if k not in ("byteOffset", "sparse", "min", "max")}
        entry |= {"bufferView": self._add("bufferViews", view | ({"byteStride": step} if step != width else {}))}
        entry["count"] = len(values)
        if "min" in like or "max" in like:
            entry |= {"min": stored.min(0).tolist(), "max": stored.max(0).tolist()}
        self.filled[int(index), key] = self._add("accessors", entry)
        return self.filled[int(index), key]

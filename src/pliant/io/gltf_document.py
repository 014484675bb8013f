"""A glTF document: JSON and buffers, with validated access to all entries (glTF 2.0, Khronos)."""

import base64
import binascii
import dataclasses
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gltf_packed import PACKED, is_placeholder, unpack
from .links import inside, percent_decoded
from .reading import Input

COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
# required extensions that affect appearance only, not geometry
_HARMLESS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_", "KHR_mesh_quantization", "KHR_xmp")
_JSON, _BIN = 0x4E4F534A, 0x004E4942

Json = dict[str, Any]


class Document:
    """The parsed `json` and the bytes of every buffer."""

    def __init__(self, file: Input) -> None:
        self.file = file
        self.size = len(file.data)
        self._items: dict[str, list[Json]] = {}
        text, binary = _glb(file) if file.data[:4] == b"glTF" else (file.data, None)
        self.json = _parse(file, text)
        asset = self.json.get("asset")
        version = asset.get("version") if isinstance(asset, dict) else None
        if not isinstance(version, str) or not version.startswith("2"):
            raise file.fail("asset", f"glTF version {version!r}; pliant reads 2.0")
        self._refuse_extensions()
        self.buffers: list[bytes] = []
        for k, buffer in enumerate(self.items("buffers")):
            self.buffers.append(self._buffer(k, buffer, binary))
        unpack(self)
        # limit for instancing, so that a small file cannot become a huge mesh
        self.most = max(250_000, 8 * (self.size + sum(map(len, self.buffers))))
        self.file = dataclasses.replace(file, data=b"")  # a mesh keeps its document; do not hold the bytes twice

    def _refuse_extensions(self) -> None:
        required = self.json.get("extensionsRequired", [])
        for name in required if isinstance(required, list) else []:
            if not isinstance(name, str) or not name.startswith((*_HARMLESS, *PACKED)):
                raise self.file.fail("extensionsRequired", f"needs the extension {name!r}, which pliant does not read")

    def _buffer(self, k: int, buffer: Json, binary: bytes | None) -> bytes:
        where = f"buffers[{k}]"
        length = self.whole(buffer, "byteLength", where, low=1)
        uri = buffer.get("uri")
        if uri is None and is_placeholder(buffer):
            return b""
        if uri is None:
            if k != 0 or binary is None:
                raise self.file.fail(where, "has no uri, and the file has no binary chunk for it")
            data = binary
        elif not isinstance(uri, str):
            raise self.file.fail(where, "uri is not a string")
        else:
            data = self.link(uri, where)
        if length > len(data):
            raise self.file.fail(where, f"byteLength {length}, but only {len(data)} bytes are there (truncated?)")
        return data[:length]

    def link(self, uri: str, where: str) -> bytes:
        """Return the bytes of a `data:` URI or of a file in the model's own folder; other URIs raise."""
        if uri[:5].lower() == "data:":
            head, comma, body = uri.partition(",")
            if not comma or not head.lower().endswith(";base64"):
                raise self.file.fail(where, "a data: uri that is not base64")
            try:
                return base64.b64decode(body, validate=True)
            except (binascii.Error, ValueError):
                raise self.file.fail(where, "a data: uri with broken base64") from None
        target = inside(self.file.path.parent, percent_decoded(uri))
        excerpt = uri if len(uri) < 80 else uri[:77] + "..."
        if target is None:
            raise self.file.fail(where, f"uri {excerpt!r} is not a file in the model's own folder")
        try:
            if target.stat().st_size > self.file.max_bytes:
                raise self.file.fail(where, f"{excerpt!r} is larger than the limit")
            return target.read_bytes()
        except OSError as error:
            raise self.file.fail(where, f"{excerpt!r} cannot be opened ({error.strerror})") from None

    def items(self, name: str) -> list[Json]:
        """Return a top-level array of objects; empty if absent."""
        if name not in self._items:
            found = self.json.get(name, [])
            if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
                raise self.file.fail(name, "expected an array of objects")
            self._items[name] = found
        return self._items[name]

    def item(self, name: str, index: Any, where: str) -> Json:
        """Return entry `index` of a top-level array."""
        entries = self.items(name)
        k = self.checked(index, where, high=len(entries) - 1)
        return entries[k]

    def checked(self, value: Any, where: str, *, low: int = 0, high: int = 2**53) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.file.fail(where, f"expected a whole number in {low}..{high}, found {_short(value)}")
        return value

    def whole(self, entry: Json, key: str, where: str, default: int | None = None, low: int = 0) -> int:
        if key not in entry and default is not None:
            return default
        return self.checked(entry.get(key), f"{where}.{key}", low=low)

    def numbers(self, value: Any, length: int, where: str) -> NDArray[np.float64]:
        """Return a JSON array of `length` finite numbers."""
        good = isinstance(value, list) and len(value) == length
        if not good or not all(isinstance(v, int | float) and abs(v) < 1e300 for v in value):
            raise self.file.fail(where, f"expected {length} numbers, found {_short(value)}")
        return np.array(value, np.float64)

    def array(self, entry: Json, key: str, where: str) -> list[Any]:
        found = entry.get(key, [])
        if not isinstance(found, list):
            raise self.file.fail(f"{where}.{key}", "expected an array")
        return found

    def accessor(self, index: Any, kinds: tuple[str, ...], where: str) -> NDArray[Any]:
        """Return values (count, width), normalised integers as floats, sparse entries applied."""
        entry = self.item("accessors", index, where)
        where = f"accessors[{index}]"
        kind = entry.get("type")
        if kind not in kinds:
            raise self.file.fail(where, f"type {_short(kind)}, expected {' or '.join(kinds)}")
        dtype = self.dtype(entry, where)
        count = self.whole(entry, "count", where, low=1)
        if count > self.most:
            raise self.file.fail(where, f"count {count} is more than the file's {self.size} bytes can hold")
        if "bufferView" in entry:
            offset = self.whole(entry, "byteOffset", where, 0)
            values = self._view(entry["bufferView"], offset, dtype, count, WIDTHS[kind], where)
        else:
            if count > max(65536, self.size):
                raise self.file.fail(where, f"count {count} without a bufferView")
            values = np.zeros((count, WIDTHS[kind]), dtype)
        if "sparse" in entry:
            values = self._sparse(entry["sparse"], values, where)
        if entry.get("normalized") and dtype.kind in "iu":
            return np.maximum(values / float(np.iinfo(dtype).max), -1.0)
        return values

    def dtype(self, entry: Json, where: str) -> np.dtype[Any]:
        kind = entry.get("componentType")
        if not isinstance(kind, int) or kind not in COMPONENTS:
            raise self.file.fail(where, f"unknown componentType {_short(kind)}")
        return np.dtype(COMPONENTS[kind])

    def _view(self, index: Any, offset: int, dtype: np.dtype[Any], count: int, width: int, where: str) -> NDArray[Any]:
        """Return values (count, width) of a buffer view without copying."""
        view = self.item("bufferViews", index, f"{where}.bufferView")
        name = f"bufferViews[{index}]"
        k = self.checked(view.get("buffer"), f"{name}.buffer", high=len(self.buffers) - 1)
        start = self.whole(view, "byteOffset", name, 0)
        length = self.whole(view, "byteLength", name, low=1)
        size = dtype.itemsize * width
        stride = self.whole(view, "byteStride", name, size, low=1)
        if start + length > len(self.buffers[k]):
            raise self.file.fail(name, f"ends at byte {start + length}, but its buffer has {len(self.buffers[k])}")
        if stride < size or offset + stride * (count - 1) + size > length:
            raise self.file.fail(
                where, f"{count} elements from byte {offset} do not fit into the {length} bytes of {name}"
            )
        return np.ndarray((count, width), dtype, self.buffers[k], start + offset, (stride, dtype.itemsize))

    def _sparse(self, sparse: Any, values: NDArray[Any], where: str) -> NDArray[Any]:
        where = f"{where}.sparse"
        if not isinstance(sparse, dict) or not all(isinstance(sparse.get(k), dict) for k in ("indices", "values")):
            raise self.file.fail(where, "expected count, indices and values")
        count = self.whole(sparse, "count", where, low=1)
        if count > len(values):
            raise self.file.fail(where, f"count {count} is more than the accessor's {len(values)}")
        rows, new = sparse["indices"], sparse["values"]
        kind = self.dtype(rows, where)
        if kind.kind != "u":
            raise self.file.fail(where, "indices must be unsigned")
        at = self._view(rows.get("bufferView"), self.whole(rows, "byteOffset", where, 0), kind, count, 1, where).ravel()
        if (at >= len(values)).any():
            raise self.file.fail(where, f"index {int(at.max())}, but the accessor has {len(values)} elements")
        offset = self.whole(new, "byteOffset", where, 0)
        out = values.copy()
        out[at] = self._view(new.get("bufferView"), offset, values.dtype, count, values.shape[1], where)
        return out


def _glb(file: Input) -> tuple[bytes, bytes | None]:
    """Return the JSON and the binary chunk of a GLB."""
    data = file.data
    if len(data) < 20:
        raise file.fail("byte 0", f"a GLB header needs 20 bytes, the file has {len(data)} (truncated?)")
    version, length = (int.from_bytes(data[k : k + 4], "little") for k in (4, 8))
    if version != 2:
        raise file.fail("byte 4", f"GLB version {version}; pliant reads 2")
    if length > len(data):
        raise file.fail("byte 8", f"{length} bytes declared, {len(data)} are there (truncated?)")
    text: bytes | None = None
    binary: bytes | None = None
    at = 12
    while at + 8 <= length:
        size, kind = (int.from_bytes(data[k : k + 4], "little") for k in (at, at + 4))
        if at + 8 + size > length:
            raise file.fail(f"byte {at}", f"a chunk of {size} bytes ends after the file (truncated?)")
        body = data[at + 8 : at + 8 + size]
        if kind == _JSON and text is None:
            text = body
        elif kind == _BIN and binary is None:
            binary = body
        at += 8 + size
    if text is None:
        raise file.fail("byte 12", "no JSON chunk")
    return text, binary


def _parse(file: Input, text: bytes) -> Json:
    def constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    def real(word: str) -> float:
        value = float(word)
        if math.isinf(value):
            raise ValueError(f"{word} is beyond the range of numbers")
        return value

    try:
        found = json.loads(text.decode("utf-8-sig"), parse_constant=constant, parse_float=real)
    except RecursionError:
        raise file.fail("JSON", "nested too deeply") from None
    except json.JSONDecodeError as error:
        if not text.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            why = "neither a GLB nor a JSON object; is the file of another kind than its name says?"
            raise file.fail("", why) from None
        raise file.fail(f"JSON line {error.lineno}", f"not JSON ({error.msg})") from None
    except ValueError as error:
        raise file.fail("JSON", f"not JSON ({_short(str(error))})") from None
    if not isinstance(found, dict):
        raise file.fail("JSON", "not a glTF file: the top level is not an object")
    return found


def _short(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return "a huge number"  # converting it to text may take minutes or raise
    text = repr(value) if not isinstance(value, list | dict) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."

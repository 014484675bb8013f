"""Builder of a GLB file: adds accessors, merges whole documents and writes only the referenced data."""

import copy
import json
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..errors import MeshFileError
from ..validate import size_text
from .gltf_document import Document, Json

_COMPONENTS = {"f4": 5126, "u2": 5123, "u4": 5125}
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
VERTICES, INDICES = 34962, 34963
# what a damaged part of a document raises that its reader had no need to validate
DAMAGED = (LookupError, TypeError, ValueError, AttributeError, RecursionError, MeshFileError)
_MERGED = ("accessors", "materials", "textures", "images", "samplers", "meshes", "skins", "cameras", "animations")
# extensions whose references are resolved here, so that unreferenced entries may be dropped
_KNOWN = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_punctual", "KHR_mesh_quantization")


class Builder:
    """The document under construction: `json` without buffers; buffer views refer to `parts`, which `write` joins into
    one buffer."""

    def __init__(self) -> None:
        self.json: Json = {"asset": {"version": "2.0", "generator": f"pliant {__version__}"}}
        self.parts: list[bytes | memoryview] = []
        self.roots: list[int] = []
        self.lights = 0
        # kinds whose unreferenced entries are left out, referring kinds first
        self.dropped: tuple[str, ...] = ("meshes", "skins", "accessors", "bufferViews")

    def trial(self) -> "Builder":
        """Return a copy that can be modified and discarded."""
        other = copy.copy(self)
        other.json, other.parts, other.roots = copy.deepcopy(self.json), list(self.parts), list(self.roots)
        return other

    def add(self, name: str, entry: Json) -> int:
        entries = self.json.setdefault(name, [])
        entries.append(entry)
        return len(entries) - 1

    def count(self, name: str) -> int:
        return len(self.json.get(name, ()))

    def entry(self, name: str, index: int) -> Any:
        return self.json[name][index]

    def view(self, data: bytes | memoryview, target: int | None = None, stride: int | None = None) -> int:
        """Add a buffer view with a part of its own; return its index."""
        self.parts.append(data)
        entry: Json = {"part": len(self.parts) - 1, "byteOffset": 0, "byteLength": len(data)}
        if target is not None:
            entry["target"] = target
        if stride is not None:
            entry["byteStride"] = stride
        return self.add("bufferViews", entry)

    def accessors(self, arrays: NDArray[Any], target: int | None = None, *, bounds: bool = False) -> list[int]:
        """Add one accessor for each (count, width) of `arrays` (k, count, width), all in one buffer view."""
        data = np.ascontiguousarray(arrays, arrays.dtype.newbyteorder("<"))
        _, count, width = data.shape
        stride = width * data.dtype.itemsize if target == VERTICES and len(data) > 1 else None
        view = self.view(data.data.cast("B"), target, stride)
        found = []
        low, high = (data.min(1), data.max(1)) if bounds else (None, None)
        for k in range(len(data)):
            entry: Json = {
                "bufferView": view,
                "byteOffset": k * count * width * data.dtype.itemsize,
                "componentType": _COMPONENTS[data.dtype.str[1:]],
                "count": count,
                "type": _KINDS[width],
            }
            if low is not None and high is not None:
                entry |= {"min": low[k].tolist(), "max": high[k].tolist()}
            found.append(self.add("accessors", entry))
        return found

    def accessor(self, array: NDArray[Any], target: int | None = None, *, bounds: bool = False) -> int:
        return self.accessors(array[None], target, bounds=bounds)[0]

    def indices(self, faces: NDArray[Any]) -> int:
        # in 16 bits the index 65535 means primitive restart
        kind = np.uint16 if faces.max(initial=0) < 65535 else np.uint32
        return self.accessor(faces.astype(kind).reshape(-1, 1), INDICES)

    def merge(self, document: Document, *, animations: bool) -> dict[str, int]:
        """Append a document; return the offset added to each kind of index. Its nodes are not added to `roots`."""
        source = copy.deepcopy(document.json)
        if not animations:
            source.pop("animations", None)
        grown = {name: len(self.json.get(name, [])) for name in (*_MERGED, "nodes", "bufferViews")}
        grown["lights"] = self.lights
        first_part = len(self.parts)
        self.parts += document.buffers
        for view in source.get("bufferViews", []):
            k = _checked(view.pop("buffer"), len(document.buffers))
            size = len(document.buffers[k]) + 1
            start, length = _checked(view.get("byteOffset", 0), size), _checked(view["byteLength"], size)
            _checked(start + length, size)
            view |= {"part": first_part + k, "byteOffset": start, "byteLength": length}
            self.add("bufferViews", view)
        counts = {name: len(source.get(name, [])) for name in grown}
        counts["lights"] = len(_lights(source))
        for kind, references in _REFERENCES.items():
            for entry in source.get(kind, []):
                for holder, key, name in references(entry):
                    holder[key] = _checked(holder[key], counts[name]) + grown[name]
                self.add(kind, entry)
        for image in source.get("images", []):
            self._embed(document, image)
        for key in ("extensionsUsed", "extensionsRequired"):
            names = [*self.json.get(key, []), *source.get(key, [])]
            if names:
                self.json[key] = list(dict.fromkeys(names))
        self._extensions(source)
        if "copyright" in source["asset"]:
            notices = dict.fromkeys([self.json["asset"].get("copyright"), source["asset"]["copyright"]])
            self.json["asset"]["copyright"] = "; ".join(str(text) for text in notices if text)
        return grown

    def _embed(self, document: Document, image: Json) -> None:
        """Embed an external image file; keep the URI if the file is missing."""
        uri = image.get("uri")
        if not isinstance(uri, str):
            return
        try:
            data = document.link(uri, "images")
        except MeshFileError:
            return
        kinds = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
        mime = next((kind for magic, kind in kinds.items() if data.startswith(magic)), None)
        if mime is not None:
            del image["uri"]
            image |= {"bufferView": self.view(data), "mimeType": mime}

    def _extensions(self, source: Json) -> None:
        mine, lights = self.json.setdefault("extensions", {}), _lights(source)
        for name, value in source.get("extensions", {}).items():
            if name == "KHR_lights_punctual":
                mine.setdefault(name, {}).setdefault("lights", []).extend(lights)
            else:
                mine.setdefault(name, value)
        self.lights += len(lights)
        if not mine:
            del self.json["extensions"]

    def write(self, stream: IO[bytes]) -> None:
        """Write the GLB file."""
        out = {name: value for name, value in self.json.items() if value != []}
        out["scene"] = 0
        out["scenes"] = [{"nodes": self.roots}]
        if all(str(name).startswith(_KNOWN) for name in out.get("extensionsUsed", [])):
            _drop_unused(out, self.dropped)
        pieces, size = self._buffer(out)
        if size:
            out["buffers"] = [{"byteLength": size}]
        text = json.dumps(out, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        tail = -size % 4
        total = 12 + 8 + len(text) + ((8 + size + tail) if size else 0)
        if total >= 1 << 32:
            raise ValueError(
                f"a GLB file is limited to 4 GiB, this one would have {size_text(total)}; write .npz, or fewer frames"
            )
        stream.write(b"glTF" + (2).to_bytes(4, "little") + total.to_bytes(4, "little"))
        stream.write(len(text).to_bytes(4, "little") + b"JSON" + text)
        if size:
            stream.write((size + tail).to_bytes(4, "little") + b"BIN\0")
            for piece in pieces:
                stream.write(piece)
            stream.write(b"\0" * tail)

    def _buffer(self, out: Json) -> tuple[list[bytes | memoryview], int]:
        """Return the bytes covered by buffer views, in the order of the parts, and set the offset of each view."""
        by_part: dict[int, list[Json]] = {}
        out["bufferViews"] = [dict(view) for view in out.get("bufferViews", [])]
        for view in out["bufferViews"]:
            by_part.setdefault(view["part"], []).append(view)
        pieces: list[bytes | memoryview] = []
        size = 0
        for part in sorted(by_part):
            views = sorted(by_part[part], key=lambda v: int(v["byteOffset"]))
            start = stop = -1
            runs: list[tuple[int, int, list[Json]]] = []  # contiguous ranges covered by views
            for view in views:
                begin, end = view["byteOffset"], view["byteOffset"] + view["byteLength"]
                if begin > stop or not runs:
                    start, stop = begin - begin % 4, end
                    runs.append((start, stop, [view]))
                else:
                    stop = max(stop, end)
                    runs[-1] = (start, stop, [*runs[-1][2], view])
            for start, stop, members in runs:
                pad = -size % 4
                pieces += [b"\0" * pad, memoryview(self.parts[part])[start:stop]]
                for view in members:
                    view["byteOffset"] += size + pad - start
                    view["buffer"] = 0
                    del view["part"]
                size += pad + stop - start
        if not out["bufferViews"]:
            del out["bufferViews"]
        return pieces, size


def _checked(value: Any, count: int) -> int:
    """Return an index below `count`, else raise; the reader validates only the entries it uses."""
    if isinstance(value, bool) or value != int(value) or not 0 <= value < count:
        raise ValueError(f"{value!r} does not point into {count} entries")
    return int(value)


def _lights(source: Json) -> list[Any]:
    return source.get("extensions", {}).get("KHR_lights_punctual", {}).get("lights", [])


_Reference = Iterator[tuple[Any, Any, str]]  # container, key in it, and name of the array that the index refers to


def _texture_infos(value: Any) -> _Reference:
    """Yield every `...Texture: {index}` in a material, extensions included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.endswith("Texture") and isinstance(inner, dict) and "index" in inner:
                yield inner, "index", "textures"
            yield from _texture_infos(inner)


def _accessor(entry: Json) -> _Reference:
    if "bufferView" in entry:
        yield entry, "bufferView", "bufferViews"
    for key in ("indices", "values"):
        if isinstance(entry.get("sparse"), dict):
            yield entry["sparse"][key], "bufferView", "bufferViews"


def _texture(entry: Json) -> _Reference:
    for holder in (entry, *[e for e in entry.get("extensions", {}).values() if isinstance(e, dict)]):
        if "source" in holder:
            yield holder, "source", "images"
    if "sampler" in entry:
        yield entry, "sampler", "samplers"


def _image(entry: Json) -> _Reference:
    if "bufferView" in entry:
        yield entry, "bufferView", "bufferViews"


def _mesh(entry: Json) -> _Reference:
    for primitive in entry.get("primitives", []):
        for holder in (primitive["attributes"], *primitive.get("targets", [])):
            for key in holder:
                yield holder, key, "accessors"
        if "indices" in primitive:
            yield primitive, "indices", "accessors"
        if "material" in primitive:
            yield primitive, "material", "materials"
        variants = primitive.get("extensions", {}).get("KHR_materials_variants", {}).get("mappings", [])
        for mapping in variants:
            yield mapping, "material", "materials"


def _skin(entry: Json) -> _Reference:
    if "inverseBindMatrices" in entry:
        yield entry, "inverseBindMatrices", "accessors"
    if "skeleton" in entry:
        yield entry, "skeleton", "nodes"
    for k in range(len(entry.get("joints", []))):
        yield entry["joints"], k, "nodes"


def _animation(entry: Json) -> _Reference:
    for sampler in entry.get("samplers", []):
        yield sampler, "input", "accessors"
        yield sampler, "output", "accessors"
    for channel in entry.get("channels", []):
        if "node" in channel.get("target", {}):
            yield channel["target"], "node", "nodes"


def _node(entry: Json) -> _Reference:
    for key, name in (("mesh", "meshes"), ("skin", "skins"), ("camera", "cameras")):
        if key in entry:
            yield entry, key, name
    for k in range(len(entry.get("children", []))):
        yield entry["children"], k, "nodes"
    light = entry.get("extensions", {}).get("KHR_lights_punctual", {})
    if "light" in light:
        yield light, "light", "lights"


def _none(entry: Json) -> _Reference:
    yield from ()


_REFERENCES = {
    "accessors": _accessor, "materials": _texture_infos, "textures": _texture, "images": _image, "samplers": _none,
    "cameras": _none, "meshes": _mesh, "skins": _skin, "animations": _animation, "nodes": _node,
}  # fmt: skip


def _drop_unused(out: Json, kinds: tuple[str, ...]) -> None:
    """Remove the unreferenced entries of these kinds, referring ones first, for example replaced positions."""
    for kind in kinds:
        entries = out.get(kind, [])
        if not entries:
            continue
        found = []
        for owner, references in _REFERENCES.items():
            for entry in out.get(owner, []):
                found += [(holder, key) for holder, key, name in references(entry) if name == kind]
        used = sorted({holder[key] for holder, key in found})
        new = {old: k for k, old in enumerate(used)}
        # a holder shared by two owners (the targets of a mesh's primitives) is renumbered once
        for holder, key in {(id(holder), key): (holder, key) for holder, key in found}.values():
            holder[key] = new[holder[key]]
        out[kind] = [entries[k] for k in used]
        if not out[kind]:
            del out[kind]

"""Materials of a loaded mesh with the images of their textures, for writers of formats other than that of its file."""

import logging
import math
import pathlib
from typing import Any, NamedTuple

from ..errors import MeshFileError
from ..files import atomic_write
from ..mesh import Mesh
from .gltf import GltfSource
from .gltf_document import Document, Json
from .gltf_uv import Placement, of_material, of_texture
from .links import inside
from .obj import ObjSource
from .usd_read import UsdSource

_log = logging.getLogger(__name__)
RGB = tuple[float, float, float]
_KINDS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg"}
_LARGEST = 256 << 20  # bytes of an image
# texture of a glTF material -> where it is: in the material itself or in its metallic-roughness part
SLOTS = {
    "color": ("pbrMetallicRoughness", "baseColorTexture"),
    "metallic_roughness": ("pbrMetallicRoughness", "metallicRoughnessTexture"),
    "normal": (None, "normalTexture"),
    "emission": (None, "emissiveTexture"),
    "occlusion": (None, "occlusionTexture"),
}


class Image(NamedTuple):
    """The bytes of a PNG or JPEG file."""

    name: str  # without extension
    ending: str  # .png or .jpg
    data: bytes


class Surface(NamedTuple):
    """A material in the metallic-roughness model of glTF 2.0; colours are linear RGB, textures multiply them."""

    name: str
    color: RGB
    opacity: float = 1.0
    metallic: float = 0.0
    roughness: float = 0.9
    emission: RGB = (0.0, 0.0, 0.0)
    transparent: bool = False  # whether opacity and the alpha of the colour texture apply
    cutoff: float = 0.0  # opacity below which nothing is drawn; 0: blended
    textures: dict[str, Image] = {}  # noqa: RUF012  by the keys of SLOTS


PLAIN = Surface("", (1.0, 1.0, 1.0))  # what is not said of a material


def surfaces(mesh: Mesh, color: RGB) -> list[Surface]:
    """Return the material of each row of `mesh.materials`; `color` where it has none. Without materials: one."""
    if mesh.material is None or not mesh.materials:
        return [Surface(mesh.name, color)]
    source = mesh.source
    known: dict[Any, Image | None] = {}
    found = []
    for k, material in enumerate(mesh.materials):
        rgb = material.get("color", color)
        plain = Surface(str(material.get("name", "material")), (rgb[0], rgb[1], rgb[2]))
        if isinstance(source, GltfSource) and k < len(source.document.items("materials")):
            plain = _of_gltf(source.document, k, plain, known)
        elif isinstance(source, UsdSource) and material.get("texture"):
            image = _of_file(pathlib.Path(str(material["texture"])), known)
            if image is not None:
                plain = plain._replace(color=(1.0, 1.0, 1.0), textures={"color": image})
        elif isinstance(source, ObjSource) and material.get("texture"):
            image = _of_obj(source, str(material["texture"]), known)
            if image is not None:  # the colour beside a texture is rarely meant
                plain = plain._replace(color=(1.0, 1.0, 1.0), textures={"color": image})
        found.append(plain)
    return found


def _of_obj(source: ObjSource, name: str, known: dict[Any, Image | None]) -> Image | None:
    """Return the image that map_Kd names; None if it is missing, outside of the folder, or of another kind."""
    if name not in known:
        known[name] = None
        spelled = [name, name.split()[-1], name.replace("\\", "/")]  # options of map_Kd come before the name
        folders = dict.fromkeys(path.parent for path in source.libraries)
        for path in (inside(folder, text) for folder in folders for text in spelled):
            if path is not None and path.stat().st_size <= _LARGEST:
                known[name] = known[name] or _image(path.stem, path.read_bytes())
    return known[name]


def _of_file(path: pathlib.Path, known: dict[Any, Image | None]) -> Image | None:
    """Return the image of a file; None if it cannot be read, or is of another kind."""
    if path not in known:
        try:
            known[path] = _image(path.stem, path.read_bytes()) if path.stat().st_size <= _LARGEST else None
        except (OSError, ValueError) as error:
            _log.warning("%s cannot be read (%s); left out", path, error)
            known[path] = None
    return known[path]


def _image(name: str, data: bytes) -> Image | None:
    ending = next((ending for magic, ending in _KINDS.items() if data.startswith(magic)), None)
    return None if ending is None else Image(name, ending, data)


def _of_gltf(document: Document, k: int, plain: Surface, known: dict[Any, Image | None]) -> Surface:
    entry = document.items("materials")[k]
    base = entry.get("pbrMetallicRoughness")
    base = base if isinstance(base, dict) else {}
    textures, emission = {}, _numbers(entry.get("emissiveFactor"), [0.0] * 3)
    for slot, (holder, key) in SLOTS.items():
        info = (entry if holder is None else base).get(key)
        where = f"materials[{k}].{key}"
        image = _texture(document, info, known, where, of_material(document, k)) if isinstance(info, dict) else None
        if image is not None:
            textures[slot] = image
    transparent = entry.get("alphaMode", "OPAQUE") in ("BLEND", "MASK")
    return plain._replace(
        opacity=_numbers(base.get("baseColorFactor"), [1.0] * 4)[3] if transparent else 1.0,
        transparent=transparent,
        metallic=_number(base.get("metallicFactor"), 1.0),
        roughness=_number(base.get("roughnessFactor"), 1.0),
        emission=(emission[0], emission[1], emission[2]),
        cutoff=_number(entry.get("alphaCutoff"), 0.5) if entry.get("alphaMode") == "MASK" else 0.0,
        textures=textures,
    )


def _number(value: Any, default: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(max(float(value), 0.0), 1.0) if good else default


def _numbers(value: Any, defaults: list[float]) -> list[float]:
    """Return a list of numbers in 0..1; `defaults` for one of another length, and for entries that are no numbers."""
    given = value if isinstance(value, list) and len(value) == len(defaults) else defaults
    return [_number(one, default) for one, default in zip(given, defaults)]


def _texture(
    document: Document, info: Json, known: dict[Any, Image | None], where: str, placement: Placement
) -> Image | None:
    """Return the image of a texture; None, with a warning, if its placement is another than that of the colour texture,
    which the mesh has, if it is neither PNG nor JPEG, or cannot be read."""
    try:
        if of_texture(document, info, where) != placement:
            _log.warning("%s: %s has texture coordinates of its own; left out", document.file.name, where)
            return None
        source = document.item("textures", info.get("index"), where).get("source")
        if source not in known:
            known[source] = _gltf_image(document, source, where)
        if known[source] is None:
            _log.warning("%s: %s is neither PNG nor JPEG; left out", document.file.name, where)
        return known[source]
    except (MeshFileError, TypeError) as error:
        _log.warning("%s: %s cannot be read (%s); left out", document.file.name, where, error)
        return None


def _gltf_image(document: Document, index: Any, where: str) -> Image | None:
    entry = document.item("images", index, where)
    uri = entry.get("uri")
    if isinstance(uri, str):
        data = document.link(uri, where)
        stem = "" if uri[:5].lower() == "data:" else pathlib.PurePosixPath(uri).stem
    else:
        view = document.item("bufferViews", entry.get("bufferView"), where)
        start, length = document.whole(view, "byteOffset", where, 0), document.whole(view, "byteLength", where)
        k = document.checked(view.get("buffer"), where, high=len(document.buffers) - 1)
        data, stem = document.buffers[k][start : start + length], ""
    name = entry.get("name")
    return _image(name if isinstance(name, str) and name else stem or f"image_{index}", data)


class ImageFiles:
    """The image files beside an output file: each image once, under a distinct name of safe characters."""

    def __init__(self, path: pathlib.Path) -> None:
        self.folder = path.with_name(f"{path.stem}-textures")
        self.images: dict[str, Image] = {}
        self._names: dict[tuple[str, bytes], str] = {}

    def reference(self, image: Image) -> str:
        """Return the name of the file of an image, relative to the output file."""
        key = image.ending, image.data
        if key not in self._names:
            word = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in image.name)[:80] or "image"
            name, number = word + image.ending, 2
            while name.lower() in {taken.lower() for taken in self.images}:
                name, number = f"{word}_{number}{image.ending}", number + 1
            self.images[name] = image
            self._names[key] = name
        return f"{self.folder.name}/{self._names[key]}"

    def write(self) -> list[pathlib.Path]:
        """Write the files of all images referred to; return their paths."""
        written = []
        for name, image in self.images.items():
            written.append(self.folder / name)
            with atomic_write(written[-1]) as stream:
                stream.write(image.data)
        return written

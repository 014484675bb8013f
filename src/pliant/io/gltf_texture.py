"""Textures of materials that were read from OBJ files, embedded in a GLB."""

import pathlib

from ..mesh import Mesh
from .gltf_build import Builder
from .links import inside
from .obj import ObjSource

_KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg"}
_LARGEST = 256 << 20  # bytes of an image


def put_textures(builder: Builder, mesh: Mesh, first: int) -> None:
    """Give materials `first` and later their colour textures, where the files of an OBJ mesh are PNG or JPEG."""
    if not isinstance(mesh.source, ObjSource) or not mesh.materials:
        return
    folders = dict.fromkeys(path.parent for path in mesh.source.libraries)
    files = {str(material.get("name")): str(material.get("texture", "")) for material in mesh.materials}
    known: dict[str, int | None] = {}
    for entry in builder.json.get("materials", [])[first:]:
        name = files.get(entry["name"], "")
        if name and name not in known:
            known[name] = _texture(builder, list(folders), name)
        if name and (texture := known[name]) is not None:
            surface = entry["pbrMetallicRoughness"]
            surface["baseColorTexture"] = {"index": texture}
            surface["baseColorFactor"] = [1.0, 1.0, 1.0, 1.0]  # the colour beside a texture is rarely meant


def _texture(builder: Builder, folders: list[pathlib.Path], name: str) -> int | None:
    """Add the image; None if it is missing, outside of the folder, or of another kind."""
    spelled = [name, name.split()[-1], name.replace("\\", "/")]  # options of map_Kd come before the name
    for path in (inside(folder, text) for folder in folders for text in spelled):
        if path is None or path.stat().st_size > _LARGEST:
            continue
        data = path.read_bytes()
        kind = next((kind for magic, kind in _KINDS.items() if data.startswith(magic)), None)
        if kind is not None:
            image = {"name": path.stem, "bufferView": builder.view(data), "mimeType": kind}
            return builder.add("textures", {"source": builder.add("images", image)})
    return None

"""Textures of materials that are written anew, embedded in a GLB."""

from ..mesh import Mesh
from .gltf_build import Builder
from .surfaces import Image, surfaces

_KINDS = {".png": "image/png", ".jpg": "image/jpeg"}


def put_textures(builder: Builder, mesh: Mesh, first: int) -> None:
    """Give materials `first` and later their colour textures, where the images of the mesh's file are PNG or JPEG."""
    white = (1.0, 1.0, 1.0)
    found = {surface.name: surface for surface in surfaces(mesh, white) if "color" in surface.textures}
    known: dict[Image, int] = {}
    for entry in builder.json.get("materials", [])[first:]:
        surface = found.get(entry["name"])
        if surface is not None:
            image = surface.textures["color"]
            if image not in known:
                view = {"name": image.name, "bufferView": builder.view(image.data), "mimeType": _KINDS[image.ending]}
                known[image] = builder.add("textures", {"source": builder.add("images", view)})
            base = entry["pbrMetallicRoughness"]
            base["baseColorTexture"] = {"index": known[image]}
            base["baseColorFactor"] = [*surface.color, 1.0]

"""The look of materials that are written anew, with their textures embedded in a GLB."""

from ..mesh import Mesh
from .gltf_build import Builder
from .gltf_document import Json
from .surfaces import SLOTS, Image, Surface, surfaces

_KINDS = {".png": "image/png", ".jpg": "image/jpeg"}


def put_surfaces(builder: Builder, mesh: Mesh, first: int) -> None:
    """Give materials `first` and later what the mesh's file says of them beside their colour: metalness, roughness,
    emission, opacity, and the textures whose images are PNG or JPEG."""
    found = {surface.name: surface for surface in surfaces(mesh, (1.0, 1.0, 1.0))}
    known: dict[Image, int] = {}
    for entry in builder.json.get("materials", [])[first:]:
        surface = found.get(entry["name"])
        if surface is not None:
            _put_numbers(entry, surface)
            for slot, image in surface.textures.items():
                _put_texture(builder, entry, slot, image, known)


def _put_numbers(entry: Json, surface: Surface) -> None:
    base = entry["pbrMetallicRoughness"]
    base["metallicFactor"], base["roughnessFactor"] = surface.metallic, surface.roughness
    if "color" in surface.textures:
        base["baseColorFactor"] = [*surface.color, 1.0]
    if any(surface.emission):
        entry["emissiveFactor"] = list(surface.emission)
    if surface.transparent:
        base["baseColorFactor"][3] = surface.opacity
        entry |= {"alphaMode": "MASK", "alphaCutoff": surface.cutoff} if surface.cutoff else {"alphaMode": "BLEND"}


def _put_texture(builder: Builder, entry: Json, slot: str, image: Image, known: dict[Image, int]) -> None:
    if image not in known:
        view = {"name": image.name, "bufferView": builder.view(image.data), "mimeType": _KINDS[image.ending]}
        known[image] = builder.add("textures", {"source": builder.add("images", view)})
    holder, key = SLOTS[slot]
    (entry if holder is None else entry[holder])[key] = {"index": known[image]}

"""Where a material's textures lie on its faces: the set of texture coordinates, and KHR_texture_transform (Khronos)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .gltf_document import Document, Json

_NAME = "KHR_texture_transform"


class Placement(NamedTuple):
    """A set of texture coordinates and how they are turned, scaled and moved, v down."""

    set: int = 0
    offset: tuple[float, float] = (0.0, 0.0)
    rotation: float = 0.0
    scale: tuple[float, float] = (1.0, 1.0)

    def __call__(self, uv: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coordinates (n,2) at which the texture is sampled."""
        if self[1:] == Placement()[1:]:
            return uv
        c, s = np.cos(self.rotation), np.sin(self.rotation)
        return (uv * self.scale) @ np.array([[c, -s], [s, c]]) + self.offset


def of_texture(document: Document, info: Json, where: str) -> Placement:
    """Return the placement of one texture of a material."""
    chosen = document.whole(info, "texCoord", where, 0)
    extensions = info.get("extensions")
    found = extensions.get(_NAME) if isinstance(extensions, dict) else None
    if not isinstance(found, dict):
        return Placement(chosen)
    chosen = document.whole(found, "texCoord", where, chosen)
    ox, oy = document.numbers(found.get("offset", [0, 0]), 2, where).tolist()
    sx, sy = document.numbers(found.get("scale", [1, 1]), 2, where).tolist()
    (rotation,) = document.numbers([found.get("rotation", 0)], 1, where).tolist()
    return Placement(chosen, (ox, oy), rotation, (sx, sy))


def of_material(document: Document, k: Any) -> Placement:
    """Return the placement of the textures of material k: that of its colour texture, else of its first texture."""
    materials = document.items("materials")
    if k is None or not 0 <= int(k) < len(materials):
        return Placement()
    base = materials[k].get("pbrMetallicRoughness")
    infos = [holder.get(name) for holder in (base, materials[k]) if isinstance(holder, dict) for name in _order(holder)]
    return next((of_texture(document, i, f"materials[{k}]") for i in infos if isinstance(i, dict)), Placement())


def _order(holder: Json) -> list[str]:
    return sorted((name for name in holder if name.endswith("Texture")), key=lambda name: name != "baseColorTexture")

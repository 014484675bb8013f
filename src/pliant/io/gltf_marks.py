"""Marks of a glTF file: names of nodes and meshes as groups, custom scalar attributes (_NAME), and vertex colours."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import MeshFileError
from ..mesh.marks import Marks
from .gltf_document import Document


class MarkedBlock(Protocol):
    """A range of vertices of one node."""

    node: int
    mesh: int
    primitives: list[int]
    start: int
    count: int


def marks_of(document: Document, blocks: Any, n: int) -> Marks:
    """Return the marks of a mesh of n vertices in these blocks; attributes that cannot be read are left out."""
    nodes, meshes = document.items("nodes"), document.items("meshes")
    rows: dict[str, list[NDArray[np.int32]]] = {}
    attributes: dict[str, NDArray[np.float64]] = {}
    colors: NDArray[np.float64] | None = None
    for block in blocks:
        own = np.arange(block.start, block.start + block.count, dtype=np.int32)
        named = [nodes[block.node].get("name")] if block.node >= 0 else []
        for name in dict.fromkeys([*named, meshes[block.mesh].get("name")]):
            if isinstance(name, str) and name:
                rows.setdefault(name, []).append(own)
        for name, index in meshes[block.mesh]["primitives"][block.primitives[0]]["attributes"].items():
            if name == "COLOR_0":
                found = _values(document, index, ("VEC3", "VEC4"), block.count)
                if found is not None:
                    colors = np.full((n, 3), np.nan) if colors is None else colors
                    colors[own] = _srgb(found[:, :3])
            elif name.startswith("_"):
                found = _values(document, index, ("SCALAR",), block.count)
                if found is not None:
                    attributes.setdefault(name, np.full(n, np.nan))[own] = found[:, 0]
    return Marks({name: np.concatenate(parts) for name, parts in rows.items()}, attributes, colors)


def _values(document: Document, index: Any, kinds: tuple[str, ...], count: int) -> NDArray[np.float64] | None:
    try:
        found = document.accessor(index, kinds, "attributes").astype(np.float64)
    except MeshFileError:
        return None
    return found if len(found) == count else None


def _srgb(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return colours as they are written in #rrggbb; glTF stores them linearly."""
    c = np.clip(linear, 0.0, 1.0)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1.0 / 2.4) - 0.055)

"""Components shared by the GLB writers: animation, morph targets, normals, materials, vertices split at seams."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .gltf_build import VERTICES, Builder
from .gltf_document import Json

Singles = NDArray[np.float32]
OWN_CLIP = "pliant"  # name of the animation in a written file


class Track:
    """The single animation of a written file."""

    def __init__(self, builder: Builder, fps: float) -> None:
        self.builder, self.fps = builder, fps
        self.samplers: list[Json] = []
        self.channels: list[Json] = []
        self._times: dict[bytes, int] = {}

    def onto(self, builder: Builder) -> "Track":
        """Return a copy that adds to another builder."""
        other = Track(builder, self.fps)
        other.samplers, other.channels, other._times = list(self.samplers), list(self.channels), dict(self._times)
        return other

    def add(self, node: int, path: str, frames: NDArray[Any], values: NDArray[Any], how: str) -> None:
        """Add `values` (keyframes, width) of `path` at `frames`; equal keyframe times are stored once."""
        times = (np.asarray(frames, np.float64) / self.fps).astype(np.float32)
        key = times.tobytes()
        if key not in self._times:
            self._times[key] = self.builder.accessor(times[:, None], bounds=True)
        flat = values if path != "weights" else values.reshape(-1, 1)
        output = self.builder.accessor(flat.astype(np.float32))
        self.samplers.append({"input": self._times[key], "output": output, "interpolation": how})
        target = {"node": node, "path": path}
        self.channels.append({"sampler": len(self.samplers) - 1, "target": target})

    def frames(self, node: int, first: int, last: int) -> None:
        """Add morph weights that show frame `first`, then each target in turn."""
        count = last - first
        weights = np.concatenate([np.zeros((1, count)), np.eye(count)])
        self.add(node, "weights", np.arange(first, last + 1), weights, "LINEAR")

    def finish(self) -> None:
        if self.channels:
            self.builder.add("animations", {"name": OWN_CLIP, "channels": self.channels, "samplers": self.samplers})


def paint_material(builder: Builder, material: Json, color: tuple[float, float, float]) -> int:
    rgb = [min(max(float(c), 0.0), 1.0) for c in material.get("color", color)]
    entry = {
        "name": str(material.get("name", "material")),
        "pbrMetallicRoughness": {"baseColorFactor": [*rgb, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.9},
        "doubleSided": True,
    }
    return builder.add("materials", entry)


def morph_targets(builder: Builder, x: Singles, normal: Singles | None) -> list[Json]:
    """Return a morph target for every frame after the first, as differences from the first."""
    if len(x) < 2:
        return []
    targets: list[Json] = [{"POSITION": k} for k in builder.accessors(x[1:] - x[0], VERTICES, bounds=True)]
    if normal is not None:
        for target, k in zip(targets, builder.accessors(normal[1:] - normal[0], VERTICES)):
            target["NORMAL"] = k
    return targets


class Normals:
    """Computes smooth unit normals (n,3) from positions: area-weighted, summed over vertices of one group."""

    def __init__(self, faces: NDArray[Any], group: NDArray[Any]) -> None:
        self.faces, self.group = faces, group
        self.corner = group[faces].ravel()
        self.count = int(group.max()) + 1

    def __call__(self, x: NDArray[Any]) -> Singles:
        a, b, c = (np.asarray(x, np.float64)[self.faces[:, k]] for k in range(3))
        normal = np.repeat(np.cross(b - a, c - a), 3, 0)
        total = np.stack([np.bincount(self.corner, normal[:, k], self.count) for k in range(3)], 1)
        return unit(total)[self.group]


def unit(vectors: NDArray[Any]) -> Singles:
    """Normalise vectors; zero vectors become (0, 1, 0), because glTF requires unit length."""
    largest = np.abs(vectors).max(-1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors, largest, out=np.zeros(vectors.shape), where=largest > 0)
    scaled[largest[..., 0] == 0] = (0.0, 1.0, 0.0)
    return (scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)).astype(np.float32)


def split_seams(mesh: Mesh) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
    """Duplicate vertices so that each has one texture coordinate, as glTF requires.

    Returns take (N,), the mesh vertex of each (the first n are the mesh's own, in order), faces (m,3), and uv (N,2)
    with v down, or None.
    """
    n = mesh.n_vertices
    if mesh.uv is None:
        return np.arange(n), mesh.faces.astype(np.int64), None
    corner = mesh.faces.ravel().astype(np.int64)
    uv = mesh.uv.reshape(-1, 2) + 0.0
    rows = np.ascontiguousarray(np.column_stack([corner.astype(np.float64), uv]))
    _, first, inverse = np.unique(rows.view("V24").ravel(), return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    owner = corner[first]
    # the first texture coordinate of a vertex stays at the vertex's own row
    home = np.full(n, len(corner), np.int64)
    np.minimum.at(home, owner, first)
    own = home[owner] == first
    row = np.where(own, owner, 0)
    extra = np.flatnonzero(~own)
    extra = extra[np.argsort(first[extra])]
    row[extra] = n + np.arange(len(extra))
    take = np.concatenate([np.arange(n), owner[extra]])
    out = np.zeros((len(take), 2))
    out[row] = uv[first]
    out[:, 1] = 1.0 - out[:, 1]
    return take, row[inverse].reshape(-1, 3), out

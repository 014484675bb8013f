"""Overlays of a run: one mesh per frame, drawn through the bodies that enclose it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.geometry import raster
from ..mesh import Mesh
from .camera import Camera
from .light import SUN, unit
from .pack import STEPS, planes, row_differences

RED = (0.80, 0.03, 0.03)  # linear RGB
ALPHA = 0.88  # opacity of the overlay; as in static/scene.js
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Overlay:
    """A mesh per frame (None: no overlay in that frame), and its colour, linear RGB."""

    meshes: Sequence[Mesh | None]
    color: tuple[float, float, float] = RED


def pack_overlay(overlay: Overlay) -> dict[str, Any]:
    """An overlay as a dict for JSON, positions quantised to 16 bits of the bounding box of all frames.

    Decoded by `static/decode.js`.
    """
    there = [mesh for mesh in overlay.meshes if mesh is not None]
    x = np.concatenate([np.zeros((0, 3)), *(mesh.vertices for mesh in there)])
    faces = np.concatenate([np.zeros((0, 3), np.int32), *(mesh.faces for mesh in there)])
    low = x.min(0) if len(x) else np.zeros(3)
    extent = x.max(0) - low if len(x) else np.zeros(3)
    whole = np.rint((x - low) / np.where(extent > 0, extent, 1.0) * STEPS).astype(np.uint16)
    return {
        "vertices": [0 if mesh is None else mesh.n_vertices for mesh in overlay.meshes],
        "faces": [0 if mesh is None else mesh.n_faces for mesh in overlay.meshes],
        "low": low.tolist(),
        "extent": extent.tolist(),
        "color": [float(c) for c in overlay.color],
        "whole": planes(np.ascontiguousarray(row_differences(whole).T)),
        "corners": planes(row_differences(faces.astype(np.uint32))),
    }


def painted(pixels: NDArray[np.uint8], mesh: Mesh, camera: Camera, color: Sequence[float] = RED) -> NDArray[np.uint8]:
    """The picture (h,w,3) with a mesh drawn over it, ignoring occlusion."""
    h, w, _ = pixels.shape
    screen, depth = camera.project(mesh.vertices, 2 * w, 2 * h)
    ahead = (depth > camera.nearest)[mesh.faces].all(1)
    _, face, bary = raster.depth(screen, mesh.faces[ahead], 2 * w, 2 * h)
    hit, faces = face >= 0, mesh.faces[ahead]
    weights = np.concatenate([bary, 1.0 - bary.sum(2, keepdims=True)], 2)[hit]
    n = unit(np.einsum("ij,ijk->ik", weights, mesh.vertex_normals[faces[face[hit]]]))
    light = 0.45 + 0.25 * n[:, 1] + 0.75 * np.clip(n @ SUN, 0.0, 1.0)
    shade = np.zeros((2 * h, 2 * w, 4))
    shade[hit, :3] = 255.0 * np.clip(np.asarray(color) * light[:, None], 0.0, 1.0) ** (1.0 / 2.2)
    shade[hit, 3] = 1.0
    small = shade.reshape(h, 2, w, 2, 4).mean((1, 3))
    share = ALPHA * small[..., 3:]
    ink = small[..., :3] / np.maximum(small[..., 3:], 1e-9)
    return np.rint(pixels * (1.0 - share) + ink * share).astype(np.uint8)

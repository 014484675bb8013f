"""Writing of PLY, the Stanford polygon format, in binary."""

import os
from typing import Any

import numpy as np

from ..files import atomic_write
from ..mesh import Mesh


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write binary, little endian, float64 positions; texture coordinates as lists on the faces."""
    fields: list[tuple[Any, ...]] = [("n", "u1"), ("v", "<i4", (3,))]
    texture = ""
    if mesh.uv is not None:
        fields += [("k", "u1"), ("t", "<f8", (6,))]
        texture = "property list uchar double texcoord\n"
    rows = np.zeros(mesh.n_faces, np.dtype(fields))
    rows["n"], rows["v"] = 3, mesh.faces
    if mesh.uv is not None:
        rows["k"], rows["t"] = 6, mesh.uv.reshape(-1, 6)
    head = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {mesh.n_vertices}\nproperty double x\nproperty double y\nproperty double z\n"
        f"element face {mesh.n_faces}\nproperty list uchar int vertex_indices\n{texture}end_header\n"
    )
    with atomic_write(path) as stream:
        stream.write(head.encode())
        stream.write(mesh.vertices.astype("<f8").tobytes())
        stream.write(rows.tobytes())

"""The source of a loaded Mesh, from which a writer can produce the same file with new positions."""

import copy
import dataclasses
import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh


@dataclasses.dataclass
class Source:
    """Base class of the sources of all formats.

    `placed` (3,4) maps file coordinates to mesh coordinates (units and up axis); `vertices` are those of the mesh as
    loaded; `load` sets both. `reversed` (m,): faces that were reversed since, because they pointed inward; writers
    leave them as the file has them.
    """

    faces_digest: bytes
    partly: bool = dataclasses.field(default=False, init=False)  # the mesh is one part of a larger file
    placed: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.eye(3, 4), init=False)
    vertices: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros((0, 3)), init=False)
    reversed: NDArray[np.bool_] | None = dataclasses.field(default=None, init=False)

    def fits(self, mesh: Mesh) -> bool:
        """Return True if the mesh still has the topology of the file; positions may differ."""
        return mesh.n_vertices == len(self.vertices) and digest(self.file_faces(mesh.faces)) == self.faces_digest

    def with_reversed(self, mask: NDArray[np.bool_]) -> "Source":
        """Return the source of the mesh whose faces `mask` (m,) are reversed."""
        other = copy.copy(self)
        other.reversed = mask if self.reversed is None else mask ^ self.reversed
        return other

    def file_faces(self, faces: NDArray[Any]) -> NDArray[Any]:
        """Return faces (m,3) of the mesh, or what belongs to their corners (m,3,...), as the file orients them."""
        mask = self.reversed
        if mask is None or len(mask) != len(faces):
            return faces
        return np.where(mask.reshape(-1, *[1] * (faces.ndim - 1)), faces[:, ::-1], faces)

    def moved(self, x: NDArray[Any]) -> bool:
        return bool((x != self.vertices).any())


def digest(faces: NDArray[Any]) -> bytes:
    """Return a hash of faces (m,3)."""
    return hashlib.blake2b(np.ascontiguousarray(faces, "<i4").tobytes(), digest_size=16).digest()

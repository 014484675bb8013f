"""The source of a loaded Mesh, from which a writer can produce the same file with new positions."""

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
    loaded; `load` sets both.
    """

    faces_digest: bytes
    partly: bool = dataclasses.field(default=False, init=False)  # the mesh is one part of a larger file
    placed: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.eye(3, 4), init=False)
    vertices: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros((0, 3)), init=False)

    def fits(self, mesh: Mesh) -> bool:
        """Return True if the mesh still has the topology of the file; positions may differ."""
        return mesh.n_vertices == len(self.vertices) and digest(mesh.faces) == self.faces_digest

    def moved(self, x: NDArray[Any]) -> bool:
        return bool((x != self.vertices).any())


def digest(faces: NDArray[Any]) -> bytes:
    """Return a hash of faces (m,3)."""
    return hashlib.blake2b(np.ascontiguousarray(faces, "<i4").tobytes(), digest_size=16).digest()

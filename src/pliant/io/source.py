"""What a reader leaves with a Mesh so that a writer can put new positions into the file it came from."""

import dataclasses
import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh


@dataclasses.dataclass
class Source:
    """The base of every format's own source.

    `placed` (3,4) maps the file's coordinates to the mesh's (units and the axis that is up); `vertices` are the mesh's
    as loaded; `load` fills in both.
    """

    faces: bytes  # digest of the triangles
    partly: bool = dataclasses.field(default=False, init=False)  # the file holds more than the mesh, a part of it
    placed: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.eye(3, 4), init=False)
    vertices: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros((0, 3)), init=False)

    def fits(self, mesh: Mesh) -> bool:
        """The mesh still has the vertices and faces of the file, moved or not."""
        return mesh.n_vertices == len(self.vertices) and digest(mesh.faces) == self.faces

    def moved(self, x: NDArray[Any]) -> bool:
        return bool((x != self.vertices).any())


def digest(faces: NDArray[Any]) -> bytes:
    """A fingerprint of (m,3) faces."""
    return hashlib.blake2b(np.ascontiguousarray(faces, "<i4").tobytes(), digest_size=16).digest()

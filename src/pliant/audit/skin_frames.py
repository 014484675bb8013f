"""The skin under each vertex of a garment, and how evenly the garment moves relative to it."""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .worn_body import WornBody

Floats = NDArray[np.float64]
CLEARLY = 0.5  # of the jitter relative to the face before: below it another one is taken
SOME = 3  # frames, evenly over the clip, whose nearest faces are candidates beside that of the rest pose


class SkinFrames:
    """For each vertex of a garment the face of the body that it follows best in the frames `given` (T,n,3): that
    nearest to it at rest, or in some frame if it moves clearly more evenly relative to that one."""

    def __init__(self, mesh: Mesh, worn: WornBody, given: Floats) -> None:
        self._body = worn.body
        self._rows, self._corners = worn.skin
        count, n = given.shape[:2]
        worn.move_to(np.asarray(worn.body.mesh.vertices, np.float64))
        found = [worn.nearest_faces(mesh.vertices)]
        for t in dict.fromkeys(np.linspace(0, count - 1, SOME).astype(int)):
            worn.move(int(t))
            found.append(worn.nearest_faces(given[t]))
        self._face, least = found[0], np.full(n, np.inf)
        for face in found:
            jitter = self._jitter(given, face)
            better = jitter < CLEARLY * least
            self._face, least = np.where(better, face, self._face), np.where(better, jitter, least)

    def jitter(self, x: Floats, first: int = 0) -> Floats:
        """(n,) the root mean square over frames of the third differences of each vertex of x (T,n,3), frames from
        `first` on, seen from its face."""
        return self._jitter(x, self._face, first)

    def at(self, t: int, vertices: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(k,3,3) axes as rows, and (k,3) origins, of the faces of some vertices in frame t."""
        return self._frames(t, self._face[vertices])

    def _jitter(self, x: Floats, face: NDArray[np.int64], first: int = 0) -> Floats:
        seen = np.empty_like(x)
        for t, shape in enumerate(x):
            axes, origin = self._frames(first + t, face)
            seen[t] = np.einsum("nij,nj->ni", axes, shape - origin)
        return np.asarray(np.sqrt((np.diff(seen, 3, axis=0) ** 2).sum(2).mean(0)))

    def _frames(self, t: int, face: NDArray[np.int64]) -> tuple[Floats, Floats]:
        corners = np.asarray(self._body.at(t), np.float64)[self._rows[self._corners[face]]]
        a, b, c = np.moveaxis(corners, 1, 0)
        along, normal = _unit(b - a), _unit(np.cross(b - a, c - a))
        return np.stack([along, np.cross(normal, along), normal], 1), (a + b + c) / 3.0


def _unit(v: Floats) -> Floats:
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=1), 1e-300)[:, None])

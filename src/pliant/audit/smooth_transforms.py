"""Smoothed transforms: what untangles a garment whose skinning weights jump from one bone to another.

Every vertex of a frame has a rigid transform from the rest shape: its position, and the rotation that fits its edges.
Within patches around self-intersections these transforms are averaged over neighbours, and each vertex of the rest
shape is moved by the average, as if its skinning weights had been smoothed. The average is the same linear operator in
all frames, so that it adds no jitter.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .untangle import STIFF, Untangler

Floats = NDArray[np.float64]
# rings of edges around intersecting faces, and the anchor stiffness of vertices there relative to edges
LEVELS = ((4, 0.1), (8, 0.03), (16, 0.01), (32, 0.003))
RIGID = 3  # steps that bring edges closer to their rest lengths
TORN = 0.15  # strain at which an edge counts half in the fit of a rotation
DOUBTFUL = 0.01  # least weight of a vertex whose edges are all torn


class TransformSmoother:
    """Smooths the frames x (T,n,3) of the mesh of an untangler, whose vertices are the rest shape."""

    def __init__(self, untangler: Untangler, x: Floats) -> None:
        self.untangler, self.x, self.rest = untangler, x, untangler.mesh.vertices
        edges, every = untangler.mesh.topology.edges, np.arange(len(self.rest))
        fits = [self._fit(frame, edges, every) for frame in x]
        self._turn = np.stack([turn for turn, _ in fits])
        self._trust = np.maximum(np.min([trust for _, trust in fits], axis=0), DOUBTFUL)

    def free_of_tangles(self, pairs: Sequence[NDArray[np.int32]]) -> Floats:
        """Frames (T,n,3) with the fewest self-intersections of all levels of smoothing around `pairs` of faces of each
        frame; those given where none has fewer."""
        patch = np.zeros(len(self.rest), np.bool_)
        best, least, found = self.x, sum(len(some) for some in pairs), pairs
        for rings, anchor in LEVELS:
            if not least:
                break
            for some in found:
                patch[self.untangler.mesh.faces[some]] = True
            y = self._smoothed(patch, rings, anchor)
            found = [self.untangler.pairs(frame) for frame in y]
            count = sum(len(some) for some in found)
            if count < least:
                best, least = y, count
        return best

    def _smoothed(self, patch: NDArray[np.bool_], rings: int, anchor: float) -> Floats:
        """All frames, with transforms that are averaged within `rings` around the vertices `patch` (n,)."""
        around = patch
        for _ in range(rings):
            around = around | (self.untangler.links @ around > 0)
        stiff = np.where(around, anchor * self._trust, STIFF)
        solve = self.untangler.springs(stiff)
        y, rigid = np.array(self.x), _RigidStep(self, around, stiff)
        for t in range(len(y)):
            y[t, around] = self._average(t, solve, stiff)[around]
            for _ in range(RIGID):
                y[t, around] = solve(rigid.forces(y[t]))[around]
        return y

    def _average(self, t: int, solve: Callable[[Floats], Floats], stiff: Floats) -> Floats:
        turn = self._turn[t]
        offset = self.x[t] - np.einsum("nij,nj->ni", turn, self.rest)
        fields = np.concatenate([turn.reshape(-1, 9), offset], 1)
        mean = solve(stiff[:, None] * fields)
        return np.asarray(np.einsum("nij,nj->ni", mean[:, :9].reshape(-1, 3, 3), self.rest) + mean[:, 9:])

    def _fit(self, x: Floats, edges: NDArray[np.int32], rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(m,3,3) the rotations from the rest shape to x that fit the edges of the vertices `rows`, torn ones less; and
        the share (m,) of their edges that is not torn. `edges` (k,2): at least those of the rows."""
        n = len(x)
        a, b = self.rest[edges[:, 1]] - self.rest[edges[:, 0]], x[edges[:, 1]] - x[edges[:, 0]]
        long = np.linalg.norm(a, axis=1)
        usable = long > 0.0
        strain = np.linalg.norm(b, axis=1) / np.where(usable, long, 1.0) - 1.0
        weight = np.where(usable, 1.0 / (1.0 + (strain / TORN) ** 2), 0.0)
        ends = edges.T.ravel()
        share = weight / np.where(usable, long, 1.0) ** 2
        outer = (share[:, None, None] * b[:, :, None] * a[:, None, :]).reshape(-1, 9)
        total = np.stack([np.bincount(ends, np.tile(outer[:, k], 2), n)[rows] for k in range(9)], 1)
        u, _, v = np.linalg.svd(total.reshape(-1, 3, 3))
        u[:, :, 2] *= np.sign(np.linalg.det(u @ v))[:, None]
        count = np.maximum(np.bincount(ends, minlength=n), 1)
        return u @ v, (np.bincount(ends, np.tile(weight, 2), n) / count)[rows]


class _RigidStep:
    """The forces of a step of as-rigid-as-possible surface modeling (O. Sorkine and M. Alexa 2007) of the vertices
    `around` (n,), which anchors of stiffness `stiff` (n,) hold where they are."""

    def __init__(self, smoother: TransformSmoother, around: NDArray[np.bool_], stiff: Floats) -> None:
        edges = smoother.untangler.mesh.topology.edges
        ring = around | (smoother.untangler.links @ around > 0)
        self._smoother, self._stiff, self._rows = smoother, stiff, np.flatnonzero(ring)
        moved = around[edges].any(1)
        self._fitted, self._edges, self._beyond = edges[ring[edges].any(1)], edges[moved], edges[~moved]
        place = np.zeros(len(around), np.int64)
        place[self._rows] = np.arange(len(self._rows))
        self._turns = place[self._edges]
        self._rest = smoother.rest[self._edges[:, 0]] - smoother.rest[self._edges[:, 1]]

    def forces(self, y: Floats) -> Floats:
        """(n,3) forces at y (n,3) that turn the edges with their vertices and keep their rest lengths."""
        turn = self._smoother._fit(y, self._fitted, self._rows)[0]
        wanted = 0.5 * np.einsum("eij,ej->ei", turn[self._turns[:, 0]] + turn[self._turns[:, 1]], self._rest)
        force = self._stiff[:, None] * y
        # edges beyond the patch stay as they are
        for edges, span in ((self._edges, wanted), (self._beyond, y[self._beyond[:, 0]] - y[self._beyond[:, 1]])):
            for k in range(3):
                force[:, k] += np.bincount(edges[:, 0], span[:, k], len(y))
                force[:, k] -= np.bincount(edges[:, 1], span[:, k], len(y))
        return np.asarray(force)

"""Smoothed transforms: what untangles a garment whose skinning weights jump from one bone to another.

Every vertex of a frame has a rigid transform from the rest shape: its position, and the rotation that fits its edges.
Within patches around self-intersections these transforms are averaged over neighbours, and each vertex of the rest
shape is moved by the average, as if its skinning weights had been smoothed. The average is the same linear operator in
all frames, so that it adds no jitter.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import worth
from ..kernels.respond import fit_rotations as _kernels
from .untangle import Untangler

Floats = NDArray[np.float64]
# rings of edges around intersecting faces, and the anchor stiffness of vertices there relative to edges
LEVELS = ((4, 0.1), (8, 0.03), (16, 0.01), (32, 0.003))
RIGID = 3  # steps that bring edges closer to their rest lengths
TORN = 0.15  # strain at which an edge counts half in the fit of a rotation
DOUBTFUL = 0.01  # least weight of a vertex whose edges are all torn
_WORTH_THREADS = 1000  # vertices


class TransformSmoother:
    """Smooths the frames x (T,n,3) of the mesh of an untangler, whose vertices are the rest shape."""

    def __init__(self, untangler: Untangler, x: Floats) -> None:
        self.untangler, self.x, self.rest = untangler, x, untangler.mesh.vertices
        links = untangler.links
        self.star = _kernels.Star(links.indptr.astype(np.int64), links.indices.astype(np.int32), self.rest)
        every = np.arange(len(self.rest))
        fits = [self.fit(frame, every) for frame in x]
        self._turn = np.stack([turn for turn, _ in fits])
        self._trust = np.maximum(np.min([trust for _, trust in fits], axis=0), DOUBTFUL)

    def levels(self, pairs: Sequence[NDArray[np.int32]], probes: Sequence[int]) -> Iterator["Level"]:
        """Levels of smoothing around `pairs` of faces of each frame, weak ones first: those that free the frames
        `probes` of self-intersections; if none does, the strongest."""
        patch = np.zeros(len(self.rest), np.bool_)
        found, some_free = list(pairs), False
        for rings, anchor in LEVELS:
            for some in found:
                patch[self.untangler.mesh.faces[some]] = True
            level = Level(self, patch, rings, anchor)
            found = [self.untangler.pairs(level.smoothed(t)) for t in probes]
            free = not any(len(some) for some in found)
            some_free = some_free or free
            if free or (rings == LEVELS[-1][0] and not some_free):
                yield level

    def fit(self, x: Floats, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(n,3,3) the rotations from the rest shape to x that fit the edges of the vertices `rows`, torn ones less; and
        the share (n,) of their edges that is not torn."""
        turn, trust = np.zeros((len(x), 3, 3)), np.zeros(len(x))
        worth(_kernels.fit_rotations, len(rows), _WORTH_THREADS)(self.star, x, rows, TORN, turn, trust)
        return turn, trust

    def fields(self, t: int) -> Floats:
        """(n,12) the transforms of frame t: rotations and offsets."""
        turn = self._turn[t]
        return np.concatenate([turn.reshape(-1, 9), self.x[t] - np.einsum("nij,nj->ni", turn, self.rest)], 1)


class Level:
    """Smooths frames within `rings` of edges around the vertices `patch` (n,); others stay where they are. moved: (n,)
    the vertices within."""

    def __init__(self, smoother: TransformSmoother, patch: NDArray[np.bool_], rings: int, anchor: float) -> None:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        self._smoother, links = smoother, smoother.untangler.links
        around = patch
        for _ in range(rings):
            around = around | (links @ around > 0)
        self.moved, ring = around, around | (links @ around > 0)
        self._rows, self._ring, self._beyond = (np.flatnonzero(some) for some in (around, ring, ring & ~around))
        self._stiff = (anchor * smoother._trust[self._rows])[:, None]
        matrix = (
            smoother.untangler.stiffness + diags_array(_spread(self._stiff[:, 0], self._rows, len(around)))
        ).tocsr()
        inner = matrix[self._rows]
        self._solve, self._outer = splu(inner[:, self._rows].tocsc()).solve, inner[:, self._beyond]

    @property
    def frames(self) -> Floats:
        """All frames (T,n,3), smoothed."""
        return np.stack([self.smoothed(t) for t in range(len(self._smoother.x))])

    def smoothed(self, t: int) -> Floats:
        """Frame t (n,3), moved by averaged transforms."""
        smoother, rows = self._smoother, self._rows
        fields, y = smoother.fields(t), smoother.x[t].copy()
        mean = self._solve(self._stiff * fields[rows] - self._outer @ fields[self._beyond])
        y[rows] = np.einsum("nij,nj->ni", mean[:, :9].reshape(-1, 3, 3), smoother.rest[rows]) + mean[:, 9:]
        held, edges = self._outer @ y[self._beyond], np.empty((len(rows), 3))
        turned = worth(_kernels.turned_edges, len(rows), _WORTH_THREADS)
        for _ in range(RIGID):
            turned(smoother.star, smoother.fit(y, self._ring)[0], rows, edges)
            y[rows] = self._solve(self._stiff * y[rows] + edges - held)
        return y


def _spread(values: Floats, rows: NDArray[np.int64], n: int) -> Floats:
    out = np.zeros(n)
    out[rows] = values
    return out

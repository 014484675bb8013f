"""Edge lengths of a garment that is moved: its edges stay within a share of their rest length, or as long as given."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import worth
from ..kernels.respond import edge_lengths as _kernels
from ..mesh import Mesh

Floats = NDArray[np.float64]
SHARE = 0.02  # of the rest length: change of length beyond that of the given shape
_WORTH_THREADS = 4000  # vertices


class EdgeLengths:
    """The edges of a welded mesh whose `rest` lengths (k,) are known. `set` takes a shape, whose edges may keep their
    lengths; `relax` moves vertices until few edges are longer or shorter than both by more than `SHARE` of the rest
    length."""

    def __init__(self, mesh: Mesh, rest: Floats) -> None:
        edges, n = mesh.topology.edges, mesh.n_vertices
        both = np.concatenate([edges, edges[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        self.edges, self.rest, self._edge = edges, rest, (order % max(len(edges), 1)).astype(np.int32)
        counts = np.bincount(both[:, 0], minlength=n)
        self._start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._neighbour = both[order, 1].astype(np.int32)
        self._relax = worth(_kernels.relax_edges, n, _WORTH_THREADS)
        self.set(mesh.vertices)

    def set(self, x: Floats, share: float = SHARE) -> None:
        """Allow every edge its length in x (n,3), too, and `share` of its rest length beyond both."""
        self.bounds, self.share = self.bounds_at(x, share), share

    def bounds_at(self, x: Floats, share: float) -> _kernels.EdgeBounds:
        """The bounds that `set` sets, to be kept for later."""
        given, beyond = lengths(x, self.edges), share * self.rest
        low, high = np.minimum(given, self.rest) - beyond, np.maximum(given, self.rest) + beyond
        return _kernels.EdgeBounds(self._start, self._neighbour, self._edge, low, high)

    def added_strain(self, x: Floats) -> Floats:
        """(k,) how much longer or shorter each edge of x (n,3) is than at rest and in the shape that was set, relative
        to its rest length; 0 for edges between both, and for those without a rest length."""
        length, margin = lengths(x, self.edges), self.share * self.rest
        beyond = np.maximum(np.maximum(self.bounds.low - length, length - self.bounds.high) + margin, 0.0)
        return np.divide(beyond, self.rest, out=np.zeros_like(beyond), where=self.rest > 0.0)

    def relax(self, x: Floats, sweeps: int) -> Floats:
        """Positions (n,3) after as many Jacobi steps from x."""
        one, two = x.copy(), np.empty_like(x)
        for _ in range(sweeps):
            self._relax(self.bounds, one, two)
            one, two = two, one
        return one


def lengths(x: Floats, edges: NDArray[np.int32]) -> Floats:
    """(k,) lengths of edges (k,2) at x (n,3)."""
    return np.asarray(np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1))

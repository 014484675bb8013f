"""Edge lengths by global steps: excess length is spread over the whole garment instead of over a few neighbours.

A step of projective dynamics (S. Bouaziz et al. 2014): the edges that are too long or too short are projected to their
bounds, and the vertices follow by one linear solve whose matrix, the graph Laplacian with weak anchors at the current
positions, is factorised once per garment. Displacements that are smooth over the surface add little strain, so few
steps satisfy edges that would need thousands of local ones.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.cholesky import Cholesky
from ..kernels.jit import worth
from ..kernels.respond import edge_lengths as _kernels
from ..mesh import Mesh
from ..respond.edge_lengths import EdgeLengths

Floats = NDArray[np.float64]
ANCHOR = 0.1  # stiffness of the anchor of a vertex at its position before the step, relative to edges
OVER = 1.9  # over-relaxation of a step
BLOCK = 16  # steps between looks at the largest strain
_WORTH_THREADS = 4000  # vertices


class EdgeSolver(EdgeLengths):
    """`EdgeLengths` whose steps are global. stiffness: (n,n) sparse Laplacian of the edges; anchors: (n,) stiffness of
    the anchors, or one for all; free: (n,) vertices that move, default: all."""

    def __init__(
        self,
        mesh: Mesh,
        rest: Floats,
        stiffness: Any,
        anchors: Floats | float = ANCHOR,
        free: NDArray[np.bool_] | None = None,
    ) -> None:
        from scipy.sparse import diags_array

        super().__init__(mesh, rest)
        n = mesh.n_vertices
        self.rows = rows = np.arange(n) if free is None else np.flatnonzero(free)
        weights = np.broadcast_to(np.asarray(anchors, np.float64), n)
        self._factor = Cholesky((stiffness + diags_array(weights)).tocsr()[rows][:, rows], rows)
        self._pull = worth(_kernels.pull_edges, len(rows), _WORTH_THREADS)
        self._force = np.zeros((n, 3))

    def step(self, x: Floats, out: Floats) -> bool:
        """Fill the free rows of out (n,3) with one global step from x; return False where all edges of free vertices
        are within their bounds."""
        self._pull(self.bounds, x, self.rows, self._force)
        if not self._force.any():
            out[:] = 0.0
            return False
        self._factor.solve(self._force, out)
        return True

    def relax(self, x: Floats, sweeps: int) -> Floats:
        """Positions (n,3) after as many global steps from x; x itself where all edges are within their bounds."""
        out, step = x.copy(), np.zeros_like(x)
        for _ in range(sweeps):
            if not self.step(out, step):
                break
            out += OVER * step
        return out

    def converge(self, x: Floats, limit: float, most: int) -> Floats:
        """Positions (n,3) from x, after as many steps as it takes until no edge has more than `limit` of added strain,
        at most `most`."""
        for _ in range(0, most, BLOCK):
            x = self.relax(x, BLOCK)
            if self.added_strain(x).max(initial=0.0) <= limit:
                break
        return x

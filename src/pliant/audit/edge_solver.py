"""Edge lengths by global steps: excess length is spread over the whole garment instead of over a few neighbours.

A step of projective dynamics (S. Bouaziz et al. 2014): the edges that are too long or too short are projected to their
bounds, and the vertices follow by one linear solve whose matrix, the graph Laplacian with weak anchors at the current
positions, is factorised once per garment. Displacements that are smooth over the surface add little strain, so few
steps satisfy edges that would need thousands of local ones.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.cholesky import Cholesky, unscaled
from ..kernels.jit import worth
from ..kernels.respond import edge_lengths as _kernels
from ..kernels.respond.even_steps import Buffers, largest_strain, solve_steps
from ..mesh import Mesh
from ..respond.edge_lengths import EdgeLengths

Floats = NDArray[np.float64]
ANCHOR = 0.1  # stiffness of the anchor of a vertex at its position before the step, relative to edges
OVER = 1.9  # over-relaxation of a step
FACTOR = 1.5  # the same of steps with momentum
BLOCK = 8  # steps between looks at the largest strain
BATCHES = 8  # of frames whose steps are solved at a time
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
        self.factor = Cholesky((stiffness + diags_array(weights)).tocsr()[rows][:, rows], rows)
        self._pull = worth(_kernels.pull_edges, len(rows), _WORTH_THREADS)
        self._force = np.zeros((n, 3))

    def step(self, x: Floats, out: Floats) -> bool:
        """Fill the free rows of out (n,3) with one global step from x; return False where all edges of free vertices
        are within their bounds."""
        self._pull(self.bounds, x, self.rows, self._force)
        if not self._force.any():
            out[:] = 0.0
            return False
        self.factor.solve(self._force, out)
        return True

    def steps_of(self, x: Floats, share: float) -> "FrameSteps":
        """The global steps of frames near x (T,n,3), whose edges have the bounds of `set`."""
        return FrameSteps(self, x, share)

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
        out, ahead, step = x.copy(), x.copy(), np.zeros_like(x)
        for k in range(most):
            if not self.step(ahead, step):
                return ahead
            new = ahead + FACTOR * step
            ahead, out = new + momentum(k) * (new - out), new
            if k % BLOCK == BLOCK - 1 and self.added_strain(out).max(initial=0.0) <= limit:
                break
        return out


class FrameSteps:
    """The global steps of all frames near x (T,n,3) together, several frames at a time."""

    def __init__(self, solver: EdgeSolver, x: Floats, share: float) -> None:
        self._solver, self._share = solver, share
        each = [solver.bounds_at(frame, share) for frame in x]
        low, high = np.stack([bounds.low for bounds in each]), np.stack([bounds.high for bounds in each])
        self._bounds = each[0]._replace(low=low, high=high)
        self._steps, self._moving = np.zeros_like(x), np.zeros(len(x), np.bool_)
        force = np.zeros((min(BATCHES, len(x)), *x.shape[1:]))
        self._buffers = Buffers(force, np.stack([np.empty_like(solver.factor.scratch)] * len(force)))
        self._unscaled = unscaled(x.shape[1])

    def from_frames(self, y: Floats) -> Floats | None:
        """Steps (T,n,3) from y (T,n,3), valid until the next call; None where all edges of free vertices are within
        their bounds."""
        rows, factor = self._solver.rows, self._solver.factor.factor
        solve_steps(self._bounds, y, rows, factor, self._unscaled, self._buffers, self._steps, self._moving)
        return self._steps if self._moving.any() else None

    def largest_strain(self, y: Floats) -> Floats:
        """(T,) the largest added strain of an edge of each frame of y (T,n,3)."""
        out, solver = np.empty(len(y)), self._solver
        largest_strain(solver.edges, solver.rest, self._bounds.low, self._bounds.high, self._share, y, out)
        return out


def momentum(k: int) -> float:
    """The share of its last change by which a shape goes on after step k (Y. Nesterov 1983)."""
    return k / (k + 3.0)

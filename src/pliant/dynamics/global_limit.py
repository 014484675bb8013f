"""Strain limiting of all edges together, where sweeps over the edges that are too long do not end."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics import global_limit as _kernels
from ..kernels.dynamics.pieces import recentre, untwist
from ..kernels.dynamics.strain_limit import SLACK, Gaps, LimitedEdges, Surface
from .cholesky import Cholesky, unscaled
from .pieces import unconstrained_pieces, untouched

Floats = NDArray[np.float64]
ITERATIONS, ENOUGH = 16, SLACK  # at most, or until no edge is longer than this times its limit
# Weights of the linear system, times the typical mass of a vertex. That of edges, times the number of vertices of the
# cloth, decides how far an iteration spreads a correction: over the same part of the cloth at every resolution.
EDGE_WEIGHT, LEAST = 1.0 / 8.0, 30.0
VERTEX_WEIGHT = 30.0  # of positions in which all gaps are open


class GlobalLimit:
    """Moves all vertices of cloth towards the nearest positions in which no edge is too long.

    w (n,): inverse masses; cloths: the rows of each. The linear system of an iteration depends on the masses and edges
    alone, so that it is factorised once.
    """

    def __init__(self, edges: LimitedEdges, w: Floats, cloths: list[slice]) -> None:
        from scipy.sparse import csr_array, diags_array

        n, m, ends = len(w), len(edges.ends), edges.ends.astype(np.int64)
        free = w > 0.0
        mass = np.where(free, 1.0 / np.where(free, w, 1.0), 0.0)
        stiff, near = np.zeros(n), np.zeros(n)
        for cloth in cloths:
            own = mass[cloth][free[cloth]]
            typical = float(np.median(own)) if len(own) else 0.0
            stiff[cloth], near[cloth] = max(EDGE_WEIGHT * len(own), LEAST) * typical, VERTEX_WEIGHT * typical
        weight = stiff[ends[:, 0]]
        self._edges, rows = edges, np.flatnonzero(free & (np.diff(edges.start) > 0))
        span = csr_array((np.tile([-1.0, 1.0], m), (np.repeat(np.arange(m), 2), ends.ravel())), shape=(m, n))
        matrix = (diags_array(mass + near) + span.T @ diags_array(weight) @ span).tocsr()
        self._pieces = unconstrained_pieces(edges.ends, w)
        solver = Cholesky(matrix[rows][:, rows], rows)
        self._system = _kernels.System(solver.factor, unscaled(n), solver.scratch)
        moves = np.zeros(n, np.bool_)
        moves[rows] = True
        self._together = _kernels.Together(
            w=w,
            mass=np.where(moves, mass, 0.0),
            edge_weight=weight,
            vertex_weight=near,
            start=np.empty((n, 3)),
            level=np.empty(n),
            spans=np.empty((m, 3)),
            stretches=np.empty((m, 3)),
            places=np.empty((n, 3)),
            pushes=np.empty((n, 3)),
            right=np.zeros((n, 4), np.float32),
            moves=np.zeros((n, 4), np.float32),
        )

    def apply(self, x: Floats, surface: Surface, gaps: Gaps) -> int:
        """Move x (n,3); vertices do not move into `surface`, and `gaps` stay open, or as they are where they are not.
        Cloth that nothing holds or touches keeps its momentum. Return the number of iterations."""
        lowered = gaps._replace(offsets=np.empty(len(gaps.offsets)))
        _kernels.lower_gaps(gaps, x, lowered.offsets)
        together = self._together
        args = self._system, together, ITERATIONS, ENOUGH
        count = int(_kernels.shorten_together(self._edges, x, surface, lowered, *args))
        if len(self._pieces.rows):
            near = gaps.vertices[gaps.vertices >= 0]
            free = untouched(self._pieces, np.concatenate([np.flatnonzero(surface.place >= 0), near]))
            recentre(free, together.start, x, together.mass)
            untwist(free, together.start, together.start, x, together.mass)
        if not np.isfinite(x).all():
            x[:] = together.start
        return count

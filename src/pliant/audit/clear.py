"""Out of the body: vertices that are too near, or inside, go the shortest way out, and take their neighbours along.

What moves is the displacement from where the garment was, and it is spread over neighbours: so creases, folds and the
weave stay as they are, and the garment is moved only where it has to be.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh

Floats = NDArray[np.float64]
Ask = Callable[[Floats], tuple[Floats, Floats]]  # points (k,3) -> signed distance (k,), unit way out (k,3)
ROUNDS, LAST = 24, 8
SPREAD = 0.5  # of the difference from the neighbours' mean that a displacement loses in a round
MIDDLES = 0.5  # of what its corners need: how far from the body the middle of an edge or of a face is kept


class Clearing:
    """Displacements of the vertices of a welded mesh so that they, and middles of edges and faces, keep out of a body.

    links (n,n) sparse, degree (n,): who is whose neighbour.
    """

    def __init__(self, mesh: Mesh, links: Any, degree: Floats) -> None:
        self.links, self.degree = links, np.maximum(degree, 1.0)[:, None]
        n = np.arange(mesh.n_vertices, dtype=np.int32)[:, None]
        edges, faces = mesh.topology.edges, mesh.faces
        # corners of every point that is asked about; what has fewer than three repeats its last
        self.corners = np.concatenate([n[:, [0, 0, 0]], edges[:, [0, 1, 1]], faces])
        self.weights = np.repeat([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3], [len(n), len(edges), len(faces)], 0)
        self.n = mesh.n_vertices

    def spread(self, u: Floats) -> Floats:
        """Displacements u (n,3), evened out among neighbours once."""
        return np.asarray(u + SPREAD * (self.links @ u / self.degree - u))

    def clear(self, x: Floats, need: Floats, ask: Ask, u: Floats | None = None, rounds: int = ROUNDS) -> Floats:
        """Displacements (n,3) of x (n,3), beginning with u, after which every vertex is at least `need` (n,) metres
        from the body, and middles are outside; in narrow places, where that cannot be, as much as there is room for."""
        u = np.zeros_like(x) if u is None else u.copy()
        wanted = np.concatenate([need, MIDDLES * need[self.corners[self.n :]].min(1)])
        far = np.zeros(len(wanted))  # how far each point is known to be clear of the body, beyond what it needs
        for _ in range(rounds):
            before = u
            u = self.spread(u)
            far -= self._largest(u - before)
            self._push(x, u, wanted, ask, far)
        # vertices have the last word: beside two parts that nearly touch, the way out of one leads into the other, so
        # ever less is asked for
        last = np.zeros(self.n)
        for turn in range(LAST):
            if not self._push(x, u, need * 0.5 ** max(turn - 2, 0), ask, last):
                break
        return u

    def _largest(self, move: Floats) -> Floats:
        """(k,) how far each point may have gone with its corners."""
        return np.asarray(np.linalg.norm(move, axis=1)[self.corners].max(1))

    def _push(self, x: Floats, u: Floats, need: Floats, ask: Ask, far: Floats) -> bool:
        """Move what is too near; whether anything was."""
        rows = np.flatnonzero(far <= 0.0)
        if not len(rows):
            return False
        corners = self.corners[rows]
        y = x + u
        away, out = ask(np.einsum("ij,ijk->ik", self.weights[rows], y[corners]))
        missing = need[rows] - away
        far[rows] = -missing
        near = np.flatnonzero(missing > 1e-9 * (1.0 + need[rows]))
        if not len(near):
            return False
        # of all that want to move a vertex, the one with the longest way does; it is written last
        near = near[np.argsort(missing[near], kind="stable")]
        push = np.zeros_like(u)
        push[corners[near].ravel()] = np.repeat(missing[near, None] * out[near], 3, 0)
        u += push
        far -= self._largest(push)[: len(far)]
        return True

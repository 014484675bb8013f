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
THROUGH = 12  # turns in which faces that the body still crosses are moved
GRID = 6  # parts of an edge: points of such a face that are asked about
CLOSER = (1.0, 0.35, 0.12, 0.04)  # of the face: how large the grid is, around the deepest point so far
MIDDLES = 0.5  # of what its corners need: how far from the body the middle of an edge or of a face is kept
_GRID = np.array([(i, j, GRID - i - j) for i in range(GRID + 1) for j in range(GRID + 1 - i)]) / GRID


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
        self.n, self.n_faces = mesh.n_vertices, len(faces)

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

    def past(self, x: Floats, u: Floats, need: Floats, ask: Ask, cut: Callable[[Floats], NDArray[Any]]) -> Floats:
        """Displacements (n,3) of x (n,3) from u on, after which fewer faces cross the body, where that can be.

        cut: rows of the faces of a shape (n,3) that cross it. Where a body comes through between the points that
        `clear` asks about, the deepest point of a face takes it along.
        """
        best, left = u, np.inf
        u = u.copy()
        for _ in range(THROUGH):
            faces = cut(x + u)
            if len(faces) < left:
                best, left = u.copy(), len(faces)
            if not len(faces):
                break
            corners = self.corners[len(self.corners) - self.n_faces + faces]
            away, out = _deepest((x + u)[corners], ask)
            missing = np.maximum(MIDDLES * need[corners].min(1) - away, 0.0)
            order = np.argsort(missing, kind="stable")  # of several faces at a vertex the one with the longest way
            push = np.zeros_like(u)
            push[corners[order].ravel()] = np.repeat((missing[:, None] * out)[order], 3, 0)
            u += push
            last = np.zeros(self.n)
            for turn in range(LAST):
                if not self._push(x, u, need * 0.5 ** max(turn - 2, 0), ask, last):
                    break
        return best

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


def _deepest(corners: Floats, ask: Ask) -> tuple[Floats, Floats]:
    """Signed distance (f,) of the deepest point that is found of each face with these corners (f,3,3), and its way
    out (f,3): by a grid of points, and finer ones around the deepest."""
    rows, centre = np.arange(len(corners)), np.full((len(corners), 3), 1.0 / 3.0)
    least, way = np.full(len(corners), np.inf), np.zeros((len(corners), 3))
    for size in CLOSER:
        weights = np.maximum(centre[:, None] + size * (_GRID - 1.0 / 3.0), 0.0)
        weights /= weights.sum(2, keepdims=True)
        points = np.einsum("fgj,fjk->fgk", weights, corners)
        found, out = ask(points.reshape(-1, 3))
        away, out = found.reshape(len(corners), -1), out.reshape(points.shape)
        worst = np.argmin(away, 1)
        deeper = away[rows, worst] < least
        least = np.where(deeper, away[rows, worst], least)
        way, centre = (np.where(deeper[:, None], new[rows, worst], old) for new, old in ((out, way), (weights, centre)))
    return least, way

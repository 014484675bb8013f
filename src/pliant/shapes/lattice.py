"""The body-centred cubic lattice: its nodes (cube corners and centres), edges and tets, computed on whole arrays."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..validate import Floats

LONG, SHORT = 0, 1  # kinds of edges: corner to corner or centre to centre, and corner to centre
_BLOCK = 4  # cells along a block that is evaluated once where a bound allows
_BYTES = 170.0  # memory per cell; 160 were measured


@dataclasses.dataclass(frozen=True)
class Lattice:
    """Node i is the corner, node count + i the centre, of cell i = (ix * shape[1] + iy) * shape[2] + iz."""

    origin: Floats  # (3,) the first corner
    size: float  # side of a cell
    shape: tuple[int, int, int]

    @classmethod
    def over(cls, low: Floats, high: Floats, size: float, max_bytes: float | None) -> "Lattice":
        """A lattice that extends at least 1.75 cells beyond the box, so that no node in the box is on its boundary."""
        cells = np.ceil((high - low) / size) + 4.0
        what = f"a lattice of {cells[0]:.4g} x {cells[1]:.4g} x {cells[2]:.4g} cells"
        validate.budget(what, _BYTES * float(cells.prod()), "use a larger size or raise max_bytes", max_bytes)
        nx, ny, nz = (int(c) for c in cells)
        return cls(0.5 * (low + high) - 0.5 * size * np.array([nx - 0.5, ny - 0.5, nz - 0.5]), size, (nx, ny, nz))

    @property
    def count(self) -> int:
        return int(np.prod(self.shape))

    def points(self, nodes: NDArray[np.int64]) -> Floats:
        """(n,3) positions of nodes."""
        cell = np.stack(np.unravel_index(nodes % self.count, self.shape), 1)
        return self.origin + self.size * (cell + 0.5 * (nodes >= self.count)[:, None])

    def values(self, function: Callable[[Floats], Floats], slope: float | None) -> Floats:
        """(2 count,) values at all nodes; with the Lipschitz constant `slope`, blocks far from 0 are evaluated once."""
        if slope is None:
            return function(self.points(np.arange(2 * self.count)))
        cells = np.stack(np.meshgrid(*(np.arange(n) // _BLOCK for n in self.shape), indexing="ij"), -1)
        blocks = [int(b) + 1 for b in cells[-1, -1, -1]]
        block = np.ravel_multi_index(tuple(np.moveaxis(cells, -1, 0)), blocks).ravel()
        first = np.stack(np.unravel_index(np.arange(int(np.prod(blocks))), blocks), 1) * _BLOCK
        middle = function(self.origin + self.size * (first + 0.5 * (_BLOCK - 0.5)))
        f = np.tile(middle[block], 2)
        # distance from the block's centre to its farthest node, plus an edge: both ends of every cut edge are exact
        reach = self.size * (0.5 * (_BLOCK - 0.5) * np.sqrt(3.0) + 1.0)
        near = np.abs(middle) <= slope * reach * (1.0 + 1e-9)
        exact = np.flatnonzero(np.tile(near[block], 2))
        f[exact] = function(self.points(exact))
        return f

    def step(self, kind: int, offset: tuple[int, ...]) -> int:
        """Index difference between a node of a kind (0 corner, 1 centre) and the node `offset` half cells away."""
        odd = offset[0] % 2
        cell = [(d + kind) // 2 for d in offset]
        return (cell[0] * self.shape[1] + cell[1]) * self.shape[2] + cell[2] + odd * (1 - 2 * kind) * self.count

    def inner(self) -> NDArray[np.int64]:
        """Cells that are not first or last along any axis, so that all their neighbours exist."""
        return np.arange(self.count).reshape(self.shape)[1:-1, 1:-1, 1:-1].ravel()

    def cut_edges(self, f: Floats) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """(k,2) nodes of the edges along which the sign changes, and the kind of each, LONG or SHORT."""
        inner, found, kinds = self.inner(), [], []
        for kind in (0, 1):
            a = inner + kind * self.count
            for offset in _EDGES:
                if kind and offset[0] % 2:
                    continue  # a short edge has one corner node and is counted from it
                b = a + self.step(kind, offset)
                cut = np.sign(f[a]) * np.sign(f[b]) < 0.0
                found.append(np.stack([a[cut], b[cut]], 1))
                kinds.append(np.full(len(found[-1]), SHORT if offset[0] % 2 else LONG, np.int8))
        return np.concatenate(found), np.concatenate(kinds)


def lattice_tets(lattice: Lattice, f: Floats) -> NDArray[np.int64]:
    """(k,4) nodes of the lattice tets with a node inside; tets are positive, their long edges are 0-1 and 2-3.

    Of corners 0 and 2, the first is greater in an even number of coordinates. The order of the corners therefore
    determines how a quadrilateral between two cut short edges is split, equally for both adjacent tets.
    """
    inner, found = lattice.inner() + lattice.count, []
    for corners in _tet_kinds():
        steps = [lattice.step(1, tuple(c)) for c in corners.tolist()]
        inside = np.zeros(len(inner), np.bool_)
        for step in steps:
            inside |= f[inner + step] < 0.0
        found.append(inner[inside, None] + np.array(steps))
    return np.concatenate(found)


def _tet_kinds() -> NDArray[np.int64]:
    """(12,4,3) corners of the tets around the edges from a centre to its next centres, in half cells from it."""
    kinds = []
    for k in range(3):
        u, v = np.eye(3, dtype=np.int64)[[(k + 1) % 3, (k + 2) % 3]]
        along = np.eye(3, dtype=np.int64)[k]
        for p, q in ((u - v, u + v), (-u - v, -u + v), (v - u, v + u), (-v - u, -v + u)):
            t = np.array([0 * along, 2 * along, along + p, along + q])
            if np.linalg.det((t[1:] - t[0]).astype(float)) < 0:
                t = t[[0, 1, 3, 2]]
            if (t[0] > t[2]).sum() % 2:
                t = t[[2, 3, 0, 1]]  # an even permutation keeps the orientation
            kinds.append(t)
    return np.array(kinds)


# offsets in half cells: the long edges of a node in positive directions, and all its short edges
_EDGES = [(2, 0, 0), (0, 2, 0), (0, 0, 2), *itertools.product((-1, 1), repeat=3)]

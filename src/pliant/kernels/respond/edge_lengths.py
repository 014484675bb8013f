"""Edge lengths within bounds: one Jacobi step, gathered vertex by vertex; the order of edges does not matter."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

OVER = 1.3  # over-relaxation of the mean correction of a vertex


class EdgeBounds(NamedTuple):
    """The neighbours of each vertex, by rows, and the bounds of the edges to them."""

    start: np.ndarray  # (n+1,) i8: the neighbours of vertex v are entries start[v]..start[v+1]-1
    neighbour: np.ndarray  # (2k,) i4
    edge: np.ndarray  # (2k,) i4: rows of the edges to them
    low: np.ndarray  # (k,) metres
    high: np.ndarray  # (k,) metres


@kernel(parallel=True)
def relax_edges(bounds, x, out):
    """Fill out (n,3) with x (n,3) after every vertex moved by half of the mean excess of its edges that are too long or
    too short."""
    for v in prange(len(x)):
        p, total, count = vec.load(x, v), (0.0, 0.0, 0.0), 0
        for r in range(bounds.start[v], bounds.start[v + 1]):
            d = vec.sub(vec.load(x, bounds.neighbour[r]), p)
            length = vec.norm(d)
            wanted = min(max(length, bounds.low[bounds.edge[r]]), bounds.high[bounds.edge[r]])
            if wanted != length and length > 0.0:
                total = vec.madd(total, d, 0.5 * (length - wanted) / length)
                count += 1
        vec.store(out, v, vec.madd(p, total, OVER / count) if count > 0 else p)


@kernel
def pull(bounds, x, v):
    """Return the sum over the edges of vertex `v` of x (n,3) of what they are too long, towards the other end, or too
    short, away from it."""
    p, total = vec.load(x, v), (0.0, 0.0, 0.0)
    for r in range(bounds.start[v], bounds.start[v + 1]):
        d = vec.sub(vec.load(x, bounds.neighbour[r]), p)
        length = vec.norm(d)
        wanted = min(max(length, bounds.low[bounds.edge[r]]), bounds.high[bounds.edge[r]])
        if wanted != length and length > 0.0:
            total = vec.madd(total, d, (length - wanted) / length)
    return total


@kernel(parallel=True)
def pull_edges(bounds, x, rows, out):
    """Fill the `rows` of out (n,3) with the `pull` of their edges in x (n,3)."""
    for at in prange(len(rows)):
        vec.store(out, rows[at], pull(bounds, x, rows[at]))

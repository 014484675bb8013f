"""Rotations that fit the edges of each vertex, and the edges turned by them: as-rigid-as-possible surface modeling
(O. Sorkine and M. Alexa 2007), gathered vertex by vertex."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.polar import apply3, rotation
from ..jit import kernel, prange


class Star(NamedTuple):
    """The neighbours of each vertex, by rows, and the rest shape."""

    start: np.ndarray  # (n+1,): the neighbours of vertex v are entries start[v]..start[v+1]-1
    neighbour: np.ndarray  # (2k,) i4
    rest: np.ndarray  # (n,3) metres


@kernel(parallel=True)
def fit_rotations(star, x, rows, torn, turn, trust):
    """Fill turn (n,3,3) with the rotations from the rest shape to x (n,3) that fit the edges of the vertices `rows`,
    and trust (n,) with the share of their edges that is not torn: an edge of strain `torn` counts half."""
    for r in prange(len(rows)):
        v = rows[r]
        p, q = vec.load(x, v), vec.load(star.rest, v)
        f_0, f_1, f_2, total = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
        for at in range(star.start[v], star.start[v + 1]):
            a = vec.sub(vec.load(star.rest, star.neighbour[at]), q)
            b = vec.sub(vec.load(x, star.neighbour[at]), p)
            long = vec.norm(a)
            if long > 0.0:
                weight = 1.0 / (1.0 + ((vec.norm(b) / long - 1.0) / torn) ** 2)
                share = weight / (long * long)
                f_0, f_1, f_2 = (
                    vec.madd(f_0, b, share * a[0]),
                    vec.madd(f_1, b, share * a[1]),
                    vec.madd(f_2, b, share * a[2]),
                )
                total += weight
        c_0, c_1, c_2 = rotation(f_0, f_1, f_2)
        for k in range(3):
            turn[v, k, 0], turn[v, k, 1], turn[v, k, 2] = c_0[k], c_1[k], c_2[k]
        trust[v] = total / max(star.start[v + 1] - star.start[v], 1)


@kernel
def mean_columns(turn, v, w):
    """The columns of the mean of the matrices of v and w."""
    return (
        (
            0.5 * (turn[v, 0, 0] + turn[w, 0, 0]),
            0.5 * (turn[v, 1, 0] + turn[w, 1, 0]),
            0.5 * (turn[v, 2, 0] + turn[w, 2, 0]),
        ),
        (
            0.5 * (turn[v, 0, 1] + turn[w, 0, 1]),
            0.5 * (turn[v, 1, 1] + turn[w, 1, 1]),
            0.5 * (turn[v, 2, 1] + turn[w, 2, 1]),
        ),
        (
            0.5 * (turn[v, 0, 2] + turn[w, 0, 2]),
            0.5 * (turn[v, 1, 2] + turn[w, 1, 2]),
            0.5 * (turn[v, 2, 2] + turn[w, 2, 2]),
        ),
    )


@kernel(parallel=True)
def turned_edges(star, turn, rows, out):
    """Fill out (m,3) with the sum over the edges of each of the vertices `rows` (m,) from their other ends at rest,
    turned by the mean of the rotations of both ends."""
    for r in prange(len(rows)):
        v = rows[r]
        q, total = vec.load(star.rest, v), (0.0, 0.0, 0.0)
        for at in range(star.start[v], star.start[v + 1]):
            w = star.neighbour[at]
            edge = vec.sub(q, vec.load(star.rest, w))
            c_0, c_1, c_2 = mean_columns(turn, v, w)
            total = vec.add(total, apply3(c_0, c_1, c_2, edge))
        vec.store(out, r, total)

"""Descent on how unevenly a garment moves relative to the skin, in all frames together, under constraints."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.respond import even_motion as _kernels

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
STEPS = 200  # of a round
FIRM, LAST, FIRMER = 1000.0, 60, 4  # stiffness in the last steps of a round, their number, and most times of these
TIGHTEN = 10  # steps between updates of the multipliers


class Problem(NamedTuple):
    """A least-squares problem. rows: the vertices (r,) that move; ends: (e,2) of the edges in `lengths`; degree: (r,)
    edges of each vertex; held: the first frame that moves, and the end of these."""

    skin: _kernels.Skin
    room: _kernels.Room
    lengths: _kernels.Lengths
    rows: Rows
    ends: NDArray[np.int32]
    degree: Rows
    held: tuple[int, int]


def descended(problem: Problem, begin: Floats, pull: float | None, done: Callable[[Floats], bool]) -> Floats:
    """Frames (T,n,3) after a round of steps from `begin`: most of them with edges and half-spaces of the stiffness
    `pull` if there is one, the last ones firm, and more of these until the frames are `done`."""
    skin, room, lengths, rows, ends = problem[:5]
    bounds = np.stack([lengths.low, lengths.high])
    shifted, shifts = bounds.copy(), np.zeros_like(bounds)
    lengths = lengths._replace(low=shifted[0], high=shifted[1])
    last = np.ascontiguousarray(begin.transpose(1, 2, 0))
    ahead, after, uphill = last.copy(), last.copy(), np.zeros((len(rows), 1, 1))
    y, last_pull = begin, FIRM
    for now, steps in ([] if pull is None else [(pull, STEPS)]) + [(FIRM, LAST)] * FIRMER:
        stiffness, since = _stiffness(now, problem, len(begin)), 0
        shifts *= last_pull / now
        last_pull = now
        np.copyto(ahead, last)
        for k in range(steps):
            momentum = since / (since + 3.0)
            _kernels.descend(skin, room, lengths, stiffness, rows, momentum, ahead, (last, after, uphill))
            since = 0 if uphill.sum() > 0.0 else since + 1
            ahead, after = after, ahead
            if k % TIGHTEN == TIGHTEN - 1:
                _kernels.tighten(ends, bounds, shifts, last, shifted)
        y = last.transpose(2, 0, 1)
        if now == FIRM and done(y):
            break
    return np.ascontiguousarray(y)


def _stiffness(pull: float, problem: Problem, count: int) -> _kernels.Stiffness:
    """The stiffness of edges and half-spaces, and the factors of vertices with as many edges, near the body or not: the
    least with which descent is stable."""
    near = np.isfinite(problem.room.offset).any(1)
    each, kind = np.unique(2 * problem.degree + near, return_inverse=True)
    third = np.diff(np.eye(count), 3, axis=0)
    matrix, factors = third.T @ third, []
    for one in each:
        low = np.linalg.cholesky(matrix + pull * (2.0 * (one // 2) + one % 2) * np.eye(count))
        columns = np.zeros((_kernels.BAND, count))
        columns[0] = 1.0 / np.diag(low) ** 2
        for j in range(1, _kernels.BAND):
            columns[j, : count - j] = np.diag(low, -j) / np.diag(low)[: count - j]
        factors.append(columns)
    return _kernels.Stiffness(pull, *problem.held, np.stack(factors), kind.astype(np.int32))

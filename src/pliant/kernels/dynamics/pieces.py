"""Momentum of connected bodies that nothing holds: internal forces change neither the linear nor the angular one."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel
from .cloth import solve3


class Pieces(NamedTuple):
    """Connected bodies without fixed vertices."""

    start: np.ndarray  # (pieces+1,)
    rows: np.ndarray  # (n,) vertices of each


@kernel
def untouched(pieces, touched):
    """Return start and rows of the pieces that have none of the vertices `touched`."""
    most = -1
    for at in range(len(pieces.rows)):
        most = max(most, pieces.rows[at])
    is_touched = np.zeros(most + 1, np.bool_)
    for at in range(len(touched)):
        if touched[at] <= most:
            is_touched[touched[at]] = True
    start, rows = np.zeros(len(pieces.start), np.int64), np.empty(len(pieces.rows), np.int64)
    count, end = 0, 0
    for q in range(len(pieces.start) - 1):
        alone = True
        for at in range(pieces.start[q], pieces.start[q + 1]):
            alone = alone and not is_touched[pieces.rows[at]]
        if alone:
            for at in range(pieces.start[q], pieces.start[q + 1]):
                rows[end] = pieces.rows[at]
                end += 1
            count += 1
            start[count] = end
    return start[: count + 1], rows[:end]


@kernel
def recentre(pieces, before, x, masses):
    """Remove from the displacement `before` -> x of each piece the displacement of its centre of mass."""
    for q in range(len(pieces.start) - 1):
        mass, moved = 0.0, (0.0, 0.0, 0.0)
        for at in range(pieces.start[q], pieces.start[q + 1]):
            i = pieces.rows[at]
            mass += masses[i]
            moved = vec.madd(moved, vec.sub(vec.load(x, i), vec.load(before, i)), masses[i])
        moved = vec.scale(moved, 1.0 / mass)
        for at in range(pieces.start[q], pieces.start[q + 1]):
            i = pieces.rows[at]
            vec.store(x, i, vec.sub(vec.load(x, i), moved))


@kernel
def untwist(pieces, x_start, before, x, masses):
    """Remove from the displacement `before` -> x of each piece its rigid rotation relative to the start of the step.

    Forces evaluated at the end of a step exert no torque there, but do so about the positions at its start, which
    determine angular momentum: without this correction, a spinning body would be slowed down.
    """
    for q in range(len(pieces.start) - 1):
        mass, centre = 0.0, (0.0, 0.0, 0.0)
        for at in range(pieces.start[q], pieces.start[q + 1]):
            i = pieces.rows[at]
            mass += masses[i]
            centre = vec.madd(centre, vec.load(x_start, i), masses[i])
        centre = vec.scale(centre, 1.0 / mass)
        a, b, c, d, e, f, twist = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (0.0, 0.0, 0.0)
        for at in range(pieces.start[q], pieces.start[q + 1]):
            i = pieces.rows[at]
            m, r = masses[i], vec.sub(vec.load(x_start, i), centre)
            twist = vec.madd(twist, vec.cross(r, vec.sub(vec.load(x, i), vec.load(before, i))), m)
            a, b, c = a + m * r[0] * r[0], b + m * r[1] * r[1], c + m * r[2] * r[2]
            d, e, f = d - m * r[0] * r[1], e - m * r[0] * r[2], f - m * r[1] * r[2]
        a, b, c = b + c, a + c, a + b
        if a * (b * c - f * f) - d * (d * c - e * f) + e * (d * f - e * b) <= 1e-12 * (a + b + c) ** 3:
            continue  # collinear: no rotation about the line itself
        angle = solve3((a, b, c), (d, e, f), twist)
        for at in range(pieces.start[q], pieces.start[q + 1]):
            i = pieces.rows[at]
            r = vec.sub(vec.load(x_start, i), centre)
            vec.store(x, i, vec.sub(vec.load(x, i), vec.cross(angle, r)))

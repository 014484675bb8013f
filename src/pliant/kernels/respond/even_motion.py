"""Even motion: all frames of a garment descend together on the third differences of their motion relative to the skin,
while edges keep their lengths and vertices stay out of a body.

Arrays are ordered by vertices, then by components, then by frames, so that the loops over frames are vectorised. A step
of a vertex is preconditioned by the matrix of its own motion over time, which is banded and factorised once for each
stiffness.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange

VERTICES = 64  # of a batch
BAND = 4  # entries of a column of the factor: third differences reach three frames
TINY = 1e-300


class Skin(NamedTuple):
    """For each vertex that moves, the frames of the skin that its motion is relative to."""

    axes: np.ndarray  # (r,3,3,T) orthonormal rows
    origin: np.ndarray  # (r,3,T)


class Room(NamedTuple):
    """Half-spaces in which vertices stay: normal . x >= offset."""

    normal: np.ndarray  # (r,3,T)
    offset: np.ndarray  # (r,T); -inf: none


class Lengths(NamedTuple):
    """The edges of the vertices that move, by rows, and their bounds in each frame."""

    start: np.ndarray  # (r+1,) i8
    neighbour: np.ndarray  # (k,) i4
    edge: np.ndarray  # (k,) i4
    low: np.ndarray  # (e,T) metres
    high: np.ndarray  # (e,T)


class Stiffness(NamedTuple):
    """How strongly edges and half-spaces pull, and the factors of the vertices: of D'D + their stiffness. Frames
    before `first` and from `end` on stay as they are."""

    pull: float
    first: int
    end: int
    factor: np.ndarray  # (c,4,T) columns of L, with the reciprocals of D first
    kind: np.ndarray  # (r,) i4: which factor


@kernel
def third_differences(q, out):
    """Fill out (3,T) with D'D q, D the third differences over frames of q (3,T)."""
    for i in range(3):
        for t in range(q.shape[1]):
            out[i, t] = 0.0
        for t in range(q.shape[1] - 3):
            d = q[i, t + 3] - 3.0 * q[i, t + 2] + 3.0 * q[i, t + 1] - q[i, t]
            out[i, t] -= d
            out[i, t + 1] += 3.0 * d
            out[i, t + 2] -= 3.0 * d
            out[i, t + 3] += d


@kernel
def solve_band(factor, b):
    """Solve L D L' x = b (3,T) in place; factor (4,T): 1/D and the entries of L below the diagonal of each column."""
    count = b.shape[1]
    for t in range(count):
        for j in range(1, min(BAND, count - t)):
            for i in range(3):
                b[i, t + j] -= factor[j, t] * b[i, t]
    for t in range(count - 1, -1, -1):
        for i in range(3):
            b[i, t] *= factor[0, t]
        for j in range(1, min(BAND, count - t)):
            for i in range(3):
                b[i, t] -= factor[j, t] * b[i, t + j]


@kernel
def pull_of_edges(lengths, r, x, v, stiffness, out):
    """Fill out (3,T) with the pull of the edges of vertex `v` of x (n,3,T), row `r`, that are beyond their bounds."""
    count = x.shape[2]
    for t in range(count):
        out[0, t] = 0.0
        out[1, t] = 0.0
        out[2, t] = 0.0
    p = x[v]
    for k in range(lengths.start[r], lengths.start[r + 1]):
        q, low, high = x[lengths.neighbour[k]], lengths.low[lengths.edge[k]], lengths.high[lengths.edge[k]]
        for t in range(count):
            dx, dy, dz = q[0, t] - p[0, t], q[1, t] - p[1, t], q[2, t] - p[2, t]
            length = np.sqrt(dx * dx + dy * dy + dz * dz)
            force = stiffness * (length - min(max(length, low[t]), high[t])) / max(length, TINY)
            out[0, t] += force * dx
            out[1, t] += force * dy
            out[2, t] += force * dz


@kernel(parallel=True)
def descend(skin, room, lengths, stiffness, rows, momentum, ahead, states):
    """One step of accelerated descent from ahead (n,3,T) at the vertices `rows`: states[0] (n,3,T), the last shape,
    becomes the new one, states[1] the next one to step from, and states[2] (r,1,1) how far each vertex went uphill."""
    last, after, uphill = states
    count = ahead.shape[2]
    for b in prange((len(rows) + VERTICES - 1) // VERTICES):
        q, g, pull = np.empty((3, count)), np.empty((3, count)), np.empty((3, count))
        for r in range(b * VERTICES, min((b + 1) * VERTICES, len(rows))):
            v = rows[r]
            axes, origin, x = skin.axes[r], skin.origin[r], ahead[v]
            pull_of_edges(lengths, r, ahead, v, stiffness.pull, pull)
            normal, offset = room.normal[r], room.offset[r]
            for t in range(count):
                height = normal[0, t] * x[0, t] + normal[1, t] * x[1, t] + normal[2, t] * x[2, t]
                inside = stiffness.pull * max(offset[t] - height, 0.0)
                for i in range(3):
                    pull[i, t] += inside * normal[i, t]
            for i in range(3):
                for t in range(count):
                    dx, dy, dz = x[0, t] - origin[0, t], x[1, t] - origin[1, t], x[2, t] - origin[2, t]
                    q[i, t] = axes[i, 0, t] * dx + axes[i, 1, t] * dy + axes[i, 2, t] * dz
            third_differences(q, g)
            for i in range(3):
                for t in range(count):
                    along = axes[i, 0, t] * pull[0, t] + axes[i, 1, t] * pull[1, t] + axes[i, 2, t] * pull[2, t]
                    g[i, t] -= along
                for t in range(stiffness.first):
                    g[i, t] = 0.0
                for t in range(stiffness.end, count):
                    g[i, t] = 0.0
                for t in range(count):
                    q[i, t] = g[i, t]
            solve_band(stiffness.factor[stiffness.kind[r]], q)
            total = 0.0
            for i in range(3):
                for t in range(stiffness.first, stiffness.end):
                    step = axes[0, i, t] * q[0, t] + axes[1, i, t] * q[1, t] + axes[2, i, t] * q[2, t]
                    slope = axes[0, i, t] * g[0, t] + axes[1, i, t] * g[1, t] + axes[2, i, t] * g[2, t]
                    new = x[i, t] - step
                    change = new - last[v, i, t]
                    total += slope * change
                    last[v, i, t] = new
                    after[v, i, t] = new + momentum * change
            uphill[r, 0, 0] = total


@kernel(parallel=True)
def tighten(ends, bounds, shifts, x, shifted):
    """Update the shifts (2,e,T) of the bounds of edges `ends` (e,2) by how much they are exceeded in x (n,3,T), and
    `shifted` (2,e,T), the bounds with them: what pulls an edge that is beyond a bound grows until it no longer is
    (augmented Lagrangian, M. Powell 1969)."""
    for e in prange(len(ends)):
        p, q = x[ends[e, 0]], x[ends[e, 1]]
        for t in range(x.shape[2]):
            dx, dy, dz = q[0, t] - p[0, t], q[1, t] - p[1, t], q[2, t] - p[2, t]
            length = np.sqrt(dx * dx + dy * dy + dz * dz)
            shifts[0, e, t] = max(0.0, shifts[0, e, t] + bounds[0, e, t] - length)
            shifts[1, e, t] = max(0.0, shifts[1, e, t] + length - bounds[1, e, t])
            shifted[0, e, t] = bounds[0, e, t] + shifts[0, e, t]
            shifted[1, e, t] = bounds[1, e, t] - shifts[1, e, t]

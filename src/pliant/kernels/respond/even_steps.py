"""Steps that are even over time: means over neighbouring frames of the steps of each vertex."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..dynamics.cholesky import solve
from ..jit import kernel, prange
from .edge_lengths import EdgeBounds, pull

VERTICES = 64  # of a batch


class Buffers(NamedTuple):
    """Right-hand sides and scratch of solves, one for each batch of frames."""

    force: np.ndarray  # (b,n,3)
    scratch: np.ndarray  # (b,m,4) f4


class Parts(NamedTuple):
    """The rigid motion of the connected parts of a mesh."""

    turns: np.ndarray  # (T,parts,3,3) rotations
    part: np.ndarray  # (n,) of each vertex


@kernel(parallel=True)
def solve_steps(bounds, x, rows, factor, scaling, buffers, steps, moving):
    """Fill the `rows` of steps (T,n,3) with the solution for the pull of the edges of each frame of x (T,n,3), whose
    `bounds` have low and high (T,k), and moving (T,) with whether there is any.

    factor, scaling: see `cholesky.solve`.
    """
    force, scratch = buffers.force, buffers.scratch
    for b in prange(len(force)):
        for t in range(b, len(x), len(force)):
            allowed = EdgeBounds(bounds.start, bounds.neighbour, bounds.edge, bounds.low[t], bounds.high[t])
            moving[t] = False
            for v in rows:
                total = pull(allowed, x[t], v)
                vec.store(force[b], v, total)
                moving[t] |= vec.dot(total, total) > 0.0
            if moving[t]:
                solve(factor, force[b], steps[t], scaling, scratch[b])
            else:
                for v in rows:
                    vec.store(steps[t], v, (0.0, 0.0, 0.0))


@kernel(parallel=True)
def largest_strain(edges, rest, low, high, margin, x, out):
    """Fill out (T,) with the largest added strain of the `edges` (k,2) of each frame of x (T,n,3): what they exceed
    their bounds low, high (T,k), and `margin` times the rest length (k,) more, relative to the latter."""
    for t in prange(len(x)):
        most = 0.0
        for e in range(len(edges)):
            if rest[e] > 0.0:
                length = vec.norm(vec.sub(vec.load(x[t], edges[e, 1]), vec.load(x[t], edges[e, 0])))
                beyond = max(low[t, e] - length, length - high[t, e]) + margin * rest[e]
                most = max(most, beyond / rest[e])
        out[t] = most


@kernel(parallel=True)
def take_even_steps(steps, parts, rows, weights, factor, momentum, x, last):
    """Add to x (T,n,3), at the vertices `rows`, `factor` times the means of steps (T,n,3) with the 2 reach + 1
    `weights` over time, as seen by the part of a vertex. Steps are mirrored at the first and last frame. Then x goes on
    by `momentum` times its difference from `last` (T,n,3), and `last` becomes what it was before that."""
    turns, part = parts
    count, reach = len(steps), len(weights) // 2
    source = np.empty(count + 2 * reach, np.int64)  # the frame of each place of the mirrored steps
    for k in range(len(source)):
        s = k - reach
        while s < 0 or s >= count:
            s = -s if s < 0 else 2 * (count - 1) - s
        source[k] = s
    for b in prange((len(rows) + VERTICES - 1) // VERTICES):
        seen = np.empty((len(source), 3))
        for at in range(b * VERTICES, min((b + 1) * VERTICES, len(rows))):
            v = rows[at]
            p = part[v]
            for k in range(len(source)):
                s = source[k]
                a = vec.load(steps[s], v)
                for j in range(3):
                    seen[k, j] = turns[s, p, 0, j] * a[0] + turns[s, p, 1, j] * a[1] + turns[s, p, 2, j] * a[2]
            for t in range(count):
                mean = (0.0, 0.0, 0.0)
                for k in range(len(weights)):
                    mean = vec.madd(mean, vec.load(seen, t + k), weights[k])
                for i in range(3):
                    new = x[t, v, i] + factor * vec.dot(vec.load(turns[t, p], i), mean)
                    x[t, v, i] = new + momentum * (new - last[t, v, i])
                    last[t, v, i] = new

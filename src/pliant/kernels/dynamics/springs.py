"""Springs between a vertex and a point on an edge, or another vertex: stitches, which only pull.

They are few compared with the triangles, so the loops are serial, in a fixed order.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel

TINY = 1e-12


class Springs(NamedTuple):
    """Springs between vertex a and the point (1 - t) b + t c; b = c joins two vertices."""

    vertices: np.ndarray  # (s,3) a, b, c
    weights: np.ndarray  # (s,3) 1, t - 1, -t
    stiffness: np.ndarray  # (s,) N/m


@kernel
def gap(s, e, x):
    """Vector from the point on the edge of spring `e` to its vertex."""
    g = vec.scale(vec.load(x, s.vertices[e, 0]), s.weights[e, 0])
    g = vec.madd(g, vec.load(x, s.vertices[e, 1]), s.weights[e, 1])
    return vec.madd(g, vec.load(x, s.vertices[e, 2]), s.weights[e, 2])


@kernel
def relax_springs(s, rest, x, w, dt):
    """Project springs longer than `rest` (s,) onto it, one after the other (XPBD)."""
    for e in range(len(rest)):
        g = gap(s, e, x)
        length = vec.norm(g)
        if length <= rest[e]:
            continue
        total = 1.0 / (s.stiffness[e] * dt * dt)
        moves = 0.0
        for k in range(3):
            moves += w[s.vertices[e, k]] * s.weights[e, k] ** 2
        if moves == 0.0:
            continue
        pull = vec.scale(g, (rest[e] - length) / (max(length, TINY) * (moves + total)))
        for k in range(3):
            i = s.vertices[e, k]
            vec.store(x, i, vec.madd(vec.load(x, i), pull, w[i] * s.weights[e, k]))


@kernel
def add_rest_forces(s, rest, x, out):
    """Add to `out` (n,3) the gradient, at x, of the energy of springs of rest length `rest` (s,) minus that of springs
    of rest length zero; a spring shorter than `rest` has no energy."""
    for e in range(len(rest)):
        g = gap(s, e, x)
        target = vec.scale(g, min(1.0, rest[e] / max(vec.norm(g), TINY)))
        for k in range(3):
            i = s.vertices[e, k]
            vec.store(out, i, vec.madd(vec.load(out, i), target, -s.stiffness[e] * s.weights[e, k]))


@kernel
def spring_energy(s, rest, x):
    """Elastic energy of the springs, J."""
    total = 0.0
    for e in range(len(rest)):
        total += 0.5 * s.stiffness[e] * max(vec.norm(gap(s, e, x)) - rest[e], 0.0) ** 2
    return total

"""Strain limiting of all edges together, by the alternating direction method of multipliers (Boyd et al. 2011).

Positions in which no edge is longer than its limit and no gap negative form a convex set, to whose nearest point the
iteration converges. It alternates between two steps: every edge is shortened, and every gap opened, on its own; then
one linear system with a constant matrix, whose factor is computed once, moves all vertices to where these agree best. A
correction is so spread over the whole cloth in each iteration, however fine its mesh is.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel
from .cholesky import Factor, Scaling, solve
from .strain_limit import open_gap

RELAXATION = 1.6  # of each step, by which it is extrapolated


class System(NamedTuple):
    """The linear system of an iteration."""

    factor: Factor
    scaling: Scaling  # of no row
    scratch: np.ndarray  # (n+k,4) f4


class Together(NamedTuple):
    """Weights and workspace; f4 arrays have a fourth column of padding."""

    w: np.ndarray  # (n,) inverse masses
    mass: np.ndarray  # (n,) of free vertices; 0: they do not move
    edge_weight: np.ndarray  # (m,) by which the linear system weighs edges, kg
    vertex_weight: np.ndarray  # (n,) by which it weighs positions in which all gaps are open, kg
    start: np.ndarray  # (n,3) positions at the start
    level: np.ndarray  # (n,) heights above the surfaces that vertices touch, below which they do not move, metres
    spans: np.ndarray  # (m,3) edges that are short enough
    stretches: np.ndarray  # (m,3) multipliers: sums of what that has changed
    places: np.ndarray  # (n,3) positions in which all gaps are open
    pushes: np.ndarray  # (n,3) multipliers: sums of what that has changed
    right: np.ndarray  # (n,4) f4 right-hand side
    moves: np.ndarray  # (n,4) f4 solution


@kernel
def height(x, i, surface):
    """How far vertex `i` is above the surface that it touches, or infinite."""
    k = surface.place[i]
    if k < 0:
        return np.inf
    return vec.dot(vec.load(surface.normals, k), vec.sub(vec.load(x, i), vec.load(surface.points, k)))


@kernel
def lower_gaps(gaps, x, offsets):
    """Store the offsets (k,) with which gaps that are negative at x are zero instead, and all others unchanged."""
    for c in range(len(gaps.offsets)):
        gap, n = -gaps.offsets[c], vec.load(gaps.normals, c)
        for k in range(4):
            i = gaps.vertices[c, k]
            if i >= 0:
                gap += gaps.weights[c, k] * vec.dot(n, vec.load(x, i))
        offsets[c] = gaps.offsets[c] + min(gap, 0.0)


@kernel
def begin(edges, x, surface, t):
    """Begin with the positions x and without multipliers."""
    for i in range(len(x)):
        at = vec.load(x, i)
        vec.store(t.start, i, at)
        vec.store(t.places, i, at)
        t.level[i] = min(height(x, i, surface), 0.0)
    for e in range(len(edges.ends)):
        vec.store(t.spans, e, vec.sub(vec.load(x, edges.ends[e, 1]), vec.load(x, edges.ends[e, 0])))
    t.stretches[:], t.pushes[:], t.moves[:] = 0.0, 0.0, 0.0


@kernel
def add_edges(edges, x, slack, t):
    """Shorten each edge on its own, and add its force to the right-hand side; return whether any is longer than `slack`
    times its limit."""
    taut, share = False, 1.0 - RELAXATION
    for e in range(len(edges.ends)):
        i, j, weight = edges.ends[e, 0], edges.ends[e, 1], t.edge_weight[e]
        d = vec.sub(vec.load(x, j), vec.load(x, i))
        taut |= vec.norm2(d) > (slack * edges.most[e]) ** 2
        wanted = vec.madd(vec.scale(d, RELAXATION), vec.load(t.spans, e), share)
        wanted = vec.add(wanted, vec.load(t.stretches, e))
        far = math.sqrt(vec.norm2(wanted))
        span = vec.scale(wanted, min(edges.most[e] / far, 1.0)) if far > 0.0 else wanted
        stretch = vec.sub(wanted, span)
        vec.store(t.spans, e, span)
        vec.store(t.stretches, e, stretch)
        pull = vec.add(vec.sub(d, span), stretch)
        for a in range(3):
            force = np.float32(weight * pull[a])
            t.right[i, a] += force
            t.right[j, a] -= force
    return taut


@kernel
def open_all(x, w, surface, gaps, level):
    """Move vertices out of the surfaces that they touch, down to their `level` (n,), and open each gap on its own."""
    for i in range(len(x)):
        below = level[i] - height(x, i, surface)
        if below > 0.0:
            vec.store(x, i, vec.madd(vec.load(x, i), vec.load(surface.normals, surface.place[i]), below))
    for c in range(len(gaps.offsets)):
        open_gap(gaps, c, x, w)


@kernel
def add_vertices(x, surface, gaps, t):
    """Open all gaps, and add the forces of vertices to the right-hand side."""
    share = 1.0 - RELAXATION
    for i in range(len(x)):
        wanted = vec.madd(vec.scale(vec.load(x, i), RELAXATION), vec.load(t.places, i), share)
        wanted = vec.add(wanted, vec.load(t.pushes, i))
        vec.store(t.pushes, i, wanted)
        vec.store(t.places, i, wanted)
    open_all(t.places, t.w, surface, gaps, t.level)
    for i in range(len(x)):
        at, place = vec.load(x, i), vec.load(t.places, i)
        push = vec.sub(vec.load(t.pushes, i), place)
        vec.store(t.pushes, i, push)
        force = vec.scale(vec.sub(at, vec.load(t.start, i)), -t.mass[i])
        force = vec.madd(force, vec.add(vec.sub(at, place), push), -t.vertex_weight[i])
        for a in range(3):
            t.right[i, a] = force[a]


@kernel
def shorten_together(edges, x, surface, gaps, system, t, iterations, slack):
    """Move x towards the nearest positions in which no edge is too long, in at most `iterations` iterations, until none
    is longer than `slack` times its limit; return their number. Vertices do not move into their `surface`, and `gaps`
    stay open: what the iterations have closed is opened at the end."""
    begin(edges, x, surface, t)
    count = 0
    while count < iterations:
        add_vertices(x, surface, gaps, t)
        if not add_edges(edges, x, slack, t):
            break
        solve(system.factor, t.right, t.moves, system.scaling, system.scratch)
        for i in range(len(x)):
            if t.mass[i] > 0.0:
                move = np.float64(t.moves[i, 0]), np.float64(t.moves[i, 1]), np.float64(t.moves[i, 2])
                vec.store(x, i, vec.add(vec.load(x, i), move))
        count += 1
    open_all(x, t.w, surface, gaps, t.level)
    return count

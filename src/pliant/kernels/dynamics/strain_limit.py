"""Strain limiting: edges that are stretched beyond a limit are shortened to it, one after the other.

Few edges are: those at pins, at impacts and where a body pulls. Vertices move by inverse mass, so that momentum is
conserved, except where a surface stops them. Gaps to bodies that this would close are opened in the same sweep: cloth
around a body slides along it within its limit, where shortening first and pushing out afterwards would undo each other.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import anchor_of, normal_of
from ..jit import kernel, prange
from .cloth import part

CHUNKS = 64  # ranges of edges that threads share
FARTHEST = 4.0  # times the displacement by which a gap opens: vertices do not move farther to open it
SLACK = 1.002  # of a limit: shorter edges are left alone, so that sweeps end


class LimitedEdges(NamedTuple):
    """Edges and their largest lengths."""

    ends: np.ndarray  # (m,2) vertices
    most: np.ndarray  # (m,) metres
    beside: np.ndarray  # (k,) edges at each vertex, by rows
    start: np.ndarray  # (n+1,) first of them


@kernel(parallel=True)
def find_stretched(edges, x, found, counts):
    """Store the edges longer than their limit in `found` (m,), each chunk at its own place; `counts` (CHUNKS,)."""
    for p in prange(CHUNKS):
        a, b = part(0, len(edges.ends), p, CHUNKS)
        k = a
        for e in range(a, b):
            d = vec.sub(vec.load(x, edges.ends[e, 1]), vec.load(x, edges.ends[e, 0]))
            if vec.norm2(d) > (SLACK * edges.most[e]) ** 2:
                found[k] = e
                k += 1
        counts[p] = k - a


@kernel
def is_any_stretched(edges, x):
    """Return whether any edge is longer than its limit; ends at the first one."""
    for e in range(len(edges.ends)):
        d = vec.sub(vec.load(x, edges.ends[e, 1]), vec.load(x, edges.ends[e, 0]))
        if vec.norm2(d) > (SLACK * edges.most[e]) ** 2:
            return True
    return False


class Surface(NamedTuple):
    """The surfaces that vertices touch."""

    place: np.ndarray  # (n,) of each vertex in `normals`, or -1
    normals: np.ndarray  # (n,3) outward
    points: np.ndarray  # (n,3) positions of the vertices in contact


class Gaps(NamedTuple):
    """Gaps that must not become negative: sum(weights * x[vertices]) . normal - offset."""

    vertices: np.ndarray  # (k,4), of the cloth; -1: none
    weights: np.ndarray  # (k,4)
    normals: np.ndarray  # (k,3)
    offsets: np.ndarray  # (k,) metres


@kernel
def fill_gaps(contacts, x, first, last, gaps):
    """Write the gaps of contacts (k,) as functions of the vertices first..last-1 of x (n,3), numbered from 0, to
    `gaps`; all others stay where they are."""
    for c in range(len(contacts)):
        contact, fixed = contacts[c], (0.0, 0.0, 0.0)
        for k in range(4):
            v, share = contact["vertices"][k], contact["weights"][k]
            own = first <= v < last
            gaps.vertices[c, k] = v - first if own else -1
            gaps.weights[c, k] = share if own else 0.0
            if v >= 0 and not own:
                fixed = vec.madd(fixed, vec.load(x, v), share)
        n = normal_of(contact)
        vec.store(gaps.normals, c, n)
        gaps.offsets[c] = vec.dot(vec.sub(anchor_of(contact), fixed), n)


class Stretched(NamedTuple):
    """Edges longer than their limits: the first `counts` of each chunk."""

    found: np.ndarray  # (m,)
    counts: np.ndarray  # (CHUNKS,)


@kernel
def move(x, i, d, surface):
    """Move vertex `i` by d, without the part of it that leads into the surface it touches. A vertex that has moved away
    from it may come back: otherwise each sweep would move it farther away, and stretch other edges."""
    k, at = surface.place[i], vec.load(x, i)
    if k >= 0:
        n = vec.load(surface.normals, k)
        above = max(vec.dot(n, vec.sub(at, vec.load(surface.points, k))), 0.0)
        d = vec.madd(d, n, -min(vec.dot(d, n) + above, 0.0))
    vec.store(x, i, vec.add(at, d))


class Scratch(NamedTuple):
    """Scratch of `shorten`; `queued` is False before and after."""

    queue: np.ndarray  # (2,m) edges of this and of the following sweep
    queued: np.ndarray  # (m,) of the following sweep
    moved: np.ndarray  # (n,) sweep in which each vertex moved last


@kernel
def queue_beside(edges, i, own, scratch, now, following):
    """Queue the edges at vertex `i` except `own` for the following sweep; return the length of its queue."""
    for at in range(edges.start[i], edges.start[i + 1]):
        other = edges.beside[at]
        if other != own and not scratch.queued[other]:
            scratch.queued[other] = True
            scratch.queue[1 - now, following] = other
            following += 1
    return following


@kernel
def has_moved(gaps, c, moved, sweep):
    """Whether a vertex of gap `c` has moved in this sweep."""
    for k in range(4):
        i = gaps.vertices[c, k]
        if i >= 0 and moved[i] == sweep:
            return True
    return False


@kernel
def open_gap(gaps, c, x, w):
    """Move the vertices of gap `c`, by inverse mass, so that it is not negative; return whether it was.

    A gap beside vertices that do not move, which the others could open only by many times its width, stays as it is:
    it would drive them a little farther in every sweep, and the cloth behind them.
    """
    gap, mobile, most, n = -gaps.offsets[c], 0.0, 0.0, vec.load(gaps.normals, c)
    for k in range(4):
        i, share = gaps.vertices[c, k], gaps.weights[c, k]
        if i >= 0:
            gap += share * vec.dot(n, vec.load(x, i))
            mobile += w[i] * share * share
            most = max(most, w[i] * abs(share))
    if gap >= 0.0 or FARTHEST * mobile <= most:
        return False
    d = vec.scale(n, -gap / mobile)
    for k in range(4):
        i = gaps.vertices[c, k]
        if i >= 0:
            vec.store(x, i, vec.madd(vec.load(x, i), d, w[i] * gaps.weights[c, k]))
    return True


@kernel
def shorten(edges, x, w, stretched, sweeps, surface, gaps, scratch):
    """Shorten the `stretched` edges, and those that this stretches beyond their limits, in at most `sweeps` sweeps.

    Vertices in contact do not move into their `surface`, and `gaps` that this closes are opened again in the same
    sweep. Return the number of corrections, and whether sweeps were enough.
    """
    found, counts = stretched
    queue, queued, moved = scratch
    total, now, m = 0, 0, len(edges.ends)
    length = 0
    for p in range(CHUNKS):
        first = part(0, m, p, CHUNKS)[0]
        for k in range(first, first + counts[p]):
            queue[0, length] = found[k]
            queued[found[k]] = True
            length += 1
    moved[:] = -1
    for sweep in range(sweeps):
        following = 0
        for k in range(length):
            e = queue[now, k]
            queued[e] = False
            i, j = edges.ends[e, 0], edges.ends[e, 1]
            d = vec.sub(vec.load(x, j), vec.load(x, i))
            far, mobile = math.sqrt(vec.norm2(d)), w[i] + w[j]
            if not far > SLACK * edges.most[e] or mobile == 0.0:
                continue
            total += 1
            d = vec.scale(d, (far - edges.most[e]) / (far * mobile))
            move(x, i, vec.scale(d, w[i]), surface)
            move(x, j, vec.scale(d, -w[j]), surface)
            for end in (i, j):
                moved[end] = sweep
                following = queue_beside(edges, end, e, scratch, now, following)
        for c in range(len(gaps.offsets)):
            if has_moved(gaps, c, moved, sweep) and open_gap(gaps, c, x, w):
                for k in range(4):
                    i = gaps.vertices[c, k]
                    if i >= 0:
                        moved[i] = sweep
                        following = queue_beside(edges, i, -1, scratch, now, following)
        now, length = 1 - now, following
        if length == 0:
            break
    for k in range(length):
        queued[queue[now, k]] = False
    return total, length == 0

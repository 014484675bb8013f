"""Select the edges of a cloth whose midpoint may touch a distance field (Fuhrmann et al. 2003, section 4.3)."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

PARTS = 16  # ranges of edges that threads share


class Reach(NamedTuple):
    """Which midpoints may touch, all in metres."""

    within: float  # contacts are reported up to this distance
    slack: float  # error of the field
    known: float  # points beyond the band are at least this far away
    longest: float  # length of the longest edge


@kernel
def longest_serial(edges, x):
    """Length of the longest edge, metres; 0 without edges."""
    most = 0.0
    for e in range(len(edges)):
        most = max(most, vec.norm2(vec.sub(vec.load(x, edges[e, 0]), vec.load(x, edges[e, 1]))))
    return math.sqrt(most)


@kernel(parallel=True)
def longest_parallel(edges, x):
    """As `longest_serial`, on all threads."""
    found = np.empty(PARTS)
    for p in prange(PARTS):
        found[p] = longest_serial(edges[len(edges) * p // PARTS : len(edges) * (p + 1) // PARTS], x)
    return found.max()


@kernel
def none_in_reach(d, bounds):
    """Return whether the distances of all vertices, which are nan beyond the band, exclude every midpoint."""
    within, slack, known, longest = bounds
    if within + 0.5 * longest > known:
        return False
    for i in range(len(d)):  # noqa: SIM110 - Numba does not compile generators
        if d[i] <= within + 0.5 * longest + slack:
            return False
    return True


@kernel
def in_reach_serial(edges, x, d, bounds, out, middle):
    """Collect the edges whose midpoint may be within `bounds` (Reach), with their midpoints. Return their number."""
    return 0 if none_in_reach(d, bounds) else collect_in_reach(edges, x, d, bounds, out, middle)


@kernel
def collect_in_reach(edges, x, d, bounds, out, middle):
    """As `in_reach_serial`, edge by edge.

    The distance at an end exceeds that at the midpoint by at most half the edge length, so both ends must be near, up
    to the error of the field. Ends beyond the band (nan) are at least `known` away, which need not exclude the midpoint
    between two of them; where the longest edge is short enough, most of a cloth is culled by distance alone.
    """
    within, slack, known, longest = bounds
    count = 0
    short = within + 0.5 * longest <= known
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        beyond = math.isnan(d[i]) and math.isnan(d[j])
        if beyond and short:
            continue
        a, b = vec.load(x, i), vec.load(x, j)
        reach = within + 0.5 * math.sqrt(vec.norm2(vec.sub(a, b)))
        if d[i] > reach + slack or d[j] > reach + slack or (beyond and reach <= known):
            continue
        out[count] = e
        vec.store(middle, count, vec.mix(a, b, 0.5))
        count += 1
    return count


@kernel(parallel=True)
def in_reach_parallel(edges, x, d, bounds, out, middle):
    """As `in_reach_serial`, on all threads: each collects in a range of its own, and these are joined in order."""
    m, counts = len(edges), np.zeros(PARTS, np.int64)
    if none_in_reach(d, bounds):
        return 0
    for p in prange(PARTS):
        a, b = m * p // PARTS, m * (p + 1) // PARTS
        counts[p] = collect_in_reach(edges[a:b], x, d, bounds, out[a:b], middle[a:b])
    total = 0
    for p in range(PARTS):
        a = m * p // PARTS
        for k in range(counts[p]):
            out[total] = out[a + k] + a
            vec.store(middle, total, vec.load(middle, a + k))
            total += 1
    return total

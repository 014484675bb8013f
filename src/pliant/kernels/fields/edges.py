"""Select the edges of a cloth whose midpoint may touch a distance field (Fuhrmann et al. 2003, section 4.3)."""

import math
from typing import NamedTuple

from .. import vec
from ..jit import kernel


class Reach(NamedTuple):
    """Which midpoints may touch, all in metres."""

    within: float  # contacts are reported up to this distance
    slack: float  # error of the field
    known: float  # points beyond the band are at least this far away
    longest: float  # length of the longest edge


@kernel
def longest_edge(edges, x):
    """Length of the longest edge, metres; 0 without edges."""
    most = 0.0
    for e in range(len(edges)):
        most = max(most, vec.norm2(vec.sub(vec.load(x, edges[e, 0]), vec.load(x, edges[e, 1]))))
    return math.sqrt(most)


@kernel
def none_within(d, bound):
    """Return whether every distance is more than `bound`, or nan."""
    for i in range(len(d)):  # noqa: SIM110 - Numba does not compile generators
        if d[i] <= bound:
            return False
    return True


@kernel
def edges_in_reach(edges, x, d, bounds, out, middle):
    """Collect the edges whose midpoint may be within `bounds` (Reach), with their midpoints. Return their number.

    The distance at an end exceeds that at the midpoint by at most half the edge length, so both ends must be near, up
    to the error of the field. Ends beyond the band (nan) are at least `known` away, which need not exclude the midpoint
    between two of them; where the longest edge is short enough, most of a cloth is culled by distance alone.
    """
    within, slack, known, longest = bounds
    count = 0
    short = within + 0.5 * longest <= known
    if short and none_within(d, within + 0.5 * longest + slack):
        return 0
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

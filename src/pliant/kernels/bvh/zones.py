"""Top-down BVH build by the topology of the mesh: recursive division into zones of neighbouring elements.

X. Provot, Collision and self-collision handling in cloth model dedicated to design garments, 1997. A zone is divided
into the half of its elements that are nearest to an element at its end, counted in steps between neighbours, and the
rest, so that elements that are near each other only in space are never in one zone. Positions do not matter.
"""

import numpy as np

from ..jit import kernel
from .build import DEEP, select

APART = 1e9  # steps to elements that are not connected within the zone


@kernel
def spread(start, beside, zone, first, steps, queue):
    """Set `steps` of all elements of a zone that are connected to element `first`: their distance from it in steps
    between neighbours; return the last one reached. zone (m,): which zone each element is in; steps: APART before."""
    own = zone[first]
    steps[first], queue[0] = 0.0, first
    at, n = 0, 1
    while at < n:
        e = queue[at]
        at += 1
        for k in range(start[e], start[e + 1]):
            f = beside[k]
            if zone[f] == own and steps[f] == APART:
                steps[f] = steps[e] + 1.0
                queue[n] = f
                n += 1
    return queue[n - 1]


@kernel
def build_zones(start, beside, leaf, order, starts, counts):
    """As `build_top_down`, for elements whose neighbours are beside[start[e]:start[e + 1]]."""
    m = len(order)
    key, steps, queue, zone = np.empty(m), np.empty(m), np.empty(m, np.int32), np.zeros(m, np.int32)
    stack = np.empty((DEEP + 40, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, m
    top, n = min(m, 1), 0
    while top > 0:
        top -= 1
        first, last = stack[top, 0], stack[top, 1]
        starts[n], counts[n] = first, last - first
        n += 1
        if last - first <= leaf:
            continue
        begin = order[first]
        for _ in range(2):  # from any element to one at an end, and from there
            for q in range(first, last):
                zone[order[q]], steps[order[q]] = n, APART
            end = spread(start, beside, zone, begin, steps, queue)
            begin = end
        for q in range(first, last):
            key[q] = steps[order[q]]
        at = (first + last) // 2
        select(key, order, first, last, at)
        stack[top, 0], stack[top, 1] = at, last
        stack[top + 1, 0], stack[top + 1, 1] = first, at
        top += 2
    return n

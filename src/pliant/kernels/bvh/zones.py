"""Top-down BVH build by the topology of the mesh: recursive division into zones of neighbouring elements.

X. Provot, Collision and self-collision handling in cloth model dedicated to design garments, 1997. A zone is divided
into two halves: each element is nearer to one of two elements at opposite ends, counted in steps between neighbours.
Elements that are near each other only in space are therefore in one zone only if it contains what connects them, or if
nothing does. Positions do not matter.
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
        end = order[first]
        for turn in range(3):  # from any element to one at an end, from there to the other end, and back
            for q in range(first, last):
                key[q] = steps[order[q]] if turn == 2 else 0.0
            for q in range(first, last):
                zone[order[q]], steps[order[q]] = n, APART
            end = spread(start, beside, zone, end, steps, queue)
        for q in range(first, last):
            key[q] -= steps[order[q]]  # 0 where neither end reaches it
        at = (first + last) // 2
        select(key, order, first, last, at)
        stack[top, 0], stack[top, 1] = at, last
        stack[top + 1, 0], stack[top + 1, 1] = first, at
        top += 2
    return n

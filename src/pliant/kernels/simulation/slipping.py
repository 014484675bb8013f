"""Attachments that slip: points are brought back to the largest distances that the cloth between them allows."""

import math

import numpy as np

from .. import vec
from ..jit import kernel

SLACK = 1.0 + 1e-6  # of a distance: shorter ones are left alone, so that sweeps end
MARGIN = 2.0  # times the largest excess: how much shorter than its limit a pair is that is left out of sweeps


@kernel
def are_too_far(x, pairs, most, slack):
    """Return whether any of the `pairs` (k,2) of points x (n,3) are farther apart than `slack` times most (k,)."""
    for c in range(len(most)):
        d = vec.sub(vec.load(x, pairs[c, 1]), vec.load(x, pairs[c, 0]))
        if vec.norm2(d) > (slack * most[c]) ** 2:
            return True
    return False


@kernel
def list_pairs(x, pairs, most, moved, margin, which):
    """List in `which` (k,), ascending, the pairs that have a correction, moved (k,3), or are farther apart than most
    (k,) minus the margin. Return their number."""
    count = 0
    for c in range(len(most)):
        d_2 = vec.norm2(vec.sub(vec.load(x, pairs[c, 1]), vec.load(x, pairs[c, 0])))
        which[count] = c
        count += d_2 > max(most[c] - margin, 0.0) ** 2 or vec.norm2(vec.load(moved, c)) > 0.0
    return count


@kernel
def any_too_far(x, pairs, most, which, count):
    """As `are_too_far` with `SLACK`, for the first `count` pairs listed in `which`."""
    for t in range(count):
        c = which[t]
        d = vec.sub(vec.load(x, pairs[c, 1]), vec.load(x, pairs[c, 0]))
        if vec.norm2(d) > (SLACK * most[c]) ** 2:
            return True
    return False


@kernel
def largest_excess(x, pairs, most):
    """Return by how much the points of any pair are farther apart than most (k,), metres."""
    excess = 0.0
    for c in range(len(most)):
        d = vec.sub(vec.load(x, pairs[c, 1]), vec.load(x, pairs[c, 0]))
        excess = max(excess, math.sqrt(vec.norm2(d)) - most[c])
    return excess


@kernel
def bring_together(x, pairs, most, sweeps, moved):
    """Move the points x (n,3) as little as possible, so that none of the `pairs` (k,2) are farther apart than most
    (k,).

    Each limit is a convex set of positions. The first half of the sweeps approaches the nearest point of their
    intersection (J. P. Boyle and R. L. Dykstra 1986): every pair first takes back its last correction, moved (k,3). The
    second half projects onto each set in turn, which ends in the intersection.

    Sweeps pass over a list of pairs. A pair without a correction that is shorter than its limit by a margin does
    nothing until one of its points has gone half the margin; the list is then made anew, and the result is the same.
    For the same reason the list alone tells whether any pair is still too far apart.
    """
    moved[:] = 0.0
    which, gone = np.empty(len(most), np.int64), np.zeros(len(x))
    margin = MARGIN * largest_excess(x, pairs, most)
    count = list_pairs(x, pairs, most, moved, margin, which)
    for sweep in range(sweeps):
        if 2 * sweep >= sweeps and not any_too_far(x, pairs, most, which, count):
            return
        t = 0
        while t < count:
            c, t = which[t], t + 1
            i, j = pairs[c, 0], pairs[c, 1]
            before = vec.load(moved, c) if 2 * sweep < sweeps else (0.0, 0.0, 0.0)
            d = vec.madd(vec.sub(vec.load(x, j), vec.load(x, i)), before, 2.0)
            far = math.sqrt(vec.norm2(d))
            if far <= most[c] and vec.norm2(before) == 0.0:
                continue
            half = vec.scale(d, 0.5 * max(1.0 - most[c] / max(far, 1e-300), 0.0))
            vec.store(moved, c, half)
            change = vec.sub(half, before)
            vec.store(x, i, vec.add(vec.load(x, i), change))
            vec.store(x, j, vec.sub(vec.load(x, j), change))
            length = math.sqrt(vec.norm2(change))
            gone[i], gone[j] = gone[i] + length, gone[j] + length
            if max(gone[i], gone[j]) >= 0.49 * margin:  # less than half, for rounding
                margin *= 2.0
                gone[:] = 0.0
                count, t = list_pairs(x, pairs, most, moved, margin, which), 0
                while t < count and which[t] <= c:
                    t += 1

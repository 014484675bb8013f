"""Attachments that slip: points are brought back to the largest distances that the cloth between them allows."""

import math

from .. import vec
from ..jit import kernel

SLACK = 1.0 + 1e-6  # of a distance: shorter ones are left alone, so that sweeps end


@kernel
def are_too_far(x, pairs, most):
    """Return whether any of the `pairs` (k,2) of points x (n,3) are farther apart than most (k,)."""
    for c in range(len(most)):
        d = vec.sub(vec.load(x, pairs[c, 1]), vec.load(x, pairs[c, 0]))
        if vec.norm2(d) > (SLACK * most[c]) ** 2:
            return True
    return False


@kernel
def bring_together(x, pairs, most, sweeps, moved):
    """Move the points x (n,3) as little as possible, so that none of the `pairs` (k,2) are farther apart than most
    (k,).

    Each limit is a convex set of positions. The first half of the sweeps approaches the nearest point of their
    intersection (J. P. Boyle and R. L. Dykstra 1986): every pair first takes back its last correction, moved (k,3). The
    second half projects onto each set in turn, which ends in the intersection.
    """
    moved[:] = 0.0
    for sweep in range(sweeps):
        if 2 * sweep >= sweeps and not are_too_far(x, pairs, most):
            return
        for c in range(len(most)):
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

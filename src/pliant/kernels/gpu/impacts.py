"""Times of impact in two launches: neighbouring threads wait for each other, so that the few pairs that need a search
are listed first."""

import math

from .card import cuda
from .jit import kernel, prange
from .sources import twin

_impact, _motion = twin("geometry.impact"), twin("geometry.impact_motion")
first_touch, passes_by, row = _impact.first_touch, _impact.passes_by, _impact.row
stays_apart, swept_apart, relative_motion = _impact.stays_apart, _impact.swept_apart, _motion.relative_motion


@kernel(parallel=True)
def list_undecided(p_0, p_1, face, hit, time, rows, count):
    """Answer the pairs that a direction separates throughout, and list the others."""
    for i in prange(len(p_0)):
        hit[i], time[i] = False, 1.0
        if not stays_apart(relative_motion(row(p_0, i), row(p_1, i), face), face):
            rows[cuda.atomic.add(count, 0, 1)] = i


@kernel(parallel=True)
def search_listed(p_0, p_1, face, tolerance, hit, time, rows, count):
    """Answer the listed pairs as `geometry.impact.impacts` does."""
    for c in prange(count):
        i = rows[c]
        t = first_touch(row(p_0, i), row(p_1, i), face, math.inf, tolerance)
        if t <= 1.0 and (swept_apart(p_0, p_1, i, face) or (face and passes_by(p_0, p_1, i))):
            t = math.inf
        hit[i], time[i] = t <= 1.0, min(t, 1.0)

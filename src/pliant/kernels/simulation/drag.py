"""Drag constraints: a position that approaches its target, and pulls the mean of a few vertices with bounded force."""

from .. import vec
from ..jit import kernel


@kernel
def pull(rows, weights, shares, at, to, limits, x, dt):
    """Move `at` (3,) towards `to` (3,), and the vertices `rows` (k,) of x so that their mean, by `weights` (k,), comes
    to it; shares (k,): how far each moves. limits: a length that `at` may move in any case, the lowest and the highest
    bound of its speed, and the largest acceleration of the mean."""
    length, slowest, fastest, strongest = limits
    step = min(max(length, slowest * dt), fastest * dt)
    offset = vec.sub((to[0], to[1], to[2]), (at[0], at[1], at[2]))
    far = vec.norm(offset)
    for d in range(3):
        at[d] = to[d] if far <= step else at[d] + offset[d] * (step / far)
    mean = (0.0, 0.0, 0.0)
    for k in range(len(rows)):
        mean = vec.madd(mean, vec.load(x, rows[k]), weights[k])
    gap = vec.sub((at[0], at[1], at[2]), mean)
    far, most = vec.norm(gap), strongest * dt * dt
    if far > most:
        gap = vec.scale(gap, most / far)
    for k in range(len(rows)):
        vec.store(x, rows[k], vec.madd(vec.load(x, rows[k]), gap, shares[k]))

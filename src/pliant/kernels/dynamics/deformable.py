"""The motion of all deformable vertices, whatever their material: prediction, and reset of lost vertices."""

from .. import vec
from ..jit import kernel


@kernel
def reset_lost_vertices(x, before, largest):
    """Reset vertices whose position is not finite, or beyond +-largest, to their previous one; return their number."""
    count = 0
    for i in range(len(x)):
        a = vec.load(x, i)
        # written so that nan fails
        if not (abs(a[0]) < largest and abs(a[1]) < largest and abs(a[2]) < largest):
            vec.store(x, i, vec.load(before, i))
            count += 1
    return count


@kernel
def advance(x, x_start, v, w, gravity, dt):
    """Store the positions at the start of the substep, then move free vertices by velocity and gravity."""
    for i in range(len(x)):
        a = vec.load(x, i)
        vec.store(x_start, i, a)
        if w[i] > 0.0:
            speed = vec.madd(vec.load(v, i), gravity, dt)
            vec.store(v, i, speed)
            vec.store(x, i, vec.madd(a, speed, dt))

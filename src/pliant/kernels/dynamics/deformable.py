"""The motion of all deformable vertices, whatever their material: prediction, velocities, reset of lost vertices.

Each loop has two forms with the same arguments and the same results, on one thread and on all of them: of a few
thousand vertices, launching threads takes longer than the loop.
"""

from .. import vec
from ..jit import kernel, prange
from .cloth import part

PARTS = 16  # ranges of vertices that threads share


@kernel
def reset_lost_serial(x, before, largest):
    """Reset vertices whose position is not finite, or beyond +-largest, to their previous one; return their number."""
    count = 0
    for i in range(len(x)):
        a = vec.load(x, i)
        # written so that nan fails
        if not (abs(a[0]) < largest and abs(a[1]) < largest and abs(a[2]) < largest):
            vec.store(x, i, vec.load(before, i))
            count += 1
    return count


@kernel(parallel=True)
def reset_lost_parallel(x, before, largest):
    """As `reset_lost_serial`."""
    count = 0
    for p in prange(PARTS):
        a, b = part(0, len(x), p, PARTS)
        count += reset_lost_serial(x[a:b], before[a:b], largest)
    return count


@kernel
def advance_serial(x, x_start, v, w, gravity, dt):
    """Store the positions at the start of the substep, then move free vertices by velocity and gravity."""
    for i in range(len(x)):
        a = vec.load(x, i)
        vec.store(x_start, i, a)
        if w[i] > 0.0:
            speed = vec.madd(vec.load(v, i), gravity, dt)
            vec.store(v, i, speed)
            vec.store(x, i, vec.madd(a, speed, dt))


@kernel(parallel=True)
def advance_parallel(x, x_start, v, w, gravity, dt):
    """As `advance_serial`."""
    for p in prange(PARTS):
        a, b = part(0, len(x), p, PARTS)
        advance_serial(x[a:b], x_start[a:b], v[a:b], w[a:b], gravity, dt)


@kernel
def finish_serial(x, x_start, v, dt, largest):
    """Reset lost vertices, return their number, and compute all velocities from the displacements in dt seconds."""
    count = reset_lost_serial(x, x_start, largest)
    to, start, speed = x.reshape(-1), x_start.reshape(-1), v.reshape(-1)  # one loop, which the compiler vectorises
    for i in range(len(to)):
        speed[i] = (to[i] - start[i]) / dt
    return count


@kernel(parallel=True)
def finish_parallel(x, x_start, v, dt, largest):
    """As `finish_serial`."""
    count = 0
    for p in prange(PARTS):
        a, b = part(0, len(x), p, PARTS)
        count += finish_serial(x[a:b], x_start[a:b], v[a:b], dt, largest)
    return count

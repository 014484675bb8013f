"""Prescribed motion of kinematic bodies, rigid and deforming."""

from ..jit import kernel


@kernel
def move_to(to, dt, x, x_start, v):
    """Move x to `to` (n,3) in dt seconds, storing the previous position and the velocity."""
    for i in range(len(to)):
        for k in range(3):
            was = x[i, k]
            x_start[i, k], x[i, k], v[i, k] = was, to[i, k], (to[i, k] - was) / dt

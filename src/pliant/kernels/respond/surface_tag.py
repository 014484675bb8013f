"""Project points to the surface, tag them, and cancel motion towards it (Pelechano et al., section 4.6)."""

import math

from .. import vec
from ..accessors import anchor_of, anchor_velocity_of, normal_of
from ..jit import kernel
from .projection import friction_displacement, mobility, spread, weighted


@kernel
def relative(contact, substep):
    """Displacement of the weighted point since the start of the substep, relative to the surface."""
    moved = vec.sub(weighted(contact, substep.x), weighted(contact, substep.x_start))
    return vec.madd(moved, anchor_velocity_of(contact), -substep.dt)


@kernel
def cancel_inward_motion(tags, substep, friction, stopped):
    """Prevent tagged points from moving towards their surface, with friction for the cancelled displacement.

    stopped (c,) accumulates the cancelled displacement of each, metres.
    """
    x, w = substep.x, substep.w
    for c in range(len(tags)):
        tag = tags[c]
        total = mobility(tag, w)
        n = normal_of(tag)
        move = relative(tag, substep)
        inward = -vec.dot(move, n)
        if total == 0.0 or inward <= 0.0:
            continue
        stopped[c] = inward
        slide = vec.madd(move, n, inward)
        spread(tag, x, w, vec.madd(friction_displacement(slide, inward, friction), n, inward), total)


@kernel
def project_out(contacts, substep, eps, deep, stiffness_per_mass, friction, normal_correction, outward):
    """Project points nearer than eps out to the distance eps, with friction.

    Points that were already deeper than that by more than `deep` are not projected: their inward motion is cancelled,
    and a force in proportion to the depth (`stiffness_per_mass`, 1/s2) moves them out. `normal_correction` (c,)
    accumulates corrections; `outward` (c,) is the speed allowed away from the surface: zero, or in proportion to the
    depth of deep points.
    """
    x, w, dt = substep.x, substep.w, substep.dt
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        if total == 0.0:
            continue
        n, anchor = normal_of(contact), anchor_of(contact)
        missing = eps - vec.dot(vec.sub(weighted(contact, x), anchor), n)
        if missing <= 0.0:
            continue
        move = relative(contact, substep)
        inward = -vec.dot(move, n)
        push = missing
        if missing > deep + max(inward, 0.0):
            # F = m a, a in proportion to the depth
            push = min(missing, max(inward, 0.0) + stiffness_per_mass * missing * dt * dt)
            outward[c] = math.sqrt(stiffness_per_mass) * missing
        r = (0.0, 0.0, 0.0)
        if not friction.simple or normal_correction[c] == 0.0:
            r = friction_displacement(vec.madd(move, n, inward), push, friction)
        normal_correction[c] += push
        spread(contact, x, w, vec.madd(r, n, push), total)


@kernel
def stop(contacts, v, w, normal_correction, outward):
    """Cancel velocity towards the surface, relative to it, and the outward velocity that the projection added."""
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        if normal_correction[c] == 0.0 or total == 0.0:
            continue
        n, wall = normal_of(contact), anchor_velocity_of(contact)
        leaving = vec.dot(vec.sub(weighted(contact, v), wall), n)
        spread(contact, v, w, vec.scale(n, min(max(leaving, 0.0), outward[c]) - leaving), total)

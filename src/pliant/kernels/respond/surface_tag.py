"""Project points to the surface, tag them, and cancel motion towards it (Pelechano et al., section 4.6)."""

import math

from .. import vec
from ..jit import kernel
from .projection import mobility, rub, spread, weighted


@kernel
def relative(contact, x, x_start, dt):
    """Displacement of the weighted point since x_start, relative to the surface."""
    wall = (contact["anchor_velocity"][0], contact["anchor_velocity"][1], contact["anchor_velocity"][2])
    return vec.madd(vec.sub(weighted(contact, x), weighted(contact, x_start)), wall, -dt)


@kernel
def hold(tags, x, x_start, w, friction, simple, dt, stopped):
    """Prevent tagged points from moving towards their surface, with friction for the cancelled displacement.

    stopped (n,) accumulates the cancelled displacement of each, metres.
    """
    for c in range(len(tags)):
        tag = tags[c]
        total = mobility(tag, w)
        n = (tag["normal"][0], tag["normal"][1], tag["normal"][2])
        move = relative(tag, x, x_start, dt)
        inward = -vec.dot(move, n)
        if total == 0.0 or inward <= 0.0:
            continue
        stopped[c] = inward
        slide = vec.madd(move, n, inward)
        spread(tag, x, w, vec.madd(rub(slide, inward, friction, simple), n, inward), total)


@kernel
def set_out(contacts, x, x_start, w, eps, deep, stiffness, friction, simple, dt, pushed, outward):
    """Project points nearer than eps out to the distance eps, with friction.

    Points that were already deeper than that by more than `deep` are not projected: their inward motion is cancelled,
    and a force in proportion to the depth (`stiffness`, 1/s2) moves them out. `pushed` (n,) accumulates corrections;
    `outward` (n,) is the speed allowed away from the surface: zero, or in proportion to the depth of deep points.
    """
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        if total == 0.0:
            continue
        n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
        anchor = (contact["anchor"][0], contact["anchor"][1], contact["anchor"][2])
        missing = eps - vec.dot(vec.sub(weighted(contact, x), anchor), n)
        if missing <= 0.0:
            continue
        move = relative(contact, x, x_start, dt)
        inward = -vec.dot(move, n)
        push = missing
        if missing > deep + max(inward, 0.0):
            # F = m a, a in proportion to the depth
            push = min(missing, max(inward, 0.0) + stiffness * missing * dt * dt)
            outward[c] = math.sqrt(stiffness) * missing
        r = (0.0, 0.0, 0.0)
        if not simple or pushed[c] == 0.0:
            r = rub(vec.madd(move, n, inward), push, friction, simple)
        pushed[c] += push
        spread(contact, x, w, vec.madd(r, n, push), total)


@kernel
def stop(contacts, v, w, pushed, outward):
    """Cancel velocity towards the surface, relative to it, and the outward velocity that the projection added."""
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        if pushed[c] == 0.0 or total == 0.0:
            continue
        n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
        wall = (contact["anchor_velocity"][0], contact["anchor_velocity"][1], contact["anchor_velocity"][2])
        leaving = vec.dot(vec.sub(weighted(contact, v), wall), n)
        spread(contact, v, w, vec.scale(n, min(max(leaving, 0.0), outward[c]) - leaving), total)

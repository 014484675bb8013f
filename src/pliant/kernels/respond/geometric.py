"""Separate positions without adding velocity, then apply the response velocity (Jung et al. 2005, section 4)."""

from .. import vec
from ..accessors import anchor_of, anchor_velocity_of, normal_of
from ..jit import kernel
from .projection import friction_displacement, mobility, spread, weighted
from .surface_tag import relative

MOVABLE_SHARE = 0.2  # minimum share of a contact's weights on movable vertices; below it the pair counts as fixed


@kernel
def mobility_if_movable(contact, w):
    """Gap opened per unit of impulse; 0 where the movable vertices carry almost no weight: they would be ejected."""
    free = 0.0
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0 and w[i] > 0.0:
            free += abs(contact["weights"][c])
    return mobility(contact, w) if free >= MOVABLE_SHARE else 0.0


@kernel
def too_near(contacts, x, w, least):
    """Number of movable pairs with a gap of less than `least` at positions x."""
    count = 0
    for c in range(len(contacts)):
        contact = contacts[c]
        n, anchor = normal_of(contact), anchor_of(contact)
        gap = vec.dot(vec.sub(weighted(contact, x), anchor), n)
        count += gap < least and mobility_if_movable(contact, w) > 0.0
    return count


@kernel
def separate_contacts(contacts, substep, lift, eps, friction, normal_correction, stopped, friction_correction):
    """Perform one pass over all contacts in order: gaps become eps wide, to first order.

    The part of a push that cancels the approach of this substep is an impulse and causes friction; the rest is a
    displacement without velocity and is accumulated in `lift` (n,3). `normal_correction` (k,) is the whole
    push, `stopped` (k,) and `friction_correction` (k,3) the impulse.
    """
    x, w = substep.x, substep.w
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility_if_movable(contact, w)
        if total == 0.0:
            continue
        n, anchor = normal_of(contact), anchor_of(contact)
        push = eps - vec.dot(vec.sub(weighted(contact, x), anchor), n)
        if push <= 0.0:
            continue
        move = vec.sub(relative(contact, substep), weighted(contact, lift))
        inward = -vec.dot(move, n)
        stop = min(push, max(inward, 0.0))
        r = (0.0, 0.0, 0.0)
        # eq. 3 of Fuhrmann et al. scales the displacement of a substep, so it may be applied only once
        if stop > 0.0 and not (friction.simple and normal_correction[c] > 0.0):
            r = friction_displacement(vec.madd(move, n, inward), stop, friction)
        normal_correction[c] += push
        stopped[c] += stop
        vec.store(friction_correction, c, vec.add(vec.load(friction_correction, c), r))
        spread(contact, x, w, vec.madd(r, n, push), total)
        if push > stop:
            spread(contact, lift, w, vec.scale(n, push - stop), total)


@kernel
def apply_response_velocity(contacts, v, v_before, w, restitution, slow, friction, normal_correction):
    """Apply the response velocity along the normal, and friction, to pairs that still approach or bounce.

    Below the speed `slow` there is no restitution, so that bodies come to rest.
    """
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility_if_movable(contact, w)
        if normal_correction[c] == 0.0 or total == 0.0:
            continue
        n, wall = normal_of(contact), anchor_velocity_of(contact)
        speed = vec.sub(weighted(contact, v), wall)
        leaving = vec.dot(speed, n)
        arriving = -vec.dot(vec.sub(weighted(contact, v_before), wall), n)
        gain = (restitution * arriving if arriving > slow else 0.0) - leaving
        if gain > 0.0:
            r = (0.0, 0.0, 0.0)
            if not friction.simple:
                r = friction_displacement(vec.madd(speed, n, -leaving), gain, friction)
            spread(contact, v, w, vec.madd(r, n, gain), total)


@kernel
def keep_lift(lift, after, x):
    """Reduce lift (n,3) to the part that remains where the motion from `after` to x has reversed some of it."""
    for i in range(len(lift)):
        a = vec.load(lift, i)
        length = vec.norm2(a)
        if length > 0.0:
            back = vec.dot(vec.sub(vec.load(x, i), vec.load(after, i)), a) / length
            if back < 0.0:
                vec.store(lift, i, vec.scale(a, max(1.0 + back, 0.0)))

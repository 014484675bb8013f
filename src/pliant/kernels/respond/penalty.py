"""Penalty response: repulsion of the two objects of a contact, distributed by mass (Jung et al. 2005, section 4).

An object is a vertex, an edge or a triangle; all of its movable vertices get the same displacement, which is equivalent
to distributing a force by mass.
"""

from .. import vec
from ..accessors import anchor_of, first_side, normal_of
from ..jit import kernel
from .projection import friction_displacement, weighted
from .surface_tag import relative


@kernel
def inverse_masses_of(contact, w):
    """Inverse masses of the two objects, of their movable vertices; 0 if there are none."""
    split = first_side(contact["kind"])
    one, two = 0.0, 0.0
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0 and w[i] > 0.0:
            if c < split:
                one += 1.0 / w[i]
            else:
                two += 1.0 / w[i]
    return (1.0 / one if one > 0.0 else 0.0), (1.0 / two if two > 0.0 else 0.0)


@kernel
def distribute(contact, x, w, r, one, two):
    """Move the first object by `one` r and the second by -`two` r."""
    split = first_side(contact["kind"])
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0 and w[i] > 0.0:
            vec.store(x, i, vec.madd(vec.load(x, i), r, one if c < split else -two))


@kernel
def spring(missing, out, dt_over_tau):
    """Additional opening beyond `out` (m) of a gap in a step, by a critically damped spring with deficit `missing` (m).

    dt_over_tau = dt / tau. Implicit: with u = missing + out, the deficit before the step, the gap opens by

        s = (out + dt_over_tau^2 u) / (1 + dt_over_tau)^2

    A pair that entered during the step starts at u = 0. The opening is at most a third of u: the pair continues at that
    speed and must still be in range for braking in the next step. Negative if the gap opens faster than that: it is
    braked, but never closed.
    """
    along = max(out, -missing)
    u = missing + along
    return min((along + dt_over_tau * dt_over_tau * u) / (1.0 + dt_over_tau) ** 2, u / 3.0) - along


@kernel
def repel(contacts, substep, eps, dt_over_tau, friction, normal_correction, friction_correction):
    """Perform one pass over all contacts in order.

    `normal_correction` (c,) and `friction_correction` (c,3): relative displacements applied.
    """
    x, w = substep.x, substep.w
    for c in range(len(contacts)):
        contact = contacts[c]
        one, two = inverse_masses_of(contact, w)
        total = one + two
        if total == 0.0:
            continue
        n, anchor = normal_of(contact), anchor_of(contact)
        missing = eps - vec.dot(vec.sub(weighted(contact, x), anchor), n)
        if missing <= 0.0:
            continue
        move = relative(contact, substep)
        out = vec.dot(move, n)
        push = spring(missing, out, dt_over_tau)
        r = (0.0, 0.0, 0.0)
        if push > 0.0:
            r = friction_displacement(vec.madd(move, n, -out), push, friction)
            normal_correction[c] = push
            vec.store(friction_correction, c, r)
        distribute(contact, x, w, vec.madd(r, n, push), one / total, two / total)

"""Resolve deep penetrations at bounded speed and without adding velocity, all contacts at once.

Where hundreds of contacts share a few vertices and their normals disagree, successive corrections would eject light
parts. So each correction is divided by the largest sum of contact weights at any of its vertices, if that exceeds 1.
"""

import math

from .. import vec
from ..accessors import anchor_of, normal_of
from ..jit import kernel
from .projection import friction_displacement, mobility, spread, weighted
from .surface_tag import relative


@kernel
def sum_weights(contacts, weight_sums):
    """Fill weight_sums (n,) with the sum of the absolute weights of all contacts at each vertex."""
    for c in range(len(contacts)):
        for k in range(4):
            i = contacts[c]["vertices"][k]
            if i >= 0:
                weight_sums[i] += abs(contacts[c]["weights"][k])


@kernel
def share(contact, weight_sums):
    """1 / the largest of `weight_sums` at its vertices, at most 1."""
    most = 1.0
    for k in range(4):
        i = contact["vertices"][k]
        if i >= 0:
            most = max(most, weight_sums[i])
    return 1.0 / most


@kernel
def missing(contact, x, eps):
    """Deficit of the gap to eps, metres; and the normal."""
    n, anchor = normal_of(contact), anchor_of(contact)
    return eps - vec.dot(vec.sub(weighted(contact, x), anchor), n), n


@kernel
def stop(contacts, substep, eps, friction, weight_sums, stopped, friction_correction):
    """One pass: reverse the penetration of this substep, each contact its share, with friction."""
    x, w = substep.x, substep.w
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        deficit, n = missing(contact, x, eps)
        move = relative(contact, substep)
        inward = -vec.dot(move, n)
        if total == 0.0 or deficit <= 0.0 or inward <= 0.0:
            continue
        push, r = min(inward, deficit) * share(contact, weight_sums), (0.0, 0.0, 0.0)
        # eq. 3 of Fuhrmann et al. scales the displacement of a substep, so it may be applied only once
        if not (friction.simple and stopped[c] > 0.0):
            r = friction_displacement(vec.madd(move, n, inward), push, friction)
        stopped[c] += push
        vec.store(friction_correction, c, vec.add(vec.load(friction_correction, c), r))
        spread(contact, x, w, vec.madd(r, n, push), total)


@kernel
def accumulate_separation(contacts, x, w, eps, pace, weight_sums, lift):
    """Accumulate the displacements of all contacts in lift (n,3): `pace` times the deficit, each contact its share.

    Return the greatest displacement of any vertex, and the greatest deficit of any contact.
    """
    most = 0.0
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        deficit, n = missing(contact, x, eps)
        if total > 0.0 and deficit > 0.0:
            most = max(most, deficit)
            spread(contact, lift, w, vec.scale(n, pace * deficit * share(contact, weight_sums)), total)
    farthest = 0.0
    for i in range(len(lift)):
        farthest = max(farthest, vec.norm2(vec.load(lift, i)))
    return math.sqrt(farthest), most

"""Lead out what is deep inside: every pair at once, no faster than a speed, and without giving any.

Where hundreds of contacts share a few vertices and their normals do not agree, one after another would throw what is
light. So each does only its share: it is divided by how many have a hold on the vertex that most have a hold on.
"""

import math

from . import vec
from .jit import kernel
from .projection import mobility, rub, spread, weighted
from .surface_tag import relative


@kernel
def count_holds(contacts, holds):
    """holds (n,): the weights of all contacts at each vertex, added up."""
    for c in range(len(contacts)):
        for k in range(4):
            i = contacts[c]["vertices"][k]
            if i >= 0:
                holds[i] += abs(contacts[c]["weights"][k])


@kernel
def share(contact, holds):
    """1 / the most holds on any of its vertices, 1 at most."""
    most = 1.0
    for k in range(4):
        i = contact["vertices"][k]
        if i >= 0:
            most = max(most, holds[i])
    return 1.0 / most


@kernel
def missing(contact, x, eps):
    """How far the gap is from eps, metres; and the normal."""
    n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
    anchor = (contact["anchor"][0], contact["anchor"][1], contact["anchor"][2])
    return eps - vec.dot(vec.sub(weighted(contact, x), anchor), n), n


@kernel
def stop(contacts, x, x_start, w, eps, friction, simple, dt, holds, stopped, rubbed):
    """One pass: take back what went farther in during this step, each contact its share, rubbing along the way."""
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        lacks, n = missing(contact, x, eps)
        move = relative(contact, x, x_start, dt)
        inward = -vec.dot(move, n)
        if total == 0.0 or lacks <= 0.0 or inward <= 0.0:
            continue
        push, r = min(inward, lacks) * share(contact, holds), (0.0, 0.0, 0.0)
        # eq. 3 of Fuhrmann et al. scales a step's movement, so it may act only once a step
        if not (simple and stopped[c] > 0.0):
            r = rub(vec.madd(move, n, inward), push, friction, simple)
        stopped[c] += push
        vec.store(rubbed, c, vec.add(vec.load(rubbed, c), r))
        spread(contact, x, w, vec.madd(r, n, push), total)


@kernel
def lead(contacts, x, w, eps, pace, holds, lift):
    """Where all contacts would move what they touch: `pace` of what is missing, each its share, into lift (n,3).

    Returns the farthest that any vertex goes, and the most that any contact lacks.
    """
    most = 0.0
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        lacks, n = missing(contact, x, eps)
        if total > 0.0 and lacks > 0.0:
            most = max(most, lacks)
            spread(contact, lift, w, vec.scale(n, pace * lacks * share(contact, holds)), total)
    farthest = 0.0
    for i in range(len(lift)):
        farthest = max(farthest, vec.norm2(vec.load(lift, i)))
    return math.sqrt(farthest), most

"""Repulsion between the two objects of a contact, shared out by mass (Jung, Hong and Choi 2005, section 4).

An object is a vertex, an edge or a triangle; all of its vertices that can move get the same push, which is what sharing
a force out by mass comes to.
"""

from . import vec
from .jit import kernel
from .projection import rub, weighted
from .surface_tag import relative


@kernel
def lightness(contact, w):
    """1 / mass of each of the two objects, of what can move of them; 0 where nothing can."""
    split = 1 if contact["kind"] == 0 else 2
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
def share_out(contact, x, w, r, one, two):
    """Move the first object by `one` r and the second by -`two` r."""
    split = 1 if contact["kind"] == 0 else 2
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0 and w[i] > 0.0:
            vec.store(x, i, vec.madd(vec.load(x, i), r, one if c < split else -two))


@kernel
def spring(missing, out, pace):
    """How much farther than `out` (m) a gap opens in a step, by a critically damped spring that lacks `missing` (m).

    pace = dt / tau. Implicit: with u = missing + out what was missing before the step, the gap opens by
    s = (out + pace^2 u) / (1 + pace)^2. What came in during the step did so from where u = 0. Never by more than a
    third of u: it goes on at that speed, and must still be near enough to be braked in the next step. Negative where
    the gap opens faster than that: it is braked, and never closes.
    """
    along = max(out, -missing)
    u = missing + along
    return min((along + pace * pace * u) / (1.0 + pace) ** 2, u / 3.0) - along


@kernel
def repel(contacts, x, x_start, w, eps, pace, friction, simple, dt, pushed, rubbed):
    """One pass over all contacts in order. `pushed` (n,) and `rubbed` (n,3): how far the two were moved apart."""
    for c in range(len(contacts)):
        contact = contacts[c]
        one, two = lightness(contact, w)
        total = one + two
        if total == 0.0:
            continue
        n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
        anchor = (contact["anchor"][0], contact["anchor"][1], contact["anchor"][2])
        missing = eps - vec.dot(vec.sub(weighted(contact, x), anchor), n)
        if missing <= 0.0:
            continue
        move = relative(contact, x, x_start, dt)
        out = vec.dot(move, n)
        push = spring(missing, out, pace)
        r = (0.0, 0.0, 0.0)
        if push > 0.0:
            r = rub(vec.madd(move, n, -out), push, friction, simple)
            pushed[c] = push
            vec.store(rubbed, c, r)
        share_out(contact, x, w, vec.madd(r, n, push), one / total, two / total)

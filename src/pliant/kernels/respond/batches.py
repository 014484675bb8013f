"""Contacts in an order of batches of which most are independent: contacts that share no vertex, so that threads, or a
graphics card, may handle them side by side with the result of one after the other.

Vertices against a field are independent of each other. Midpoints of edges are ordered by the colours of the edges:
edges of one colour share no vertex. All other contacts keep their order.
"""

from typing import NamedTuple

import numpy as np

from ..dynamics.cloth import LAST
from ..jit import kernel
from ..kinds import FIRST, MIDPOINT_FIELD, SECOND, VERTEX_FIELD

COLOURS = LAST + 1


class Batches(NamedTuple):
    """Contacts order[start[b]]..order[start[b + 1] - 1] are batch b."""

    order: np.ndarray  # (k,) contacts
    start: np.ndarray  # (b+1,)
    independent: np.ndarray  # (b,)


class ColouredEdges(NamedTuple):
    """The edges of the deformable bodies of a scene."""

    ends: np.ndarray  # (m,2) rows of x
    colour: np.ndarray  # (m,) edges of one colour share no vertex, but for those of colour LAST
    first: np.ndarray  # (bodies+1,) first edge of each body


@kernel
def edge_of(contact, edges):
    """The row in `edges` of a contact of a midpoint; -1 if it is none of them."""
    b, e = contact["bodies"][FIRST], contact["elements"][FIRST]
    if b < 0 or b >= len(edges.first) - 1 or e < 0 or e >= edges.first[b + 1] - edges.first[b]:
        return -1
    e += edges.first[b]
    i, j = contact["vertices"][0], contact["vertices"][1]
    return e if edges.ends[e, 0] == i and edges.ends[e, 1] == j and contact["vertices"][2] < 0 else -1


@kernel
def run_end(contacts, at, kind, edges):
    """The end of the longest run of contacts of a `kind` of the same two bodies, with ascending elements, from `at` on;
    `at` itself if the first of them is not of this kind."""
    end, last = at, -1
    a, b = contacts[at]["bodies"][FIRST], contacts[at]["bodies"][SECOND]
    while end < len(contacts):
        contact = contacts[end]
        if contact["kind"] != kind or contact["bodies"][FIRST] != a or contact["bodies"][SECOND] != b:
            break
        e = contact["vertices"][0] if kind == VERTEX_FIELD else edge_of(contact, edges)
        if e <= last or (kind == VERTEX_FIELD and contact["vertices"][1] >= 0):
            break
        end, last = end + 1, e
    return end


@kernel
def sort_by_colour(contacts, at, end, edges, order, ends):
    """Store contacts at..end-1, all of midpoints, in `order` by colour; the end of each colour, from `at`, in `ends`
    (COLOURS+1,)."""
    ends[:] = 0
    for c in range(at, end):
        ends[edges.colour[edge_of(contacts[c], edges)] + 1] += 1
    for k in range(1, COLOURS):
        ends[k] += ends[k - 1]  # where colour k begins
    for c in range(at, end):
        k = edges.colour[edge_of(contacts[c], edges)]
        order[at + ends[k]] = c
        ends[k] += 1


@kernel
def batch_contacts(contacts, edges, order, start, independent):
    """Store the batches of contacts (k,): `order` (k,), `start` and `independent` (k + 1,). Return their number, or -1
    if there are midpoints, but no `edges`."""
    ends = np.zeros(COLOURS + 1, np.int64)
    b, at, joins = 0, 0, False
    start[0] = 0
    while at < len(contacts):
        kind, end = contacts[at]["kind"], at
        if kind == MIDPOINT_FIELD and len(edges.first) == 0:
            return -1
        if kind in (VERTEX_FIELD, MIDPOINT_FIELD):
            end = run_end(contacts, at, kind, edges)
        if end == at:  # a contact of its own, which may depend on the one before it
            b -= joins
            order[at] = at
            start[b + 1], independent[b] = at + 1, False
            b, at, joins = b + 1, at + 1, True
        elif kind == VERTEX_FIELD:
            for c in range(at, end):
                order[c] = c
            start[b + 1], independent[b] = end, True
            b, at, joins = b + 1, end, False
        else:
            sort_by_colour(contacts, at, end, edges, order, ends)
            before = 0
            for k in range(COLOURS):
                if ends[k] > before:
                    start[b + 1], independent[b], before = at + ends[k], k < LAST, ends[k]
                    b += 1
            at, joins = end, False
    return b

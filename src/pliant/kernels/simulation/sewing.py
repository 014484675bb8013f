"""Contacts between vertices that a seam connects."""

from ..accessors import first_side
from ..jit import kernel


@kernel
def connected_by_seams(contacts, begin, others, found):
    """Mark in `found` (k,) the contacts any vertex of whose first feature is connected by a seam to one of its second.

    Vertex v is connected to others[begin[v]:begin[v + 1]], ascending.
    """
    for c in range(len(contacts)):
        vertices, split = contacts[c]["vertices"], first_side(contacts[c]["kind"])
        found[c] = False
        for i in range(split):
            low, high = begin[vertices[i]], begin[vertices[i] + 1]
            for k in range(split, 4):
                found[c] |= _contains(others, low, high, vertices[k])


@kernel
def _contains(values, low, high, wanted):
    """Whether `wanted` is among values[low:high], ascending."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return True
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return False

"""Warping of the body-centred lattice onto an iso-surface (Labelle and Shewchuk 2007, section 3)."""

from ..jit import kernel


@kernel
def warp_nodes(nodes, start, edges, share, far, limit, warped, dead):
    """Move each node that a cut point violates to that point, in order: warped (n,) is the edge each moves along, or
    -1.

    Node nodes[k] has the cut edges `edges[start[k]:start[k+1]]`; `share` is the part of each before the cut, from the
    node, `far` the same in metres, `limit` the share below which the cut is too near. A moved node lies on the surface,
    so its edges are no longer cut (`dead`) and cannot violate later nodes.
    """
    for k in range(len(nodes)):
        best = -1
        for j in range(start[k], start[k + 1]):
            if not dead[edges[j]] and share[j] < limit[j] and (best < 0 or far[j] < far[best]):
                best = j
        if best < 0:
            warped[k] = -1
            continue
        warped[k] = edges[best]
        for j in range(start[k], start[k + 1]):
            dead[edges[j]] = True

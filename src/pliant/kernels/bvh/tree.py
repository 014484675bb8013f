"""BVH in depth-first order: node i's first child is i + 1, and `skip` is the node after its subtree.

So a traversal needs no stack (after node i comes i + 1 or skip[i]), any arity takes the same code, and a subtree is a
range of the array. `bounds` holds the bounding volume; its length determines the kind (see volumes.py).
"""

from typing import NamedTuple

import numpy as np

from ..jit import COMPILED, kernel


class Tree(NamedTuple):
    nodes: np.ndarray  # (n,) records of `node_type`, depth first
    order: np.ndarray  # (m,) i4 elements in leaf order
    items: np.ndarray  # (m,k) volumes of the elements, in that order
    parts: np.ndarray  # (p,) i4 roots of the subtrees distributed over threads, each a range of nodes
    crown: np.ndarray  # (c,) i4 the nodes above them, children before parents
    faces: np.ndarray  # (m,3) i4 the elements in leaf order where they are triangles, (0,3) otherwise


def node_type(k):
    """A node whose volume is k numbers. A box with its links fills one cache line of 64 bytes."""
    return np.dtype(
        [("bounds", "f8", k), ("skip", "i4"), ("first", "i4"), ("count", "i4"), ("spare", "i4")], align=True
    )


def new_nodes(n, k):
    """n nodes with volumes of k numbers; without the compiler only record arrays allow access to fields by name."""
    nodes = np.zeros(n, node_type(k))
    return nodes if COMPILED else nodes.view(np.recarray)


@kernel
def link(first, count, leaf, skip):
    """Compute `skip` of nodes in depth-first order that contain the elements first..first+count-1.

    A node with more than `leaf` elements has children; its subtree ends before the next node whose elements follow its
    own.
    """
    for i in range(len(first) - 1, -1, -1):
        skip[i] = i + 1
        if count[i] > leaf:
            j = i + 1
            while j < len(first) and first[j] < first[i] + count[i]:
                j = skip[j]
            skip[i] = j


@kernel
def share(small, skip, parts, crown):
    """List the topmost `small` (n,) nodes in `parts` and those above them in `crown`; return both numbers."""
    i, p, c = 0, 0, 0
    while i < len(skip):
        if small[i]:
            parts[p] = i
            i, p = skip[i], p + 1
        else:
            crown[c] = i
            i, c = i + 1, c + 1
    return p, c

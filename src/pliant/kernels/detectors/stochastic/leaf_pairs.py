"""All pairs of leaves of two BVHs, or of one with itself, that are within reach; contacts of some of them in order.

The probabilities are those of `traversal`. Testing a sample of the pairs first tells how many contacts the others have.
"""

from typing import NamedTuple

import numpy as np

from ...jit import kernel
from .features import add_features
from .traversal import OPENED, leaf_pairs, probability_of


class Leaves(NamedTuple):
    """Pairs of leaves that are within reach."""

    pair: np.ndarray  # (cap,2) i4 nodes
    probability: np.ndarray  # (cap,)


class Space(NamedTuple):
    """Space for the contacts of pairs of leaves."""

    batch: np.ndarray  # (t,2) i4 pairs of triangles of two leaves
    out: np.ndarray  # (cap,3) i4 contacts: kind and the two features


@kernel
def find_leaf_pairs(a, b, same, reach, stack, leaves):
    """Write all pairs of leaves within reach, in a fixed order. Return their number, which may exceed the space, and
    the number of pairs of nodes visited; a negative number if the stack (s,2) is too small.
    """
    nodes_a, nodes_b, pair, probability = a.nodes, b.nodes, leaves.pair, leaves.probability
    count, visited, size = 0, 1, 1
    stack[0, 0], stack[0, 1] = 0, 0
    while size > 0:
        if size + OPENED > len(stack):
            return -1, visited
        size -= 1
        i, j = np.int64(stack[size, 0]), np.int64(stack[size, 1])
        end_a, end_b, itself = np.int64(nodes_a[i]["skip"]), np.int64(nodes_b[j]["skip"]), same and i == j
        if end_a == i + 1 and end_b == j + 1:
            if count < len(pair):
                pair[count, 0], pair[count, 1] = i, j
                probability[count] = probability_of(a, b, same, i, j, reach)[0]
            count += 1
            continue
        opens = itself or end_b == j + 1 or (end_a > i + 1 and nodes_a[i]["count"] >= nodes_b[j]["count"])
        c = i + 1 if opens else i
        while c < (end_a if opens else i + 1):
            d = c if itself else (j if opens else j + 1)
            while d < (end_a if itself else (j + 1 if opens else end_b)):
                v, w = nodes_a[c]["bounds"], nodes_b[d]["bounds"]
                near = True
                for k in range(3):
                    near = near and v[k] - w[k + 3] <= reach and w[k] - v[k + 3] <= reach
                if near:
                    stack[size, 0], stack[size, 1] = c, d
                    size += 1
                visited += 1
                d = np.int64(nodes_b[d]["skip"]) if itself or not opens else d + 1
            c = np.int64(nodes_a[c]["skip"]) if opens else c + 1
    return count, visited


@kernel
def find_contacts(a, b, query, pairs, first, space, found, counts):
    """Append the contacts of pairs of leaves (k,2), from row `first` on, to the first `found` of `space.out`; fill
    counts (k,). Return the row at which that space ended, k if it did not, and the new number of contacts.
    """
    batch, out = space.batch, space.out
    for m in range(first, len(pairs)):
        if found + 16 * len(batch) > len(out):
            return m, found
        n = leaf_pairs(a, b, query, pairs[m, 0], pairs[m, 1], batch, 0)
        before = found
        if n > 0:
            found = add_features(query, batch, 0, n, out, found)
        counts[m] = found - before
    return len(pairs), found

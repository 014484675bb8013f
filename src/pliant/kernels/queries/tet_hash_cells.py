"""The hash table of Teschner et al. 2003: cubic cells, mapped to buckets by three primes and exclusive or.

A vertex is in the bucket of its cell. A tetrahedron visits the buckets of all cells that its box touches. Vertices of
other cells in the same bucket are hash collisions: comparing words with the part of the box in the cell leaves them
out, so that no vertex is found twice. Words and tables are those of `tet_hash`, with one entry per vertex.
"""

import numpy as np

from ..jit import kernel
from .words import FIELD, GUARDS, LAST, NONE, ONE, pack

P_X, P_Y, P_Z = 73856093, 19349663, 83492791  # the primes of the paper


@kernel
def bucket_of_cell(i, j, k, buckets):
    """(i p_x xor j p_y xor k p_z) mod buckets."""
    return ((i * P_X) ^ (j * P_Y) ^ (k * P_Z)) % buckets


@kernel
def buckets_of(words, n, bits, buckets, out):
    """Fill out (n,) with the buckets of the vertices words[:n], in cells of the coordinates above `bits`."""
    for v in range(n):
        w = words[v]
        i, j, k = (w & LAST) >> bits, (w >> FIELD & LAST) >> bits, (w >> 2 * FIELD) >> bits
        out[v] = bucket_of_cell(i, j, k, buckets)


@kernel
def sort_into_buckets(n, bucket, start, words, order):
    """Append the entries of the vertices words[:n], sorted by bucket (n,); start (buckets+1,) is initially zero."""
    for v in range(n):
        start[bucket[v]] += 1
    end = 2 * n
    for b in range(len(start) - 1, -1, -1):  # from the number of entries to their end
        start[b], end = end, end - start[b]
    for v in range(n - 1, -1, -1):  # each entry before the last one of its bucket, whose start remains
        to = start[bucket[v]] - 1
        start[bucket[v]], words[to], order[to], order[v] = to, words[v], v, v


@kernel
def near_in_range(words, first, last, bottom, top, found, near):
    """Append to found, from `near` on, the rows of words first..last-1 between two words; return the new number."""
    for s in range(np.uint64(first), np.uint64(last)):
        found[near] = s
        near += ONE if ((words[s] | GUARDS) - bottom) & (top - words[s]) & GUARDS == GUARDS else NONE
    return near


@kernel
def near_in_cells(table, low, high, most, found):
    """Write the rows of the vertices in the box between two words to found; return their number. A box that touches
    more than `most` cells is compared with all vertices.
    """
    words, start, bits = table.words, table.start, table.bits[0]
    x_0, y_0, z_0 = low & LAST, low >> FIELD & LAST, low >> 2 * FIELD
    x_1, y_1, z_1 = high & LAST, high >> FIELD & LAST, high >> 2 * FIELD
    cells = ((x_1 >> bits) - (x_0 >> bits) + 1) * ((y_1 >> bits) - (y_0 >> bits) + 1)
    near = NONE
    if cells * ((z_1 >> bits) - (z_0 >> bits) + 1) > most:
        return near_in_range(words, 0, table.n, low, high | GUARDS, found, near)
    for k in range(z_0 >> bits, (z_1 >> bits) + 1):
        for j in range(y_0 >> bits, (y_1 >> bits) + 1):
            for i in range(x_0 >> bits, (x_1 >> bits) + 1):
                b = np.uint64(bucket_of_cell(i, j, k, table.xor))
                # the part of the box in this cell
                bottom = pack(max(x_0, i << bits), max(y_0, j << bits), max(z_0, k << bits))
                last_x, last_y, last_z = ((i + 1) << bits) - 1, ((j + 1) << bits) - 1, ((k + 1) << bits) - 1
                top = pack(min(x_1, last_x), min(y_1, last_y), min(z_1, last_z)) | GUARDS
                near = near_in_range(words, start[b], start[b + ONE], bottom, top, found, near)
    return near

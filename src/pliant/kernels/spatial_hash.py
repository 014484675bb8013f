"""Vertices in tetrahedra by hashed cells (Teschner et al. 2003, Optimized spatial hashing).

A vertex has three whole coordinates of 20 bits, made by one function per axis that never falls where x rises, and they
share one word with a guard bit above each. The box of a tetrahedron is made of the words of its corners, so whatever
rounding did to a vertex it did to the box, and insertion and query cannot disagree. Two subtractions compare three
coordinates at once: a guard bit that is left says that nothing was borrowed. Cells are the upper bits; those along x
follow each other in the table, and a row of them is one stretch of memory.
"""

import math
from typing import NamedTuple

import numpy as np

from .box import contains, merge, of_segment
from .edge import largest
from .jit import kernel, prange
from .tetra import point_in_tetra
from .vec import cross, dot, load, scale, sub

FIELD = 21  # bits of a coordinate and its guard
LAST = (1 << 20) - 1  # the highest coordinate
GUARDS = 1 << 20 | 1 << 41 | 1 << 62
CHUNK = 512  # tets a thread takes at a time
ROUNDING = 4e-14  # times size^2 times reach: more than what rounding does to any of the four weights below


class Table(NamedTuple):
    q: np.ndarray  # (n,) i8 words of the vertices
    words: (
        np.ndarray
    )  # (n+1,) i8 in the order of the cells, one more to look ahead; twice as many where rows wrap round
    order: np.ndarray  # the same length, i4: the vertex of each
    start: np.ndarray  # (buckets+1,) i4 where each bucket begins in them; as many again where rows wrap round
    bits: np.ndarray  # (3,) i8 of a coordinate that are below its cell
    step: np.ndarray  # (3,) i8 buckets from a cell to the next along each axis
    mask: int  # buckets - 1, or -1 where no two cells share one


@kernel
def bounds_of(x, out):
    """out (6,): lowest and highest corner."""
    for k in range(3):
        out[k], out[3 + k] = math.inf, -math.inf
    for i in range(len(x)):
        for k in range(3):
            out[k], out[3 + k] = min(out[k], x[i, k]), max(out[3 + k], x[i, k])


@kernel
def pack(a, b, c):
    return a | b << FIELD | c << 2 * FIELD


@kernel
def to_words(x, origin, scale, q):
    """Subtraction, product and floor all keep the order of numbers, whatever they round."""
    for i in range(len(x)):
        a = int(min((x[i, 0] - origin[0]) * scale, float(LAST)))
        b = int(min((x[i, 1] - origin[1]) * scale, float(LAST)))
        c = int(min((x[i, 2] - origin[2]) * scale, float(LAST)))
        q[i] = pack(a, b, c)


@kernel
def bucket_of(word, bits, step, mask):
    i, j, k = word & LAST, word >> FIELD & LAST, word >> 2 * FIELD
    return ((i >> bits[0]) + (j >> bits[1]) * step[1] + (k >> bits[2]) * step[2]) & mask


@kernel
def sort_words(q, bits, step, mask, buckets, start, words, order):
    """Vertices by bucket, ascending within one; start begins as zeros (buckets+2,), or (2 buckets+2,) where mask wraps.

    `q`, bits, step, mask and what is filled are as Table has them.
    """
    n = len(q)
    for i in range(n):
        start[bucket_of(q[i], bits, step, mask) + 2] += 1
    for b in range(2, buckets + 2):
        start[b] += start[b - 1]
    for i in range(n):
        b = bucket_of(q[i], bits, step, mask) + 1
        to = start[b]
        words[to], order[to] = q[i], i
        start[b] = to + 1
    if mask >= 0:  # a second round, so that a row that passes the end goes on
        for i in range(n):
            words[n + i], order[n + i] = words[i], order[i]
        for b in range(buckets + 1):
            start[buckets + b] = n + start[b]


@kernel
def ordered(a, b):
    """The lower and the higher of two words on each axis, as words."""
    ahead = ((a | GUARDS) - b) & GUARDS
    swap = (a ^ b) & (ahead - (ahead >> 20))
    return a ^ swap, b ^ swap


@kernel
def box_of(a, b, c, d):
    """Lowest and highest corner of four words."""
    low, high = ordered(a, b)
    bottom, top = ordered(c, d)
    return ordered(low, bottom)[0], ordered(high, top)[1]


@kernel
def weights_of(a, b, c, d):
    """What `least_weight` wants of a tetrahedron: three normals and the volume, times 6, positive; its size; the share
    of size^2 that a weight times reach may be wrong by, or inf where only exact sums can tell."""
    u, v, w = sub(b, a), sub(c, a), sub(d, a)
    size = max(largest(u), largest(v), largest(w))
    n_b, n_c, n_d = cross(v, w), cross(w, u), cross(u, v)
    volume = dot(u, n_b)
    if volume < 0.0:
        n_b, n_c, n_d, volume = scale(n_b, -1.0), scale(n_c, -1.0), scale(n_d, -1.0), -volume
    doubt = ROUNDING * size * size
    # products of three keep clear of where floats underflow or overflow; a flat one has no side to be sure of
    if not (1e-75 < size < 1e60 and volume > doubt * size):
        doubt = math.inf
    return n_b, n_c, n_d, volume, size, doubt


@kernel
def least_weight(r, n_b, n_c, n_d, volume):
    """The least of the four barycentric weights, times 6 volumes, of a point at r from the first corner."""
    f, g, h = dot(r, n_b), dot(r, n_c), dot(r, n_d)
    return min(f, g, h, volume - (f + g + h))


@kernel
def inside_range(table, x, tets, most, first, last, found, out):
    """Keys vertex * tets + tet of all vertices in tets first..last-1 that are no corners of them, to `out`; how many.

    More than there is room for in `out` are counted only. Where a box has more than `most` rows all vertices are
    looked at. found (n+2,) is memory to work in.
    """
    q, words, order, start, mask = table.q, table.words, table.order, table.start, table.mask
    bx, by, bz, across, up = table.bits[0], table.bits[1], table.bits[2], table.step[1], table.step[2]
    count = 0
    for t in range(first, last):
        i, j, k, m = tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3]
        low, high = box_of(q[i], q[j], q[k], q[m])
        x_low, x_high = low & LAST, high & LAST | GUARDS
        y_low, y_high, z_low, z_high = low >> FIELD & LAST, high >> FIELD & LAST, low >> 2 * FIELD, high >> 2 * FIELD
        column, length = x_low >> bx, ((high & LAST) >> bx) - (x_low >> bx)
        y_0, y_1, z_0, z_1 = y_low >> by, y_high >> by, z_low >> bz, z_high >> bz
        every = (y_1 - y_0 + 1) * (z_1 - z_0 + 1) > most
        if every:
            y_1, z_1 = y_0, z_0
        elif mask >= 0:
            length = min(length, mask)
        near = 0
        for z in range(z_0, z_1 + 1):
            for y in range(y_0, y_1 + 1):
                b = (column + y * across + z * up) & mask
                s, end = start[b], start[b + length + 1]
                # no more than this row of cells: others that share its buckets have their own turn
                bottom = pack(x_low, max(y_low, y << by), max(z_low, z << bz))
                top = pack(x_high, min(y_high, ((y + 1) << by) - 1), min(z_high, ((z + 1) << bz) - 1))
                if every:
                    s, end, bottom, top = 0, len(q), low, high | GUARDS
                while s < end:
                    w, other = words[s], words[s + 1]
                    found[near] = s
                    near += 1 if ((w | GUARDS) - bottom) & (top - w) & GUARDS == GUARDS else 0
                    found[near] = s + 1
                    near += 1 if (((other | GUARDS) - bottom) & (top - other) & GUARDS == GUARDS) & (s + 1 < end) else 0
                    s += 2
        others = 0
        for e in range(near):
            v = order[found[e]]
            found[others] = v
            others += 1 if (v != i) & (v != j) & (v != k) & (v != m) else 0
        if others == 0:
            continue
        a, b, c, d = load(x, i), load(x, j), load(x, k), load(x, m)
        n_b, n_c, n_d, volume, size, doubt = weights_of(a, b, c, d)
        for e in range(others):
            p = load(x, found[e])
            r = sub(p, a)
            least, margin = least_weight(r, n_b, n_c, n_d, volume), doubt * max(size, largest(r))
            if least > margin or (not least < -margin and point_in_tetra(p, a, b, c, d)):
                if count < len(out):
                    out[count] = np.int64(found[e]) * len(tets) + t
                count += 1
    return count


@kernel(parallel=True)
def find_inside(table, x, tets, most, out, counts):
    """The same for all tets, in chunks of CHUNK; out (chunks,room), counts (chunks,)."""
    chunks = len(counts)
    half = -(-chunks // 2)
    for k in prange(chunks):
        # every other chunk first: threads take stretches of them, and trouble comes in heaps
        c = 2 * k if k < half else 2 * (k - half) + 1
        found = np.empty(len(table.q) + 2, np.int32)
        counts[c] = inside_range(table, x, tets, most, c * CHUNK, min(len(tets), (c + 1) * CHUNK), found, out[c])


@kernel(parallel=True)
def every_pair(x, tets, held):
    """held (m,n): whether tet t holds vertex v and it is none of its corners, one after the other. The referee."""
    for t in prange(len(tets)):
        i, j, k, m = tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3]
        a, b, c, d = load(x, i), load(x, j), load(x, k), load(x, m)
        low, high = of_segment(a, b)
        bottom, top = of_segment(c, d)
        low, high = merge(low, high, bottom, top)
        for v in range(len(x)):
            p = load(x, v)
            near = contains(low, high, p) and v != i and v != j and v != k and v != m
            held[t, v] = near and point_in_tetra(p, a, b, c, d)

"""Vertices in tetrahedra by hashed cells (Teschner et al. 2003, Optimized spatial hashing).

A vertex has three whole coordinates of 20 bits, made by one function per axis that never falls where x rises, and they
share one word with a guard bit above each. The box of a tetrahedron is made of the words of its corners, so whatever
rounding did to a vertex it did to the box, and insertion and query cannot disagree. Two subtractions compare three
coordinates at once: a guard bit that is left says that nothing was borrowed.

Cells are the upper bits. A bucket holds what is in a cell and in the next ones along y, z and both, so a vertex is in
four of them, and buckets along x follow each other: a box no larger than a cell is looked up in one stretch of memory.
Indices are unsigned because Numba would ask of every other one whether it counts from the end.
"""

import math
from typing import NamedTuple

import numpy as np

from .box import contains, merge, of_segment
from .edge import largest
from .jit import kernel, prange
from .predicates import orient3d
from .tetra import point_in_tetra
from .vec import cross, dot, load, scale, sub

FIELD = 21  # bits of a coordinate and its guard
LAST = (1 << 20) - 1  # the highest coordinate
GUARDS = 1 << 20 | 1 << 41 | 1 << 62
CHUNK = 512  # tets a thread takes at a time
NONE, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
ALL = 1e280  # more than any weight, also when it is multiplied by a length
ROUNDING = 4e-14  # times size^2 times reach: more than what rounding does to any of the four weights below


class Table(NamedTuple):
    n: int  # vertices
    words: np.ndarray  # (n+k+1,) i8 of the vertices, then of the k entries by bucket; k twice where buckets wrap round
    order: np.ndarray  # the same length, u4: the vertex of each
    start: np.ndarray  # (buckets+1,) u4 where each bucket begins in them; as many again where buckets wrap round
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
def bucket_of(word, bits, step):
    """Before it is wrapped round, and whether there is a cell before this one along y and along z."""
    i, j, k = (word & LAST) >> bits[0], (word >> FIELD & LAST) >> bits[1], (word >> 2 * FIELD) >> bits[2]
    return i + j * step[1] + k * step[2], j > 0, k > 0


@kernel
def sort_words(n, bits, step, mask, buckets, start, words, order):
    """Entries of the vertices words[:n] by bucket, ascending within one; start begins as zeros (buckets+2,), or
    (2 buckets+2,) where mask wraps. All else is as Table has it."""
    for i in range(n):
        at, y, z = bucket_of(words[i], bits, step)
        for k in range(4):  # the cell itself, and those before it
            if (y or not k & 1) and (z or not k & 2):
                start[np.uint64((at - (k & 1) * step[1] - (k >> 1) * step[2]) & mask) + TWO] += 1
    start[0], start[1] = n, n
    for b in range(2, buckets + 2):
        start[b] += start[b - 1]
    for i in range(n):
        at, y, z = bucket_of(words[i], bits, step)
        order[i] = i
        for k in range(4):
            if (y or not k & 1) and (z or not k & 2):
                b = np.uint64((at - (k & 1) * step[1] - (k >> 1) * step[2]) & mask) + ONE
                words[start[b]], order[start[b]] = words[i], i
                start[b] += 1
    if mask >= 0:  # a second round, so that a run that passes the end goes on
        end = start[buckets]
        for s in range(n, end):
            words[end + s - n], order[end + s - n] = words[s], order[s]
        for b in range(buckets + 1):
            start[buckets + b] = end - n + start[b]


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
    of size^2 that a weight times reach may be wrong by, or ALL where only exact sums can tell."""
    u, v, w = sub(b, a), sub(c, a), sub(d, a)
    size = max(largest(u), largest(v), largest(w))
    n_b, n_c, n_d = cross(v, w), cross(w, u), cross(u, v)
    volume = dot(u, n_b)
    if volume < 0.0:
        n_b, n_c, n_d, volume = scale(n_b, -1.0), scale(n_c, -1.0), scale(n_d, -1.0), -volume
    doubt = ROUNDING * size * size
    # products of three keep clear of where floats underflow or overflow; a flat one has no side to be sure of
    if not (1e-75 < size < 1e60 and volume > doubt * size):
        doubt = ALL
    return n_b, n_c, n_d, volume, size, doubt


@kernel
def least_weight(r, n_b, n_c, n_d, volume):
    """The least of the four barycentric weights, times 6 volumes, of a point at r from the first corner."""
    f, g, h = dot(r, n_b), dot(r, n_c), dot(r, n_d)
    return min(f, g, h, volume - (f + g + h))


@kernel
def box_around(a, b, c, d):
    low, high = of_segment(a, b)
    bottom, top = of_segment(c, d)
    return merge(low, high, bottom, top)


@kernel
def holds(p, a, b, c, d):
    """Exactly; the box first, which also tells numbers apart that are too small for the sums of the predicates. A tet
    without volume has no inside."""
    low, high = box_around(a, b, c, d)
    return contains(low, high, p) and orient3d(a, b, c, d) != 0 and point_in_tetra(p, a, b, c, d)


@kernel
def inside_range(table, x, tets, most, first, last, found, out):
    """Keys vertex * tets + tet of all vertices in tets (m,4) u4, of first..last-1, that are no corners of them, to
    `out`; how many.

    More than there is room for in `out` are counted only; where buckets are shared one may come twice. Where a box has
    more than `most` cells across, in fours, all vertices are looked at. found (4 n+2,) u4 is memory to work in.
    """
    words, order, start, mask = table.words, table.order, table.start, table.mask
    bx, by, bz, across, up = table.bits[0], table.bits[1], table.bits[2], table.step[1], table.step[2]
    count = 0
    for t in range(np.uint64(first), np.uint64(last)):
        i, j, k, m = tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3]
        low, high = box_of(words[i], words[j], words[k], words[m])
        y_low, y_high, z_low, z_high = low >> FIELD & LAST, high >> FIELD & LAST, low >> 2 * FIELD, high >> 2 * FIELD
        column = (low & LAST) >> bx
        length = ((high & LAST) >> bx) - column + 1
        y_0, y_1, z_0, z_1 = y_low >> by, y_high >> by, z_low >> bz, z_high >> bz
        every = ((y_1 - y_0 + 2) >> 1) * ((z_1 - z_0 + 2) >> 1) > most
        if every:
            y_1, z_1 = y_0, z_0
        near = NONE
        for z in range(z_0, z_1 + 1, 2):
            for y in range(y_0, y_1 + 1, 2):
                at, bottom, top = (column + y * across + z * up) & mask, low, high | GUARDS
                if mask >= 0:
                    # no more than these cells: others that share their buckets have their own turn
                    length = min(length, mask + 1)
                    bottom = pack(low & LAST, max(y_low, y << by), max(z_low, z << bz))
                    top = pack(high & LAST, min(y_high, ((y + 2) << by) - 1), min(z_high, ((z + 2) << bz) - 1)) | GUARDS
                s, end = np.uint64(start[np.uint64(at)]), np.uint64(start[np.uint64(at + length)])
                if every:
                    s, end, bottom, top = NONE, np.uint64(table.n), low, high | GUARDS
                while s < end:
                    w, other = words[s], words[s + ONE]
                    found[near] = s
                    near += ONE if ((w | GUARDS) - bottom) & (top - w) & GUARDS == GUARDS else NONE
                    found[near] = s + ONE
                    there = ((other | GUARDS) - bottom) & (top - other) & GUARDS == GUARDS
                    near += ONE if there & (s + ONE < end) else NONE
                    s += TWO
        others = NONE
        for e in range(near):
            v = order[found[e]]
            found[others] = v
            others += ONE if (v != i) & (v != j) & (v != k) & (v != m) else NONE
        if others == NONE:
            continue
        a, b, c, d = load(x, i), load(x, j), load(x, k), load(x, m)
        n_b, n_c, n_d, volume, size, doubt = weights_of(a, b, c, d)
        for e in range(others):
            p = load(x, found[e])
            r = sub(p, a)
            least, margin = least_weight(r, n_b, n_c, n_d, volume), doubt * max(size, largest(r))
            if least > margin or (not least < -margin and holds(p, a, b, c, d)):
                if count < len(out):
                    out[count] = np.int64(found[e]) * len(tets) + np.int64(t)
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
        found = np.empty(4 * table.n + 2, np.uint32)
        counts[c] = inside_range(table, x, tets, most, c * CHUNK, min(len(tets), (c + 1) * CHUNK), found, out[c])


@kernel(parallel=True)
def every_pair(x, tets, held):
    """held (m,n): whether tet t holds vertex v and it is none of its corners, one after the other. The referee."""
    for t in prange(len(tets)):
        i, j, k, m = tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3]
        a, b, c, d = load(x, i), load(x, j), load(x, k), load(x, m)
        low, high = box_around(a, b, c, d)
        whole = orient3d(a, b, c, d) != 0
        for v in range(len(x)):
            p = load(x, v)
            near = whole and contains(low, high, p) and v != i and v != j and v != k and v != m
            held[t, v] = near and point_in_tetra(p, a, b, c, d)

"""Vertices in tetrahedra by spatial hashing (Teschner et al. 2003, Optimized spatial hashing).

A vertex has three integer coordinates of 20 bits, computed by one monotonic function per axis and packed into one word
with a guard bit above each. The box of a tetrahedron is computed from the words of its corners, so that vertices and
boxes are rounded alike, and insertion and query are consistent. Two subtractions compare three coordinates at once: a
remaining guard bit shows that nothing was borrowed.

Cells are the upper bits. A bucket holds the vertices of a cell and of the next ones along y, z and both, so a vertex is
in four of them, and buckets along x are consecutive: a box no larger than a cell is looked up in one range of memory.
Indices are unsigned to avoid Numba's check for negative ones.
"""

import math
from typing import NamedTuple

import numpy as np

from ..geometry.box import contains, merge, of_segment
from ..geometry.predicates import orient3d
from ..geometry.rounding import largest
from ..geometry.tetra import point_in_tetra
from ..jit import kernel, prange
from ..vec import cross, dot, load, scale, sub
from .tet_hash_cells import near_in_cells
from .words import FIELD, GUARDS, LAST, NONE, ONE, TWO, pack

CHUNK = 512  # tets per task of a thread
ALL = 1e280  # greater than any weight, even multiplied by a length
ROUNDING = 4e-14  # times size^2 times max(size, |r|): greater than the rounding error of any of the four weights below


class Table(NamedTuple):
    """Vertices in buckets. A vertex has up to four entries: in its cell, and in those before it along y and z. If
    buckets wrap around, all entries are there twice, so that a range of buckets may continue past the end."""

    n: int  # vertices
    words: np.ndarray  # (5n+1,) i8, or (9n+1,) if they wrap: of the vertices, of the entries by bucket, then unused
    order: np.ndarray  # the same length, u4: the vertex of each
    start: np.ndarray  # (buckets+2,) u4, or (2 buckets+2,) if they wrap: the first entry of each bucket in `words`
    bits: np.ndarray  # (3,) i8 bits of a coordinate below its cell
    step: np.ndarray  # (3,) i8 buckets from a cell to the next along each axis
    mask: int  # buckets - 1, or -1 if no two cells share one
    xor: int  # buckets of the hash function of the paper, see `tet_hash_cells`; 0: rows of buckets, as above


@kernel
def bounds_of(x, out):
    """Fill out (6,) with the lowest and highest corner."""
    for k in range(3):
        out[k], out[3 + k] = math.inf, -math.inf
    for i in range(len(x)):
        for k in range(3):
            out[k], out[3 + k] = min(out[k], x[i, k]), max(out[3 + k], x[i, k])


@kernel
def to_words(x, origin, scale, q):
    """Quantise vertices to words; subtraction, product and floor are monotonic in spite of rounding."""
    for i in range(len(x)):
        a = int(min((x[i, 0] - origin[0]) * scale, float(LAST)))
        b = int(min((x[i, 1] - origin[1]) * scale, float(LAST)))
        c = int(min((x[i, 2] - origin[2]) * scale, float(LAST)))
        q[i] = pack(a, b, c)


@kernel
def bucket_of(word, bits, step):
    """Bucket before wrapping around, and whether there is a cell before this one along y and along z."""
    i, j, k = (word & LAST) >> bits[0], (word >> FIELD & LAST) >> bits[1], (word >> 2 * FIELD) >> bits[2]
    return i + j * step[1] + k * step[2], j > 0, k > 0


@kernel
def sort_words(n, bits, step, mask, buckets, start, words, order):
    """Sort entries of the vertices words[:n] by bucket, ascending within each; start is initially zero, (buckets+2,),
    or (2 buckets+2,) if mask wraps. Everything else is as in Table.
    """
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
    if mask >= 0:  # a second copy, so that a range may continue past the end
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
    """Data of a tetrahedron for `least_weight`: three normals and six times the volume, positive; its size; the error
    bound of a weight per metre from the first corner, or ALL if only exact predicates can decide.
    """
    u, v, w = sub(b, a), sub(c, a), sub(d, a)
    size = max(largest(u), largest(v), largest(w))
    n_b, n_c, n_d = cross(v, w), cross(w, u), cross(u, v)
    volume = dot(u, n_b)
    if volume < 0.0:
        n_b, n_c, n_d, volume = scale(n_b, -1.0), scale(n_c, -1.0), scale(n_d, -1.0), -volume
    error = ROUNDING * size * size
    # products of three must neither underflow nor overflow; a flat tetrahedron has no reliable sides
    if not (1e-75 < size < 1e60 and volume > error * size):
        error = ALL
    return n_b, n_c, n_d, volume, size, error


@kernel
def least_weight(r, n_b, n_c, n_d, volume):
    """Least of the four barycentric weights, times 6 volumes, of a point at r from the first corner."""
    f, g, h = dot(r, n_b), dot(r, n_c), dot(r, n_d)
    return min(f, g, h, volume - (f + g + h))


@kernel
def box_around(a, b, c, d):
    low, high = of_segment(a, b)
    bottom, top = of_segment(c, d)
    return merge(low, high, bottom, top)


@kernel
def tet_contains(p, a, b, c, d):
    """Whether the tet contains p, exactly. The box also decides for numbers too small for the predicates; a flat tet
    contains nothing.
    """
    low, high = box_around(a, b, c, d)
    if not contains(low, high, p) or orient3d(a, b, c, d) == 0:
        return False
    return p in (a, b, c, d) or point_in_tetra(p, a, b, c, d)


@kernel
def inside_range(table, x, tets, most, first, last, found, out):
    """Write keys vertex * tets + tet of the vertices in tets (m,4) u4 first..last-1, except corners; return their
    number.

    Keys beyond the space in `out` are only counted; where buckets are shared, a key may occur twice. If a box spans
    more than `most` groups of four cells, all vertices are tested. found (4 n+2,) u4 is workspace.
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
        if table.xor > 0:
            near = near_in_cells(table, low, high, most, found)
            z_1 = z_0 - 1
        for z in range(z_0, z_1 + 1, 2):
            for y in range(y_0, y_1 + 1, 2):
                at, bottom, top = (column + y * across + z * up) & mask, low, high | GUARDS
                if mask >= 0:
                    # limited to these cells: others that share their buckets are processed separately
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
        n_b, n_c, n_d, volume, size, error = weights_of(a, b, c, d)
        for e in range(others):
            p = load(x, found[e])
            r = sub(p, a)
            least, margin = least_weight(r, n_b, n_c, n_d, volume), error * max(size, largest(r))
            if least > margin or (not least < -margin and tet_contains(p, a, b, c, d)):
                if count < len(out):
                    out[count] = np.int64(found[e]) * len(tets) + np.int64(t)
                count += 1
    return count


@kernel(parallel=True)
def find_inside(table, x, tets, most, out, counts):
    """Apply `inside_range` to all tets, in chunks of CHUNK; out (chunks,room), counts (chunks,)."""
    chunks = len(counts)
    half = -(-chunks // 2)
    for k in prange(chunks):
        # every other chunk first: threads take consecutive chunks, and expensive ones are clustered
        c = 2 * k if k < half else 2 * (k - half) + 1
        found = np.empty(4 * table.n + 2, np.uint32)
        counts[c] = inside_range(table, x, tets, most, c * CHUNK, min(len(tets), (c + 1) * CHUNK), found, out[c])


@kernel(parallel=True)
def every_pair(x, tets, held):
    """Fill held (m,n): whether tet t contains vertex v, not as a corner, by exhaustive tests: the ground truth."""
    for t in prange(len(tets)):
        i, j, k, m = tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3]
        a, b, c, d = load(x, i), load(x, j), load(x, k), load(x, m)
        low, high = box_around(a, b, c, d)
        whole = orient3d(a, b, c, d) != 0
        for v in range(len(x)):
            p = load(x, v)
            near = whole and contains(low, high, p) and v != i and v != j and v != k and v != m
            held[t, v] = near and point_in_tetra(p, a, b, c, d)

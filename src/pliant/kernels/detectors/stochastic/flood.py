"""Contact regions grown from near vertex pairs by flood fill over neighbouring triangle pairs.

Two triangles within a distance are a node of a graph; its neighbours are the pairs in which one of the two is replaced
by a triangle across an edge. A pair of nearest points that moves over both surfaces passes from one node to the next,
so a region in which the surfaces are near is a connected component of this graph, and a search from any of its nodes
finds all of it (Raghupathi et al. 2004, the propagation of collisions).
"""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...geometry.triangle import normal
from ...jit import kernel
from .features import triangles_near

BATCH = 256  # pairs of triangles tested together
MISS = -1  # tested, and too far apart
NEAR, TESTED, REGIONS, OVERFLOWED = 0, 1, 2, 3  # entries of `counts` of `flood`


class Seen(NamedTuple):
    keys: np.ndarray  # (2^k,) i8 tested pairs of triangles, in a hash table with linear probing
    stamp: np.ndarray  # (2^k,) i4 time stamp: only entries equal to `now` are valid, which avoids clearing the table
    where: np.ndarray  # (2^k,) i4 row among the near ones, or MISS
    near: np.ndarray  # (cap,3) i4 near pairs in the order they were found, and the region of each


@kernel
def excluded(facets, x, p, q, reach):
    """Whether two triangles share a vertex, or their boxes or a plane prove them farther apart than `reach`."""
    corners, welded = facets.corners, facets.welded
    for k in range(3):
        w = welded[p, k]
        if w == welded[q, 0] or w == welded[q, 1] or w == welded[q, 2]:
            return True
    a, b, c = corners[p, 0], corners[p, 1], corners[p, 2]
    d, e, f = corners[q, 0], corners[q, 1], corners[q, 2]
    for k in range(3):
        low, high = min(x[a, k], x[b, k], x[c, k]), max(x[a, k], x[b, k], x[c, k])
        if min(x[d, k], x[e, k], x[f, k]) - high > reach or low - max(x[d, k], x[e, k], x[f, k]) > reach:
            return True
    one = vec.load(x, a), vec.load(x, b), vec.load(x, c)
    two = vec.load(x, d), vec.load(x, e), vec.load(x, f)
    return beyond(one, two, reach) or beyond(two, one, reach)


@kernel
def beyond(one, two, reach):
    """Whether triangle `two` lies farther than `reach` beyond triangle `one`, along the normal of `one`. Both are
    projected: the normal of a sliver is rounding noise, and its own corners lie far apart along it.
    """
    n = normal(one[0], one[1], one[2])
    n_2 = vec.norm2(n)
    if n_2 < 1e-280:
        return False
    p = one[0]
    v, w = vec.dot(n, vec.sub(one[1], p)), vec.dot(n, vec.sub(one[2], p))
    s, t, u = vec.dot(n, vec.sub(two[0], p)), vec.dot(n, vec.sub(two[1], p)), vec.dot(n, vec.sub(two[2], p))
    far = reach * math.sqrt(n_2) * (1.0 + 1e-9)
    return min(s, t, u) > max(v, w, 0.0) + far or max(s, t, u) < min(v, w, 0.0) - far


@kernel
def test_pairs(query, batch, n, region, seen, now, count):
    """Test n pairs of triangles and append those that are near. Return the number of near pairs so far, and how many of
    these n were found before. When the list is full, pairs are only counted; `flood` stops before the hash table is
    full. The caller then enlarges both and restarts.
    """
    facets, x, same, reach, within = query
    keys, stamp, where, near = seen.keys, seen.stamp, seen.where, seen.near
    corners, mask, known = facets.corners, len(seen.keys) - 1, 0
    for m in range(n):
        p, q = np.int64(batch[m, 0]), np.int64(batch[m, 1])
        if same and q < p:
            p, q = q, p
        key = p * len(corners) + q
        at = (p * 73856093 ^ q * 19349663 ^ (p * 19349663 + q) >> 15) & mask
        while stamp[at] == now and keys[at] != key:
            at = (at + 1) & mask
        if stamp[at] == now:
            known += where[at] != MISS
            continue
        keys[at], stamp[at], where[at] = key, now, MISS
        if excluded(facets, x, p, q, reach):
            continue
        a, b, c = vec.load(x, corners[p, 0]), vec.load(x, corners[p, 1]), vec.load(x, corners[p, 2])
        d, e, f = vec.load(x, corners[q, 0]), vec.load(x, corners[q, 1]), vec.load(x, corners[q, 2])
        if triangles_near(a, b, c, d, e, f, within):
            if count < len(near):
                where[at] = count
                near[count, 0], near[count, 1], near[count, 2] = p, q, region
            count += 1
    return count, known


@kernel
def flood(query, pairs, spread, seen, now, counts, status):
    """Search from the triangles around pairs (s,2) of vertices, one pair after the other.

    status (s,): 0 nothing near, 1 in a region found before, 2 in a new one. A region is grown until it has `spread`
    pairs of triangles. counts (4,): near pairs, tested pairs, regions, and whether there was too little space.
    """
    facets = query.facets
    start, beside, around, vertex_start = facets.start, facets.beside, facets.around, facets.vertex_start
    near, batch = seen.near, np.empty((BATCH, 2), np.int32)
    most = len(seen.keys) // 2
    for s in range(len(pairs)):
        count, region = counts[NEAR], counts[REGIONS]
        head, n, known = count, 0, 0
        i, j = pairs[s, 0], pairs[s, 1]
        for u in range(vertex_start[i], vertex_start[i + 1]):
            for v in range(vertex_start[j], vertex_start[j + 1]):
                batch[n, 0], batch[n, 1] = around[u], around[v]
                n += 1
                if n == BATCH:
                    if counts[TESTED] >= most:
                        # probing a full table would not terminate
                        counts[OVERFLOWED] = 1
                        return
                    count, more = test_pairs(query, batch, n, region, seen, now, count)
                    counts[TESTED], known, n = counts[TESTED] + n, known + more, 0
        count, more = test_pairs(query, batch, n, region, seen, now, count)
        counts[TESTED], known, n = counts[TESTED] + n, known + more, 0
        status[s] = 1 if known > 0 else 2 if count > head else 0
        first = head
        while head < count and count < len(near) and counts[TESTED] < most and count - first < spread:
            p, q = near[head, 0], near[head, 1]
            for u in range(start[p], start[p + 1]):
                batch[n, 0], batch[n, 1], n = beside[u], q, n + 1
            for v in range(start[q], start[q + 1]):
                batch[n, 0], batch[n, 1], n = p, beside[v], n + 1
            head += 1
            if n > BATCH - 32 or head == count:
                count, _ = test_pairs(query, batch, n, region, seen, now, count)
                counts[TESTED], n = counts[TESTED] + n, 0
        counts[NEAR], counts[REGIONS] = count, region + (count > first)
        if count >= len(near) or counts[TESTED] >= most - 4 * BATCH:
            counts[OVERFLOWED] = 1
            return

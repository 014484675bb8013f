"""Top-down BVH builds: split the elements recursively, in place.

Elements are given by their boxes only. Ties are decided by index, so a build is deterministic.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.eigen import principal_axes
from ..jit import kernel

# the split axis: the longest of the box of the centres, the principal axis of the centres, or the best coordinate axis
LONGEST, PRINCIPAL, ANY = 0, 1, 2
# the split position: median, mean, or least cost: of the surface area heuristic (SAH), or the sum of both volumes
MEDIAN, MEAN, SAH, VOLUME = 0, 1, 2, 3
BINS = 16
DEEP = 40  # levels after which every split is at the median: limits the depth to DEEP + log2(m)


class ElementBoxes(NamedTuple):
    low: np.ndarray  # (m,3)
    high: np.ndarray  # (m,3)
    twice: np.ndarray  # (m,3) low + high, twice the centres


@kernel
def swap(key, order, i, j):
    key[i], key[j] = key[j], key[i]
    order[i], order[j] = order[j], order[i]


@kernel
def pivot(key, order, a, b, c):
    """Return which of three positions holds the median by key, then by element."""
    if key[b] < key[a] or (key[b] == key[a] and order[b] < order[a]):
        a, b = b, a
    if key[c] < key[a] or (key[c] == key[a] and order[c] < order[a]):
        return a
    return c if key[c] < key[b] or (key[c] == key[b] and order[c] < order[b]) else b


@kernel
def select(key, order, first, last, nth):
    """Reorder positions first..last-1 so that the elements before position nth sort before those from nth on.

    Quickselect; one of three candidate positions for the pivot is scrambled, so that no common input is the worst case.
    """
    lo, hi = first, last - 1
    scramble = 12345
    while lo < hi:
        scramble = (scramble * 1103515245 + 12345) % 2147483648
        p = pivot(key, order, lo + scramble % (hi - lo + 1), (lo + hi) // 2, hi)
        k, e = key[p], order[p]
        i, j = lo, hi
        while i <= j:
            while key[i] < k or (key[i] == k and order[i] < e):
                i += 1
            while key[j] > k or (key[j] == k and order[j] > e):
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            hi = j
        elif nth >= i:
            lo = i
        else:
            return


@kernel
def box_of_centres(twice, order, first, last):
    """The box of twice the centres, as two tuples."""
    x_0, y_0, z_0, x_1, y_1, z_1 = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for q in range(first, last):
        e = order[q]
        x, y, z = twice[e, 0], twice[e, 1], twice[e, 2]
        x_0, y_0, z_0 = min(x_0, x), min(y_0, y), min(z_0, z)
        x_1, y_1, z_1 = max(x_1, x), max(y_1, y), max(z_1, z)
    return (x_0, y_0, z_0), (x_1, y_1, z_1)


@kernel
def principal_direction(twice, order, first, last, low, high):
    """The principal axis of the centres, which are scaled first, so that squares stay in range."""
    origin = vec.scale(vec.add(low, high), 0.5)
    side = vec.sub(high, low)
    size = max(side[0], side[1], side[2])
    if not size > 0.0:
        return (1.0, 0.0, 0.0)
    m = vec.sub(origin, origin)
    for q in range(first, last):
        m = vec.add(m, vec.scale(vec.sub(vec.load(twice, order[q]), origin), 1.0 / size))
    m = vec.scale(m, 1.0 / (last - first))
    xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for q in range(first, last):
        d = vec.sub(vec.scale(vec.sub(vec.load(twice, order[q]), origin), 1.0 / size), m)
        xx, yy, zz = xx + d[0] * d[0], yy + d[1] * d[1], zz + d[2] * d[2]
        xy, xz, yz = xy + d[0] * d[1], xz + d[0] * d[2], yz + d[1] * d[2]
    return principal_axes(xx, yy, zz, xy, xz, yz)[0]


@kernel
def fill_keys(twice, order, first, last, axis, key):
    for q in range(first, last):
        e = order[q]
        key[q] = twice[e, 0] * axis[0] + twice[e, 1] * axis[1] + twice[e, 2] * axis[2]


@kernel
def mean_split(key, order, first, last):
    """Move the elements with keys up to the mean to the front; return the position after them, or `first` if these are
    all elements."""
    mean = 0.0
    for q in range(first, last):
        mean += key[q] / (last - first)
    i = first
    for q in range(first, last):
        if key[q] <= mean:
            swap(key, order, i, q)
            i += 1
    return i if i < last else first


@kernel
def empty_box(box):
    for a in range(3):
        box[a], box[a + 3] = np.inf, -np.inf


@kernel
def half_surface(box):
    """Half the surface area of a box (6,), 0 for an empty one."""
    x, y, z = max(box[3] - box[0], 0.0), max(box[4] - box[1], 0.0), max(box[5] - box[2], 0.0)
    return x * y + y * z + z * x


@kernel
def volume_of(box):
    """Volume of a box (6,), 0 for an empty one."""
    return max(box[3] - box[0], 0.0) * max(box[4] - box[1], 0.0) * max(box[5] - box[2], 0.0)


@kernel
def grow_box(box, low, high, e):
    for a in range(3):
        box[a], box[a + 3] = min(box[a], low[e, a]), max(box[a + 3], high[e, a])


@kernel
def fill_bins(boxes, key, order, first, last, bins):
    """Boxes and counts of the elements by key, `bins` (BINS,7); returns the least key and the width of a bin."""
    low, high = boxes.low, boxes.high
    least, most = np.inf, -np.inf
    for q in range(first, last):
        least, most = min(least, key[q]), max(most, key[q])
    for b in range(BINS):
        empty_box(bins[b])
        bins[b, 6] = 0.0
    width = (most - least) / BINS
    if width > 0.0:
        for q in range(first, last):
            b = min(int((key[q] - least) / width), BINS - 1)
            grow_box(bins[b], low, high, order[q])
            bins[b, 6] += 1.0
    return least, width


@kernel
def best_bin(bins, rule):
    """Bin after which to split, and its costs; -1 if none. The first cost decides: the sum of both volumes if `rule` is
    VOLUME, else 0; then the SAH cost: the sum of area times elements."""
    cost, volume = np.zeros(BINS), np.zeros(BINS)
    box = np.empty(6)
    empty_box(box)
    count = 0.0
    for b in range(BINS - 1, 0, -1):
        for a in range(3):
            box[a], box[a + 3] = min(box[a], bins[b, a]), max(box[a + 3], bins[b, a + 3])
        count += bins[b, 6]
        cost[b - 1] = half_surface(box) * count if count > 0.0 else np.inf
        volume[b - 1] = volume_of(box) if rule == VOLUME else 0.0
    empty_box(box)
    count, best, least, smallest = 0.0, -1, np.inf, np.inf
    for b in range(BINS - 1):
        for a in range(3):
            box[a], box[a + 3] = min(box[a], bins[b, a]), max(box[a + 3], bins[b, a + 3])
        count += bins[b, 6]
        both = volume[b] + volume_of(box) if rule == VOLUME else 0.0
        one = cost[b] + half_surface(box) * count
        if count > 0.0 and one < np.inf and (both < smallest or (both == smallest and one < least)):
            best, smallest, least = b, both, one
    return best, smallest, least


@kernel
def least_split(boxes, key, order, first, last, bins, rule):
    """Split by key at the least cost, evaluated on bins; return the start of the second part."""
    least, width = fill_bins(boxes, key, order, first, last, bins)
    best = best_bin(bins, rule)[0]
    if best < 0:
        return first
    i = first
    for q in range(first, last):
        if min(int((key[q] - least) / width), BINS - 1) <= best:
            swap(key, order, i, q)
            i += 1
    return i


@kernel
def axis_of(twice, order, first, last, rule):
    low, high = box_of_centres(twice, order, first, last)
    if rule == PRINCIPAL:
        return principal_direction(twice, order, first, last, low, high)
    x, y, z = vec.sub(high, low)
    if x >= y and x >= z:
        return (1.0, 0.0, 0.0)
    return (0.0, 1.0, 0.0) if y >= z else (0.0, 0.0, 1.0)


@kernel
def best_axis(boxes, order, first, last, key, bins, rule):
    """The coordinate axis whose best split costs least."""
    axis, smallest, least = (1.0, 0.0, 0.0), np.inf, np.inf
    for a in range(3):
        one = (1.0 if a == 0 else 0.0, 1.0 if a == 1 else 0.0, 1.0 if a == 2 else 0.0)
        fill_keys(boxes.twice, order, first, last, one, key)
        fill_bins(boxes, key, order, first, last, bins)
        _, volume, cost = best_bin(bins, rule)
        if volume < smallest or (volume == smallest and cost < least):
            axis, smallest, least = one, volume, cost
    return axis


@kernel
def halve(boxes, order, first, last, key, bins, along, rule):
    """Reorder positions first..last-1 into two halves; return the start of the second."""
    if along == ANY:
        axis = best_axis(boxes, order, first, last, key, bins, rule)
    else:
        axis = axis_of(boxes.twice, order, first, last, along)
    fill_keys(boxes.twice, order, first, last, axis, key)
    at = first
    if rule == MEAN:
        at = mean_split(key, order, first, last)
    elif rule != MEDIAN:
        at = least_split(boxes, key, order, first, last, bins, rule)
    if at == first:
        at = (first + last) // 2
        select(key, order, first, last, at)
    return at


@kernel
def build_top_down(low, high, along, rule, leaf, order, starts, counts):
    """Reorder the elements `order` (m,) and fill, depth first, the range `starts`, `counts` (2m,) of each node; return
    the number of nodes."""
    m = len(order)
    boxes = ElementBoxes(low, high, low + high)
    key, bins = np.empty(m), np.empty((BINS, 7))
    stack = np.empty((DEEP + 40, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, m, 0
    top, n = min(m, 1), 0
    while top > 0:
        top -= 1
        first, last, depth = stack[top, 0], stack[top, 1], stack[top, 2]
        starts[n], counts[n] = first, last - first
        n += 1
        if last - first <= leaf:
            continue
        at = halve(boxes, order, first, last, key, bins, along, MEDIAN if depth > DEEP else rule)
        stack[top, 0], stack[top, 1], stack[top, 2] = at, last, depth + 1
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = first, at, depth + 1
        top += 2
    return n


@kernel
def widen(skip, counts, leaf, arity, keep):
    """Mark in `keep` (n,) the nodes of a binary tree that remain when each gets up to `arity` children.

    A node adopts the children of its child with the most elements until it has enough.
    """
    keep[:] = False
    if len(skip) > 0:
        keep[0] = True
    child = np.empty(arity, np.int64)
    for i in range(len(skip)):
        if not keep[i] or counts[i] <= leaf:
            continue
        n, child[0], child[1] = 2, i + 1, skip[i + 1]
        while n < arity:
            most = -1
            for c in range(n):
                if counts[child[c]] > leaf and (most < 0 or counts[child[c]] > counts[child[most]]):
                    most = c
            if most < 0:
                break
            j = child[most]
            child[most], child[n] = j + 1, skip[j + 1]
            n += 1
        for c in range(n):
            keep[child[c]] = True

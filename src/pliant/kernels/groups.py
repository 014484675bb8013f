"""Groups of faces that stand: pieces of a strip, six faces each at most, with their corners and a box of their own.

Snapping is monotone. Where the low and the high side of a box have passed as many columns of pixel centres, or as many
rows, so have all corners of the group: it covers nothing, and nothing else of it is read. A side of a box is told in
steps of the body's, two bytes of them; it lies outward of the group by up to two steps.
"""

from typing import NamedTuple

import numpy as np

from . import small_faces
from .jit import kernel, prange
from .layers import CORNERS, FULL, HALF, TOP, count_large, snapped
from .small_faces import BLOCK, FOUR, ONE, ROW, SMALL, THREE, TWO, passed

GROUP = 8  # corners: of one coordinate a line of the cache
FACES = GROUP - 2  # of a group at most
STEPS = 65_000  # across a body's box; a few more are told in two bytes
LOOK = 256  # boxes at a time
AT_ONCE = BLOCK // GROUP  # groups


class Groups(NamedTuple):
    """A body that stands, cut into g groups: corner j of group i is the one at FACES * i + j of the strip."""

    corner: np.ndarray  # (24g,) metres: of each group one coordinate of all corners, then the next
    ends: np.ndarray  # (g,) unsigned; bit j where a face ends with corner j
    box: np.ndarray  # (6,g) unsigned; steps to the low sides, then to the high sides


class Glance(NamedTuple):
    """Pixel centres passed along one axis, by steps of boxes: scale * steps + low is not above, + high not below."""

    axis: int
    scale: np.float32
    low: np.float32
    high: np.float32
    count: np.float32  # of centres


@kernel
def group(strip, owner, x, origin, step, groups):
    """Cut a strip with corners in x (n,3) into groups; steps of boxes are counted from origin (3,)."""
    corner, ends, last, strung = groups.corner, groups.ends, len(strip), len(owner) > 0
    for g in range(len(ends)):
        bits = 0
        for j in range(GROUP):
            k = g * FACES + j
            v = strip[min(k, last - 1)]
            for c in range(3):
                corner[(g * 3 + c) * GROUP + j] = x[v, c]
            if j >= 2 and k < last and (owner[k] >= 0 if strung else k % 3 == 2):
                bits |= 1 << j
        ends[g] = bits
        _fit(corner, bits | bits >> 1 | bits >> 2, g, origin, step, groups.box)


@kernel
def _fit(corner, used, g, origin, step, box):
    """The box around the corners whose bits are set; around none, one that has no centre in it."""
    for c in range(3):
        low, high, at = np.inf, -np.inf, (g * 3 + c) * GROUP
        for j in range(GROUP):
            if used >> j & 1:
                low, high = min(low, corner[at + j]), max(high, corner[at + j])
        # a hundredth of a step is far more than the quotient can be rounded by
        box[c, g] = np.int64((low - origin[c]) / step[c] - 0.01) if used else 0
        box[3 + c, g] = np.int64((high - origin[c]) / step[c] + 1.01) if used else 0


@kernel
def _passes(low, high, glance, first, last, seen):
    """Into seen[:last-first] whether boxes first..last-1 have sides with a centre between them."""
    nothing = np.float32(0.0)
    for g in range(np.uint64(last - first)):
        k = np.uint64(first) + g
        a = np.float32(np.int32(low[k])) * glance.scale + glance.low
        b = np.float32(np.int32(high[k])) * glance.scale + glance.high
        a, b = min(max(a, nothing), glance.count), min(max(b, nothing), glance.count)
        seen[g] = np.int32(a) != np.int32(b)


@kernel
def _select(box, columns, rows, first, last, kept):
    """Into kept, from `first` on, the groups whose boxes have a column and a row of centres in them; their number."""
    column, row, n = np.empty(LOOK, np.uint8), np.empty(LOOK, np.uint8), np.uint64(first)
    for start in range(first, last, LOOK):
        stop = min(last, start + LOOK)
        _passes(box[columns.axis], box[3 + columns.axis], columns, start, stop, column)
        _passes(box[rows.axis], box[3 + rows.axis], rows, start, stop, row)
        for g in range(np.uint64(stop - start)):
            kept[n] = np.uint64(start) + g
            n += np.uint64(column[g] & row[g])
    return np.int64(n) - first


@kernel(parallel=True)
def select(box, columns, rows, kept, count):
    """Of each piece of CORNERS corners the groups to be asked, into kept (g,), and how many into count (pieces,)."""
    size = CORNERS // GROUP
    for c in prange(len(count)):
        count[c] = _select(box, columns, rows, c * size, min(box.shape[1], (c + 1) * size), kept)


@kernel
def _project(corner, screen, chosen, first, last, a, b, p, code):
    """As `layers.project`, of the corners of groups chosen[first:last]; from 0 on."""
    u, v = np.uint64((screen.axis + 1) % 3 * GROUP), np.uint64((screen.axis + 2) % 3 * GROUP)
    for m in range(np.uint64(last - first)):
        k, to = np.uint64(chosen[np.uint64(first) + m]) * np.uint64(3 * GROUP), m * np.uint64(GROUP)
        for j in range(np.uint64(GROUP)):
            a[to + j], b[to + j] = corner[k + u + j], corner[k + v + j]
    for i in range((last - first) * GROUP):
        s, t = snapped((a[i] - screen.left) * screen.across), snapped((b[i] - screen.top) * screen.down)
        p[i] = s | t << 32
        code[i] = passed(s, screen.width) << 16 | passed(t, screen.height)


@kernel
def _between(code, ends, groups, first, last, kept):
    """Into `kept` where faces end, in groups[first:last], around a pixel centre's column and row; their number."""
    n = np.uint64(0)
    for m in range(np.uint64(last - first)):
        k, bits = m * np.uint64(GROUP), np.uint64(ends[groups[np.uint64(first) + m]])
        b = code[k + ONE]
        before = np.uint64(b ^ code[k])
        for j in range(TWO, np.uint64(GROUP)):
            a, b = b, code[k + j]
            step = np.uint64(a ^ b)
            t = (before | step) + FULL
            kept[n] = k + j
            n += (t & (t << HALF)) >> TOP & bits >> j
            before = step
    return n


@kernel
def _fetch(corner, owner, axis, chosen, start, kept, first, last, face, word, z):
    """As `layers._fetch`, of faces that end in groups chosen[start:]."""
    strung, along = len(owner) > 0, np.uint64(axis * GROUP)
    for n in range(last - first):
        k = np.uint64(kept[np.uint64(face[first + n]) & np.uint64(BLOCK - 1)])
        g, j = np.uint64(chosen[np.uint64(start) + k // np.uint64(GROUP)]), k % np.uint64(GROUP)
        k, at = g * np.uint64(FACES) + j, g * np.uint64(3 * GROUP) + along + j
        word[n] = np.uint64(owner[k]) if strung else k // THREE << FOUR | FOUR
        z[n], z[ROW + n], z[ROW + ROW + n] = corner[at - TWO], corner[at - ONE], corner[at]


@kernel
def _keep_large(drawn, chosen, start, p, code, large, first, last):
    """From places in groups chosen[start:] to places in the strip, in large[first:last]; and what is known of corners
    to where it is for all."""
    strip, all_p, all_code = drawn.strip, drawn.p, drawn.code
    for m in range(first, last):
        k = large[m]
        large[m] = chosen[start + k // GROUP] * FACES + k % GROUP
        for i in range(3):
            v = strip[large[m] - i]
            all_p[v], all_code[v] = p[k - i], code[k - i]


@kernel
def _search(groups, screen, drawn, chosen, first, last, to, pixel, depth, face, large):
    """What `layers._search` gives, of groups chosen[first:last]; from `to` on."""
    asked, hits = small_faces.room()
    a, b, p, code = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint32)
    own, kept, corner = np.arange(BLOCK).astype(np.uint32), asked.kept, groups.corner
    n = big = np.uint64(to)
    for start in range(first, last, AT_ONCE):
        stop, before, others = min(last, start + AT_ONCE), n, big
        _project(corner, screen, chosen, start, stop, a, b, p, code)
        count = _between(code, groups.ends, chosen, start, stop, kept)
        small_faces.fetch(own, p, kept, count, asked.corner)
        small_faces.ask(asked.corner, count, screen, asked.pixel, asked.turn, asked.state)
        enough = n + np.uint64(SMALL * BLOCK) <= np.uint64(to + CORNERS)
        n, big = small_faces.take(kept, asked.state, count, enough, n, face, large, big)
        _fetch(corner, drawn.owner, screen.axis, chosen, start, kept, before, n, face, hits.word, hits.z)
        small_faces.fill(asked, hits, screen.width, before, n, pixel, depth, face)
        _keep_large(drawn, chosen, start, p, code, large, np.int64(others), np.int64(big))
    return np.int64(n) - to, np.int64(big) - to


@kernel(parallel=True)
def search(groups, screen, drawn, chosen, count, found):
    """What `layers.search` gives, of the groups that were selected."""
    counts, pixel, depth, face, large = found.count, found.pixel, found.depth, found.face, found.large
    for c in prange(len(counts)):
        first, at = c * CORNERS, c * (CORNERS // GROUP)
        small, big = _search(groups, screen, drawn, chosen, at, at + count[c], first, pixel, depth, face, large)
        hits, big = count_large(drawn, screen.width, large, first, first + big)
        counts[c, 0], counts[c, 1], counts[c, 2] = hits, small, big

"""Groups of faces that stand: pieces of a strip, six faces each at most, with their corners and a box of their own.

Snapping is monotone. Where the low and the high side of a box have passed as many columns of pixel centres, or as many
rows, so have all corners of the group: it covers nothing, and nothing else of it is read. A side of a box is told in
steps of the body's, two bytes of them; it lies outward of the group by up to two steps.
"""

from typing import NamedTuple

import numpy as np

from . import small_faces
from .jit import kernel, prange
from .layer_order import ordered
from .layers import CORNERS, FULL, HALF, TOP, count_large, snapped
from .small_faces import BLOCK, FOUR, ONE, ROW, SMALL, THREE, TWO, passed

GROUP = 8  # corners: of one coordinate a line of the cache
FACES = GROUP - 2  # of a group at most
STEPS = 65_000  # across a body's box; a few more are told in two bytes
LOOK = 256  # boxes at a time
AT_ONCE = BLOCK // GROUP  # groups
PIECE = CORNERS // GROUP  # of them
JOBS = 16  # for threads, each of every 16th piece: a body is seldom seen evenly
SAMPLE = 16
FAR = 2.0**22  # pixels to which a box can be told


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
def _farthest(axis, origin, step, edge, scale):
    """Pixels from the first centre to any box, and more."""
    return 65536.0 * abs(step[axis] * scale) + abs((origin[axis] - edge) * scale + 0.5)


@kernel
def _glance(axis, origin, step, edge, scale, count):
    """How boxes are looked at along an axis."""
    first = (origin[axis] - edge) * scale + 0.5
    # what corners may be moved by: by snapping, 1/8192 pixel, a centre on them that does not count, 1/4096, and three
    # roundings to 2^-24 of the sum
    slack = 2.0**-10 + _farthest(axis, origin, step, edge, scale) * 2.0**-21
    low, high = np.float32(first - slack), np.float32(first + slack)
    return Glance(axis, np.float32(step[axis] * scale), low, high, np.float32(count))


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
def _select(box, origin, step, screen, first, last, kept):
    """Into kept, from `first` on, the groups whose boxes have a column and a row of centres in them; their number."""
    columns = _glance((screen.axis + 1) % 3, origin, step, screen.left, screen.across, screen.width)
    rows = _glance((screen.axis + 2) % 3, origin, step, screen.top, screen.down, screen.height)
    column, row, n = np.empty(LOOK, np.uint8), np.empty(LOOK, np.uint8), np.uint64(first)
    for start in range(first, last, LOOK):
        stop = min(last, start + LOOK)
        _passes(box[columns.axis], box[3 + columns.axis], columns, start, stop, column)
        _passes(box[rows.axis], box[3 + rows.axis], rows, start, stop, row)
        for g in range(np.uint64(stop - start)):
            kept[n] = np.uint64(start) + g
            n += np.uint64(column[g] & row[g])
    return np.int64(n) - first


@kernel
def _copy(x, k, y, to):
    """One line of the cache; read before it is written, so that it is one movement, and many are fetched at a time."""
    a, b, c, d = x[k], x[k + ONE], x[k + TWO], x[k + THREE]
    k, at = k + FOUR, to + FOUR
    e, f, g, h = x[k], x[k + ONE], x[k + TWO], x[k + THREE]
    y[to], y[to + ONE], y[to + TWO], y[to + THREE] = a, b, c, d
    y[at], y[at + ONE], y[at + TWO], y[at + THREE] = e, f, g, h


@kernel
def _project(corner, screen, chosen, first, last, a, b, p, code):
    """As `layers.project`, of the corners of groups chosen[first:last]; from 0 on."""
    u, v = np.uint64((screen.axis + 1) % 3 * GROUP), np.uint64((screen.axis + 2) % 3 * GROUP)
    for m in range(np.uint64(last - first)):
        k, to = np.uint64(chosen[np.uint64(first) + m]) * np.uint64(3 * GROUP), m * np.uint64(GROUP)
        _copy(corner, k + u, a, to)
        _copy(corner, k + v, b, to)
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
def _room():
    """For a block of groups."""
    a, b, p, code = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint32)
    return a, b, p, code, np.arange(BLOCK).astype(np.uint32), small_faces.room()


@kernel
def _search(groups, screen, drawn, chosen, first, last, to, pixel, depth, face, large, space):
    """What `layers._search` gives, of groups chosen[first:last]; from `to` on."""
    a, b, p, code, own, (asked, hits) = space
    kept, corner = asked.kept, groups.corner
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


@kernel
def _search_some(groups, origin, step, screen, drawn, chosen, found, first, every):
    """Pieces first, first + every, ... of CORNERS corners."""
    counts, pixel, depth, face, large = found.count, found.pixel, found.depth, found.face, found.large
    box, space = groups.box, _room()
    for c in range(first, len(counts), every):
        to, at = c * CORNERS, c * PIECE
        last = at + _select(box, origin, step, screen, at, min(box.shape[1], at + PIECE), chosen)
        small, big = _search(groups, screen, drawn, chosen, at, last, to, pixel, depth, face, large, space)
        hits, big = count_large(drawn, screen.width, large, to, to + big)
        counts[c, 0], counts[c, 1], counts[c, 2] = hits, small, big


@kernel
def share(groups, origin, step, screen, chosen):
    """Which part of the groups has a column and a row of centres in their boxes, by every SAMPLE-th block of them;
    infinite where pixels are too far away for boxes to be told."""
    box, u, v = groups.box, (screen.axis + 1) % 3, (screen.axis + 2) % 3
    across = _farthest(u, origin, step, screen.left, screen.across)
    if not max(across, _farthest(v, origin, step, screen.top, screen.down)) < FAR:
        return np.inf
    asked = found = 0
    for first in range(0, box.shape[1], SAMPLE * LOOK):
        last = min(box.shape[1], first + LOOK)
        found += _select(box, origin, step, screen, first, last, chosen)
        asked += last - first
    return found / asked


@kernel(parallel=True)
def search(groups, origin, step, screen, drawn, most, low, high, chosen, found):
    """What `layers.search` gives, of groups with a column and a row of centres in their boxes; chosen (g,) is room.

    How many hits of large faces there are; where there are none, all hits as `layer_order.ordered` gives them. -1, and
    nothing, where the groups seem to be a larger part of all than `most`.
    """
    if share(groups, origin, step, screen, chosen) > most:
        return -1, ordered(found, 0, low, high)
    jobs = min(JOBS, len(found.count))
    for job in prange(jobs):
        _search_some(groups, origin, step, screen, drawn, chosen, found, job, jobs)
    large = _hits_of_large(found)
    return large, ordered(found, 0 if large else screen.width * screen.height, low, high)


@kernel
def _hits_of_large(found):
    return found.count[:, 0].sum()

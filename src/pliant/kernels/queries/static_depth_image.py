"""Groups of faces of a static body: sections of a strip, at most six faces each, with their corners and a bounding box.

Snapping is monotonic. Where the low and the high side of a box have passed the same number of columns of pixel centres,
or of rows, so have all corners of the group: it covers no centre, and nothing else of it is read. The sides of a box
are quantised to two bytes, in steps of the body's box; they are up to two steps outside the group.
"""

from typing import NamedTuple

import numpy as np

from ..geometry import raster_small
from ..geometry.raster_small import BLOCK, FOUR, ONE, ROW, SMALL, THREE, TWO, passed
from ..jit import kernel, prange
from .depth_image import CORNERS, FULL, HALF, TOP, count_large, snapped
from .depth_image_order import ordered

GROUP = 8  # corners: one coordinate of them fills a cache line
FACES = GROUP - 2  # per group at most
STEPS = 65_000  # across a body's box; two bytes allow a few more
BOXES = 256  # boxes per block
AT_ONCE = BLOCK // GROUP  # groups
PIECE = CORNERS // GROUP  # groups per piece
JOBS = 16  # tasks for threads, each with every 16th piece: visible groups are seldom evenly distributed
SAMPLE = 16  # every 16th block of boxes is sampled
FAR = 2.0**22  # pixels: boxes farther away than this cannot be used


class Groups(NamedTuple):
    """A static body divided into g groups: corner j of group i is entry FACES * i + j of the strip."""

    corner: np.ndarray  # (24g,) metres: for each group, one coordinate of all corners, then the next
    ends: np.ndarray  # (g,) unsigned; bit j is set where a face ends with corner j
    box: np.ndarray  # (6,g) unsigned; steps to the low sides, then to the high sides
    origin: np.ndarray  # (3,) metres: where steps are counted from
    step: np.ndarray  # (3,) metres


class BoxTest(NamedTuple):
    """Pixel centres passed along one axis, from box steps: scale * steps + low bounds it below, + high above."""

    axis: int
    scale: np.float32
    low: np.float32
    high: np.float32
    count: np.float32  # of centres


class Workspace(NamedTuple):
    """Workspace for a block of groups."""

    a: np.ndarray  # (BLOCK,) metres along axis + 1
    b: np.ndarray  # (BLOCK,) metres along axis + 2
    p: np.ndarray  # (BLOCK,) snapped coordinates, as in `Drawn`
    code: np.ndarray  # (BLOCK,) unsigned; columns and rows passed
    own: np.ndarray  # (BLOCK,) unsigned; 0, 1, 2, ...: the corners of a block are their own strip
    face_block: raster_small.FaceBlock
    hits: raster_small.Hits


@kernel
def group(strip, owner, x, groups):
    """Divide a strip with corners in x (n,3) into groups."""
    corner, ends, last, in_strips = groups.corner, groups.ends, len(strip), len(owner) > 0
    for g in range(len(ends)):
        bits = 0
        for j in range(GROUP):
            k = g * FACES + j
            v = strip[min(k, last - 1)]
            for c in range(3):
                corner[(g * 3 + c) * GROUP + j] = x[v, c]
            if j >= 2 and k < last and (owner[k] >= 0 if in_strips else k % 3 == 2):
                bits |= 1 << j
        ends[g] = bits
        _fit(groups, bits | bits >> 1 | bits >> 2, g)


@kernel
def _fit(groups, used, g):
    """Fit the box around the corners whose bits are set; without any, a box that contains no centre."""
    corner, origin, step, box = groups.corner, groups.origin, groups.step, groups.box
    for c in range(3):
        low, high, at = np.inf, -np.inf, (g * 3 + c) * GROUP
        for j in range(GROUP):
            if used >> j & 1:
                low, high = min(low, corner[at + j]), max(high, corner[at + j])
        # a hundredth of a step is far more than the rounding error of the quotient
        box[c, g] = np.int64((low - origin[c]) / step[c] - 0.01) if used else 0
        box[3 + c, g] = np.int64((high - origin[c]) / step[c] + 1.01) if used else 0


@kernel
def _farthest(groups, axis, edge, scale):
    """Upper bound, in pixels, of the distance from the first centre to any box."""
    return 65536.0 * abs(groups.step[axis] * scale) + abs((groups.origin[axis] - edge) * scale + 0.5)


@kernel
def _box_test(groups, axis, edge, scale, count):
    """Coefficients of the box test along an axis."""
    first = (groups.origin[axis] - edge) * scale + 0.5
    # how far corners may be moved: 1/8192 pixel by snapping, 1/4096 because a centre on a corner does not count, and
    # three roundings to 2^-24 of the sum
    slack = 2.0**-10 + _farthest(groups, axis, edge, scale) * 2.0**-21
    low, high = np.float32(first - slack), np.float32(first + slack)
    return BoxTest(axis, np.float32(groups.step[axis] * scale), low, high, np.float32(count))


@kernel
def _passes(low, high, test, first, last, seen):
    """Set seen[:last-first] where boxes first..last-1 have a centre between their sides."""
    nothing = np.float32(0.0)
    for g in range(np.uint64(last - first)):
        k = np.uint64(first) + g
        a = np.float32(np.int32(low[k])) * test.scale + test.low
        b = np.float32(np.int32(high[k])) * test.scale + test.high
        a, b = min(max(a, nothing), test.count), min(max(b, nothing), test.count)
        seen[g] = np.int32(a) != np.int32(b)


@kernel
def _select(groups, screen, first, last, kept):
    """Write groups whose boxes contain a column and a row of centres to kept from `first` on; return their number."""
    box, u, v = groups.box, (screen.axis + 1) % 3, (screen.axis + 2) % 3
    columns = _box_test(groups, u, screen.left, screen.across, screen.width)
    rows = _box_test(groups, v, screen.top, screen.down, screen.height)
    column, row, n = np.empty(BOXES, np.uint8), np.empty(BOXES, np.uint8), np.uint64(first)
    for start in range(first, last, BOXES):
        stop = min(last, start + BOXES)
        _passes(box[columns.axis], box[3 + columns.axis], columns, start, stop, column)
        _passes(box[rows.axis], box[3 + rows.axis], rows, start, stop, row)
        for g in range(np.uint64(stop - start)):
            kept[n] = np.uint64(start) + g
            n += np.uint64(column[g] & row[g])
    return np.int64(n) - first


@kernel
def _copy(x, k, y, to):
    """Copy one cache line; reading it whole before writing makes one transfer, and several are fetched at a time."""
    a, b, c, d = x[k], x[k + ONE], x[k + TWO], x[k + THREE]
    k, at = k + FOUR, to + FOUR
    e, f, g, h = x[k], x[k + ONE], x[k + TWO], x[k + THREE]
    y[to], y[to + ONE], y[to + TWO], y[to + THREE] = a, b, c, d
    y[at], y[at + ONE], y[at + TWO], y[at + THREE] = e, f, g, h


@kernel
def _project(corner, screen, chosen, first, last, space):
    """As `depth_image.project`, for the corners of groups chosen[first:last]; written from 0 on."""
    a, b, p, code = space.a, space.b, space.p, space.code
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
    """As `depth_image._between`, for the faces of groups[first:last]."""
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
def _fetch(corner, owner, axis, chosen, first, last, face, space):
    """As `depth_image._fetch`, for faces that end in the groups `chosen`."""
    in_strips, along, kept = len(owner) > 0, np.uint64(axis * GROUP), space.face_block.kept
    word, z = space.hits
    for n in range(last - first):
        k = np.uint64(kept[np.uint64(face[first + n]) & np.uint64(BLOCK - 1)])
        g, j = np.uint64(chosen[k // np.uint64(GROUP)]), k % np.uint64(GROUP)
        k, at = g * np.uint64(FACES) + j, g * np.uint64(3 * GROUP) + along + j
        word[n] = np.uint64(owner[k]) if in_strips else k // THREE << FOUR | FOUR
        z[n], z[ROW + n], z[ROW + ROW + n] = corner[at - TWO], corner[at - ONE], corner[at]


@kernel
def _keep_large(drawn, chosen, space, large, first, last):
    """Convert positions in the groups `chosen` to positions in the strip, in large[first:last], and copy the data of
    corners to the arrays for all corners.
    """
    strip, all_p, all_code, p, code = drawn.strip, drawn.p, drawn.code, space.p, space.code
    for m in range(first, last):
        k = large[m]
        large[m] = chosen[k // GROUP] * FACES + k % GROUP
        for i in range(3):
            v = strip[large[m] - i]
            all_p[v], all_code[v] = p[k - i], code[k - i]


@kernel
def _workspace():
    a, b, p, code = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint32)
    face_block, hits = raster_small.workspace()
    return Workspace(a, b, p, code, np.arange(BLOCK).astype(np.uint32), face_block, hits)


@kernel
def _search(groups, screen, drawn, chosen, to, found, space):
    """As `depth_image._search`, for the groups `chosen`; written from `to` on."""
    face_block, hits, face, large = space.face_block, space.hits, found.face, found.large
    kept, corner = face_block.kept, groups.corner
    n = big = np.uint64(to)
    for start in range(0, len(chosen), AT_ONCE):
        stop, before, others = min(len(chosen), start + AT_ONCE), n, big
        block = chosen[start:stop]
        _project(corner, screen, chosen, start, stop, space)
        count = _between(space.code, groups.ends, chosen, start, stop, kept)
        raster_small.fetch(space.own, space.p, kept, count, face_block.corner)
        raster_small.find_centres(
            face_block.corner, count, screen, face_block.pixel, face_block.edge_values, face_block.state
        )
        enough = n + np.uint64(SMALL * BLOCK) <= np.uint64(to + CORNERS)
        n, big = raster_small.take(kept, face_block.state, count, enough, n, face, large, big)
        _fetch(corner, drawn.owner, screen.axis, block, before, n, face, space)
        raster_small.fill(face_block, hits, screen.width, before, n, found.pixel, found.depth, face)
        _keep_large(drawn, block, space, large, np.int64(others), np.int64(big))
    return np.int64(n) - to, np.int64(big) - to


@kernel
def _search_some(groups, screen, drawn, chosen, found, first, every):
    """Process pieces first, first + every, ... of CORNERS corners."""
    counts, large, box, space = found.count, found.large, groups.box, _workspace()
    for c in range(first, len(counts), every):
        to, at = c * CORNERS, c * PIECE
        last = at + _select(groups, screen, at, min(box.shape[1], at + PIECE), chosen)
        small, big = _search(groups, screen, drawn, chosen[at:last], to, found, space)
        hits, big = count_large(drawn, screen.width, large, to, to + big)
        counts[c, 0], counts[c, 1], counts[c, 2] = hits, small, big


@kernel
def estimated_fraction(groups, screen, chosen):
    """Estimate the fraction of groups whose boxes contain a column and a row of centres, from every SAMPLE-th block;
    infinite if the body is too far from the screen for the boxes to be used.
    """
    box, u, v = groups.box, (screen.axis + 1) % 3, (screen.axis + 2) % 3
    across = _farthest(groups, u, screen.left, screen.across)
    if not max(across, _farthest(groups, v, screen.top, screen.down)) < FAR:
        return np.inf
    tested = found = 0
    for first in range(0, box.shape[1], SAMPLE * BOXES):
        last = min(box.shape[1], first + BOXES)
        found += _select(groups, screen, first, last, chosen)
        tested += last - first
    return found / tested


@kernel(parallel=True)
def search(groups, screen, drawn, most, low, high, chosen, found):
    """As `depth_image.search`, for groups whose boxes contain a column and a row of centres; chosen (g,) is workspace.

    Return the number of hits of large faces and, if there are none, all hits sorted as by `depth_image_order.ordered`.
    Return -1 and no hits where the estimated fraction of groups exceeds `most`.
    """
    if estimated_fraction(groups, screen, chosen) > most:
        return -1, ordered(found, 0, low, high)
    jobs = min(JOBS, len(found.count))
    for job in prange(jobs):
        _search_some(groups, screen, drawn, chosen, found, job, jobs)
    large = _hits_of_large(found)
    return large, ordered(found, 0 if large else screen.width * screen.height, low, high)


@kernel
def _hits_of_large(found):
    return found.count[:, 0].sum()

"""Faces that reach one or two pixel centres: which they cover, and at what depth.

Whether such a face covers a centre is unpredictable, so there is no branch: each candidate is written, and the index
advances only if it is a hit. Blocks are processed by loops that either fetch or compute: fetching loops
overlap many memory accesses, computing loops vectorise over many faces. Such a small face has corners within 2^15 of
its centres, so that 32 bits hold its edge functions.
"""

from typing import NamedTuple

import numpy as np

from ..jit import COMPILED, kernel
from .raster import REACH, SUB

SHIFT = 12  # SUB is 2^12
BEFORE = REACH * SUB  # added to snapped coordinates, so that they are never negative and two fit into one word
CENTRE = BEFORE + SUB // 2  # centre of pixel 0
BLOCK = 1024  # faces at a time: their data stays in the L1 cache
SMALL = 2  # centres that a small face reaches
APART = 16  # padding between rows of a block, against cache-line conflicts
ROW = np.uint64(SMALL * BLOCK + APART)
# bit i + 4 j is set if corners i, j and the third are oriented as in the strip
EVEN = np.uint64(1 << 4 | 1 << 9 | 1 << 2)
NEAR = 1 << 15
COVERS, COVERS_OTHER, LARGE = 1, 2, 4
WORD = np.int32 if COMPILED else np.int64  # plain Python warns about unused sums that overflow 32 bits
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class FaceBlock(NamedTuple):
    """Data of a block of faces."""

    kept: np.ndarray  # (BLOCK,) unsigned; position of the last corner of each face in a strip
    corner: np.ndarray  # (6,BLOCK and padding) columns and rows of their three corners, snapped, plus BEFORE
    pixel: np.ndarray  # (2*BLOCK,) the first centre that each face reaches, row << 16 | column; from BLOCK on, the last
    # (3*ROW,) edge functions at these centres: the one opposite to corner c, in strip order, from c * ROW on
    edge_values: np.ndarray
    state: np.ndarray  # (BLOCK,) COVERS (the first centre), COVERS_OTHER (the last), both, neither, or LARGE


class Hits(NamedTuple):
    """Data from which depths are computed."""

    word: np.ndarray  # (2*BLOCK,) faces and the order of their corners, as in `Drawn.owner`
    z: np.ndarray  # (3*ROW,) metres along the axis of corner c, in strip order, from c * ROW on


@kernel
def workspace():
    """Workspace for a block of faces, and for its hits."""
    kept, corner, state = np.empty(BLOCK, np.uint32), np.empty((6, BLOCK + APART), WORD), np.empty(BLOCK, WORD)
    face_block = FaceBlock(kept, corner, np.empty(SMALL * BLOCK, WORD), np.empty(3 * ROW, WORD), state)
    return face_block, Hits(np.empty(SMALL * BLOCK, np.int32), np.empty(3 * ROW))


@kernel
def passed(a, count):
    """How many of `count` centres lie before a snapped coordinate; a centre exactly on it is not counted."""
    return min(max(((a + (SUB // 2 - 1)) >> SHIFT) - REACH, 0), count)


@kernel
def _passed_32(a, count):
    """As `passed`, in words of 32 bits, so that loops over faces vectorise."""
    return WORD(min(max(WORD((WORD(a + WORD(SUB // 2 - 1)) >> WORD(SHIFT)) - WORD(REACH)), WORD(0)), WORD(count)))


@kernel
def fetch(strip, p, kept, count, corner):
    """Fetch the corners of faces that end at kept[:count]."""
    for m in range(count):
        k = np.uint64(kept[m])
        a, b, c = p[strip[k - TWO]], p[strip[k - ONE]], p[strip[k]]
        corner[0, m], corner[1, m], corner[2, m] = WORD(a & 0xFFFFFFFF), WORD(b & 0xFFFFFFFF), WORD(c & 0xFFFFFFFF)
        corner[3, m], corner[4, m], corner[5, m] = WORD(a >> 32), WORD(b >> 32), WORD(c >> 32)


@kernel
def _edge_function(ax, ay, bx, by):
    """Edge function of a-b at the centre to which both ends are relative."""
    return WORD(WORD(ax * by) - WORD(ay * bx))


@kernel
def _edge_functions(ax, ay, bx, by, cx, cy, column, row):
    """Edge functions of a face opposite to its corners, at the centre of a pixel."""
    x, y = WORD(WORD(column << SHIFT) + WORD(CENTRE)), WORD(WORD(row << SHIFT) + WORD(CENTRE))
    ax, bx, cx, ay, by, cy = WORD(ax - x), WORD(bx - x), WORD(cx - x), WORD(ay - y), WORD(by - y), WORD(cy - y)
    return _edge_function(bx, by, cx, cy), _edge_function(cx, cy, ax, ay), _edge_function(ax, ay, bx, by)


@kernel
def _side(u, v, w):
    """1 if the edge functions have one sign, 0 if not, LARGE if one is 0: the centre is on its line."""
    one_sign = WORD(WORD((u & v & w) | ~(u | v | w)) < 0)
    return WORD(LARGE) if (u == 0) | (v == 0) | (w == 0) else one_sign


@kernel
def find_centres(corner, count, screen, pixel, edge_values, state):
    """Find the centres that faces 0..count-1 cover; each has at least one column and row of centres in its range."""
    width, height = WORD(screen.width), WORD(screen.height)
    for m in range(np.uint64(count)):
        ax, bx, cx, ay, by, cy = corner[0, m], corner[1, m], corner[2, m], corner[3, m], corner[4, m], corner[5, m]
        x0, x1, y0, y1 = min(ax, bx, cx), max(ax, bx, cx), min(ay, by, cy), max(ay, by, cy)
        left, right = _passed_32(x0, width), WORD(_passed_32(x1, width) - WORD(1))
        low, high = _passed_32(y0, height), WORD(_passed_32(y1, height) - WORD(1))
        u, v, w = _edge_functions(ax, ay, bx, by, cx, cy, left, low)
        edge_values[m], edge_values[ROW + m], edge_values[ROW + ROW + m] = u, v, w
        first, o = _side(u, v, w), m + np.uint64(BLOCK)
        u, v, w = _edge_functions(ax, ay, bx, by, cx, cy, right, high)
        edge_values[o], edge_values[ROW + o], edge_values[ROW + ROW + o] = u, v, w
        more = WORD(WORD(right - left) + WORD(high - low))
        large = (more >= SMALL) | (WORD(x1 - x0) >= NEAR) | (WORD(y1 - y0) >= NEAR)
        both = WORD(first | WORD(_side(u, v, w) << WORD(1))) if more > 0 else first
        pixel[m], pixel[o] = WORD(WORD(low << WORD(16)) | left), WORD(WORD(high << WORD(16)) | right)
        state[m] = WORD(LARGE) if large | (both >= LARGE) else both


@kernel
def take(kept, state, count, enough, n, face, large, big):
    """Write hits of faces 0..count-1 to `face` from n on, as indices in the block, plus BLOCK for the second centre;
    large faces are appended to `large` from `big` on. Without `enough` space all count as large. Return n, big.
    """
    if not enough:
        for m in range(count):
            large[big + m] = kept[m]
        return n, big + count
    for m in range(count):
        s = np.uint64(state[m])
        face[n] = m
        n += s & ONE
        face[n] = m + np.uint64(BLOCK)
        n += s >> ONE & ONE
        if s >= FOUR:
            large[big] = kept[m]
            big += ONE
    return n, big


@kernel
def fill(face_block, hits, width, first, last, pixel, depth, face):
    """Convert hits, as written by `take` to face[first:last], to pixels, depths and faces (~face for exits)."""
    centre, edge_values, word, z = face_block.pixel, face_block.edge_values, hits.word, hits.z
    for n in range(last - first):
        both, w = np.uint64(face[first + n]), np.uint64(word[n])
        i, j = (w & THREE) * ROW, (w >> TWO & THREE) * ROW
        h, at = THREE * ROW - i - j, np.int64(centre[both])
        # edge functions in strip order differ from those of the face at most in sign, which cancels in the quotient
        area = np.int64(edge_values[both]) + np.int64(edge_values[ROW + both]) + np.int64(edge_values[ROW + ROW + both])
        a, b = edge_values[j + both] * (z[j + n] - z[i + n]), edge_values[h + both] * (z[h + n] - z[i + n])
        depth[first + n] = z[i + n] + (a + b) / area
        # a normal along the axis: the ray exits
        leaves = (area > 0) == (EVEN >> (w & np.uint64(15)) & ONE > 0)
        face[first + n] = np.int64(w >> FOUR) ^ -np.int64(leaves)
        pixel[first + n] = (at >> 16) * width + (at & 0xFFFF)

"""Layered depth images: all faces of a mesh under every pixel centre, sorted along the axis (Heidelberger, Teschner,
Gross 2003 and 2004; Teschner et al. 2005, section 6).

Coverage is that of `raster`: corners snapped to 1/4096 pixel, integer edge functions, the top-left rule. Columns count
along axis + 1, rows along axis + 2 (modulo 3), so that axis, column and row are right-handed.

Most faces of a fine mesh lie between pixel centres. Each vertex is therefore encoded by the number of columns and rows
of centres that it has passed, two numbers in one word: where three corners agree in either, the face covers nothing.
This test is exact, including the top-left rule, and reads one word per face if faces are in strips. Most of the other
faces reach one or two centres. Whether such a face covers them is unpredictable, so there is no branch: each possible
hit is written, and overwritten by the next one if it was none. Faces that reach more are processed row by row. A face
that covers a centre is an entry (the ray enters the body) or an exit; exits are written as ~face.
"""

from typing import NamedTuple

import numpy as np

from ..geometry import raster_small
from ..geometry.raster import REACH, SUB, Flat, side, span
from ..geometry.raster_small import BEFORE, BLOCK, FOUR, ONE, ROW, SMALL, THREE, TWO, passed
from ..jit import kernel, prange

LOW = (1 << 32) - 1  # mask of the coordinate along axis + 1
ROWS = 64  # vertices read before they are projected
VERTICES = 8192  # vertices per task of a thread
CORNERS = 8192  # strip corners per piece, and the space for hits of a piece
FULL = np.uint64(0x7FFF7FFF)  # carries into bits 15 and 31 of a word whose halves are not 0
HALF, TOP = np.uint64(16), np.uint64(31)
NARROW = 6  # columns up to which pixels are tested one by one


class Screen(NamedTuple):
    """Position and resolution of the image."""

    axis: int  # direction of the rays
    left: float  # metres, lower limit along axis + 1
    top: float  # metres, lower limit along axis + 2
    across: float  # pixels per metre along axis + 1
    down: float  # pixels per metre along axis + 2
    width: int  # columns, below 2^15
    height: int  # rows, below 2^15


class VertexBuffer(NamedTuple):
    """Vertex positions: coordinate k of vertex i is x[i * row + k * column]."""

    x: np.ndarray  # (3n,) metres
    row: np.uint64  # 3, or 1 if each coordinate is contiguous
    column: np.uint64


class Drawn(NamedTuple):
    """A mesh projected onto a screen."""

    faces: np.ndarray  # (m,3) unsigned: avoids the check for negative indices
    strip: np.ndarray  # (k,) unsigned; corners of faces, three consecutive ones each
    # (k,) 16 f + i + 4 j where a corner completes face f, whose first two are the i-th and j-th of the three that
    # end there; otherwise -1. Empty if strips are single faces
    owner: np.ndarray
    p: np.ndarray  # (n,) snapped coordinates of vertices, along axis + 2 and axis + 1
    code: np.ndarray  # (n,) unsigned; columns and rows passed


class Found(NamedTuple):
    """Results of the pieces of a strip, each in its own range."""

    count: np.ndarray  # (pieces,3) hits of large faces, hits of small faces, large faces
    pixel: np.ndarray  # (k,) of small faces
    depth: np.ndarray  # (k,) metres
    face: np.ndarray  # (k,) face, or ~face for exits
    large: np.ndarray  # (k,) faces


class Covered(NamedTuple):
    """Hits of large faces."""

    pixel: np.ndarray  # (k,)
    depth: np.ndarray  # (k,) metres
    face: np.ndarray  # (k,) face, or ~face for exits


@kernel
def snapped(a):
    """`raster.snap`, up to ties, for numbers that are not nan, plus BEFORE; without branches or calls of floor."""
    return np.int64(min(max(a, -float(REACH)), float(REACH)) * SUB + (BEFORE + 0.5))


@kernel
def _project(vertices, screen, first, last, p, code):
    x, row, column = vertices.x, vertices.row, vertices.column
    u, v = np.uint64((screen.axis + 1) % 3) * column, np.uint64((screen.axis + 2) % 3) * column
    rows, a, b = np.empty(3 * ROWS), np.empty(ROWS), np.empty(ROWS)
    for start in range(np.uint64(first), np.uint64(last), np.uint64(ROWS)):
        count = min(np.uint64(ROWS), np.uint64(last) - start)
        if row == THREE:
            # sequential reads first: reading every third number takes twice as long if it is not cached
            for i in range(count * THREE):
                rows[i] = x[start * THREE + i]
            for i in range(count):
                a[i], b[i] = rows[i * THREE + u], rows[i * THREE + v]
        else:
            for i in range(count):
                a[i], b[i] = x[start + i + u], x[start + i + v]
        for i in range(count):
            s, t = snapped((a[i] - screen.left) * screen.across), snapped((b[i] - screen.top) * screen.down)
            p[start + i] = s | t << 32
            code[start + i] = passed(s, screen.width) << 16 | passed(t, screen.height)


@kernel(parallel=True)
def project(vertices, screen, p, code):
    """Fill p (n,) with the snapped positions of vertices, and code (n,) with the columns and rows they passed."""
    for c in prange(-(-len(p) // VERTICES)):
        _project(vertices, screen, c * VERTICES, min(len(p), (c + 1) * VERTICES), p, code)


@kernel
def _between(strip, code, first, last, kept):
    """Write to `kept` the ends of the faces that have a column and a row of pixel centres between their corners; return
    their number.
    """
    b = code[strip[max(first - 1, 0)]]
    n, before = np.uint64(0), np.uint64(b ^ code[strip[max(first - 2, 0)]])
    for k in range(np.uint64(first), np.uint64(last)):
        a, b = b, code[strip[k]]
        step = np.uint64(a ^ b)
        t = (before | step) + FULL
        kept[n] = k
        n += (t & (t << HALF)) >> TOP
        before = step
    return n


@kernel
def _box(a, b, c):
    """Columns (first, stop) and rows (first, stop) of the centres that a face with these corner codes reaches."""
    i, j, k = np.int64(a & 0xFFFF), np.int64(b & 0xFFFF), np.int64(c & 0xFFFF)
    a, b, c = np.int64(a >> 16), np.int64(b >> 16), np.int64(c >> 16)
    return min(a, b, c), max(a, b, c), min(i, j, k), max(i, j, k)


@kernel
def _centred(p, row, column):
    """Snapped position relative to a pixel centre."""
    return (p & LOW) - (column * SUB + (BEFORE + SUB // 2)), (p >> 32) - (row * SUB + (BEFORE + SUB // 2))


@kernel
def _edge_function(a, b):
    """Edge function of a-b, exact, at the centre to which both ends are relative."""
    return a[0] * b[1] - a[1] * b[0]


@kernel
def _span(p, q, r, row, width):
    """Columns (start, stop) of a row that a face with these corners covers."""
    a, b, c = _centred(p, 0, 0), _centred(q, 0, 0), _centred(r, 0, 0)
    area, h = side(a[0], a[1], b[0], b[1], c[0], c[1]), SUB // 2
    facing = -1 if area > 0 else 1
    t = Flat(a[0] + h, a[1] + h, b[0] + h, b[1] + h, c[0] + h, c[1] + h, facing, abs(area))
    return (0, 0) if area == 0 else span(t, row, width)


@kernel
def _owns(a, b, c, facing):
    """Whether a pixel centre with edge function c (positive inside) is inside edge a-b, by the top-left rule."""
    dx, dy = -facing * (b[0] - a[0]), -facing * (b[1] - a[1])
    return c > 0 or (c == 0 and (dy < 0 or (dy == 0 and dx > 0)))


@kernel
def _covers(a, b, c):
    """Whether corners a, b, c (relative to a pixel centre, any orientation) cover it, by the top-left rule."""
    u, v, w = _edge_function(a, b), _edge_function(b, c), _edge_function(c, a)
    low, high = min(u, v, w), max(u, v, w)
    if (low != 0) & (high != 0):
        return (low > 0) | (high < 0)
    facing = -1 if high > 0 else 1
    return _owns(a, b, -facing * u, facing) and _owns(b, c, -facing * v, facing) and _owns(c, a, -facing * w, facing)


@kernel
def _keep_face_ends(owner, kept, count):
    """Keep those of kept[:count] at which a face ends; return their number."""
    n, in_strips = np.uint64(0), len(owner) > 0
    for m in range(count):
        k = np.uint64(kept[m])
        kept[n] = k
        n += np.uint64(owner[k] >= 0 if in_strips else k % THREE == TWO)
    return n


@kernel
def _layer(a, b, c, z, f):
    """Depth of the face's plane at the pixel centre, exact for constant depth; and the face, or ~face for an exit."""
    v, w = _edge_function(c, a), _edge_function(a, b)
    area = v + w + _edge_function(b, c)
    # a normal along the axis: the ray exits
    return z[0] + (v * (z[1] - z[0]) + w * (z[2] - z[0])) / area, ~f if area > 0 else f


@kernel
def _fetch(vertices, axis, drawn, kept, first, last, face, hits):
    """Fetch for hits face[first:last] the words of their faces, and the corner depths in strip order."""
    strip, owner, in_strips, word, z = drawn.strip, drawn.owner, len(drawn.owner) > 0, hits.word, hits.z
    x, scale, axis = vertices.x, vertices.row, np.uint64(axis) * vertices.column
    for n in range(last - first):
        k = np.uint64(kept[np.uint64(face[first + n]) & np.uint64(BLOCK - 1)])
        word[n] = np.uint64(owner[k]) if in_strips else k // THREE << FOUR | FOUR
        z[n] = x[strip[k - TWO] * scale + axis]
        z[ROW + n] = x[strip[k - ONE] * scale + axis]
        z[ROW + ROW + n] = x[strip[k] * scale + axis]


@kernel
def _search(vertices, screen, drawn, first, last, found):
    """Write the hits of small faces that end at first..last-1 of the strip to `found` from `first` on, and other faces
    to its `large` from `first` on. Return both numbers.
    """
    strip, owner, p, code = drawn.strip, drawn.owner, drawn.p, drawn.code
    face, large = found.face, found.large
    face_block, hits = raster_small.workspace()
    n = big = np.uint64(first)
    for start in range(max(first, 2), last, BLOCK):
        before, count = n, _between(strip, code, start, min(last, start + BLOCK), face_block.kept)
        count = _keep_face_ends(owner, face_block.kept, count)
        raster_small.fetch(strip, p, face_block.kept, count, face_block.corner)
        raster_small.find_centres(
            face_block.corner, count, screen, face_block.pixel, face_block.edge_values, face_block.state
        )
        enough = n + np.uint64(SMALL * BLOCK) <= np.uint64(first + CORNERS)
        n, big = raster_small.take(face_block.kept, face_block.state, count, enough, n, face, large, big)
        _fetch(vertices, screen.axis, drawn, face_block.kept, before, n, face, hits)
        raster_small.fill(face_block, hits, screen.width, before, n, found.pixel, found.depth, face)
    return np.int64(n) - first, np.int64(big) - first


@kernel
def count_large(drawn, width, large, first, last):
    """Count the pixels that the faces ending at large[first:last] cover, and move faces that cover any to the front;
    return the numbers of pixels and of such faces.
    """
    faces, owner, p, code, total, n = drawn.faces, drawn.owner, drawn.p, drawn.code, 0, first
    for m in range(first, last):
        f = owner[large[m]] >> 4 if len(owner) else large[m] // 3
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        left, right, low, high = _box(code[i], code[j], code[k])
        found = 0
        if right - left <= NARROW:
            # one loop over all pixels of the box: each loop of unpredictable length costs more than its work
            row, column = low, left
            for _ in range((right - left) * (high - low)):
                a, b, c = _centred(p[i], row, column), _centred(p[j], row, column), _centred(p[k], row, column)
                found += np.int64(_covers(a, b, c))
                column += 1
                row, column = (row + 1, left) if column == right else (row, column)
        else:
            for row in range(low, high):
                start, stop = _span(p[i], p[j], p[k], row, width)
                found += max(0, stop - start)
        large[n] = f
        n += 1 if found else 0
        total += found
    return total, n - first


@kernel(parallel=True)
def search(vertices, screen, drawn, found):
    """Find covered pixels, piece by piece of the strip: hits of small faces, and the number of hits of large ones."""
    counts = found.count
    for c in prange(len(counts)):
        first, last = c * CORNERS, min(len(drawn.strip), (c + 1) * CORNERS)
        small, big = _search(vertices, screen, drawn, first, last, found)
        hits, big = count_large(drawn, screen.width, found.large, first, first + big)
        counts[c, 0], counts[c, 1], counts[c, 2] = hits, small, big


@kernel
def _fill(vertices, screen, drawn, large, to, covered):
    """Write the hits of the faces `large` (k,) from `to` on."""
    faces, p, code, width = drawn.faces, drawn.p, drawn.code, screen.width
    pixel, depth, face = covered.pixel, covered.depth, covered.face
    x, scale, axis = vertices.x, vertices.row, np.uint64(screen.axis) * vertices.column
    for m in range(len(large)):
        f = large[m]
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        z = x[i * scale + axis], x[j * scale + axis], x[k * scale + axis]
        left, right, low, high = _box(code[i], code[j], code[k])
        narrow = right - left <= NARROW
        for row in range(low, high):
            start, stop = (left, right) if narrow else _span(p[i], p[j], p[k], row, width)
            for column in range(start, stop):
                a, b, c = _centred(p[i], row, column), _centred(p[j], row, column), _centred(p[k], row, column)
                if not narrow or _covers(a, b, c):
                    pixel[to] = row * width + column
                    depth[to], face[to] = _layer(a, b, c, z, f)
                    to += 1


@kernel(parallel=True)
def fill(vertices, screen, drawn, found, start, covered):
    """Write the hits of large faces, piece by piece from start (pieces,) on."""
    counts, large = found.count, found.large
    for c in prange(len(start)):
        first = c * CORNERS
        _fill(vertices, screen, drawn, large[first : first + counts[c, 2]], start[c], covered)

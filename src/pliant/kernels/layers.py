"""Layered depth images: under every pixel centre all the faces of a mesh, sorted along the axis (Heidelberger,
Teschner, Gross 2003 and 2004; Teschner et al. 2005, section 6).

Coverage is that of `raster`: corners snapped to 1/4096 pixel, whole-number edge functions, the top-left rule. Columns
count along axis + 1, rows along axis + 2 (modulo 3), so that axis, column and row are right-handed.

Most faces of a fine mesh lie between pixel centres. A vertex is therefore told apart by how many columns and rows of
centres it has passed, two numbers in one word: where three corners agree in either, the face covers nothing. That is
exact, top-left rule included, and all that is read of such a face. A face that covers something is an entry (the axis
runs into the body) or an exit; exits are written as ~face.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel, prange
from .raster import REACH, SUB, flat, side, span

SHIFT = 12  # SUB is 2^12
FACES = 8192  # in a piece of work; pieces do not depend on threads
PIXELS = 512
NARROW = 6  # columns, up to which pixels are asked one by one


class Screen(NamedTuple):
    """Where the pixels are."""

    axis: int  # along which the rays go
    left: float  # metres, the low border along axis + 1
    top: float  # metres, the low border along axis + 2
    across: float  # pixels a metre, along axis + 1
    down: float  # and along axis + 2
    width: int  # columns
    height: int  # rows


@kernel
def _snapped(a):
    """What `raster.snap` gives, up to ties, of what is not nan; without a branch or a call of floor."""
    return np.int64(min(max(a, -float(REACH)), float(REACH)) * SUB + (REACH * SUB + 0.5)) - REACH * SUB


@kernel
def _passed(a, count):
    """How many of `count` centres lie before a snapped coordinate; one exactly on it does not."""
    return min(max((a + (SUB // 2 - 1)) >> SHIFT, 0), count)


@kernel
def _project(x, screen, first, last, p, code):
    u, v = (screen.axis + 1) % 3, (screen.axis + 2) % 3
    for i in range(first, last):
        a = _snapped((x[i, u] - screen.left) * screen.across)
        b = _snapped((x[i, v] - screen.top) * screen.down)
        p[i, 0], p[i, 1] = a, b
        code[i] = _passed(a, screen.width) << 16 | _passed(b, screen.height)


@kernel(parallel=True)
def project(x, screen, p, code):
    """Into p (n,2) the snapped places of vertices x (n,3), into code (n,) how many columns and rows they passed."""
    for c in prange(-(-len(x) // FACES)):
        _project(x, screen, c * FACES, min(len(x), (c + 1) * FACES), p, code)


@kernel
def _between(faces, code, first, last, kept):
    """Into kept[first:] the faces that lie around a pixel centre's column and row; their number."""
    n = first
    for f in range(first, last):
        a = code[faces[f, 0]]
        t = (a ^ code[faces[f, 1]]) | (a ^ code[faces[f, 2]])
        kept[n] = f
        n += 1 if ((t & 0xFFFF) != 0) & ((t >> 16) != 0) else 0
    return n - first


@kernel
def _box(a, b, c):
    """Columns (first, stop) and rows (first, stop) whose centres a face with corners of these codes reaches."""
    i, j, k = np.int64(a & 0xFFFF), np.int64(b & 0xFFFF), np.int64(c & 0xFFFF)
    a, b, c = np.int64(a >> 16), np.int64(b >> 16), np.int64(c >> 16)
    return min(a, b, c), max(a, b, c), min(i, j, k), max(i, j, k)


@kernel
def _span(p, faces, f, row, width):
    t = flat(p, faces, f)
    return (0, 0) if t.facing == 0 else span(t, row, width)


@kernel
def _owns(ax, ay, bx, by, c, facing):
    """Whether a pixel centre with edge function c (positive inside) belongs to the side of edge a-b: on it, to a top
    or left edge only."""
    dx, dy = -facing * (bx - ax), -facing * (by - ay)
    return c > 0 or (c == 0 and (dy < 0 or (dy == 0 and dx > 0)))


@kernel
def _covers(a, b, c, row, column):
    """Whether corners a, b, c (snapped, any turn) cover a pixel centre, by the top-left rule."""
    x, y = column * SUB + SUB // 2, row * SUB + SUB // 2
    u = side(a[0], a[1], b[0], b[1], x, y)
    v = side(b[0], b[1], c[0], c[1], x, y)
    w = side(c[0], c[1], a[0], a[1], x, y)
    low, high = min(u, v, w), max(u, v, w)
    if (low != 0) & (high != 0):
        return (low > 0) | (high < 0)
    if low == high:
        return False
    facing = -1 if high > 0 else 1
    return (
        _owns(a[0], a[1], b[0], b[1], -facing * u, facing)
        and _owns(b[0], b[1], c[0], c[1], -facing * v, facing)
        and _owns(c[0], c[1], a[0], a[1], -facing * w, facing)
    )


@kernel
def _count(p, code, faces, width, kept, first, last, only):
    """How many pixels the faces kept[first:last] cover; those that cover one move to the front, their number.

    Into `only` the pixel of a face that covers a single one, else -1.
    """
    total, n = 0, first
    for m in range(first, last):
        f = kept[m]
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        a, b, c = (p[i, 0], p[i, 1]), (p[j, 0], p[j, 1]), (p[k, 0], p[k, 1])
        left, right, low, high = _box(code[i], code[j], code[k])
        found, pixel = 0, -1
        if right - left <= NARROW:
            # one loop over all pixels of the box: each loop whose length cannot be foreseen costs more than its work
            row, column = low, left
            for _ in range((right - left) * (high - low)):
                covers = _covers(a, b, c, row, column)
                pixel = row * width + column if covers else pixel
                found += 1 if covers else 0
                column += 1
                row, column = (row + 1, left) if column == right else (row, column)
        else:
            for row in range(low, high):
                start, stop = _span(p, faces, f, row, width)
                pixel = row * width + start if stop > start else pixel
                found += max(0, stop - start)
        kept[n], only[n] = f, pixel if found == 1 else -1
        n += 1 if found else 0
        total += found
    return total, n - first


@kernel(parallel=True)
def count(p, code, faces, width, kept, only, found):
    """Into kept (m,) the faces of each piece that cover a pixel, into found (pieces,2) how many pixels and faces."""
    for c in prange(len(found)):
        first, last = c * FACES, min(len(faces), (c + 1) * FACES)
        around = _between(faces, code, first, last, kept)
        found[c, 0], found[c, 1] = _count(p, code, faces, width, kept, first, first + around, only)


@kernel
def _depth(a, b, c, z, row, column):
    """Of the face's plane over a pixel centre; exact where it has one depth."""
    x, y = column * SUB + SUB // 2, row * SUB + SUB // 2
    v, w = side(c[0], c[1], a[0], a[1], x, y), side(a[0], a[1], b[0], b[1], x, y)
    area = v + w + side(b[0], b[1], c[0], c[1], x, y)
    return z[0] + (v * (z[1] - z[0]) + w * (z[2] - z[0])) / area


@kernel
def _fill(x, screen, p, code, faces, kept, only, first, last, to, pixel, depth, face):
    axis, width = screen.axis, screen.width
    for m in range(first, last):
        f = kept[m]
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        a, b, c = (p[i, 0], p[i, 1]), (p[j, 0], p[j, 1]), (p[k, 0], p[k, 1])
        z = (x[i, axis], x[j, axis], x[k, axis])
        # a normal that points along the axis: the ray leaves
        mark = ~f if side(a[0], a[1], b[0], b[1], c[0], c[1]) > 0 else f
        if only[m] >= 0:
            row, column = only[m] // width, only[m] % width
            pixel[to], depth[to], face[to] = only[m], _depth(a, b, c, z, row, column), mark
            to += 1
            continue
        left, right, low, high = _box(code[i], code[j], code[k])
        narrow = right - left <= NARROW
        for row in range(low, high):
            start, stop = (left, right) if narrow else _span(p, faces, f, row, width)
            for column in range(start, stop):
                if not narrow or _covers(a, b, c, row, column):
                    pixel[to], depth[to], face[to] = row * width + column, _depth(a, b, c, z, row, column), mark
                    to += 1


@kernel(parallel=True)
def fill(x, screen, p, code, faces, kept, only, found, start, pixel, depth, face):
    """What `count` counted, piece after piece from start (pieces,) on: pixel, depth (m) and marked face of each hit."""
    for c in prange(len(found)):
        first = c * FACES
        last = first + found[c, 1]
        _fill(x, screen, p, code, faces, kept, only, first, last, start[c], pixel, depth, face)


@kernel
def gather(pixel, depth, face, start, depth_out, face_out):
    """Hits in the order of their pixels: pixel k has start[k]:start[k+1]. start (pixels+2,) begins as zeros."""
    for m in range(len(pixel)):
        start[pixel[m] + 2] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for m in range(len(pixel)):
        to = start[pixel[m] + 1]
        depth_out[to], face_out[to] = depth[m], face[m]
        start[pixel[m] + 1] = to + 1


@kernel
def _before(z, f, depth, face):
    """Nearer; at one depth entries come first, then lower faces."""
    if z != depth:
        return z < depth
    if (f < 0) != (face < 0):
        return f >= 0
    return (f if f >= 0 else ~f) < (face if face >= 0 else ~face)


@kernel
def _sort(start, first, last, depth, face):
    for k in range(first, last):
        for m in range(start[k] + 1, start[k + 1]):
            z, f, to = depth[m], face[m], m
            while to > start[k] and _before(z, f, depth[to - 1], face[to - 1]):
                depth[to], face[to] = depth[to - 1], face[to - 1]
                to -= 1
            depth[to], face[to] = z, f


@kernel(parallel=True)
def sort(start, depth, face):
    """Layers along the axis in every pixel; they are few, so by insertion."""
    n = len(start) - 2
    for c in prange(-(-n // PIXELS)):
        _sort(start, c * PIXELS, min(n, (c + 1) * PIXELS), depth, face)

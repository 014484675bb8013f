"""What layers mean: stretches of the axis inside one body or inside two, and how sure that is of the whole pixel.

A pixel speaks for its square by its centre. Where no face of a body comes into the square at some depth, the body is
there everywhere or nowhere; the stretches of the axis that faces do come into, as they lie over the square, are in
doubt. So the truth lies between the stretches that are sure and those that are possible.
"""

import numpy as np

from .jit import kernel, prange
from .raster import SUB, side

PIXELS = 256  # a thread takes at a time


@kernel
def _squares(a, b, c, count):
    """Squares (first, stop) of 0..count-1 that snapped coordinates reach, with one step to spare for the snapping."""
    return max((min(a, b, c) - 1) // SUB, 0), min((max(a, b, c) + 1) // SUB + 1, count)


@kernel
def _misses(ax, ay, bx, by, facing, x, y):
    """Whether the square around a centre, a step wider, lies beyond the edge a-b."""
    reach = (abs(bx - ax) + abs(by - ay)) * (SUB // 2 + 1)
    return -facing * side(ax, ay, bx, by, x, y) + reach < 0


@kernel
def _doubt(a, b, c, row, column, margin):
    """Depths (low, high) that the face abc, places in pixels, can have over a square; never too narrow."""
    low, high = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    # a plane that is nearly along the rays has no slope to rely on
    if abs(nz) > 1e-9 * (abs(ux) + abs(uy)) * (abs(vx) + abs(vy)):
        middle = a[2] - (nx * (column + 0.5 - a[0]) + ny * (row + 0.5 - a[1])) / nz
        reach = (abs(nx) + abs(ny)) / abs(nz) * (0.5 + 2.0 / SUB) * (1.0 + 1e-6)
        low, high = max(low, middle - reach), min(high, middle + reach)
    return low - margin, high + margin


@kernel
def doubts(x, screen, p, faces, box, first, last, count, pixel, low, high):
    """Depths that faces first..last-1 come to over the squares of the screen, between box (2,); how many they are.

    Written where there is room for `count`: pixel, low, high (m) of each.
    """
    u, v, axis, n = (screen.axis + 1) % 3, (screen.axis + 2) % 3, screen.axis, 0
    margin = 1e-13 * max(abs(box[0]), abs(box[1]), abs(box[1] - box[0]))
    for f in range(first, last):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, ay, bx, by, cx, cy = p[i, 0], p[i, 1], p[j, 0], p[j, 1], p[k, 0], p[k, 1]
        left, right = _squares(ax, bx, cx, screen.width)
        top, bottom = _squares(ay, by, cy, screen.height)
        if left >= right or top >= bottom:
            continue
        a = ((x[i, u] - screen.left) * screen.across, (x[i, v] - screen.top) * screen.down, x[i, axis])
        b = ((x[j, u] - screen.left) * screen.across, (x[j, v] - screen.top) * screen.down, x[j, axis])
        c = ((x[k, u] - screen.left) * screen.across, (x[k, v] - screen.top) * screen.down, x[k, axis])
        if min(a[2], b[2], c[2]) > box[1] + margin or max(a[2], b[2], c[2]) < box[0] - margin:
            continue
        area = side(ax, ay, bx, by, cx, cy)
        facing = -1 if area > 0 else (1 if area < 0 else 0)
        for row in range(top, bottom):
            for column in range(left, right):
                sx, sy = column * SUB + SUB // 2, row * SUB + SUB // 2
                if facing != 0 and (
                    _misses(ax, ay, bx, by, facing, sx, sy)
                    or _misses(bx, by, cx, cy, facing, sx, sy)
                    or _misses(cx, cy, ax, ay, facing, sx, sy)
                ):
                    continue
                z_0, z_1 = _doubt(a, b, c, row, column, margin)
                if z_0 <= z_1 and z_0 <= box[1] and z_1 >= box[0]:
                    if n < count:
                        pixel[n], low[n], high[n] = row * screen.width + column, max(z_0, box[0]), min(z_1, box[1])
                    n += 1
    return n


@kernel(parallel=True)
def all_doubts(x, screen, p, faces, box, size, start, count, pixel, low, high):
    """`doubts` of pieces of `size` faces, from start (pieces,) on, with room for count (pieces,), which becomes how
    many there are."""
    for c in prange(len(count)):
        first, last, to, n = c * size, min(len(faces), (c + 1) * size), start[c], count[c]
        here = (pixel[to : to + n], low[to : to + n], high[to : to + n])
        count[c] = doubts(x, screen, p, faces, box, first, last, n, here[0], here[1], here[2])


@kernel
def gather_doubts(pixel, low, high, start, out):
    """Stretches in the order of their pixels into out (n,2); those of pixel k are start[k]:start[k+1]. start
    (pixels+2,) begins as zeros."""
    for m in range(len(pixel)):
        start[pixel[m] + 2] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for m in range(len(pixel)):
        to = start[pixel[m] + 1]
        out[to, 0], out[to, 1] = low[m], high[m]
        start[pixel[m] + 1] = to + 1


@kernel
def _unite(doubt, first, last):
    """Stretches first..last-1 as few that are apart, in order, in the same place; the row after them."""
    stop = first
    for m in range(first, last):
        low, high, at = doubt[m, 0], doubt[m, 1], stop
        while at > first and doubt[at - 1, 1] >= low:
            at -= 1
        through = at
        while through < stop and doubt[through, 0] <= high:
            low, high = min(low, doubt[through, 0]), max(high, doubt[through, 1])
            through += 1
        # rows at..through-1 become one; what lies behind them moves by as many as there are less
        shift = 1 - (through - at)
        if shift > 0:
            for k in range(stop - 1, through - 1, -1):
                doubt[k + 1, 0], doubt[k + 1, 1] = doubt[k, 0], doubt[k, 1]
        elif shift < 0:
            for k in range(through, stop):
                doubt[k + shift, 0], doubt[k + shift, 1] = doubt[k, 0], doubt[k, 1]
        doubt[at, 0], doubt[at, 1] = low, high
        stop += shift
    return stop


@kernel(parallel=True)
def unite(start, doubt, stop):
    """Into stop (pixels,) where the united stretches of each pixel end."""
    for c in prange(-(-len(stop) // PIXELS)):
        for k in range(c * PIXELS, min(len(stop), (c + 1) * PIXELS)):
            stop[k] = _unite(doubt, start[k], start[k + 1])


@kernel
def _meet(z_a, f_a, u_a, z_b, f_b, u_b, box, least, at, room, out):
    """One pixel: layers (depth, face) and doubts of two bodies. Metres in both, surely and possibly, and stretches.

    Stretches longer than `least` go to rows at.. of out (m,2) while there is room; their number comes last.
    """
    i, j, k, m = 0, 0, 0, 0
    w_a, w_b, z, since, n = 0, 0, box[0], np.nan, 0
    both, sure, possible = 0.0, 0.0, 0.0
    while True:
        to = box[1]
        to = min(to, z_a[i]) if i < len(z_a) else to
        to = min(to, z_b[j]) if j < len(z_b) else to
        to = min(to, u_a[k >> 1, k & 1]) if k < 2 * len(u_a) else to
        to = max(z, min(to, u_b[m >> 1, m & 1]) if m < 2 * len(u_b) else to)
        doubt_a, doubt_b, step = k & 1 == 1, m & 1 == 1, to - z
        both += step if w_a > 0 and w_b > 0 else 0.0
        sure += step if w_a > 0 and w_b > 0 and not doubt_a and not doubt_b else 0.0
        possible += step if (w_a > 0 or doubt_a) and (w_b > 0 or doubt_b) else 0.0
        z, was = to, w_a > 0 and w_b > 0
        if z >= box[1]:
            break
        while i < len(z_a) and z_a[i] <= z:
            w_a += 1 if f_a[i] >= 0 else -1
            i += 1
        while j < len(z_b) and z_b[j] <= z:
            w_b += 1 if f_b[j] >= 0 else -1
            j += 1
        while k < 2 * len(u_a) and u_a[k >> 1, k & 1] <= z:
            k += 1
        while m < 2 * len(u_b) and u_b[m >> 1, m & 1] <= z:
            m += 1
        now = w_a > 0 and w_b > 0
        if now and not was:
            since = z
        if was and not now and z - since > least:
            if n < room:
                out[at + n, 0], out[at + n, 1] = since, z
            n += 1
    if was and box[1] - since > least:
        if n < room:
            out[at + n, 0], out[at + n, 1] = since, box[1]
        n += 1
    return both, sure, possible, n


@kernel(parallel=True)
def meet(start_a, z_a, f_a, from_a, to_a, u_a, start_b, z_b, f_b, from_b, to_b, u_b, box, least, lengths, first, out):
    """Into lengths (pixels,4) metres in both bodies: as the centre says, surely, possibly; and the number of stretches,
    which go from first (pixels+1,) on into out (m,2)."""
    for c in prange(-(-len(lengths) // PIXELS)):
        for k in range(c * PIXELS, min(len(lengths), (c + 1) * PIXELS)):
            a, b = slice(start_a[k], start_a[k + 1]), slice(start_b[k], start_b[k + 1])
            if start_a[k + 1] == start_a[k] and from_a[k] == to_a[k]:
                continue
            if start_b[k + 1] == start_b[k] and from_b[k] == to_b[k]:
                continue
            in_a, in_b = u_a[from_a[k] : to_a[k]], u_b[from_b[k] : to_b[k]]
            room = first[k + 1] - first[k]
            found = _meet(z_a[a], f_a[a], in_a, z_b[b], f_b[b], in_b, box, least, first[k], room, out)
            lengths[k, 0], lengths[k, 1], lengths[k, 2], lengths[k, 3] = found


@kernel
def stretches(start, depth, face, least, shortest, first, out, pixel):
    """Where a body is wound around `least` times or more, for longer than `shortest`: how many stretches.

    Into out (m,3) the depths (m) and how far it is wound at most, and pixel (m,), while there is room.
    """
    n = first
    for k in range(len(start) - 2):
        w, most, since = 0, 0, 0.0
        for m in range(start[k], start[k + 1]):
            before = w
            w += 1 if face[m] >= 0 else -1
            if w >= least and before < least:
                since, most = depth[m], w
            most = max(most, w)
            if w < least and before >= least and depth[m] - since > shortest:
                if n < len(out):
                    out[n, 0], out[n, 1], out[n, 2], pixel[n] = since, depth[m], most, k
                n += 1
    return n


@kernel(parallel=True)
def inside(screen, start, depth, face, points, found):
    """Into found (n,) how often the layers wind around points (n,3), each taken to the centre of its pixel."""
    u, v, axis = (screen.axis + 1) % 3, (screen.axis + 2) % 3, screen.axis
    for c in prange(-(-len(points) // PIXELS)):
        for i in range(c * PIXELS, min(len(points), (c + 1) * PIXELS)):
            a, b = (points[i, u] - screen.left) * screen.across, (points[i, v] - screen.top) * screen.down
            w = 0
            if 0.0 <= a < screen.width and 0.0 <= b < screen.height:
                k = int(b) * screen.width + int(a)
                for m in range(start[k], start[k + 1]):
                    if depth[m] > points[i, axis]:
                        break
                    w += 1 if face[m] >= 0 else -1
            found[i] = w

"""Evaluate layered depth images: intervals of the axis inside one body or inside two, and error bounds over each pixel.

Each pixel is represented by the ray through its centre. Where no face of a body lies over the pixel square at some
depth, the body covers the square there entirely or not at all. Depth intervals with faces over the square are
uncertain; but where only faces of one body occur, the volume below them is known: the sum of their heights times their
areas over the square, exits minus entries. Only intervals with faces of both bodies remain uncertain, along the curve
where the surfaces intersect.
"""

from typing import NamedTuple

import numpy as np

from ..geometry.raster import SUB, side
from ..jit import kernel, prange

PIXELS = 256  # per task of a thread


class Seen(NamedTuple):
    """Layers and uncertain intervals of a body."""

    start: np.ndarray  # (pixels+2,) start of the layers of each pixel
    depth: np.ndarray  # (k,) metres, ascending in each pixel
    face: np.ndarray  # (k,) the face; ~face where the ray exits
    first: np.ndarray  # (pixels,) start of the uncertain intervals of each pixel
    last: np.ndarray  # (pixels,) their end
    uncertain: np.ndarray  # (m,4) lowest and highest depth, area, area times height, by `uncertain_intervals`
    simple: bool  # the body does not overlap itself, so that the volume below its faces is its own


class Ray(NamedTuple):
    """Layers and uncertain intervals of a body along the ray of one pixel."""

    depth: np.ndarray  # (k,) metres, ascending
    face: np.ndarray  # (k,)
    uncertain: np.ndarray  # (m,4)
    simple: bool


class Projected(NamedTuple):
    """A mesh, and its projection onto a screen."""

    x: np.ndarray  # (n,3) vertices, metres
    p: np.ndarray  # (n,2) their snapped pixel coordinates
    faces: np.ndarray  # (m,3)


class Common(NamedTuple):
    """What two bodies have in common along the ray of each pixel."""

    lengths: np.ndarray  # (pixels,4) metres (best estimate, lower bound, upper bound), number of intervals
    start: np.ndarray  # (pixels+1,) start of the intervals of each pixel
    intervals: np.ndarray  # (m,2) depths of both ends, metres; intervals beyond the space of a pixel are only counted


@kernel
def _squares(a, b, c, count):
    """Pixels (first, stop) in 0..count-1 that snapped coordinates overlap, widened by one step for the snapping."""
    return max((min(a, b, c) - 1) // SUB, 0), min((max(a, b, c) + 1) // SUB + 1, count)


@kernel
def _misses(ax, ay, bx, by, facing, x, y):
    """Return whether the square around a centre, widened by one step, lies outside the edge a-b."""
    reach = (abs(bx - ax) + abs(by - ay)) * (SUB // 2 + 1)
    return -facing * side(ax, ay, bx, by, x, y) + reach < 0


@kernel
def _depth_range(a, b, c, row, column, margin):
    """Conservative depth range (low, high) of the face abc, in pixel coordinates, over a pixel square."""
    low, high = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    # a plane nearly parallel to the rays has no reliable slope
    if abs(nz) > 1e-9 * (abs(ux) + abs(uy)) * (abs(vx) + abs(vy)):
        middle = a[2] - (nx * (column + 0.5 - a[0]) + ny * (row + 0.5 - a[1])) / nz
        reach = (abs(nx) + abs(ny)) / abs(nz) * (0.5 + 2.0 / SUB) * (1.0 + 1e-6)
        low, high = max(low, middle - reach), min(high, middle + reach)
    return low - margin, high + margin


@kernel
def _clip(p, n, out, axis, at, sign):
    """Clip the polygon p[:n] to sign * (coordinate - at) >= 0 along an axis, into out; return its number of corners."""
    m = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        d, e = sign * (p[i, axis] - at), sign * (p[j, axis] - at)
        if d >= 0.0:
            for k in range(3):
                out[m, k] = p[i, k]
            m += 1
        if (d >= 0.0) != (e >= 0.0):
            for k in range(3):
                out[m, k] = p[i, k] + d / (d - e) * (p[j, k] - p[i, k])
            m += 1
    return m


@kernel
def _area_and_moment(a, b, c, row, column, low, p, q):
    """Clip the face abc to a pixel square: its signed area (in pixels, negative for entries), and its height above
    `low` times that area. p, q (8,3) are workspace.
    """
    for k in range(3):
        p[0, k], p[1, k], p[2, k] = a[k], b[k], c[k]
    n = 3
    if min(a[0], b[0], c[0]) < column or max(a[0], b[0], c[0]) > column + 1:
        n = _clip(q, _clip(p, n, q, 0, column, 1.0), p, 0, column + 1, -1.0)
    if min(a[1], b[1], c[1]) < row or max(a[1], b[1], c[1]) > row + 1:
        n = _clip(q, _clip(p, n, q, 1, row, 1.0), p, 1, row + 1, -1.0)
    area, moment = 0.0, 0.0
    for k in range(2, n):
        ux, uy, vx, vy = p[k - 1, 0] - p[0, 0], p[k - 1, 1] - p[0, 1], p[k, 0] - p[0, 0], p[k, 1] - p[0, 1]
        part = 0.5 * (ux * vy - uy * vx)
        area += part
        moment += part * ((p[0, 2] - low) + (p[k - 1, 2] - low) + (p[k, 2] - low)) / 3.0
    return area, moment


@kernel
def uncertain_intervals(mesh, screen, box, first, last, pixel, out):
    """Compute the depth ranges of faces first..last-1 over the pixel squares of the screen; return their number.

    Written while there is space: pixel (m,), and in out (m,4) the lowest and highest depth, the area of the face over
    the square, and its height above box[0] times that area. Faces entirely before or behind box (2,) are skipped.
    """
    x, p, faces = mesh.x, mesh.p, mesh.faces
    u, v, axis, n = (screen.axis + 1) % 3, (screen.axis + 2) % 3, screen.axis, 0
    margin = 1e-13 * max(abs(box[0]), abs(box[1]), abs(box[1] - box[0]))
    room_a, room_b = np.empty((8, 3)), np.empty((8, 3))
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
                z_0, z_1 = _depth_range(a, b, c, row, column, margin)
                if z_0 <= z_1:
                    if n < len(pixel):
                        pixel[n], out[n, 0], out[n, 1] = row * screen.width + column, z_0, z_1
                        out[n, 2], out[n, 3] = _area_and_moment(a, b, c, row, column, box[0], room_a, room_b)
                    n += 1
    return n


@kernel(parallel=True)
def all_uncertain_intervals(mesh, screen, box, size, start, count, pixel, out):
    """Apply `uncertain_intervals` to blocks of `size` faces: block i writes from start[i] on, with space for count[i]
    rows; count (blocks,) becomes the number found.
    """
    for c in prange(len(count)):
        first, last, to, n = c * size, min(len(mesh.faces), (c + 1) * size), start[c], count[c]
        count[c] = uncertain_intervals(mesh, screen, box, first, last, pixel[to : to + n], out[to : to + n])


@kernel
def sort_intervals_by_pixel(pixel, found, start, out):
    """Sort the rows of found (n,4) by pixel into out (n,4); pixel k has start[k]:start[k+1]. start (pixels+2,),
    initially zero, is filled too.
    """
    for m in range(len(pixel)):
        start[pixel[m] + 2] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for m in range(len(pixel)):
        to = start[pixel[m] + 1]
        for c in range(4):
            out[to, c] = found[m, c]
        start[pixel[m] + 1] = to + 1


@kernel
def _unite(intervals, first, last):
    """Merge overlapping intervals in rows first..last-1 in place, in order; return the end of the merged rows."""
    stop = first
    for m in range(first, last):
        low, high, area, moment, at = intervals[m, 0], intervals[m, 1], intervals[m, 2], intervals[m, 3], stop
        while at > first and intervals[at - 1, 1] >= low:
            at -= 1
        through = at
        while through < stop and intervals[through, 0] <= high:
            low, high = min(low, intervals[through, 0]), max(high, intervals[through, 1])
            area, moment = area + intervals[through, 2], moment + intervals[through, 3]
            through += 1
        # rows at..through-1 become one; the rows after them are shifted
        shift = 1 - (through - at)
        if shift > 0:
            for k in range(stop - 1, through - 1, -1):
                for c in range(4):
                    intervals[k + 1, c] = intervals[k, c]
        elif shift < 0:
            for k in range(through, stop):
                for c in range(4):
                    intervals[k + shift, c] = intervals[k, c]
        intervals[at, 0], intervals[at, 1], intervals[at, 2], intervals[at, 3] = low, high, area, moment
        stop += shift
    return stop


@kernel(parallel=True)
def unite(start, intervals, stop):
    """Merge the intervals of each pixel and write their ends into stop (pixels,)."""
    for c in prange(-(-len(stop) // PIXELS)):
        for k in range(c * PIXELS, min(len(stop), (c + 1) * PIXELS)):
            stop[k] = _unite(intervals, start[k], start[k + 1])


@kernel
def _volume_in_interval(row, low, inside):
    """Volume (pixels times metres) of a body over a pixel within an interval that contains only its own faces;
    `inside`: whether the ray is inside the body at the end of the interval.
    """
    return row[3] - (row[0] - low) * row[2] + (row[1] - row[0] if inside else 0.0)


@kernel
def _intersect_ray(a, b, low, least, out):
    """Intersect two bodies along one ray. Return the metres in both (best estimate, lower bound, upper bound) and the
    number of intervals inside both.

    Intervals longer than `least` are written to out (m,2) while there is space.
    """
    z_a, f_a, u_a, z_b, f_b, u_b = a.depth, a.face, a.uncertain, b.depth, b.face, b.uncertain
    i, j, k, m = 0, 0, 0, 0
    w_a, w_b, z, since, n, one_body = 0, 0, -np.inf, 0.0, 0, False
    both, certain, possible = 0.0, 0.0, 0.0
    while i < len(z_a) or j < len(z_b) or k < 2 * len(u_a) or m < 2 * len(u_b):
        to = np.inf
        to = min(to, z_a[i]) if i < len(z_a) else to
        to = min(to, z_b[j]) if j < len(z_b) else to
        to = min(to, u_a[k >> 1, k & 1]) if k < 2 * len(u_a) else to
        to = max(z, min(to, u_b[m >> 1, m & 1]) if m < 2 * len(u_b) else to)
        uncertain_a, uncertain_b = k & 1 == 1, m & 1 == 1
        was = w_a > 0 and w_b > 0
        if not one_body:
            both += to - z if was else 0.0
            certain += to - z if was and not uncertain_a and not uncertain_b else 0.0
            possible += to - z if (w_a > 0 or uncertain_a) and (w_b > 0 or uncertain_b) else 0.0
        z = to
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
        if one_body:  # until the interval ends
            if k & 1 == 0 and m & 1 == 0:
                one_body, part = False, 0.0
                if uncertain_a and w_b > 0:
                    part = _volume_in_interval(u_a[(k >> 1) - 1], low, w_a > 0)
                if uncertain_b and w_a > 0:
                    part = _volume_in_interval(u_b[(m >> 1) - 1], low, w_b > 0)
                both, certain, possible = both + part, certain + part, possible + part
        elif not uncertain_a and not uncertain_b and (k ^ m) & 1 == 1:
            if k & 1 == 1:
                one_body = a.simple and (m >= 2 * len(u_b) or u_b[m >> 1, 0] > u_a[k >> 1, 1])
            else:
                one_body = b.simple and (k >= 2 * len(u_a) or u_a[k >> 1, 0] > u_b[m >> 1, 1])
        now = w_a > 0 and w_b > 0
        if now and not was:
            since = z
        if was and not now and z - since > least:
            if n < len(out):
                out[n, 0], out[n, 1] = since, z
            n += 1
    return both, certain, possible, n


@kernel
def _intersect_ray_range(one, two, low, least, first, last, common):
    z_a, f_a, u_a, z_b, f_b, u_b = one.depth, one.face, one.uncertain, two.depth, two.face, two.uncertain
    lengths, start, out = common.lengths, common.start, common.intervals
    for k in range(first, last):
        a, b, c, d = one.start[k], one.start[k + 1], one.first[k], one.last[k]
        e, f, g, h = two.start[k], two.start[k + 1], two.first[k], two.last[k]
        if (a == b and c == d) or (e == f and g == h):
            continue
        ray_a = Ray(z_a[a:b], f_a[a:b], u_a[c:d], one.simple)
        ray_b = Ray(z_b[e:f], f_b[e:f], u_b[g:h], two.simple)
        found = _intersect_ray(ray_a, ray_b, low, least, out[start[k] : start[k + 1]])
        lengths[k, 0], lengths[k, 1], lengths[k, 2], lengths[k, 3] = found


@kernel(parallel=True)
def intersect_rays(one, two, low, least, common):
    """Fill `common` along the central rays of all pixels, with intervals longer than `least` metres."""
    pixels = len(common.lengths)
    for c in prange(-(-pixels // PIXELS)):
        _intersect_ray_range(one, two, low, least, c * PIXELS, min(pixels, (c + 1) * PIXELS), common)


@kernel
def intervals_inside(start, depth, face, least, shortest, first, out, pixel):
    """Find intervals longer than `shortest` where the winding number is at least `least`; return `first` plus their
    number.

    Written from row `first` on while there is space: out (m,3) with both depths (metres) and the greatest winding
    number, and pixel (m,).
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
def winding_numbers(screen, start, depth, face, points, found):
    """Fill found (n,) with the winding numbers of points (n,3), each evaluated on the central ray of its pixel."""
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

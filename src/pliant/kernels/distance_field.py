"""Bake a narrow band of signed distances around a surface, and sample it (Fuhrmann et al. 2003, sections 3 and 4.2).

One thread owns a slab of grid planes, so threads never race and the bits do not depend on their number. The nearest
feature is kept beside the distance, and the sign decided once at the end.
"""

import math
from typing import NamedTuple

import numpy as np

from . import vec
from .grid import corners8, trilinear
from .jit import kernel, prange
from .surface import corners, side_of
from .triangle import nearest2, unit_normal

SLAB = 4  # planes a thread owns at a time

VANISHED = 1e-3  # a gradient shorter than this has no direction
CHUNK = 4096  # points a thread samples at a time


class Field(NamedTuple):
    values: np.ndarray  # (nx,ny,nz) f4 signed distance at the nodes, nan beyond the band
    jump: np.ndarray  # (nx-1,ny-1,nz-1) u1, 1 where the sign jumps without a surface; empty where it never does
    origin: np.ndarray  # (3,) metres
    h: float  # spacing, metres


@kernel
def prism_box(a, b, c, n, reach):
    """Box of the triangle moved by +-reach along its normal: what the paper examines."""
    x, y, z = abs(n[0]) * reach, abs(n[1]) * reach, abs(n[2]) * reach
    low = (min(a[0], b[0], c[0]) - x, min(a[1], b[1], c[1]) - y, min(a[2], b[2], c[2]) - z)
    return low, (max(a[0], b[0], c[0]) + x, max(a[1], b[1], c[1]) + y, max(a[2], b[2], c[2]) + z)


@kernel
def ball_box(a, b, c, reach):
    """Box of everything within `reach` of the triangle."""
    low = (min(a[0], b[0], c[0]) - reach, min(a[1], b[1], c[1]) - reach, min(a[2], b[2], c[2]) - reach)
    return low, (max(a[0], b[0], c[0]) + reach, max(a[1], b[1], c[1]) + reach, max(a[2], b[2], c[2]) + reach)


@kernel
def node_range(low, high, origin, h, count):
    """First and last node of an axis inside low..high; closed on both sides, widened by rounding's worth."""
    slack = 1e-9 * h
    first = int(math.ceil((low - slack - origin) / h))
    last = int(math.floor((high + slack - origin) / h))
    return max(first, 0), min(last, count - 1)


@kernel
def face_box(surface, f, reach, paper):
    a, b, c = corners(surface, f)
    if paper:
        return prism_box(a, b, c, vec.load(surface.face_normals, f), reach)
    return ball_box(a, b, c, reach)


@kernel
def slab_counts(surface, reach, paper, origin, h, planes, count):
    """Add to `count` (slabs+1,), shifted by one, how many triangles reach into each slab of planes."""
    for f in range(len(surface.faces)):
        low, high = face_box(surface, f, reach, paper)
        first, last = node_range(low[0], high[0], origin[0], h, planes)
        for s in range(first // SLAB, last // SLAB + 1):
            count[s + 1] += 1


@kernel
def slab_fill(surface, reach, paper, origin, h, planes, cursor, items):
    for f in range(len(surface.faces)):
        low, high = face_box(surface, f, reach, paper)
        first, last = node_range(low[0], high[0], origin[0], h, planes)
        for s in range(first // SLAB, last // SLAB + 1):
            items[cursor[s]] = f
            cursor[s] += 1


@kernel
def rasterise(surface, f, reach, paper, origin, h, i0, best, face, region):
    """Lower the slab's squared distances to triangle `f`; returns how many nodes it examined."""
    a, b, c = corners(surface, f)
    # compensated: the plane of a sliver must not be tilted by rounding
    n = unit_normal(a, b, c)
    low, high = face_box(surface, f, reach, paper)
    first_i, last_i = node_range(low[0], high[0], origin[0], h, i0 + best.shape[0])
    first_j, last_j = node_range(low[1], high[1], origin[1], h, best.shape[1])
    first_k, last_k = node_range(low[2], high[2], origin[2], h, best.shape[2])
    examined = 0
    limit = reach * reach
    for i in range(max(first_i, i0), last_i + 1):
        for j in range(first_j, last_j + 1):
            for k in range(first_k, last_k + 1):
                p = (origin[0] + h * i, origin[1] + h * j, origin[2] + h * k)
                height = vec.dot(vec.sub(p, a), n)
                # farther from the plane than the band is farther from the triangle; the paper looks all the same
                if not paper and height * height > limit * 1.000001:
                    continue
                examined += 1
                d2, feature, _, _, _ = nearest2(p, a, b, c)
                old = best[i - i0, j, k]
                # the paper's tolerance: a tie within rounding must not replace a value and its sign
                if d2 < (old * (1.0 - 1e-6) if paper else old) and (paper or d2 <= limit):
                    best[i - i0, j, k] = d2
                    face[i - i0, j, k] = f
                    region[i - i0, j, k] = feature
    return examined


@kernel
def signed_node(surface, p, f, feature, paper):
    """Signed distance of `p` to `feature` of face `f`."""
    a, b, c = corners(surface, f)
    d2, feature, u, v, w = nearest2(p, a, b, c)
    if paper:
        below = vec.dot(vec.sub(p, a), vec.load(surface.face_normals, f)) < 0.0
        return -math.sqrt(d2) if below else math.sqrt(d2)
    q = vec.add(vec.scale(a, u), vec.add(vec.scale(b, v), vec.scale(c, w)))
    return side_of(surface, p, q, f, feature) * math.sqrt(d2)


@kernel
def on_border(surface, f, feature, border_edge, border_vertex):
    if feature >= 4:
        return border_edge[surface.face_edges[f, feature - 4]]
    if feature >= 1:
        return border_vertex[surface.faces[f, feature - 1]]
    return False


@kernel(parallel=True)
def bake_slabs(surface, reach, paper, origin, h, first, last, start, items, values, rim, borders, examined):
    """Slabs first..last-1 of `values`; `rim` (u1, or empty) marks nodes whose nearest feature is an open border."""
    for s in prange(first, last):
        i0 = s * SLAB
        planes = min(SLAB, values.shape[0] - i0)
        best = np.full((planes, values.shape[1], values.shape[2]), np.inf)
        face = np.empty(best.shape, np.int32)
        region = np.empty(best.shape, np.int8)
        total = 0
        for at in range(start[s], start[s + 1]):
            total += rasterise(surface, items[at], reach, paper, origin, h, i0, best, face, region)
        examined[s] = total
        for i in range(planes):
            for j in range(best.shape[1]):
                for k in range(best.shape[2]):
                    if best[i, j, k] == np.inf:
                        values[i0 + i, j, k] = np.nan
                        continue
                    f, feature = face[i, j, k], region[i, j, k]
                    p = (origin[0] + h * (i0 + i), origin[1] + h * j, origin[2] + h * k)
                    values[i0 + i, j, k] = signed_node(surface, p, f, feature, paper)
                    if rim.size > 0:
                        rim[i0 + i, j, k] = on_border(surface, f, feature, borders[0], borders[1])


@kernel(parallel=True)
def mark_jumps(values, rim, h, jump):
    """Cells with both signs and no surface between them: interpolation would invent one there.

    Either a corner is nearest to an open border, or two corners are farther from the surface than from each other.
    """
    for i in prange(jump.shape[0]):
        for j in range(jump.shape[1]):
            for k in range(jump.shape[2]):
                jump[i, j, k] = both_signs(values, i, j, k) and (
                    (rim.size > 0 and near_rim(rim, i, j, k)) or too_steep(values, i, j, k, h)
                )


@kernel
def both_signs(values, i, j, k):
    above, below = False, False
    for c in range(8):
        d = values[i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1)]
        above |= d > 0.0
        below |= d < 0.0
    return above and below


@kernel
def near_rim(rim, i, j, k):
    near = False
    for c in range(8):
        near |= rim[i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1)] != 0
    return near


@kernel
def too_steep(values, i, j, k, h):
    """Whether corners of opposite sign have |d| + |d| beyond their distance, which a surface between them forbids."""
    for a in range(8):
        d_a = values[i + (a >> 2), j + ((a >> 1) & 1), k + (a & 1)]
        for b in range(a):
            d_b = values[i + (b >> 2), j + ((b >> 1) & 1), k + (b & 1)]
            axes = ((a ^ b) >> 2) + (((a ^ b) >> 1) & 1) + ((a ^ b) & 1)
            if d_a * d_b < 0.0 and abs(d_a) + abs(d_b) > math.sqrt(axes) * h * 1.0001:
                return True
    return False


@kernel
def sample_range(field, points, first, last, distance, gradient):
    """Signed distance and gradient at points first..last-1; nan beyond the band, and where a sign jumps."""
    values, jump = field.values, field.jump
    ni, nj, nk = values.shape
    for at in range(first, last):
        x = (points[at, 0] - field.origin[0]) / field.h
        y = (points[at, 1] - field.origin[1]) / field.h
        z = (points[at, 2] - field.origin[2]) / field.h
        d, g = np.nan, (np.nan, np.nan, np.nan)
        # compared as floats, because a far point's cell number may not fit an integer
        if 0.0 <= x < ni - 1 and 0.0 <= y < nj - 1 and 0.0 <= z < nk - 1:
            i, j, k = int(x), int(y), int(z)
            if jump.size == 0 or not jump[i, j, k]:
                d, g = trilinear(corners8(values, i, j, k), x - i, y - j, z - k)
        distance[at] = d
        vec.store(gradient, at, vec.scale(g, 1.0 / field.h))


@kernel(parallel=True)
def sample_points(field, points, distance, gradient):
    for c in prange(-(-len(points) // CHUNK)):
        sample_range(field, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), distance, gradient)


@kernel
def edges_in_reach(edges, x, d, within, slack, known, out, middle):
    """Edges whose middle may be within reach; their numbers and middles. Returns how many.

    An end is at most half an edge farther than the middle, so both must be near; `slack` is the field's own error.
    Ends beyond the band (nan) are at least `known` away, which may or may not be too far for a middle between two.
    """
    count = 0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        a, b = vec.load(x, i), vec.load(x, j)
        reach = within + 0.5 * math.sqrt(vec.norm2(vec.sub(a, b)))
        if d[i] > reach + slack or d[j] > reach + slack:
            continue
        if math.isnan(d[i]) and math.isnan(d[j]) and reach <= known:
            continue
        out[count] = e
        vec.store(middle, count, vec.mix(a, b, 0.5))
        count += 1
    return count


@kernel
def collect(distance, within, rows):
    """Numbers of the entries no farther than `within` (nan, beyond the band, is farther); returns how many."""
    count = 0
    for i in range(len(distance)):
        if distance[i] <= within:
            rows[count] = i
            count += 1
    return count


@kernel
def fill_contacts(out, rows, points, distance, gradient, elements, ends, first, kind, weight):
    """Write contact c for entry rows[c]: its element, the vertices in `ends` of that element, normal and anchor.

    Returns how many gradients vanish; their normals are left zero.
    """
    lost = 0
    for c in range(len(out)):
        i = rows[c]
        e = elements[i] if len(elements) > 0 else i
        g = vec.load(gradient, i)
        length = math.sqrt(vec.norm2(g))
        n = (0.0, 0.0, 0.0)
        if length < VANISHED:
            lost += 1
        else:
            n = vec.scale(g, 1.0 / length)
        record = out[c]
        record["kind"] = kind
        record["elements"][0] = e
        for k in range(ends.shape[1]):
            record["vertices"][k] = ends[e, k] + first
            record["weights"][k] = weight
        record["distance"] = distance[i]
        for k in range(3):
            record["normal"][k] = n[k]
            record["anchor"][k] = points[i, k] - distance[i] * n[k]
    return lost

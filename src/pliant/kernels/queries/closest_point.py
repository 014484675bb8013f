"""The exact nearest triangle to a point: traversal of a BVH with boxes in blocks of four, nearest child first.

The structure comes from the shared BVH (kernels/bvh/tree.py); for this query its boxes are copied into blocks with the
four children of a node side by side, and its triangles into rows in leaf order. Points are processed along a
space-filling curve, so that each result is an initial guess for the next. The result depends on neither: ties go to the
lower face.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.triangle import nearest2
from ..jit import kernel, prange
from .surface import corners, pseudonormal, touching

CHUNK = 512  # points, or nodes of the BVH, per task of a thread
FARTHEST = 1e300  # square of a distance, less than that of a missing child
ROUNDING = 2.0**-44  # times the largest distance from the surface: more than the error of a computed distance
FEW = 32  # points that are not worth sorting


class Blocks(NamedTuple):
    boxes: np.ndarray  # (w,6,4) low x, y, z, high x, y, z of the four children; +inf and -inf for missing ones
    child: np.ndarray  # (w,4) i4 the block of a child, or -1 - q for triangle q
    rows: np.ndarray  # (m,12) corners of the triangles and their unit normals; zero for slivers
    order: np.ndarray  # (m,) i4 their face indices
    room: int  # stack size of a traversal


class Signed(NamedTuple):
    """Results of a query for n points."""

    distance: np.ndarray  # (n,) metres, negative inside
    nearest: np.ndarray  # (n,3) points of the surface
    normal: np.ndarray  # (n,3) unit direction that opens the gap


@kernel
def number_blocks(nodes, number):
    """Fill number (n,): the block of each inner node, -1 for leaves; return the number of blocks and the stack size."""
    count, deepest = 0, 0
    level = np.ones(len(nodes), np.int64)
    for i in range(len(nodes)):
        number[i] = -1
        deepest = max(deepest, level[i])
        if nodes[i].skip != i + 1:
            number[i] = count
            count += 1
        j = i + 1
        while j < nodes[i].skip:
            level[j] = level[i] + 1
            j = nodes[j].skip
    return max(count, 1), 3 * deepest + 8


@kernel(parallel=True)
def fill_blocks(nodes, number, boxes, child):
    """Copy the boxes of all nodes, of at most four children and leaves of one triangle, into blocks."""
    n = -(-len(nodes) // CHUNK)
    for c in prange(n):
        fill_range(nodes, number, c * CHUNK, min(len(nodes), (c + 1) * CHUNK), boxes, child)


@kernel
def fill_range(nodes, number, first, last, boxes, child):
    for i in range(first, last):
        w, k, j, stop = number[i], 0, i + 1, nodes[i].skip
        if i == 0 and stop == 1:  # a single triangle is the only child of the only block
            w, j = 0, 0
        if w < 0:
            continue
        while j < stop:
            bounds = nodes[j].bounds
            for a in range(6):
                boxes[w, a, k] = bounds[a]
            child[w, k] = number[j] if number[j] >= 0 else -1 - nodes[j].first
            k, j = k + 1, nodes[j].skip
        for m in range(k, 4):
            child[w, m] = 0
            for a in range(3):
                boxes[w, a, m], boxes[w, a + 3, m] = np.inf, -np.inf


@kernel(parallel=True)
def fill_rows(surface, order, rows):
    """Copy corners and normals of the triangles in leaf order."""
    x, faces = surface.x, surface.faces
    for q in prange(len(order)):
        f = order[q]
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        e, g = vec.sub(b, a), vec.sub(c, a)
        n = vec.cross(e, g)
        n_2, sides = vec.norm2(n), vec.norm2(e) * vec.norm2(g)
        # the normal of a sliver is rounding error: set to zero
        n = vec.unit(n) if n_2 > 1e-6 * sides and 1e-200 < n_2 < 1e200 else (0.0, 0.0, 0.0)
        for k in range(3):
            rows[q, k], rows[q, k + 3], rows[q, k + 6], rows[q, k + 9] = a[k], b[k], c[k], n[k]


@kernel
def along_curve(points):
    """Rows of points (n,3) sorted along a Morton curve through their bounding box."""
    n = len(points)
    order = np.arange(n)
    if n <= FEW:
        return order
    low, span = vec.load(points, 0), 0.0
    high = low
    for i in range(n):
        p = vec.load(points, i)
        low = (min(low[0], p[0]), min(low[1], p[1]), min(low[2], p[2]))
        high = (max(high[0], p[0]), max(high[1], p[1]), max(high[2], p[2]))
    span = max(high[0] - low[0], high[1] - low[1], high[2] - low[2])
    bits = 1
    while bits < 6 and 8**bits < n:
        bits += 1
    scale = (2**bits) * (1.0 - 1e-9) / span if span > 0.0 else 0.0
    cells, start = np.empty(n, np.int32), np.zeros(8**bits + 1, np.int64)
    for i in range(n):
        code = 0
        for k in range(3):
            cell = int((points[i, k] - low[k]) * scale)
            for b in range(bits):
                code |= ((cell >> b) & 1) << (3 * b + k)
        cells[i] = code
        start[code + 1] += 1
    for c in range(8**bits):
        start[c + 1] += start[c]
    for i in range(n):
        order[start[cells[i]]] = i
        start[cells[i]] += 1
    return order


@kernel
def box_of_block(boxes, w):
    """The box of all children of block w."""
    low, high = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
    for k in range(4):
        low = (min(low[0], boxes[w, 0, k]), min(low[1], boxes[w, 1, k]), min(low[2], boxes[w, 2, k]))
        high = (max(high[0], boxes[w, 3, k]), max(high[1], boxes[w, 4, k]), max(high[2], boxes[w, 5, k]))
    return low, high


@kernel
def nearest_range(blocks, surface, points, which, most, found, barycentric):
    """Find the triangles nearest to the points `which`: found (n,2) face and feature, barycentric (n,3).

    Of all faces, it is the one whose computed distance is the least, the lower one if two are equal; what cannot have a
    lesser one is culled with an allowance for rounding. So a face >= 0 in `found`, an initial guess, saves time without
    changing the result. Where no triangle is nearer than the square root of `most`, the face is -1. One loop without
    calls that take arrays, which would cost more than the arithmetic.
    """
    boxes, child, rows, order, x, faces = (
        blocks.boxes,
        blocks.child,
        blocks.rows,
        blocks.order,
        surface.x,
        surface.faces,
    )
    waiting, gaps, four = np.empty(blocks.room, np.int32), np.empty(blocks.room), np.empty(4)
    low, high = box_of_block(boxes, 0)
    last = np.int64(-1)
    for t in range(len(which)):
        i = which[t]
        p = vec.load(points, i)
        best, b_face, b_feature, b_u, b_v, b_w = most, np.int64(-1), np.int64(0), 0.0, 0.0, 0.0
        guess = found[i, 0] if found[i, 0] >= 0 else last
        if guess >= 0:
            a, b, c = vec.load(x, faces[guess, 0]), vec.load(x, faces[guess, 1]), vec.load(x, faces[guess, 2])
            d2, feature, u, v, w_c = nearest2(p, a, b, c)
            if d2 < most:
                best, b_face, b_feature, b_u, b_v, b_w = d2, guess, np.int64(feature), u, v, w_c
        slack = max(abs(p[0] - low[0]), abs(p[1] - low[1]), abs(p[2] - low[2]))
        slack = ROUNDING * max(slack, abs(p[0] - high[0]), abs(p[1] - high[1]), abs(p[2] - high[2]))
        limit = (math.sqrt(best) + slack) ** 2
        top, waiting[0], gaps[0] = 1, 0, 0.0
        while top > 0:
            top -= 1
            if gaps[top] > limit:
                continue
            w = waiting[top]
            while w >= 0:
                first = top
                for k in range(4):
                    x_k = max(max(boxes[w, 0, k] - p[0], p[0] - boxes[w, 3, k]), 0.0)
                    y_k = max(max(boxes[w, 1, k] - p[1], p[1] - boxes[w, 4, k]), 0.0)
                    z_k = max(max(boxes[w, 2, k] - p[2], p[2] - boxes[w, 5, k]), 0.0)
                    four[k] = (x_k * x_k + y_k * y_k + z_k * z_k) * (1.0 - 1e-12)  # slightly less, against rounding
                for k in range(4):
                    gap = four[k]
                    if gap <= limit:
                        at = top
                        while at > first and gaps[at - 1] < gap:
                            gaps[at], waiting[at] = gaps[at - 1], waiting[at - 1]
                            at -= 1
                        gaps[at], waiting[at] = gap, child[w, k]
                        top += 1
                if top == first:
                    break
                top -= 1
                w = waiting[top]
            if w >= 0:
                continue
            q = -1 - w
            a = (rows[q, 0], rows[q, 1], rows[q, 2])
            r = vec.sub(p, a)
            h = abs(r[0] * rows[q, 9] + r[1] * rows[q, 10] + r[2] * rows[q, 11])
            h -= 4e-12 * (abs(r[0]) + abs(r[1]) + abs(r[2]))  # more than the error of a normal that is not a sliver's
            if h > 0.0 and h * h > limit:
                continue
            d2, feature, u, v, w_c = nearest2(
                p, a, (rows[q, 3], rows[q, 4], rows[q, 5]), (rows[q, 6], rows[q, 7], rows[q, 8])
            )
            f = np.int64(order[q])
            if d2 < best or (d2 == best and f < b_face):
                best, b_face, b_feature, b_u, b_v, b_w = d2, f, np.int64(feature), u, v, w_c
                limit = (math.sqrt(best) + slack) ** 2
        if b_face >= 0:
            last = b_face
        found[i, 0], found[i, 1] = b_face, b_feature
        barycentric[i, 0], barycentric[i, 1], barycentric[i, 2] = b_u, b_v, b_w


@kernel
def sign_range(surface, points, first, last, found, barycentric, sign, out):
    """Fill `out` (Signed) of points first..last-1 for the results of `nearest_range`; a distance is negative where
    `sign` (n,) is. A touching point has an unsigned distance and the outward direction of the feature.
    """
    x, faces, distance, nearest, normal = surface.x, surface.faces, out.distance, out.nearest, out.normal
    for i in range(first, last):
        p, f = vec.load(points, i), found[i, 0]
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        q = vec.add(
            vec.scale(a, barycentric[i, 0]), vec.add(vec.scale(b, barycentric[i, 1]), vec.scale(c, barycentric[i, 2]))
        )
        vec.store(nearest, i, q)
        away = vec.sub(p, q)
        length = vec.norm(away)
        if touching(away, p, q):
            distance[i] = length
            vec.store(normal, i, outward(surface, f, found[i, 1]))
            continue
        factor = -1.0 if sign[i] < 0 else 1.0
        distance[i] = factor * length
        vec.store(normal, i, vec.scale(away, factor / length))


@kernel(parallel=True)
def find_nearest(blocks, surface, points, found, barycentric):
    """Apply `nearest_range` to all `points`, at any distance."""
    order = along_curve(points)
    n = -(-len(points) // CHUNK)
    stride = coprime_stride(n)
    for c in prange(n):
        k = (c * stride) % n  # neighbouring chunks cost alike: distribute each region over all threads
        nearest_range(
            blocks, surface, points, order[k * CHUNK : min(len(points), (k + 1) * CHUNK)], FARTHEST, found, barycentric
        )


@kernel(parallel=True)
def find_within(blocks, surface, points, reach, found, barycentric):
    """Apply `nearest_range` to all `points`, up to the distance `reach`."""
    order = along_curve(points)
    n = -(-len(points) // CHUNK)
    stride = coprime_stride(n)
    for c in prange(n):
        k = (c * stride) % n
        which = order[k * CHUNK : min(len(points), (k + 1) * CHUNK)]
        nearest_range(blocks, surface, points, which, reach * reach, found, barycentric)


@kernel(parallel=True)
def signs_by_pseudonormal(surface, points, found, barycentric, sign):
    """Set sign (n,) to 1 in front of and -1 behind the nearest feature, by its angle-weighted pseudonormal (Baerentzen
    and Aanaes 2005), 0 if that is inconclusive.
    """
    x, faces = surface.x, surface.faces
    for i in prange(len(points)):
        p, f = vec.load(points, i), found[i, 0]
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        q = vec.add(
            vec.scale(a, barycentric[i, 0]), vec.add(vec.scale(b, barycentric[i, 1]), vec.scale(c, barycentric[i, 2]))
        )
        away = vec.sub(p, q)
        height = vec.dot(away, pseudonormal(surface, f, found[i, 1]))
        clear = abs(height) > 1e-7 * vec.norm(away) and not touching(away, p, q)
        sign[i] = (1 if height > 0.0 else -1) if clear else 0


@kernel(parallel=True)
def signed_distances(surface, points, found, barycentric, sign, out):
    """Apply `sign_range` to all `points`."""
    for c in prange(-(-len(points) // CHUNK)):
        last = min(len(points), (c + 1) * CHUNK)
        sign_range(surface, points, c * CHUNK, last, found, barycentric, sign, out)


@kernel
def outward(surface, f, feature):
    """Unit direction away from `feature` of face `f`: its pseudonormal, or any direction perpendicular to the face."""
    n = pseudonormal(surface, f, feature)
    if vec.norm2(n) == 0.0:
        n = vec.load(surface.face_normals, f)
    if vec.norm2(n) == 0.0:
        a, b, c = corners(surface, f)
        e, g = vec.sub(b, a), vec.sub(c, a)
        n = vec.unit(any_normal(e if vec.norm2(e) >= vec.norm2(g) else g))
    return n


@kernel
def any_normal(e):
    """Some direction perpendicular to `e`, always the same; up if `e` is zero."""
    x, y, z = abs(e[0]), abs(e[1]), abs(e[2])
    if x <= y and x <= z:
        n = (0.0, e[2], -e[1])
    elif y <= z:
        n = (-e[2], 0.0, e[0])
    else:
        n = (e[1], -e[0], 0.0)
    if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
        return (0.0, 1.0, 0.0)
    return n


@kernel
def coprime_stride(n):
    """Return a stride near the golden section of n that visits all of 0..n-1."""
    step = max(1, int(0.618 * n))
    while True:
        a, b = n, step
        while b:
            a, b = b, a % b
        if a == 1:
            return step
        step += 1

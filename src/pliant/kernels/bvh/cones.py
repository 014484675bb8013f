"""Self-collision culling: patches of a mesh that cannot touch themselves, by normal cones with the contour condition
(Volino and Magnenat-Thalmann, Efficient self-collision detection on smoothly discretized surface animations, 1994),
extended to distances.

A patch is the set of triangles of a BVH node. Let n be an axis, D a distance, and "projected" mean along n. Assume:

1. every inner edge of the patch has two faces that contain it in opposite directions, and the other edges form one
   loop, the contour, that passes every vertex once (topology, determined once);
2. every triangle a b c has ((b - a) x (c - a)) . n / (its longest edge) > D: it faces upwards, and all of its
   projected altitudes exceed D, since they are twice the projected area over a projected edge length, which is at most
   the edge length;
3. every projected vertex of the contour is farther than D from every contour edge that does not contain it, and no two
   projected contour edges cross.

Then all vertex-face and edge-edge pairs of the patch without a common vertex are farther apart than D:

- The projected triangles are a planar triangulation. Inner edges cancel in the boundary of the sum of all projected
  triangles, so the number of triangles over any point off the edges is the winding number of the contour: 0 or 1,
  since the contour is simple. Hence triangles do not overlap. An inner edge has its faces on both sides and an inner
  vertex is surrounded, so nothing else can touch them; and the contour does not touch itself by 3.
- In the plane, disjoint edges, or a vertex and a triangle that does not contain it, are nearest at a vertex v and a
  point q of an edge that does not contain v. If the segment v q starts in a triangle of v, it reaches the side opposite
  to v, which is at least an altitude away; along an edge of v, it reaches the other end, which is no nearer. Otherwise
  it leaves the patch at v, a vertex of the contour, and re-enters at q at the latest through a contour edge. That edge
  does not contain v, or v q would have started along it; so 3 applies to it.
- A distance is never less than its projection.

Vertices that move linearly by known displacements are covered for the whole motion. The cross product of condition 2 is
a quadratic polynomial of time, whose Bernstein coefficients must all fulfil it for the longest edge at the start or the
end, since the length of an edge is convex. Condition 3 holds at all times if it holds at the start for D plus the
displacement of the vertex relative to the ends of the edge; before two contour edges could cross, an end of one would
have to reach the other.

Neither the genus nor the arrangement of faces around a vertex matters. Rounding: D exceeds the requested distance by
MARGIN of the size of the mesh, a thousand times the error of all computations here (differences of coordinates are
accurate to one ulp of themselves, so every error is a few ulps of the longest length involved).
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .leaf_mesh import PARTS

MARGIN = 1e-12
BLOCK = 8  # contour edges that share a bounding box
SAMPLES = 256  # least size of the sample of triangles that determines the axis; also triangles tested at a time


class Patches(NamedTuple):
    """Topology of the patches of a BVH, and workspace for their geometry."""

    start: np.ndarray  # (nodes+1,) i8 the contour of node i is rows[start[i]:start[i+1]]; empty if condition 1 fails
    rows: np.ndarray  # (k,) i4 vertices along the contours
    twin: np.ndarray  # (m,3) i4 rows that must coincide with the corners of each triangle; (0,3) without copies
    # (9,m) the three Bernstein coefficients of (b - a) x (c - a) over the longest edge of each triangle; 0 if
    # degenerate
    scaled_normals: np.ndarray
    seen: np.ndarray  # (k,4) contours and their displacements projected onto the plane
    axes: np.ndarray  # (nodes,3) the axis along which the patch of each node was last tested


class PatchMotion(NamedTuple):
    """Positions of the vertices, and their displacements."""

    x: np.ndarray  # (n,3)
    drift: np.ndarray  # (n,3), or (0,3) if nothing moves
    boxes: np.ndarray  # (nodes,6) least and greatest displacements of the vertices below each node


@kernel
def contours(nodes, welded, rows, across, least, start, out):
    """Find the contours of nodes with at least `least` triangles or, if `out` is empty, their lengths in start[1:].

    welded, rows (m,3): welded indices and rows of the corners; across (m,3): the triangle across each edge, -1 for
    none, -2 for several or for one with the same direction.
    """
    n = welded.max() + 1 if len(welded) else 0
    after, seen = np.empty(n, np.int32), np.full(n, -1, np.int32)
    at = np.empty(n, np.int32)
    for i in range(len(nodes)):
        first, last, count = nodes[i].first, nodes[i].first + nodes[i].count, 0
        good, begin, q = nodes[i].count >= least, 0, first
        while good and q < last:
            for k in range(3):
                beyond = across[q, k]
                good = good and beyond != -2
                if beyond < first or beyond >= last:
                    a = welded[q, k]
                    good = good and seen[a] != i
                    seen[a], after[a], at[a] = i, welded[q, (k + 1) % 3], rows[q, k]
                    count += 1
                    begin = a
            q += 1
        length = 0
        if good and count > 0:
            a, going = begin, True
            while going:
                if len(out) > 0 and start[i + 1] > start[i]:
                    out[start[i] + length] = at[a]
                length += 1
                a = after[a]
                going = a != begin and seen[a] == i and length < count
            if a != begin or length != count:
                length = 0
        if len(out) == 0:
            start[i + 1] = length


@kernel
def scale_range(corners, motion, twin, first, last, step, scaled_normals):
    """Scaled normals of triangles first, first + step, ... below `last`; zero where copies of a vertex separate."""
    x, drift = motion.x, motion.drift
    for q in range(first, last, step):
        a, b, d = vec.load(x, corners[q, 0]), vec.load(x, corners[q, 1]), vec.load(x, corners[q, 2])
        e, f, g = vec.sub(b, a), vec.sub(d, a), vec.sub(d, b)
        n = vec.cross(e, f)
        n_2, l_2 = vec.norm2(n), max(vec.norm2(e), vec.norm2(f), vec.norm2(g))
        # written so that nan fails
        good = n_2 > 0.0 and l_2 < 1e200
        if len(twin) > 0:
            for k in range(3):
                for h in range(3):
                    good = good and x[corners[q, k], h] == x[twin[q, k], h]
                    if len(drift) > 0:
                        good = good and drift[corners[q, k], h] == drift[twin[q, k], h]
        middle, end = n, n
        if len(drift) > 0:
            a = vec.load(drift, corners[q, 0])
            p = vec.add(e, vec.sub(vec.load(drift, corners[q, 1]), a))
            r = vec.add(f, vec.sub(vec.load(drift, corners[q, 2]), a))
            middle, end = vec.scale(vec.add(vec.cross(e, r), vec.cross(p, f)), 0.5), vec.cross(p, r)
            l_2 = max(l_2, vec.norm2(p), vec.norm2(r), vec.norm2(vec.sub(r, p)))
            good = good and l_2 < 1e200
        s = 1.0 / math.sqrt(l_2) if good else 0.0
        for k in range(3):
            scaled_normals[k, q] = n[k] * s if good else 0.0
            if len(drift) > 0:
                scaled_normals[3 + k, q] = middle[k] * s if good else 0.0
                scaled_normals[6 + k, q] = end[k] * s if good else 0.0


@kernel
def faces_along(scaled_normals, first, last, n, least):
    """Whether the components along n of all scaled normals first..last-1 exceed `least`."""
    x, y, z = n
    q = first
    while q < last:
        stop, low = min(q + SAMPLES, last), 0
        for p in range(q, stop):
            low += not (scaled_normals[0, p] * x + scaled_normals[1, p] * y + scaled_normals[2, p] * z > least)
        if low > 0:
            return False
        q = stop
    return True


@kernel
def axis_of(scaled_normals, first, last, moves):
    """The direction of the mean of a sample of the scaled normals first..last-1."""
    x, y, z = 0.0, 0.0, 0.0
    h = 3 if moves else 0
    for q in range(first, last, sample_step(last - first)):
        x, y, z = x + scaled_normals[h, q], y + scaled_normals[h + 1, q], z + scaled_normals[h + 2, q]
    return vec.unit((x, y, z))


@kernel
def sample_step(count):
    return max(1, count // SAMPLES)


@kernel
def all_face_along(scaled_normals, first, last, n, least, moves):
    """Whether the components along n of all scaled normals first..last-1 exceed `least` throughout."""
    good = faces_along(scaled_normals[:3], first, last, n, least)
    if moves:
        good = good and faces_along(scaled_normals[3:6], first, last, n, least)
        good = good and faces_along(scaled_normals[6:], first, last, n, least)
    return good


@kernel
def range_faces_along(corners, motion, patches, first, last, n, least):
    """As `all_face_along`, from the positions: scaled normals, which need a root and a division, are computed only
    where rounding could decide. One loop, because calls would cost more than the arithmetic."""
    x, drift, twin, scaled_normals = motion.x, motion.drift, patches.twin, patches.scaled_normals
    moves, copies, least_2 = len(drift) > 0, len(twin) > 0, least * least * (1.0 + 1e-6)
    for q in range(first, last):
        i, j, k = corners[q, 0], corners[q, 1], corners[q, 2]
        a, b, c = vec.load(x, i), vec.load(x, j), vec.load(x, k)
        e, f, g = vec.sub(b, a), vec.sub(c, a), vec.sub(c, b)
        low, l_2 = vec.dot(vec.cross(e, f), n), max(vec.norm2(e), vec.norm2(f), vec.norm2(g))
        if moves:
            a = vec.load(drift, i)
            p, r = vec.add(e, vec.sub(vec.load(drift, j), a)), vec.add(f, vec.sub(vec.load(drift, k), a))
            middle = 0.5 * vec.dot(vec.add(vec.cross(e, r), vec.cross(p, f)), n)
            low = min(low, middle, vec.dot(vec.cross(p, r), n))
            l_2 = max(l_2, vec.norm2(p), vec.norm2(r), vec.norm2(vec.sub(r, p)))
        if copies or not ((low > 0.0) & (low * low > least_2 * l_2) & (l_2 < 1e200)):
            scale_range(corners, motion, twin, q, q + 1, 1, scaled_normals)
            if not all_face_along(scaled_normals, q, q + 1, n, least, moves):
                return False
    return True


@kernel
def project(motion, rows, first, last, n, seen):
    """Project vertices rows[first:last] along n, relative to the first of them, and their displacements; return whether
    this changes `seen`."""
    least = min(abs(n[0]), abs(n[1]), abs(n[2]))
    side = (1.0, 0.0, 0.0) if abs(n[0]) == least else ((0.0, 1.0, 0.0) if abs(n[1]) == least else (0.0, 0.0, 1.0))
    u = vec.unit(vec.cross(side, n))
    v = vec.cross(n, u)
    origin, moves, changed = vec.load(motion.x, rows[first]), len(motion.drift) > 0, False
    for k in range(first, last):
        p = vec.sub(vec.load(motion.x, rows[k]), origin)
        r, s = vec.dot(p, u), vec.dot(p, v)
        changed |= (seen[k, 0] != r) | (seen[k, 1] != s)
        seen[k, 0], seen[k, 1] = r, s
        if moves:
            p = vec.load(motion.drift, rows[k])
            r, s = vec.dot(p, u), vec.dot(p, v)
            changed |= (seen[k, 2] != r) | (seen[k, 3] != s)
            seen[k, 2], seen[k, 3] = r, s
    return changed


@kernel
def point_from_edge_2(p, a, b):
    """Squared distance of a point from an edge in the plane."""
    e, f, r, s = b[0] - a[0], b[1] - a[1], p[0] - a[0], p[1] - a[1]
    t = min(max((e * r + f * s) / (e * e + f * f), 0.0), 1.0)
    r, s = r - t * e, s - t * f
    return r * r + s * s


@kernel
def cross_each_other(a, b, c, d):
    """Return whether the edges a-b and c-d cross. No end may be near the other edge; then the signs are reliable.

    If edges cross, the distance of an end from the other line equals its distance from the other edge where its foot
    point lies on that edge; otherwise it is greater than the distance, from its own edge, of that end of the other
    edge which is nearest to the foot point.
    """
    one = (rounded_orient2d(a, b, c) > 0.0) != (rounded_orient2d(a, b, d) > 0.0)
    return one and (rounded_orient2d(c, d, a) > 0.0) != (rounded_orient2d(c, d, b) > 0.0)


@kernel
def rounded_orient2d(a, b, c):
    """Twice the signed area of the triangle abc in the plane, rounded: positive if it is counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@kernel
def relative_displacement(seen, p, a, b):
    """Greatest displacement of vertex p of a contour relative to vertices a and b, in the plane."""
    r, s = seen[p, 2] - seen[a, 2], seen[p, 3] - seen[a, 3]
    t, u = seen[p, 2] - seen[b, 2], seen[p, 3] - seen[b, 3]
    return math.sqrt(max(r * r + s * s, t * t + u * u)) * (1.0 + 1e-9)


@kernel
def edges_clear(seen, first, n, i, j, least, spread):
    """Whether edges i < j of a contour of n edges are separated: the first end of each is far enough from the other,
    and they do not cross. `spread` is an upper bound of all relative displacements; zero if nothing moves.
    """
    i_1, j_1 = i + 1, j + 1 if j + 1 < n else 0
    a, b = (seen[first + i, 0], seen[first + i, 1]), (seen[first + i_1, 0], seen[first + i_1, 1])
    c, d = (seen[first + j, 0], seen[first + j, 1]), (seen[first + j_1, 0], seen[first + j_1, 1])
    wide = least + spread
    if min(a[0], b[0]) > max(c[0], d[0]) + wide or min(c[0], d[0]) > max(a[0], b[0]) + wide:
        return True
    if min(a[1], b[1]) > max(c[1], d[1]) + wide or min(c[1], d[1]) > max(a[1], b[1]) + wide:
        return True
    one = two = least
    if spread > 0.0:
        one += relative_displacement(seen, first + i, first + j, first + j_1)
        two += relative_displacement(seen, first + j, first + i, first + i_1)
    good = j_1 == i or point_from_edge_2(a, c, d) > one * one
    good = good and (i_1 == j or point_from_edge_2(c, a, b) > two * two)
    return good and (i_1 == j or j_1 == i or not cross_each_other(a, b, c, d))


@kernel
def contour_clear(seen, first, last, least, spread):
    """Whether condition 3 holds for the contour seen[first:last] and D = least; distant blocks of edges are culled."""
    n, wide = last - first, least + spread
    blocks = -(-n // BLOCK)
    box = np.empty((blocks, 4))
    for g in range(blocks):
        x_0, y_0, x_1, y_1 = np.inf, np.inf, -np.inf, -np.inf
        for i in range(g * BLOCK, min(g * BLOCK + BLOCK, n) + 1):
            k = first + (i if i < n else 0)
            x_0, y_0, x_1, y_1 = min(x_0, seen[k, 0]), min(y_0, seen[k, 1]), max(x_1, seen[k, 0]), max(y_1, seen[k, 1])
        box[g, 0], box[g, 1], box[g, 2], box[g, 3] = x_0, y_0, x_1 + wide, y_1 + wide
    for g in range(blocks):
        for h in range(g, blocks):
            if box[g, 0] <= box[h, 2] and box[h, 0] <= box[g, 2] and box[g, 1] <= box[h, 3] and box[h, 1] <= box[g, 3]:
                for i in range(g * BLOCK, min(g * BLOCK + BLOCK, n)):
                    for j in range(max(h * BLOCK, i + 1), min(h * BLOCK + BLOCK, n)):
                        if not edges_clear(seen, first, n, i, j, least, spread):
                            return False
    return True


@kernel
def diagonal(boxes, i):
    """Length of the diagonal of row i of `boxes` (k,6), rounded up: of displacements, a bound of all relative ones."""
    d = (boxes[i, 3] - boxes[i, 0], boxes[i, 4] - boxes[i, 1], boxes[i, 5] - boxes[i, 2])
    return math.sqrt(vec.norm2(d)) * (1.0 + 1e-9)


@kernel
def proved(node, i, motion, patches, least):
    """Whether the patch of node number i is proved to have no pair closer than `least` during the motion."""
    begin, end = patches.start[i], patches.start[i + 1]
    if begin == end:
        return False
    moves = len(motion.drift) > 0
    first, last = node.first, node.first + node.count
    n = axis_of(patches.scaled_normals, first, last, moves)
    vec.store(patches.axes, i, n)
    if not all_face_along(patches.scaled_normals, first, last, n, least, moves):
        return False
    project(motion, patches.rows, begin, end, n, patches.seen)
    return contour_clear(patches.seen, begin, end, least, diagonal(motion.boxes, i) if moves else 0.0)


@kernel(parallel=True)
def whole_is_proved(corners, patches, motion, least):
    """Whether the patch of all triangles is proved, with the result of `proved` but without writing their scaled
    normals, and shared by all threads: cloth that hardly touches itself is often one patch."""
    m, end, moves = len(corners), patches.start[1], len(motion.drift) > 0
    if end == 0:
        return False
    scale_range(corners, motion, patches.twin, 0, m, sample_step(m), patches.scaled_normals)
    n = axis_of(patches.scaled_normals, 0, m, moves)
    vec.store(patches.axes, 0, n)
    good = np.empty(PARTS, np.bool_)
    for c in prange(PARTS):
        good[c] = range_faces_along(corners, motion, patches, c * m // PARTS, (c + 1) * m // PARTS, n, least)
    if not good.all():
        return False
    project(motion, patches.rows, 0, end, n, patches.seen)
    return contour_clear(patches.seen, 0, end, least, diagonal(motion.boxes, 0) if moves else 0.0)


@kernel(parallel=True)
def skip_proved_patches(nodes, corners, patches, motion, least, fewest, begin):
    """Start the traversals of the triangles of the largest proved patches after the patch; return the number of
    patches.

    begin (m,) contains the default start of each traversal. The nodes are processed from the root down, one level at a
    time, after the scaled normals of all triangles with these `corners` (m,3).
    """
    m = len(corners)
    for c in prange(PARTS):
        scale_range(corners, motion, patches.twin, c * m // PARTS, (c + 1) * m // PARTS, 1, patches.scaled_normals)
    level, next_level = np.empty(len(begin) // fewest + 1, np.int32), np.empty(len(begin) // fewest + 1, np.int32)
    good = np.empty(len(level), np.bool_)
    n, total = 0, 0
    if len(nodes) > 0 and nodes[0].count >= fewest:
        level[0], n = 0, 1
    while n > 0:
        for k in prange(n):
            i = level[k]
            good[k] = proved(nodes[i], i, motion, patches, least)
            if good[k]:
                for q in range(nodes[i].first, nodes[i].first + nodes[i].count):
                    begin[q] = nodes[i].skip
        more = 0
        for k in range(n):
            i = level[k]
            total += good[k]
            j = i + 1
            while j < nodes[i].skip and not good[k]:
                if nodes[j].count >= fewest:
                    next_level[more] = j
                    more += 1
                j = nodes[j].skip
        level, next_level, n = next_level, level, more
    return total

"""A BVH with eight children per node and up to eight triangles per leaf, both side by side, in single precision.

Its nodes and leaves are those of another BVH (tree.py), of any arity and with one triangle per leaf, several of whose
levels they join. It only culls: boxes are rounded outward, and the distance of a triangle has a known error, so that
exact tests of the triangles that are left give the result. Coordinates are scaled and translated, so that the surface
is within -1..1.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from ..triangle_lanes import FIRST, LANES, LAST, LENGTH, NEXT, NORMAL, ROWS, SECOND

CHUNK = 64  # nodes per task of a thread
NOWHERE = 1e18  # distance of a missing triangle
RISE = 1e-30
THIN = 1e-12  # height over length of a triangle that has no plane of its own


class Plan(NamedTuple):
    """What lanes are made of, (w,8): consecutive parts of the other BVH, its nodes node..stop-1, none where node is -1;
    and whether that is a node >= 0, or the leaf -1 - child."""

    node: np.ndarray
    stop: np.ndarray
    child: np.ndarray


class Bvh8(NamedTuple):
    boxes: np.ndarray  # (w,6,8) f4 low x, y, z, high x, y, z; +inf and -inf for missing ones
    child: np.ndarray  # (w,8) i4 a node, or -1 - a leaf
    triangles: np.ndarray  # (l,19,8) f4 their frames, from the centre of the leaf: rows of `triangle_lanes`
    heads: np.ndarray  # (l,4) f4 the centre of the leaf, and the distance of the farthest corner from it
    face: np.ndarray  # (l,8) i4
    home: np.ndarray  # (m,) i4 the leaf of each face
    centre: np.ndarray  # (3,) metres
    scale: float  # a power of two, 1/m
    room: int  # stack size of a traversal


@kernel
def joined(nodes, r, lane, stop):
    """Fill lane, stop (>=8,) with the up to eight parts that node r is divided into; return their number.

    The part with the most triangles is divided, as long as all have room and it is no leaf. Neighbours that make a leaf
    together are merged.
    """
    lane[0], n = r, 1
    while True:
        widest, most, more = -1, LANES, 0
        for k in range(n):
            if nodes[lane[k]].count > most:
                children, j = 0, lane[k] + 1
                while j < nodes[lane[k]].skip:
                    children, j = children + 1, nodes[j].skip
                if n - 1 + children <= LANES:
                    widest, most, more = k, nodes[lane[k]].count, children - 1
        if widest < 0:
            break
        for k in range(n - 1, widest, -1):
            lane[k + more] = lane[k]
        j = lane[widest] + 1
        for k in range(widest, widest + more + 1):
            lane[k], j = j, nodes[j].skip
        n += more
    m, k = 0, 0
    while k < n:
        total, first = nodes[lane[k]].count, lane[k]
        while k + 1 < n and total + nodes[lane[k + 1]].count <= LANES:
            k += 1
            total += nodes[lane[k]].count
        lane[m], stop[m] = first, nodes[lane[k]].skip
        m, k = m + 1, k + 1
    return m


@kernel
def plan_nodes(nodes, plan):
    """Fill `plan`, which has room for one row per node; return the numbers of nodes and leaves, and the stack size."""
    node, stop, child = plan.node, plan.stop, plan.child
    root, level = np.empty(len(node), np.int64), np.ones(len(node), np.int64)
    lane, end = np.empty(2 * LANES, np.int64), np.empty(2 * LANES, np.int64)
    root[0], at, n, leaves, deepest = 0, 0, 1, 0, 1
    while at < n:
        count = joined(nodes, root[at], lane, end)
        for k in range(LANES):
            node[at, k] = -1
        for k in range(count):
            node[at, k], stop[at, k] = lane[k], end[k]
            if nodes[lane[k]].count > LANES:
                child[at, k] = n
                root[n], level[n] = lane[k], level[at] + 1
                deepest, n = max(deepest, level[n]), n + 1
            else:  # several nodes are merged only into leaves
                child[at, k] = -1 - leaves
                leaves += 1
        at += 1
    return n, leaves, (LANES - 1) * deepest + LANES


@kernel
def down(value):
    """The largest single-precision number that is not greater."""
    single = np.float32(value)
    return single if single <= value else np.nextafter(single, np.float32(-np.inf))


@kernel(parallel=True)
def fill_bvh8(nodes, order, plan, surface, out):
    """Fill `out` (Bvh8), whose centre and scale are set, for a fitted BVH with its triangles in the given order."""
    for c in prange(-(-len(out.boxes) // CHUNK)):
        fill_range(nodes, order, plan, surface, c * CHUNK, min(len(out.boxes), (c + 1) * CHUNK), out)


@kernel
def fill_range(nodes, order, plan, surface, first, last, out):
    boxes, child, c, s = out.boxes, out.child, out.centre, out.scale
    for w in range(first, last):
        for k in range(LANES):
            j = plan.node[w, k]
            if j < 0:
                child[w, k] = 0
                for a in range(3):
                    boxes[w, a, k], boxes[w, a + 3, k] = np.inf, -np.inf
                continue
            start, count = nodes[j].first, 0
            low, high = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
            while j < plan.stop[w, k]:
                if nodes[j].skip > plan.stop[w, k]:  # the next part is below a node that was divided
                    j += 1
                    continue
                b = nodes[j].bounds
                low = (min(low[0], b[0]), min(low[1], b[1]), min(low[2], b[2]))
                high = (max(high[0], b[3]), max(high[1], b[4]), max(high[2], b[5]))
                count, j = count + nodes[j].count, nodes[j].skip
            for a in range(3):
                boxes[w, a, k], boxes[w, a + 3, k] = down((low[a] - c[a]) * s), -down(-(high[a] - c[a]) * s)
            child[w, k] = plan.child[w, k]
            if child[w, k] < 0:
                middle = vec.add(vec.scale(low, 0.5), vec.scale(high, 0.5))
                fill_leaf(surface, order, start, count, middle, -1 - child[w, k], out)


@kernel
def fill_leaf(surface, order, start, count, middle, leaf, out):
    """Fill a leaf with the triangles order[start:start+count]; missing ones are far away."""
    x, faces, c, s = surface.x, surface.faces, out.centre, out.scale
    triangles, heads, face, home = out.triangles, out.heads, out.face, out.home
    o = (
        np.float64(np.float32((middle[0] - c[0]) * s)),
        np.float64(np.float32((middle[1] - c[1]) * s)),
        np.float64(np.float32((middle[2] - c[2]) * s)),
    )
    far = 0.0
    for k in range(count):
        f = order[start + k]
        face[leaf, k], home[f] = f, leaf
        p = local(x, faces[f, 0], c, s, o)
        q = local(x, faces[f, 1], c, s, o)
        r = local(x, faces[f, 2], c, s, o)
        far = max(far, vec.norm2(p), vec.norm2(q), vec.norm2(r))
        fill_frame(p, q, r, triangles, leaf, k)
    for k in range(count, LANES):
        face[leaf, k] = order[start]
        for row in range(ROWS):
            triangles[leaf, row, k] = 0.0
        triangles[leaf, NORMAL + 3, k] = NOWHERE
    heads[leaf, 0], heads[leaf, 1], heads[leaf, 2] = o
    heads[leaf, 3] = -down(-math.sqrt(far))


@kernel
def local(x, v, c, s, o):
    """Vertex v of x, scaled, from o."""
    return (x[v, 0] - c[0]) * s - o[0], (x[v, 1] - c[1]) * s - o[1], (x[v, 2] - c[2]) * s - o[2]


@kernel
def fill_frame(a, b, c, triangles, leaf, k):
    """The frame of a triangle whose first edge is made the longest one, of any shape."""
    ab, bc, ca = vec.norm2(vec.sub(b, a)), vec.norm2(vec.sub(c, b)), vec.norm2(vec.sub(a, c))
    if bc >= ab and bc >= ca:
        a, b, c = b, c, a
    elif ca >= ab:
        a, b, c = c, a, b
    e, g = vec.sub(b, a), vec.sub(c, a)
    length = math.sqrt(vec.norm2(e))
    u = vec.scale(e, 1.0 / length) if length > 0.0 else (1.0, 0.0, 0.0)
    along = vec.dot(g, u)
    r = vec.sub(g, vec.scale(u, along))
    r = vec.sub(r, vec.scale(u, vec.dot(r, u)))  # once more: of a sliver, rounding is not at right angles
    height = math.sqrt(vec.norm2(r))
    v = vec.scale(r, 1.0 / height) if height > THIN * length else beside(u)
    n = vec.cross(u, v)
    for j in range(3):
        triangles[leaf, FIRST + j, k] = u[j]
        triangles[leaf, SECOND + j, k] = v[j]
        triangles[leaf, NORMAL + j, k] = n[j]
    triangles[leaf, FIRST + 3, k] = vec.dot(u, a)
    triangles[leaf, SECOND + 3, k] = vec.dot(v, a)
    triangles[leaf, NORMAL + 3, k] = vec.dot(n, a)
    triangles[leaf, LENGTH, k] = length
    fill_direction(along - length, height, -1.0, triangles, leaf, NEXT, k)
    fill_direction(along, height, 1.0, triangles, leaf, LAST, k)


@kernel
def beside(u):
    """A unit vector at right angles to the unit vector u."""
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    if x <= y and x <= z:
        v = (0.0, u[2], -u[1])
    elif y <= z:
        v = (-u[2], 0.0, u[0])
    else:
        v = (u[1], -u[0], 0.0)
    return vec.unit(v)


@kernel
def fill_direction(x, y, default, triangles, leaf, row, k):
    """The unit direction and the length of an edge in the plane of a triangle; of one without length, `default`.

    The edge always rises, however little: a point on the line through a triangle without area would be inside of all
    edges otherwise, wherever on that line it is.
    """
    n = math.sqrt(x * x + y * y)
    triangles[leaf, row, k] = x / n if n > 0.0 else default
    triangles[leaf, row + 1, k] = max(y / n, RISE) if n > 0.0 else RISE
    triangles[leaf, row + 2, k] = n

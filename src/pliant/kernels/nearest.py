"""The triangle nearest to a point, exactly: boxes in a complete binary tree, the nearer child first.

Node i has the children 2 i + 1 and 2 i + 2, so a walk needs no stack: which far children are still to be seen is one
bit a level.
"""

from typing import NamedTuple

import numpy as np

from . import vec
from .jit import kernel, prange
from .surface import corners, pseudonormal, side_of, touching
from .triangle import nearest2

LEAF = 4  # triangles in a leaf
CHUNK = 64  # points a thread takes at a time


class Tree(NamedTuple):
    low: np.ndarray  # (nodes,3) metres; +inf where a node is empty
    high: np.ndarray  # (nodes,3) metres; -inf where a node is empty
    faces: np.ndarray  # (m,) i4 in the order of the leaves


@kernel
def fill_boxes(surface, tree):
    """Boxes of the leaves, then of their parents, from the last to the first."""
    low, high = tree.low, tree.high
    leaves = (len(low) + 1) // 2
    for node in range(len(low) - 1, -1, -1):
        lo, hi = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
        if node >= leaves - 1:
            first = (node - leaves + 1) * LEAF
            for at in range(first, min(first + LEAF, len(tree.faces))):
                for p in corners(surface, tree.faces[at]):
                    lo, hi = lower(lo, p), upper(hi, p)
        else:
            for child in (2 * node + 1, 2 * node + 2):
                lo, hi = lower(lo, vec.load(low, child)), upper(hi, vec.load(high, child))
        vec.store(low, node, lo)
        vec.store(high, node, hi)


@kernel
def lower(a, b):
    return (min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]))


@kernel
def upper(a, b):
    return (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]))


@kernel
def box_distance2(low, high, p):
    """Squared distance of `p` from a box; a little less, against rounding; inf for an empty one."""
    x = max(low[0] - p[0], p[0] - high[0], 0.0)
    y = max(low[1] - p[1], p[1] - high[1], 0.0)
    z = max(low[2] - p[2], p[2] - high[2], 0.0)
    return (x * x + y * y + z * z) * (1.0 - 1e-12)


@kernel
def nearest_range(tree, surface, points, first, last, found, place):
    """The triangles nearest to points first..last-1: found (n,2) face and feature, place (n,3) barycentrics.

    A face >= 0 in `found` is a guess to begin with; it saves time and changes nothing, since ties go to the lower face.
    One loop without calls that take arrays: those would cost more than the arithmetic.
    """
    low, high, order = tree.low, tree.high, tree.faces
    x, faces = surface.x, surface.faces
    leaves = (len(low) + 1) // 2
    for i in range(first, last):
        p = vec.load(points, i)
        best, b_face, b_feature, b_u, b_v, b_w = np.inf, np.int64(-1), np.int64(0), 0.0, 0.0, 0.0
        guess = found[i, 0]
        if guess >= 0:
            a, b, c = vec.load(x, faces[guess, 0]), vec.load(x, faces[guess, 1]), vec.load(x, faces[guess, 2])
            best, feature, b_u, b_v, b_w = nearest2(p, a, b, c)
            b_face, b_feature = guess, np.int64(feature)
        node, level, pending = np.int64(0), np.int64(0), np.int64(0)
        while True:
            if node >= leaves - 1:
                leaf = node - leaves + 1
                for at in range(leaf * LEAF, min((leaf + 1) * LEAF, len(order))):
                    f = np.int64(order[at])
                    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
                    d2, feature, u, v, w = nearest2(p, a, b, c)
                    if d2 < best or (d2 == best and f < b_face):
                        best, b_face, b_feature, b_u, b_v, b_w = d2, f, np.int64(feature), u, v, w
            else:
                near, far = 2 * node + 1, 2 * node + 2
                d_near = box_distance2(vec.load(low, near), vec.load(high, near), p)
                d_far = box_distance2(vec.load(low, far), vec.load(high, far), p)
                if d_far < d_near:
                    near, far, d_near, d_far = far, near, d_far, d_near
                if d_near <= best:
                    level += 1
                    if d_far <= best and d_far < np.inf:
                        pending |= np.int64(1) << level
                    node = near
                    continue
            # up to the last far child that may still hold something nearer
            while True:
                while level > 0 and not (pending >> level) & 1:
                    node = (node - 1) >> 1
                    level -= 1
                if level == 0:
                    break
                pending ^= np.int64(1) << level
                node = node + 1 if node & 1 else node - 1
                if box_distance2(vec.load(low, node), vec.load(high, node), p) <= best:
                    break
            if level == 0:
                break
        found[i, 0], found[i, 1] = b_face, b_feature
        place[i, 0], place[i, 1], place[i, 2] = b_u, b_v, b_w


@kernel
def sign_range(surface, points, first, last, found, place, distance, nearest, normal):
    """Signed distance, nearest point and unit direction that opens the gap, for what `nearest_range` found."""
    for i in range(first, last):
        p, f, feature = vec.load(points, i), found[i, 0], found[i, 1]
        a, b, c = corners(surface, f)
        q = vec.add(vec.scale(a, place[i, 0]), vec.add(vec.scale(b, place[i, 1]), vec.scale(c, place[i, 2])))
        away = vec.sub(p, q)
        side = side_of(surface, p, q, f, feature)
        length = vec.norm(away)
        distance[i] = side * length
        vec.store(nearest, i, q)
        if touching(away, p, q):
            vec.store(normal, i, outward(surface, f, feature))
        else:
            vec.store(normal, i, vec.scale(away, side / length))


@kernel(parallel=True)
def signed_distances(tree, surface, points, found, place, distance, nearest, normal):
    """For each of `points` (n,3): signed distance, nearest point, unit direction that opens the gap."""
    for c in prange(-(-len(points) // CHUNK)):
        first, last = c * CHUNK, min(len(points), (c + 1) * CHUNK)
        nearest_range(tree, surface, points, first, last, found, place)
        sign_range(surface, points, first, last, found, place, distance, nearest, normal)


@kernel
def outward(surface, f, feature):
    """A unit direction away from `feature` of face `f`: its pseudonormal, or any at right angles to the face."""
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
    """Some direction at right angles to `e`, always the same one; up where `e` is zero."""
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

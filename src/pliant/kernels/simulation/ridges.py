"""Cloth that intersects a body: where its edges pass through the surface, on which side of it vertices belong, and
points of edges and faces on their way off a ridge."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.triangle import closest_on_triangle, unit_normal
from ..jit import kernel
from .sides import face_of, walk

LEVER = 4.0  # largest displacement of free vertices over that of a point between them


class ClothGraph(NamedTuple):
    """Vertices beside each vertex of cloth: beside[first[i]:first[i + 1]], ascending. enters (k,) of these directed
    edges is the first face of the body that the edge passes through, or -1."""

    first: np.ndarray
    beside: np.ndarray
    enters: np.ndarray


class Poked(NamedTuple):
    """Faces of cloth through which edges of a body pass: sums (k,3) of the barycentric coordinates of these points,
    sums (k,3) of the unit normals of the body's faces, and the number of points (k,)."""

    weights: np.ndarray
    ways: np.ndarray
    counts: np.ndarray


@kernel
def edge_hits(corners, around, x, ends, places, faces):
    """Find where edges of cloth pass through faces of a body, of intersecting triangles `corners` (k,2,3).

    Fill ends (3 k,2) with the ends of the edges, the lower row first, places (3 k,) with the fractions from it, and
    faces (3 k,) with rows of `around.faces`; return their number. An edge occurs once for each of its triangles.
    """
    count = 0
    for k in range(len(corners)):
        g = (corners[k, 1, 0], corners[k, 1, 1], corners[k, 1, 2])
        a, b, c = vec.load(x, g[0]), vec.load(x, g[1]), vec.load(x, g[2])
        for j in range(3):
            i, h = corners[k, 0, j], corners[k, 0, (j + 1) % 3]
            i, h = min(i, h), max(i, h)
            t = passes_at(vec.load(x, i), vec.load(x, h), a, b, c)
            if t >= 0.0:
                ends[count, 0], ends[count, 1], places[count] = i, h, t
                faces[count] = face_of(around, g[0], g[1], g[2])
                count += 1
    return count


@kernel
def find_poked(corners, number, x, poked):
    """Find where edges of a body pass through faces of cloth, of intersecting triangles `corners` (k,2,3), and add to
    row number[k] of `poked`."""
    for k in range(len(corners)):
        a, b, c = (vec.load(x, corners[k, 0, 0]), vec.load(x, corners[k, 0, 1]), vec.load(x, corners[k, 0, 2]))
        g = (vec.load(x, corners[k, 1, 0]), vec.load(x, corners[k, 1, 1]), vec.load(x, corners[k, 1, 2]))
        f = number[k]
        vec.store(poked.ways, f, vec.add(vec.load(poked.ways, f), unit_normal(g[0], g[1], g[2])))
        for j in range(3):
            p, q = g[j], g[(j + 1) % 3]
            t = passes_at(p, q, a, b, c)
            if t >= 0.0:
                m = vec.add(vec.scale(p, 1.0 - t), vec.scale(q, t))
                u, v, w, _ = closest_on_triangle(m, a, b, c)
                vec.store(poked.weights, f, vec.add(vec.load(poked.weights, f), (u, v, w)))
                poked.counts[f] += 1


@kernel
def find_faces(corners, around, faces):
    """Fill faces (k,) with the rows of `around.faces` that have these corners (k,3)."""
    for k in range(len(faces)):
        faces[k] = face_of(around, corners[k, 0], corners[k, 1], corners[k, 2])


@kernel
def passes_at(p, q, a, b, c):
    """Return the fraction of the way from p to q at which the segment passes through the triangle abc, or -1."""
    n = vec.cross(vec.sub(b, a), vec.sub(c, a))
    s, t = vec.dot(n, vec.sub(p, a)), vec.dot(n, vec.sub(q, a))
    if s * t > 0.0 or s == t:
        return -1.0
    u = s / (s - t)
    m = vec.add(vec.scale(p, 1.0 - u), vec.scale(q, u))
    for v, w in ((a, b), (b, c), (c, a)):
        if vec.dot(vec.cross(vec.sub(w, v), vec.sub(m, v)), n) < 0.0:
            return -1.0
    return u


@kernel
def find_sides(graph, around, x, outside, part, right, side):
    """Find the side of the body's surface that cloth which has passed it belongs to.

    outside (n,) marks vertices outside of the body, part (n,) their parts that are connected by edges which do not
    intersect it, and right (n,) those that are where they belong. From these on, the side of each vertex is found by a
    walk over the surface from where its edge enters the body, or from the side of its neighbour. A vertex outside that
    is above its side belongs there, and so does its part: these are marked in `right`, too. side (n,), -1 before, is
    the face of all others that are reached.
    """
    first, beside, enters = graph
    n = len(right)
    queue, queued = np.empty(n, np.int64), right.copy()
    end = 0
    for i in range(n):
        if right[i]:
            queue[end] = i
            end += 1
    at = 0
    while at < end:
        i = queue[at]
        at += 1
        for slot in range(first[i], first[i + 1]):
            j = beside[slot]
            begin = enters[slot] if right[i] else side[i]
            if right[j] or begin < 0 or (queued[j] and not outside[j]):
                continue
            f, _, u, v, w = walk(around, x, vec.load(x, j), begin)
            if outside[j] and is_above(around.faces, f, u, v, w, vec.load(x, j), x):
                for k in range(n):
                    if part[k] == part[j]:
                        right[k], side[k] = True, -1
                        if not queued[k]:
                            queued[k] = True
                            queue[end] = k
                            end += 1
            elif not queued[j]:
                side[j], queued[j] = f, True
                queue[end] = j
                end += 1


@kernel
def is_above(faces, f, u, v, w, p, x):
    """Whether p is above the plane of face f, of whose points that with barycentric coordinates u, v, w is nearest."""
    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
    q = vec.add(vec.add(vec.scale(a, u), vec.scale(b, v)), vec.scale(c, w))
    return vec.dot(vec.sub(p, q), unit_normal(a, b, c)) > 0.0


@kernel
def move_points(rows, weights, ways, levels, free, x, sweeps):
    """Move points (k,) between vertices of cloth along their unit directions `ways` (k,3) up to their levels (k,).

    rows (k,3) and weights (k,3) define the points; unused rows have no weight. `free` (n,) marks vertices that move. A
    point that only a long lever could move stays.
    """
    for _ in range(sweeps):
        for k in range(len(levels)):
            d = vec.load(ways, k)
            height, total = 0.0, 0.0
            for j in range(3):
                w = weights[k, j]
                height += w * vec.dot(d, vec.load(x, rows[k, j]))
                if free[rows[k, j]]:
                    total += w * w
            missing = levels[k] - height
            if missing <= 0.0 or total * LEVER * LEVER < 1.0:
                continue
            for j in range(3):
                if free[rows[k, j]] and weights[k, j] > 0.0:
                    i = rows[k, j]
                    vec.store(x, i, vec.add(vec.load(x, i), vec.scale(d, missing * weights[k, j] / total)))

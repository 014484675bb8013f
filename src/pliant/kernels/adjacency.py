"""Who touches whom in a triangle mesh, as kernels: faces around each vertex, the face across each edge, normals."""

import math
from typing import NamedTuple

import numpy as np

from .edge import cross_exactly
from .jit import kernel, prange
from .vec import cross, dot, load, norm2, scale, store, sub

CHUNK = 2048  # faces or vertices a thread takes at a time
BORDER, MANY = -1, -2  # what `across` says of an edge with one face, and of one with more than two
RING = 64  # faces around a vertex that are compared with each other; more are looked through for each edge
THINNEST = 1e-9  # of the unit of length: a face narrower than this is not told from its longest edge


class Fan(NamedTuple):
    x: np.ndarray  # (n,3) vertices, in cells from the grid's origin
    faces: np.ndarray  # (m,3) i4
    normals: np.ndarray  # (m,3) unit, zero where a face has no width
    across: np.ndarray  # (m,3) i4: beyond the edge from corner j to j+1 lies face f: 2 f (+ 1 if it runs the same way)
    start: np.ndarray  # (n+1,) i4: faces around vertex v are ring[start[v]:start[v+1]], ascending
    ring: np.ndarray  # (3m,) i4


@kernel
def count_faces(faces, count):
    """Add to `count` (n+1,), shifted by one, how many corners lie at each vertex."""
    for f in range(len(faces)):
        for c in range(3):
            count[faces[f, c] + 1] += 1


@kernel
def fill_rings(faces, cursor, ring):
    for f in range(len(faces)):
        for c in range(3):
            v = faces[f, c]
            ring[cursor[v]] = f
            cursor[v] += 1


@kernel
def face_normal(a, b, c):
    """Unit normal, right also for slivers; zero for a face without width."""
    e, f = sub(b, a), sub(c, a)
    n = cross(e, f)
    g = sub(c, b)
    n_2, l_2 = norm2(n), max(norm2(e), norm2(f), norm2(g))
    if n_2 < 1e-6 * l_2 * l_2:
        n = cross_exactly(e, f)
        n_2 = norm2(n)
    if n_2 <= THINNEST * THINNEST * l_2:
        return (0.0, 0.0, 0.0)
    return scale(n, 1.0 / math.sqrt(n_2))


@kernel(parallel=True)
def to_cells(vertices, origin, h, x):
    """Vertices (n,3) in metres to `x` in cells from the grid's origin."""
    for c in prange(-(-len(x) // CHUNK)):
        for v in range(c * CHUNK, min(len(x), (c + 1) * CHUNK)):
            for k in range(3):
                x[v, k] = (vertices[v, k] - origin[k]) / h


@kernel(parallel=True)
def fill_normals(fan):
    x, faces, normals = fan.x, fan.faces, fan.normals
    for c in prange(-(-len(faces) // CHUNK)):
        for f in range(c * CHUNK, min(len(faces), (c + 1) * CHUNK)):
            store(normals, f, face_normal(load(x, faces[f, 0]), load(x, faces[f, 1]), load(x, faces[f, 2])))


@kernel
def across_one(faces, start, ring, f, v, w):
    """The one face that holds v and w besides f."""
    found = BORDER
    for at in range(start[v], start[v + 1]):
        g = ring[at]
        if g == f:
            continue
        g_0, g_1, g_2 = faces[g, 0], faces[g, 1], faces[g, 2]
        if g_0 == w or g_1 == w or g_2 == w:
            same = (g_0 == v and g_1 == w) or (g_1 == v and g_2 == w) or (g_2 == v and g_0 == w)
            found = 2 * g + same if found == BORDER else MANY
    return found


@kernel
def across_range(faces, start, ring, first, last, across):
    """For each edge that leaves vertices first..last-1 the one face on its other side.

    The next and last corners of all faces around a vertex are compared with each other: each face is read once, not
    once for every edge of its neighbours.
    """
    ahead, behind, corner = np.empty(RING, np.int32), np.empty(RING, np.int32), np.empty(RING, np.int32)
    for v in range(first, last):
        o, count = start[v], start[v + 1] - start[v]
        plain = count <= RING
        for r in range(count if plain else 0):
            f = ring[o + r]
            a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
            # a face that holds a vertex twice has edges of no length
            plain = plain and a != b and b != c and c != a
            ahead[r], behind[r] = b if a == v else c if b == v else a, c if a == v else a if b == v else b
            corner[r] = 0 if a == v else 1 if b == v else 2
        for r in range(count):
            f = ring[o + r]
            if plain:
                w, hits, one = ahead[r], 0, 0
                for s in range(count):
                    hit = (ahead[s] == w) | (behind[s] == w)
                    hits += hit
                    one = s if hit and s != r else one
                # the face itself is one of them
                found = BORDER if hits == 1 else 2 * ring[o + one] + (ahead[one] == w)
                across[f, corner[r]] = found if hits < 3 else MANY
            else:
                for c in range(3):
                    if faces[f, c] == v:
                        across[f, c] = across_one(faces, start, ring, f, v, faces[f, (c + 1) % 3])


@kernel(parallel=True)
def fill_across(fan):
    n = len(fan.x)
    for c in prange(-(-n // CHUNK)):
        across_range(fan.faces, fan.start, fan.ring, c * CHUNK, min(n, (c + 1) * CHUNK), fan.across)


@kernel
def corner_angle(e, f):
    """Between two edges; atan2 keeps its precision where acos loses it."""
    return math.atan2(math.sqrt(norm2(cross(e, f))), dot(e, f))

"""How far two crossing triangles would have to be moved apart, each in front of the other, and in which direction.

The directions are normals of facets of the Minkowski difference of both triangles: those of the two faces, and of pairs
of edges between which both triangles lie. Only directions from the front of one to the front of the other count: the
nearer side alone would trap sheets that pass through each other, since it changes from one triangle to the next.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

NOTHING, FACE_VERTEX, EDGE_EDGE = 0, 1, 2
CHUNK = 256  # pairs per task of a thread


class Crossings(NamedTuple):
    """Of k pairs of triangles."""

    kind: np.ndarray  # (k,) u1
    rows: np.ndarray  # (k,4) i8 vertices: a face and a vertex of the other one, or two edges
    sign: np.ndarray  # (k,) 1 or -1: orientation of the normal of these


@kernel
def direction(i, a, b, front):
    """Candidate i of 0..10 of triangles a, b: a normal, zero if it is none, and the depth times its length. Moving b by
    the depth along the normal separates them. `front`: from the front of b to that of a."""
    if i == 0:
        n = vec.cross(vec.sub(a[1], a[0]), vec.sub(a[2], a[0]))
    elif i == 1:
        n = vec.scale(vec.cross(vec.sub(b[1], b[0]), vec.sub(b[2], b[0])), -1.0)
    else:
        j, k = (i - 2) // 3, (i - 2) % 3
        n = vec.cross(vec.sub(a[(j + 1) % 3], a[j]), vec.sub(b[(k + 1) % 3], b[k]))
        if vec.dot(n, front) < 0.0:
            n = vec.scale(n, -1.0)
        # both triangles lie between the planes through the edges
        tie = 1e-12 * vec.norm(n)
        p, q = vec.sub(a[(j + 2) % 3], a[j]), vec.sub(b[(k + 2) % 3], b[k])
        if vec.dot(n, p) > tie * vec.norm(p) or vec.dot(n, q) < -tie * vec.norm(q):
            return (0.0, 0.0, 0.0), 0.0
    return n, span(n, a, b)


@kernel
def span(n, a, b):
    """The length along n by which triangles a and b overlap."""
    most = max(vec.dot(n, vec.sub(a[0], b[0])), vec.dot(n, vec.sub(a[1], b[0])), vec.dot(n, vec.sub(a[2], b[0])))
    return most - min(0.0, vec.dot(n, vec.sub(b[1], b[0])), vec.dot(n, vec.sub(b[2], b[0])))


@kernel
def farthest(n, t):
    """The corner of triangle t that is farthest along n."""
    k = 0
    for j in range(1, 3):
        if vec.dot(n, vec.sub(t[j], t[k])) > 0.0:
            k = j
    return k


@kernel
def crossing_range(x, faces, pairs, first, last, out):
    """Fill `out` (Crossings) for pairs (k,2) of faces first..last-1."""
    kind, rows, sign = out.kind, out.rows, out.sign
    for c in range(first, last):
        f, g = pairs[c, 0], pairs[c, 1]
        a = (vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2]))
        b = (vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2]))
        n_a = vec.cross(vec.sub(a[1], a[0]), vec.sub(a[2], a[0]))
        n_b = vec.cross(vec.sub(b[1], b[0]), vec.sub(b[2], b[0]))
        front = vec.sub(vec.unit(n_a), vec.unit(n_b))
        short = 1e-12 * (vec.norm2(n_a) * vec.norm2(n_b)) ** 0.5  # against nearly parallel edges
        best, chosen, normal = np.inf, -1, (0.0, 0.0, 0.0)
        for i in range(11):
            n, overlap = direction(i, a, b, front)
            length = vec.norm2(n)
            if length > short and overlap * overlap < best * length:
                best, chosen, normal = overlap * overlap / length, i, n
        kind[c], sign[c] = NOTHING, 1.0
        for j in range(4):
            rows[c, j] = 0
        if chosen < 0:
            continue
        if chosen < 2:  # a vertex behind a face
            kind[c] = FACE_VERTEX
            one, two = (f, g) if chosen == 0 else (g, f)
            k = farthest(vec.scale(normal, -1.0), b) if chosen == 0 else farthest(normal, a)
            for j in range(3):
                rows[c, j] = faces[one, j]
            rows[c, 3] = faces[two, k]
        else:
            kind[c] = EDGE_EDGE
            j, k = (chosen - 2) // 3, (chosen - 2) % 3
            n = vec.cross(vec.sub(a[(j + 1) % 3], a[j]), vec.sub(b[(k + 1) % 3], b[k]))
            sign[c] = 1.0 if vec.dot(n, normal) > 0.0 else -1.0
            rows[c, 0], rows[c, 1] = faces[f, j], faces[f, (j + 1) % 3]
            rows[c, 2], rows[c, 3] = faces[g, k], faces[g, (k + 1) % 3]


@kernel(parallel=True)
def fill_crossings(x, faces, pairs, out):
    """Apply `crossing_range` to all pairs."""
    for c in prange(-(-len(pairs) // CHUNK)):
        crossing_range(x, faces, pairs, c * CHUNK, min(len(pairs), (c + 1) * CHUNK), out)

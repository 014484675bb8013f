"""The surface that each vertex of cloth lies on, followed over the faces of bodies.

Where limbs close on cloth, the nearest surface may be that of the wrong one. A walk over adjacent faces, each nearer
than the last, stays on the limb on which it begins.
"""

import math

import numpy as np

from .. import vec
from ..geometry.triangle import closest_on_triangle
from ..jit import kernel
from ..kinds import VERTEX_FACE

STEPS = 64  # faces of a walk; it continues in the next frame
NEARER = 1.0 - 1e-12  # ratio of squared distances below which a walk continues


@kernel
def nearest_on_face(faces, f, p, x):
    """Return the squared distance of p from face f, and the barycentric coordinates of its nearest point."""
    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
    u, v, w, _ = closest_on_triangle(p, a, b, c)
    q = vec.add(vec.add(vec.scale(a, u), vec.scale(b, v)), vec.scale(c, w))
    return vec.norm2(vec.sub(p, q)), u, v, w


@kernel
def walk(around, x, p, f):
    """Walk from face f over faces that share a corner to one that no neighbour is nearer to p than; return it, its
    squared distance, and the barycentric coordinates of the nearest point."""
    first, numbers, faces, _ = around
    best, u, v, w = nearest_on_face(faces, f, p, x)
    for _ in range(STEPS):
        last = f
        for k in range(3):
            i = faces[last, k]
            for at in range(first[i], first[i + 1]):
                g = numbers[at]
                if g == last:
                    continue
                d, r, s, t = nearest_on_face(faces, g, p, x)
                if d < NEARER * best:
                    best, f, u, v, w = d, g, r, s, t
        if f == last:
            break
    return f, best, u, v, w


@kernel
def face_of(around, a, b, c):
    """Return the face with these corners, or -1."""
    first, numbers, faces, _ = around
    for at in range(first[a], first[a + 1]):
        i, j, h = faces[numbers[at], 0], faces[numbers[at], 1], faces[numbers[at], 2]
        if b in (i, j, h) and c in (i, j, h):
            return numbers[at]
    return -1


@kernel
def remember(found, around, x, within, before, side):
    """Fill `side` (n,) from `before` (n,), -1 for what is no face, and from the contacts `found` (k,) of vertices
    outside of bodies with faces: a vertex stays on its side up to a distance of `within` metres, and then changes to
    the face of its nearest contact, of equally near ones the first. Return whether there are contacts with faces."""
    nearest, any_face = np.full(len(x), -1, np.int32), False
    for c in range(len(found)):
        if found[c]["kind"] != VERTEX_FACE:
            continue
        any_face, i, distance = True, found[c]["vertices"][0], found[c]["distance"]
        if distance > 0.0 and (nearest[i] < 0 or distance < found[nearest[i]]["distance"]):
            nearest[i] = c
    if not any_face:
        return False
    for i in range(len(side)):
        side[i] = before[i] if 0 <= before[i] < len(around.faces) else -1
    for c in range(len(found)):
        v = found[c]["vertices"]
        i = v[0]
        if nearest[i] != c:
            continue
        f = face_of(around, v[1], v[2], v[3])
        if f < 0 or f == side[i]:
            continue
        if side[i] >= 0:
            g, far, _, _, _ = walk(around, x, vec.load(x, i), side[i])
            if math.sqrt(far) <= within:
                f = g
        side[i] = f
    return True


@kernel
def follow_sides(points, around, x, side, weights):
    """Walk from the faces `side` (k,), which are overwritten, towards points (k,3); fill weights (k,3)."""
    for k in range(len(side)):
        f, _, u, v, w = walk(around, x, vec.load(points, k), side[k])
        side[k] = f
        vec.store(weights, k, (u, v, w))

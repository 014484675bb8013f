"""Limit how far a separation direction rotates between two detection passes; larger changes are made step by step.

Inside a part that pierces a body, separation directions point to all sides. They cannot be continuous there if they
depend on positions alone: a disc has no continuous retraction onto its boundary. So previous directions are stored.
docs/detectors/consistent-depth.md has the details.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.triangle import nearest2
from ..jit import kernel
from .consistent_depth import LEEWAY, NONE, descend, direction_to, leave, size_of

TURN = math.pi / 4.0  # greatest rotation between two detection passes
COSINE = math.cos(TURN)
RATE = 12.0 * TURN  # greatest rotation per displacement of one face size
AROUND = 12  # directions tested on a cone
SHORT = 0.5  # weight of the distance relative to the direction
STILL = 1e-12  # of the face size: a smaller displacement counts as no motion
TRIES = 6  # cones beyond the allowed rotation, if no nearer direction leads out


class StoredDirections(NamedTuple):
    """Stored separation directions and depths of nodes, ascending by key."""

    keys: np.ndarray  # (k,) i8 keys of the nodes
    face: np.ndarray  # (k,) i4, or NONE
    weights: np.ndarray  # (k,3)
    normal: np.ndarray  # (k,3) unit
    depth: np.ndarray  # (k,) m
    turns: np.ndarray  # (k,) bool: still rotating towards the direction that positions alone determine


@kernel
def frame(a, b):
    """Two unit vectors perpendicular to unit vector a and to each other, the first towards b unless parallel to a."""
    side = vec.madd(b, a, -vec.dot(a, b))
    if vec.norm2(side) < 1e-20:
        side = vec.cross(a, (1.0, 0.0, 0.0) if abs(a[0]) < 0.7 else (0.0, 1.0, 0.0))
    side = vec.unit(side)
    return side, vec.cross(a, side)


@kernel
def best_on_cone(tet_bodies, x, p, tet, most, a, b, angle):
    """Find the best direction at `angle` from unit vector a that leaves the body within `most` metres of p, in `tet`:
    its score (-inf if there is none), the direction, the face and the distance. The score favours short paths near b.
    """
    u, v = frame(a, b)
    best, n, face, far = -np.inf, b, NONE, most
    for k in range(AROUND if angle > 0.0 else 1):
        c, s = math.cos(2.0 * math.pi * k / AROUND), math.sin(2.0 * math.pi * k / AROUND)
        side = vec.madd(vec.scale(u, c), v, s)
        e = vec.madd(vec.scale(a, math.cos(angle)), side, math.sin(angle))
        f, gone = leave(tet_bodies.tets, tet_bodies.beside, x, tet, p, vec.madd(p, e, most))
        good = vec.dot(e, b) - SHORT * gone
        if f != NONE and good > best:
            best, n, face, far = good, e, f, gone * most
    return best, n, face, far


@kernel
def limited_direction(tet_bodies, x, p, tet, most, a, b, free):
    """Find a direction from p, in `tet`, between unit vectors a and b that leaves the body within `most` metres,
    rotated from a by at most the angle `free` if possible: the direction, the face, or NONE, and the distance.
    """
    whole = math.acos(min(max(vec.dot(a, b), -1.0), 1.0))
    best, n, f, d = best_on_cone(tet_bodies, x, p, tet, most, a, b, 0.0)
    for k in range(1, 3):
        good, m, g, e = best_on_cone(tet_bodies, x, p, tet, most, a, b, 0.5 * k * free)
        if good > best:
            best, n, f, d = good, m, g, e
    for k in range(1, TRIES + 1):
        if f != NONE:
            break
        _, n, f, d = best_on_cone(tet_bodies, x, p, tet, most, a, b, free + (whole - free) * k / (TRIES + 1))
    return n, f, d


@kernel
def greatest_distance(tet_bodies, x, p, f, g):
    """Greatest allowed distance of a surface point from p: LEEWAY of a face more than the nearest around f and g."""
    f, q, _, _, _ = descend(tet_bodies, x, f, p)
    g, r, _, _, _ = descend(tet_bodies, x, g, p)
    d, e = vec.norm(vec.sub(q, p)), vec.norm(vec.sub(r, p))
    return min(d, e) + LEEWAY * size_of(tet_bodies, x, f if d <= e else g)


@kernel
def limit_rotation(tet_bodies, nodes, result, x, before, i, m, aim):
    """Move the surface point of node i so that its direction rotates within the limit; return whether it was moved.

    aim: its direction and distance, as returned by `direction_to`. m: the index of the node in `before`. Nodes that
    moved farther than a face since then are not limited, nor are small rotations. A rotation in progress continues in
    proportion to the displacement, so that a repeated pass changes nothing.
    """
    b, d = aim
    p, a, f, g = vec.load(x, nodes.vertex[i]), vec.load(before.normal, m), result.face[i], before.face[m]
    q = vec.scale(vec.load(x, tet_bodies.faces[g, 0]), before.weights[m, 0])
    q = vec.madd(q, vec.load(x, tet_bodies.faces[g, 1]), before.weights[m, 1])
    q = vec.madd(q, vec.load(x, tet_bodies.faces[g, 2]), before.weights[m, 2])
    gone = vec.norm(vec.madd(vec.sub(q, p), a, -before.depth[m])) / size_of(tet_bodies, x, g)
    free = min(TURN, RATE * gone)
    if gone > 1.0 or vec.dot(a, b) >= math.cos(free if before.turns[m] else TURN):
        return False
    if gone < STILL:
        result.face[i] = g
        vec.store(result.weights, i, vec.load(before.weights, m))
        return True
    # no farther than LEEWAY allows, unless the surface point was farther before or would be now
    most = max(greatest_distance(tet_bodies, x, p, f, g), max(before.depth[m], d))
    n, f, d = limited_direction(tet_bodies, x, p, nodes.tet[i], most, a, b, free)
    if f == NONE:
        return False
    j, k, h = tet_bodies.faces[f, 0], tet_bodies.faces[f, 1], tet_bodies.faces[f, 2]
    _, _, u, v, w = nearest2(vec.madd(p, n, d), vec.load(x, j), vec.load(x, k), vec.load(x, h))
    result.face[i] = f
    vec.store(result.weights, i, (u, v, w))
    return True


@kernel
def limit_rotations(tet_bodies, nodes, result, x, before, now):
    """Limit the rotation of all separation directions relative to `before`; results are written to `now`."""
    faces, keys, vertex = tet_bodies.faces, nodes.keys, nodes.vertex
    face, weights, mean = result.face, result.weights, result.normal
    known, known_face, known_normal, turning = before.keys, before.face, before.normal, before.turns
    now_face, now_weights, now_normal, depth, turns = now.face, now.weights, now.normal, now.depth, now.turns
    m = 0
    for i in range(len(keys)):
        if face[i] == NONE:
            continue
        while m < len(known) and known[m] < keys[i]:
            m += 1
        again = m < len(known) and known[m] == keys[i] and known_face[m] != NONE
        for _ in range(2):
            f, p = face[i], vec.load(x, vertex[i])
            a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
            u, v, w = weights[i, 0], weights[i, 1], weights[i, 2]
            n, d = direction_to(p, a, b, c, u, v, w, vec.load(mean, i))
            if not again or (not turning[m] and vec.dot(n, vec.load(known_normal, m)) >= COSINE):
                break
            again = False
            turns[i] = limit_rotation(tet_bodies, nodes, result, x, before, i, m, (n, d))
        now_face[i], depth[i] = f, d
        vec.store(now_normal, i, n)
        vec.store(now_weights, i, (u, v, w))

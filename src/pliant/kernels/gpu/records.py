"""Contact records on the card, those of `queries/contact_records.py`, written 16 bytes at a time; pairs whose gap has
no direction are listed."""

from typing import NamedTuple

import numpy as np

from ..kinds import EDGE_EDGE, FIRST, SECOND, VERTEX_FACE
from .card import cuda
from .jit import kernel, prange
from .near_pairs import point
from .sources import twin
from .wide import store_words

_records, _geometry, vec = twin("queries.contact_records"), twin("queries.pair_geometry"), twin("vec")
face_contact, gap_normal_and_distance = _records.face_contact, _records.gap_normal_and_distance
closest_on_edges, across = _records.closest_on_edges, _geometry.across
# words of a record
KIND, VERTICES, BODIES, WEIGHTS, NORMAL, ANCHOR, VELOCITY, DISTANCE = 0, 2, 4, 5, 9, 12, 15, 18
# what decides the side of a normal has to be larger than its rounding error by far
SURE = 1e-6


class Unsure(NamedTuple):
    """The pairs whose gap has no direction, or no sure one, in any order."""

    rows: np.ndarray  # (n,) i8
    count: np.ndarray  # (1,) i8


class Edges(NamedTuple):
    """The edges of both sides and their vertices."""

    x_a: np.ndarray  # (n,4) metres
    edges_a: np.ndarray  # (k,2)
    x_b: np.ndarray
    edges_b: np.ndarray


class Around(NamedTuple):
    """The faces around the edges of a mesh."""

    faces: np.ndarray  # (m,3) vertices
    start: np.ndarray  # (k+1,)
    beside: np.ndarray  # faces at each edge, by rows


@kernel
def both(i, j):
    """Two numbers of 32 bits in one word, the first one in its lower half."""
    return (np.int64(i) & 0xFFFFFFFF) | (np.int64(j) << 32)


@kernel
def write(words, m, kind, pair, bodies, vertices, weights, found):
    """Write a whole record; found: normal and distance."""
    n, distance = found
    store_words(words, m, KIND, np.int64(kind), both(pair[0], pair[1]))
    store_words(words, m, VERTICES, both(vertices[0], vertices[1]), both(vertices[2], vertices[3]))
    store_words(words, m, BODIES, both(bodies[FIRST], bodies[SECOND]), weights[0])
    store_words(words, m, WEIGHTS + 1, weights[1], weights[2])
    store_words(words, m, WEIGHTS + 3, weights[3], n[0])
    store_words(words, m, NORMAL + 1, n[1], n[2])
    store_words(words, m, ANCHOR, 0.0, 0.0)
    store_words(words, m, ANCHOR + 2, 0.0, 0.0)
    store_words(words, m, VELOCITY + 1, 0.0, 0.0)
    store_words(words, m, DISTANCE, distance, 0.0)


@kernel
def append(unsure, m):
    unsure.rows[cuda.atomic.add(unsure.count, 0, 1)] = m


@kernel(parallel=True)
def fill_faces(x_a, x_b, faces_b, pairs, sign, owners, words, unsure):
    """Write the records of `pairs` (vertex of a, face of b) to words (n,20); positions (n,4), sign (n,) as in
    `contact_records`."""
    first, bodies = owners.first, owners.bodies
    for m in prange(len(pairs)):
        v, f = pairs[m, 0], pairs[m, 1]
        i, j, k = faces_b[f, 0], faces_b[f, 1], faces_b[f, 2]
        p, a, b, d = point(x_a, v), point(x_b, i), point(x_b, j), point(x_b, k)
        n, distance, degenerate, weights = face_contact(p, a, b, d, sign[v] if len(sign) > 0 else 1.0)
        vertices = (v + first[0], i + first[1], j + first[1], k + first[1])
        write(words, m, VERTEX_FACE, (v, f), bodies, vertices, weights, (n, distance))
        if degenerate:
            append(unsure, m)


@kernel(parallel=True)
def fill_edges(x_a, edges_a, x_b, edges_b, pairs, owners, words, unsure):
    """The same for pairs of edges."""
    first, bodies = owners.first, owners.bodies
    for m in prange(len(pairs)):
        e, f = pairs[m, 0], pairs[m, 1]
        i, j, k, h = edges_a[e, 0], edges_a[e, 1], edges_b[f, 0], edges_b[f, 1]
        a, b, c, d = point(x_a, i), point(x_a, j), point(x_b, k), point(x_b, h)
        s, t = closest_on_edges(a, b, c, d)
        n, distance, degenerate = gap_normal_and_distance(vec.mix(a, b, s), vec.mix(c, d, t), 1.0)
        vertices, weights = (i + first[0], j + first[0], k + first[1], h + first[1]), (1.0 - s, s, t - 1.0, -t)
        write(words, m, EDGE_EDGE, (e, f), bodies, vertices, weights, (n, distance))
        if degenerate:
            append(unsure, m)


@kernel
def pseudonormal(x, around, e):
    """About the pseudonormal of an edge, and whether rounding does not matter."""
    total, sure = (0.0, 0.0, 0.0), True
    for at in range(around.start[e], around.start[e + 1]):
        f = around.beside[at]
        a, b, c = vec.load(x, around.faces[f, 0]), vec.load(x, around.faces[f, 1]), vec.load(x, around.faces[f, 2])
        u, v = vec.sub(b, a), vec.sub(c, a)
        n = vec.cross(u, v)
        sure = sure and vec.norm(n) > SURE * vec.norm(u) * vec.norm(v) > 0.0
        total = vec.add(total, vec.unit(n))
    return vec.unit(total), sure and vec.norm(total) > SURE


@kernel(parallel=True)
def touching_edges(sides, around, pairs, touching, records, unsure):
    """Complete the records of the pairs touching.rows, of edges without a gap, as `pair_geometry.edge_edge_geometry`;
    list those for which the sum of normals around the second edge, which tells the side, is within rounding of zero."""
    x_a, edges_a, x_b, edges_b = sides.x_a, sides.edges_a, sides.x_b, sides.edges_b
    for c in prange(touching.count[0]):
        m = touching.rows[c]
        i, j, k, h = edges_a[pairs[m, 0], 0], edges_a[pairs[m, 0], 1], edges_b[pairs[m, 1], 0], edges_b[pairs[m, 1], 1]
        p, q, direction = across(vec.load(x_a, i), vec.load(x_a, j), vec.load(x_b, k), vec.load(x_b, h))
        normal, sure = pseudonormal(x_b, around, pairs[m, 1])
        height = vec.dot(direction, normal)
        if not (sure and abs(height) > SURE):
            append(unsure, m)
            continue
        if height < 0.0:
            direction = vec.scale(direction, -1.0)
        n, distance = _geometry.gap_direction(p, q, 1.0, direction)
        record = records[m]
        record["normal"][0], record["normal"][1], record["normal"][2] = n[0], n[1], n[2]
        record["distance"] = distance

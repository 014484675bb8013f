"""Contacts of vertices and of midpoints of edges with a distance field on the card: the records of
`detectors/distance_field.py`, in their order. Elements that touch are marked, and counted; a second launch samples
these few again and writes their records."""

import math
from typing import NamedTuple

import numpy as np

from ..kinds import FIRST, MIDPOINT_FIELD, SECOND, VERTEX_FIELD
from .field_contacts import VANISHED, dense_at, may_touch, sample_at
from .jit import kernel, prange
from .records import ANCHOR, BODIES, DISTANCE, KIND, NORMAL, VELOCITY, VERTICES, WEIGHTS, append, both, store_words
from .sources import twin

vec = twin("vec")


class Reach(NamedTuple):
    """As `fields.edges.Reach`, metres."""

    within: float
    slack: float
    known: float


class Cloth(NamedTuple):
    """The elements that may touch."""

    x: np.ndarray  # (n,3) metres, on the card
    edges: np.ndarray  # (m,2)
    bodies: np.ndarray  # (2,) i4 of the records


class Marked(NamedTuple):
    """Which elements touch: vertices, then edges."""

    near: np.ndarray  # (n+m,) i4 1 or 0
    start: np.ndarray  # (n+m+1,) i8 the record of each


@kernel
def write(words, m, kind, element, bodies, ends, at, found):
    """Write a whole record; ends: vertices, the second one -1 for a vertex. Return whether it has a normal."""
    d, g = found
    length = math.sqrt(vec.norm2(g))
    n = (0.0, 0.0, 0.0)
    if not length < VANISHED:
        n = vec.scale(g, 1.0 / length)
    weights = (0.5, 0.5) if ends[1] >= 0 else (1.0, 0.0)
    store_words(words, m, KIND, np.int64(kind), both(element, -1))
    store_words(words, m, VERTICES, both(ends[0], ends[1]), both(-1, -1))
    store_words(words, m, BODIES, both(bodies[FIRST], bodies[SECOND]), weights[0])
    store_words(words, m, WEIGHTS + 1, weights[1], 0.0)
    store_words(words, m, WEIGHTS + 3, 0.0, n[0])
    store_words(words, m, NORMAL + 1, n[1], n[2])
    store_words(words, m, ANCHOR, at[0] - d * n[0], at[1] - d * n[1])
    store_words(words, m, ANCHOR + 2, at[2] - d * n[2], 0.0)
    store_words(words, m, VELOCITY + 1, 0.0, 0.0)
    store_words(words, m, DISTANCE, d, 0.0)
    return not length < VANISHED


def _detection(sample):
    """The loops for fields of one kind, by their function `sample`."""

    @kernel(parallel=True)
    def mark_vertices(field, reach, cloth, distance, near):
        """Compute the distances (n,) of all vertices."""
        for i in prange(len(cloth.x)):
            p = vec.load(cloth.x, i)
            d, _ = sample(field, p[0], p[1], p[2])
            distance[i] = d
            near[i] = 1 if d <= reach.within else 0

    @kernel(parallel=True)
    def mark_midpoints(field, reach, cloth, distance, near):
        """Mark midpoints, by the distances of vertices where these tell."""
        for e in prange(len(cloth.edges)):
            i, j = cloth.edges[e, 0], cloth.edges[e, 1]
            d_i, d_j, a, b = distance[i], distance[j], vec.load(cloth.x, i), vec.load(cloth.x, j)
            far = reach.within + 0.5 * math.sqrt(vec.norm2(vec.sub(a, b)))
            touches = 0
            if may_touch(d_i, d_j, far, reach):
                p = vec.mix(a, b, 0.5)
                d, _ = sample(field, p[0], p[1], p[2])
                touches = 1 if d <= reach.within else 0
            near[len(distance) + e] = touches

    @kernel(parallel=True)
    def write_contacts(field, cloth, marked, words, unsure):
        """Write the records of what is marked to words (k,20), and list those without a normal."""
        n = len(cloth.x)
        for k in prange(len(marked.near)):
            if marked.near[k] != 0:
                m, e, edge = marked.start[k], k - n, k >= n
                i, j = np.int64(k), np.int64(-1)
                if edge:
                    i, j = np.int64(cloth.edges[e, 0]), np.int64(cloth.edges[e, 1])
                p = vec.load(cloth.x, i)
                if edge:
                    p = vec.mix(p, vec.load(cloth.x, j), 0.5)
                found = sample(field, p[0], p[1], p[2])
                kind, element = (MIDPOINT_FIELD, e) if edge else (VERTEX_FIELD, k)
                if not write(words, m, kind, element, cloth.bodies, (i, j), p, found):
                    append(unsure, m)

    return mark_vertices, mark_midpoints, write_contacts


DETECTION = {"Bricks": _detection(sample_at), "Dense": _detection(dense_at)}

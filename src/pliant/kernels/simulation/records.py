"""Contact records of the pairs of features that a detection pass of the guard has found, in one launch."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import first_side, normal_of
from ..jit import kernel, prange
from ..kinds import EDGE_EDGE, VERTEX_FACE
from ..queries.contact_records import (
    ROWS,
    closest_on_edges,
    face_contact,
    gap_normal_and_distance,
    write,
    write_vertices,
)

NO_BODIES = 0, 0  # until `keep_approaching` sets them


class Features(NamedTuple):
    """The features of two meshes whose vertices are rows of one array of positions."""

    faces_a: np.ndarray  # (m,3) i4
    edges_a: np.ndarray  # (k,2) i4
    faces_b: np.ndarray
    edges_b: np.ndarray


class FoundPairs(NamedTuple):
    """Pairs (k,2) i4 as `NearPairs` returns them."""

    forward: np.ndarray  # vertices of the first mesh and faces of the second
    backward: np.ndarray  # vertices of the second mesh and faces of the first
    edges: np.ndarray


@kernel
def write_face(x, i, face, faces, record):
    """Write the record of vertex i and a row of `faces`."""
    j, k, h = faces[face, 0], faces[face, 1], faces[face, 2]
    n, distance, _, weights = face_contact(vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, h), 1.0)
    write(record, VERTEX_FACE, i, face, NO_BODIES, n, distance)
    write_vertices(record, i, j, k, h, weights)


@kernel
def write_edges(x, e, f, features, record):
    """Write the record of edge e of the first mesh and edge f of the second."""
    i, j, k, h = features.edges_a[e, 0], features.edges_a[e, 1], features.edges_b[f, 0], features.edges_b[f, 1]
    a, b, c, d = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, h)
    s, t = closest_on_edges(a, b, c, d)
    n, distance, _ = gap_normal_and_distance(vec.mix(a, b, s), vec.mix(c, d, t), 1.0)
    write(record, EDGE_EDGE, e, f, NO_BODIES, n, distance)
    write_vertices(record, i, j, k, h, (1.0 - s, s, t - 1.0, -t))


@kernel
def keep_approaching(contacts, displacement, reach, body_of):
    """Move to the front, in their order, the pairs that are nearer than `reach` or may become so along `displacement`
    (n,3), all if it is empty; set their bodies, and return their number. The gap along the normal is at least the
    lesser of its values at the start and at the end.
    """
    count, moves = 0, len(displacement) > 0
    for c in range(len(contacts)):
        contact = contacts[c]
        vertices = contact["vertices"]
        if moves:
            n = normal_of(contact)
            split = first_side(contact["kind"])
            low, high = math.inf, -math.inf
            for k in range(4):
                h = vec.dot(n, vec.load(displacement, vertices[k]))
                if k < split:
                    low = min(low, h)
                else:
                    high = max(high, h)
            if contact["distance"] + min(low - high, 0.0) > reach:
                continue
        contact["bodies"][0], contact["bodies"][1] = body_of[vertices[0]], body_of[vertices[2]]
        if count < c:
            contacts[count] = contact
        count += 1
    return count


@kernel(parallel=True)
def fill_records(x, features, pairs, motion, reach, body_of, out):
    """Write the records of all `pairs` to out (k,), move those that `keep_approaching` keeps to its front, and return
    their number."""
    forward, backward, edges = pairs.forward, pairs.backward, pairs.edges
    one, two = len(forward), len(forward) + len(backward)
    for g in prange(-(-len(out) // ROWS)):
        for m in range(g * ROWS, min(len(out), (g + 1) * ROWS)):
            if m < one:
                write_face(x, forward[m, 0], forward[m, 1], features.faces_b, out[m])
            elif m < two:
                write_face(x, backward[m - one, 0], backward[m - one, 1], features.faces_a, out[m])
            else:
                write_edges(x, edges[m - two, 0], edges[m - two, 1], features, out[m])
    return keep_approaching(out, motion, reach, body_of)

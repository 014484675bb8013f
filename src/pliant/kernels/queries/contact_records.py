"""Contact records from pairs of features, in canonical order, independent of the order in which they were found."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.edge import closest_on_edges
from ..geometry.rounding import largest
from ..geometry.triangle import closest_on_triangle
from ..jit import kernel, prange
from ..kinds import EDGE_EDGE, FIRST, SECOND, VERTEX_FACE
from .surface import ROUNDING

ROWS = 512  # rows per task of a thread


class Owners(NamedTuple):
    """The bodies that the two features of every pair belong to."""

    first: np.ndarray  # (2,) i4 rows of their first vertices in the common array of positions
    bodies: np.ndarray  # (2,) i4 their indices


@kernel
def gap_normal_and_distance(p, q, sign):
    """Unit normal and signed distance from q to p, and whether the gap is within its rounding error (degenerate)."""
    gap = vec.sub(p, q)
    length = vec.norm(gap)
    if length <= ROUNDING * max(largest(p), largest(q)):
        return (0.0, 1.0, 0.0), gap[1], True
    return vec.scale(gap, sign / length), sign * length, False


@kernel
def face_contact(p, a, b, d, sign):
    """Normal, signed distance, whether they are degenerate, and weights of the contact of p with the triangle abd."""
    u, s, t, _ = closest_on_triangle(p, a, b, d)
    q = vec.add(vec.scale(a, u), vec.add(vec.scale(b, s), vec.scale(d, t)))
    n, distance, degenerate = gap_normal_and_distance(p, q, sign)
    return n, distance, degenerate, (1.0, -u, -s, -t)


@kernel(parallel=True)
def fill_faces(x_a, x_b, faces_b, pairs, sign, owners, out, degenerate):
    """Write vertex-face records of `pairs` (vertex of a, face of b); sign (n,) is -1 for vertices inside b, or empty.

    `degenerate` marks gaps within their rounding error, which have no direction.
    """
    first, bodies = owners.first, owners.bodies
    for c in prange(-(-len(pairs) // ROWS)):
        for m in range(c * ROWS, min(len(pairs), (c + 1) * ROWS)):
            v, f = pairs[m, 0], pairs[m, 1]
            i, j, k = faces_b[f, 0], faces_b[f, 1], faces_b[f, 2]
            p, a, b, d = vec.load(x_a, v), vec.load(x_b, i), vec.load(x_b, j), vec.load(x_b, k)
            n, distance, degenerate[m], weights = face_contact(p, a, b, d, sign[v] if len(sign) > 0 else 1.0)
            write(out[m], VERTEX_FACE, v, f, bodies, n, distance)
            write_vertices(out[m], v + first[0], i + first[1], j + first[1], k + first[1], weights)


@kernel(parallel=True)
def fill_edges(x_a, edges_a, x_b, edges_b, pairs, owners, out, degenerate):
    """Write edge-edge records of `pairs`; otherwise as `fill_faces`."""
    first, bodies = owners.first, owners.bodies
    for g in prange(-(-len(pairs) // ROWS)):
        for m in range(g * ROWS, min(len(pairs), (g + 1) * ROWS)):
            e, f = pairs[m, 0], pairs[m, 1]
            i, j, k, h = edges_a[e, 0], edges_a[e, 1], edges_b[f, 0], edges_b[f, 1]
            a, b, c, d = vec.load(x_a, i), vec.load(x_a, j), vec.load(x_b, k), vec.load(x_b, h)
            s, t = closest_on_edges(a, b, c, d)
            p, q = vec.mix(a, b, s), vec.mix(c, d, t)
            n, distance, degenerate[m] = gap_normal_and_distance(p, q, 1.0)
            write(out[m], EDGE_EDGE, e, f, bodies, n, distance)
            write_vertices(out[m], i + first[0], j + first[0], k + first[1], h + first[1], (1.0 - s, s, t - 1.0, -t))


@kernel
def write(record, kind, i, j, bodies, n, distance):
    """Write all fields except vertices and weights, including `spare`: records are uninitialised memory."""
    record["kind"] = kind
    for k in range(7):
        record["spare"][k] = 0
    record["elements"][FIRST], record["elements"][SECOND] = i, j
    record["bodies"][FIRST], record["bodies"][SECOND] = bodies[FIRST], bodies[SECOND]
    for k in range(3):
        record["anchor"][k], record["anchor_velocity"][k] = 0.0, 0.0
    record["normal"][0], record["normal"][1], record["normal"][2] = n[0], n[1], n[2]
    record["distance"], record["time"] = distance, 0.0


@kernel
def write_vertices(record, i, j, k, h, weights):
    """Write the fields that `write` leaves out: four vertices and their weights."""
    vertices, shares = record["vertices"], record["weights"]
    vertices[0], vertices[1], vertices[2], vertices[3] = i, j, k, h
    shares[0], shares[1], shares[2], shares[3] = weights

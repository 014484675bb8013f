"""Near pairs by the spherical implicit surfaces of triangles and by edge midpoints, and their contact records.

Candidates come from the traversal of proximity.py. Distances are those of sphere_surface.py, in batches of BATCH pairs.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..bvh.leaf_mesh import PARTS
from ..jit import kernel, prange
from ..kinds import EDGE_EDGE, EDGE_TO_EDGE, VERTEX_FACE
from ..queries.contact_records import gap_normal_and_distance, write, write_vertices
from ..queries.proximity import STRIDE
from .sphere_surface import BATCH, edge_distances, face_distances, midpoint, spheres_of


class Spheres(NamedTuple):
    """Vertices, triangles and edges of one leaf mesh, or of two concatenated ones, with the data of their spheres."""

    balls: np.ndarray  # (n+m+k,4) centre and bounding radius of each vertex, face and edge
    faces: np.ndarray  # (m,9) n_1, n_2, squared lengths of n_1, n_2, n_3
    edges: np.ndarray  # (k,3) from end to end
    face_level: np.ndarray  # (m,) i4 subdivision level
    edge_level: np.ndarray  # (k,) i4
    names: np.ndarray  # (n+m+k,) i4 index of each vertex, face or edge in its mesh
    shift: np.ndarray  # (3,2) by kind: the rows of balls where the first and second features of a candidate begin
    starts: np.ndarray  # (3,) first rows of vertices, faces and edges in balls
    nearest: bool  # descend to the child of the nearest sphere instead of the one that contains the nearest point


class FaceLevels(NamedTuple):
    """Subdivision levels of faces."""

    level: np.ndarray  # (m,) i4
    deepest: int  # the largest
    nearest: bool  # as in Spheres


class EdgeLevels(NamedTuple):
    """Subdivision levels of the edges of two sides."""

    one: np.ndarray  # (k,) i4
    two: np.ndarray  # (h,) i4
    deepest: int  # the largest
    nearest: bool  # as in Spheres


@kernel
def corner(x, i, k):
    return (x[i, k], x[i, k + 1], x[i, k + 2])


@kernel(parallel=True)
def update_spheres(geometry, exact, points, face_balls, faces, edge_balls, edges):
    """Fill the rows of one leaf mesh at its position. `exact` gives edges a radius of zero: only midpoints count."""
    at_faces, at_edges, at_points = geometry.faces, geometry.edges, geometry.vertices
    for part in prange(PARTS):
        for v in range(part * len(points) // PARTS, (part + 1) * len(points) // PARTS):
            for k in range(3):
                points[v, k] = at_points[v, k]
            points[v, 3] = 0.0
        for q in range(part * len(faces) // PARTS, (part + 1) * len(faces) // PARTS):
            m, u, v, r, s, t = spheres_of(corner(at_faces, q, 0), corner(at_faces, q, 3), corner(at_faces, q, 6))
            for k in range(3):
                face_balls[q, k], faces[q, k], faces[q, 3 + k] = m[k], u[k], v[k]
            faces[q, 6], faces[q, 7], faces[q, 8] = r, s, t
            face_balls[q, 3] = math.sqrt(max(r, s, t))
        for e in range(part * len(edges) // PARTS, (part + 1) * len(edges) // PARTS):
            a, b = corner(at_edges, e, 0), corner(at_edges, e, 3)
            m, u = midpoint(a, b), vec.sub(b, a)
            for k in range(3):
                edge_balls[e, k], edges[e, k] = m[k], u[k]
            edge_balls[e, 3] = 0.0 if exact else 0.5 * math.sqrt(vec.norm2(u))


@kernel
def near_balls(balls, shift, within, rows, count):
    """Keep in rows those of the first `count` candidates (kind, index, index) whose bounding spheres are within
    `within`, as rows of balls; return their number.
    """
    kept, kind, one, two = 0, -1, shift[0, 0], shift[0, 1]
    for c in range(count):
        if rows[c, 0] != kind:  # they come in runs of one kind
            kind = rows[c, 0]
            one, two = shift[kind, 0], shift[kind, 1]
        # unsigned, to avoid the check for negative indices
        i, j = np.uint64(rows[c, 1] + one), np.uint64(rows[c, 2] + two)
        x, y, z = balls[i, 0] - balls[j, 0], balls[i, 1] - balls[j, 1], balls[i, 2] - balls[j, 2]
        reach = within + balls[i, 3] + balls[j, 3]
        # always written, kept by incrementing: a branch would be mispredicted too often
        rows[kept, 0], rows[kept, 1], rows[kept, 2] = kind, i, j
        kept += x * x + y * y + z * z <= reach * reach
    return kept


@kernel
def near_faces(spheres, batch, n, deepest, within, rows, kept):
    """Append those of n vertex-face pairs (kind, vertex, face) that are near to rows."""
    balls, faces, level, start = spheres.balls, spheres.faces, spheres.face_level, spheres.starts[1]
    p, at, d_2, levels = np.empty((12, BATCH)), np.empty((9, BATCH)), np.empty(BATCH), np.empty(BATCH, np.int32)
    for m in range(n):
        i, j, q = np.uint64(batch[m, 1]), np.uint64(batch[m, 2]), np.uint64(batch[m, 2] - start)
        for k in range(3):
            p[k, m] = balls[i, k] - balls[j, k]
        for k in range(9):
            p[3 + k, m] = faces[q, k]
        levels[m] = level[q]
    face_distances(p, n, levels, deepest, spheres.nearest, at, d_2)
    for m in range(n):
        rows[kept, 0], rows[kept, 1], rows[kept, 2] = batch[m, 0], batch[m, 1], batch[m, 2]
        kept += d_2[m] <= within * within
    return kept


@kernel
def near_edges(spheres, batch, n, deepest, within, rows, kept):
    """Append those of n edge-edge pairs that are near to rows."""
    balls, edges, level, start = spheres.balls, spheres.edges, spheres.edge_level, spheres.starts[2]
    p, at, d_2, levels = np.empty((9, BATCH)), np.empty((4, BATCH)), np.empty(BATCH), np.empty(BATCH, np.int32)
    for m in range(n):
        i, j = batch[m, 1], batch[m, 2]
        for k in range(3):
            p[k, m], p[3 + k, m], p[6 + k, m] = balls[i, k] - balls[j, k], edges[i - start, k], edges[j - start, k]
        levels[m] = max(level[i - start], level[j - start])
    edge_distances(p, n, levels, deepest, spheres.nearest, at, d_2)
    for m in range(n):
        rows[kept, 0], rows[kept, 1], rows[kept, 2] = batch[m, 0], batch[m, 1], batch[m, 2]
        kept += d_2[m] <= within * within
    return kept


@kernel
def narrow_range(spheres, same, deepest, within, rows, count):
    """Keep those of the first `count` candidates (kind, index, index) in rows (cap,3) that are near, by their indices
    in the meshes; return their number. deepest (2,): the largest level of faces and of edges.
    """
    count, kept, n_f, n_e = near_balls(spheres.balls, spheres.shift, within, rows, count), 0, 0, 0
    if count == 0:
        return 0
    faces, edges, names = np.empty((BATCH, 3), np.int32), np.empty((BATCH, 3), np.int32), spheres.names
    midpoints_only = deepest[1] == 0  # the bounding spheres of edges were already exact
    for c in range(count):
        kind, i, j = rows[c, 0], rows[c, 1], rows[c, 2]
        if kind == EDGE_TO_EDGE:
            if midpoints_only:
                rows[kept, 0], rows[kept, 1], rows[kept, 2] = kind, i, j
                kept += 1
                continue
            edges[n_e, 0], edges[n_e, 1], edges[n_e, 2] = kind, i, j
            n_e += 1
            if n_e == BATCH:
                kept, n_e = near_edges(spheres, edges, n_e, deepest[1], within, rows, kept), 0
            continue
        faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = kind, i, j
        n_f += 1
        if n_f == BATCH:
            kept, n_f = near_faces(spheres, faces, n_f, deepest[0], within, rows, kept), 0
    if n_f > 0:
        kept = near_faces(spheres, faces, n_f, deepest[0], within, rows, kept)
    if n_e > 0:
        kept = near_edges(spheres, edges, n_e, deepest[1], within, rows, kept)
    for c in range(kept):
        i, j = names[rows[c, 1]], names[rows[c, 2]]
        # within one mesh the lower edge comes first, whichever was found first
        swap = same and rows[c, 0] == EDGE_TO_EDGE and j < i
        rows[c, 1], rows[c, 2] = j if swap else i, i if swap else j
    return kept


@kernel(parallel=True)
def narrow(spheres, same, deepest, within, found, counts):
    """Apply `narrow_range` to each part of found (parts,cap,3); counts (parts,) becomes the number kept."""
    parts = len(counts)
    for c in prange(parts):
        part = c * STRIDE % parts
        counts[part] = narrow_range(spheres, same, deepest, within, found[part], counts[part])


@kernel(parallel=True)
def fill_faces(x_a, triangles, pairs, levels_b, sign, owners, out, degenerate):
    """Write vertex-face records of `pairs` to the level of each face; otherwise as in queries/contact_records.py."""
    (x_b, faces_b), (level, deepest, nearest), (first, bodies) = triangles, levels_b, owners
    for c in prange(-(-len(pairs) // BATCH)):
        p, at, d_2, levels = np.empty((12, BATCH)), np.empty((9, BATCH)), np.empty(BATCH), np.empty(BATCH, np.int32)
        begin, n = c * BATCH, min(BATCH, len(pairs) - c * BATCH)
        for m in range(n):
            v, f = pairs[begin + m, 0], pairs[begin + m, 1]
            i, j, k = faces_b[f, 0], faces_b[f, 1], faces_b[f, 2]
            o, u, w, p[9, m], p[10, m], p[11, m] = spheres_of(vec.load(x_b, i), vec.load(x_b, j), vec.load(x_b, k))
            y, levels[m] = vec.sub(vec.load(x_a, v), o), level[f]
            for h in range(3):
                p[h, m], p[3 + h, m], p[6 + h, m] = y[h], u[h], w[h]
        face_distances(p, n, levels, deepest, nearest, at, d_2)
        for m in range(n):
            v, f = pairs[begin + m, 0], pairs[begin + m, 1]
            i, j, k = faces_b[f, 0], faces_b[f, 1], faces_b[f, 2]
            t = max((1.0 - at[2, m] - at[3, m]) / 3.0, 0.0)
            s = max(at[3, m] + t, 0.0)
            r = 1.0 - s - t
            q = vec.madd(vec.madd(vec.scale(vec.load(x_b, i), r), vec.load(x_b, j), s), vec.load(x_b, k), t)
            normal, distance, degenerate[begin + m] = gap_normal_and_distance(
                vec.load(x_a, v), q, sign[v] if len(sign) > 0 else 1.0
            )
            write(out[begin + m], VERTEX_FACE, v, f, bodies, normal, distance)
            write_vertices(out[begin + m], v + first[0], i + first[1], j + first[1], k + first[1], (1.0, -r, -s, -t))


@kernel(parallel=True)
def fill_edges(one, two, pairs, edge_levels, owners, out, degenerate):
    """Write edge-edge records of `pairs`; otherwise as `fill_faces`."""
    (x_a, edges_a), (x_b, edges_b), (first, bodies) = one, two, owners
    level_a, level_b, deepest, nearest = edge_levels
    for c in prange(-(-len(pairs) // BATCH)):
        p, at, d_2, levels = np.empty((9, BATCH)), np.empty((4, BATCH)), np.empty(BATCH), np.empty(BATCH, np.int32)
        begin, n = c * BATCH, min(BATCH, len(pairs) - c * BATCH)
        for m in range(n):
            e, f = pairs[begin + m, 0], pairs[begin + m, 1]
            a, b = vec.load(x_a, edges_a[e, 0]), vec.load(x_a, edges_a[e, 1])
            i, j = vec.load(x_b, edges_b[f, 0]), vec.load(x_b, edges_b[f, 1])
            y, u, w = vec.sub(midpoint(a, b), midpoint(i, j)), vec.sub(b, a), vec.sub(j, i)
            levels[m] = max(level_a[e], level_b[f])
            for h in range(3):
                p[h, m], p[3 + h, m], p[6 + h, m] = y[h], u[h], w[h]
        edge_distances(p, n, levels, deepest, nearest, at, d_2)
        for m in range(n):
            e, f = pairs[begin + m, 0], pairs[begin + m, 1]
            i, j, k, h = edges_a[e, 0], edges_a[e, 1], edges_b[f, 0], edges_b[f, 1]
            s, t = 0.5 + at[0, m], 0.5 + at[1, m]
            a, b = vec.mix(vec.load(x_a, i), vec.load(x_a, j), s), vec.mix(vec.load(x_b, k), vec.load(x_b, h), t)
            normal, distance, degenerate[begin + m] = gap_normal_and_distance(a, b, 1.0)
            write(out[begin + m], EDGE_EDGE, e, f, bodies, normal, distance)
            write_vertices(
                out[begin + m], i + first[0], j + first[0], k + first[1], h + first[1], (1.0 - s, s, t - 1.0, -t)
            )

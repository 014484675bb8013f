"""Consistent penetration depth and separation direction of vertices inside tetrahedral bodies.

After Heidelberger, Teschner, Keiser, Mueller and Gross 2004, Consistent penetration depth estimation for deformable
collision response. A node is a vertex inside a body, another or its own; a link joins two vertices of one body, along
an edge of its faces or tets. docs/detectors/consistent-depth.md explains the differences from the paper.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.tetra import barycentrics
from ..geometry.triangle import nearest2, unit_normal
from ..jit import kernel
from ..kinds import VERTEX_FACE
from .contact_records import write, write_vertices

NONE = -1
NOWHERE = -(2**31)  # no tet and no face has this number
FAR = 1024  # most tets that a link traverses
STEPS = 256  # most faces that a descent to the nearest one visits
TRIES = 6  # halvings of the segment between the chosen and the nearest surface point
LEEWAY = 0.8  # of the face size: how much farther than the nearest surface point the chosen one may be
TINY = 1e-9  # relative tolerance for lengths


class TetBodies(NamedTuple):
    tets: np.ndarray  # (k,4) i4 rows of x
    beside: np.ndarray  # (k,4) i4: the tet across the side opposite to each corner, or -1 - face for a surface face
    faces: np.ndarray  # (m,3) i4 rows of x: the surfaces of all bodies
    by_vertex: np.ndarray  # (n+1,) i8: vertex v is linked to links[by_vertex[v]:by_vertex[v+1]]
    links: np.ndarray  # (2e,) i4
    by_corner: np.ndarray  # (n+1,) i8: the faces around vertex v are rings[by_corner[v]:by_corner[v+1]]
    rings: np.ndarray  # (3m,) i4


class Nodes(NamedTuple):
    keys: np.ndarray  # (k,) i8 ascending: body * n + vertex
    vertex: np.ndarray  # (k,) i4
    tet: np.ndarray  # (k,) i4 a tet that contains it
    start: np.ndarray  # (k+1,) i8: links of node i are start[i]:start[i+1]
    to: np.ndarray  # (e,) i4 the node at the other end, or NONE
    face: np.ndarray  # (e,) i4 face through which a link leaves the body, or NONE
    length: np.ndarray  # (e,) m, to the other end or to that face
    out: np.ndarray  # (e,4) the normal there, and the height of the surface there above the node along it, m
    path_length: np.ndarray  # (k,) m along links to the surface, inf if unreachable


class DepthsAndDirections(NamedTuple):
    depth: np.ndarray  # (k,) m
    normal: np.ndarray  # (k,3) mean of the normals of links that leave the body, which is propagated
    face: np.ndarray  # (k,) i4 surface face
    weights: np.ndarray  # (k,3) barycentric weights on it: the surface point of the contact


@kernel
def index_of(keys, key):
    """Index of `key` in the ascending keys, or NONE."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else NONE


@kernel
def leave(tets, beside, x, tet, p, o):
    """Find where the segment from p, in `tet`, to o first leaves the tets: the face, or NONE, and the fraction.

    Barycentric coordinates are linear along the segment; the first decreasing one to reach 0 gives the side to cross.
    """
    previous, gone = NOWHERE, 0.0
    for _ in range(FAR):
        a, b = vec.load(x, tets[tet, 0]), vec.load(x, tets[tet, 1])
        c, d = vec.load(x, tets[tet, 2]), vec.load(x, tets[tet, 3])
        here, there = barycentrics(p, a, b, c, d), barycentrics(o, a, b, c, d)
        side, least = NONE, 1.0
        for k in range(4):
            decrease = here[k] - there[k]
            if decrease > 0.0 and beside[tet, k] != previous and here[k] <= least * decrease:
                side, least = k, here[k] / decrease
        if side == NONE:
            return NONE, 1.0
        gone = max(gone, least)
        previous, tet = tet, beside[tet, side]
        if tet < 0:
            return -1 - tet, gone
    return NONE, 1.0


@kernel
def corner_normal(tet_bodies, x, v, normals):
    """Angle-weighted normal at surface vertex v, computed once: a zero row of normals (n,3) is not computed yet."""
    n = vec.load(normals, v)
    if vec.norm2(n) > 0.0:
        return n
    faces, rings, by_corner = tet_bodies.faces, tet_bodies.rings, tet_bodies.by_corner
    for r in range(by_corner[v], by_corner[v + 1]):
        f = rings[r]
        k = 0 if faces[f, 0] == v else 1 if faces[f, 1] == v else 2
        a, b, c = vec.load(x, v), vec.load(x, faces[f, (k + 1) % 3]), vec.load(x, faces[f, (k + 2) % 3])
        u, w = vec.sub(b, a), vec.sub(c, a)
        angle = math.atan2(vec.norm(vec.cross(u, w)), vec.dot(u, w))
        n = vec.madd(n, unit_normal(a, b, c), angle)
    n = vec.unit(n)
    vec.store(normals, v, n)
    return n


@kernel
def normal_at(tet_bodies, x, f, q, normals):
    """Interpolate the vertex normals of face f at its point q, so that the normal is continuous across faces."""
    i, j, k = tet_bodies.faces[f, 0], tet_bodies.faces[f, 1], tet_bodies.faces[f, 2]
    _, _, u, v, w = nearest2(q, vec.load(x, i), vec.load(x, j), vec.load(x, k))
    n = vec.scale(corner_normal(tet_bodies, x, i, normals), u)
    n = vec.madd(n, corner_normal(tet_bodies, x, j, normals), v)
    return vec.unit(vec.madd(n, corner_normal(tet_bodies, x, k, normals), w))


@kernel
def build_links(tet_bodies, nodes, x, normals):
    """Fill in the links of all nodes; the shortest that leaves the body initialises the path length."""
    tets, beside, links, by_vertex = tet_bodies.tets, tet_bodies.beside, tet_bodies.links, tet_bodies.by_vertex
    keys, vertex, start, to, face, length = nodes.keys, nodes.vertex, nodes.start, nodes.to, nodes.face, nodes.length
    tet, out, path_length = nodes.tet, nodes.out, nodes.path_length
    for i in range(len(keys)):
        v = vertex[i]
        p = vec.load(x, v)
        for e in range(start[i], start[i + 1]):
            u = links[by_vertex[v] + e - start[i]]
            o, j = vec.load(x, u), index_of(keys, keys[i] - v + u)
            distance = vec.norm(vec.sub(o, p))
            to[e], face[e], length[e] = j, NONE, max(distance, 1e-150)
            if j != NONE:
                continue
            f, gone = leave(tets, beside, x, tet[i], p, o)
            face[e] = f
            if f != NONE:
                q = vec.mix(p, o, gone)
                n = normal_at(tet_bodies, x, f, q, normals)
                vec.store(out, e, n)
                out[e, 3], length[e] = vec.dot(vec.sub(q, p), n), max(max(gone, TINY) * distance, 1e-150)
                path_length[i] = min(path_length[i], length[e])


@kernel
def relax_path_lengths(nodes):
    """Propagate the lengths of the shortest paths along links from the surface inwards (alternating sweeps)."""
    start, to, length, path_length = nodes.start, nodes.to, nodes.length, nodes.path_length
    n, changed = len(path_length), True
    while changed:
        changed = False
        for m in range(2 * n):
            i = m if m < n else 2 * n - 1 - m
            for e in range(start[i], start[i + 1]):
                if to[e] != NONE and path_length[to[e]] + length[e] < path_length[i]:
                    path_length[i], changed = path_length[to[e]] + length[e], True


@kernel
def mean_of_links(nodes, result, x, i):
    """Depth and separation direction of node i, weighted means over its links towards the surface, and a nearby face.

    The paper's weights 1 / length^2 are multiplied by (rise / length)^2, where the rise is how much nearer the other
    end is to the surface: the result is then continuous when nodes appear or are overtaken.
    """
    start, to, length, face, out, path_length = (
        nodes.start,
        nodes.to,
        nodes.length,
        nodes.face,
        nodes.out,
        nodes.path_length,
    )
    p, total, deep, mean, best, near = vec.load(x, nodes.vertex[i]), 0.0, 0.0, (0.0, 0.0, 0.0), -1.0, NONE
    for e in range(start[i], start[i + 1]):
        j = to[e]
        ahead = path_length[j] if j != NONE else 0.0
        if ahead >= path_length[i] or (j == NONE and face[e] == NONE):
            continue
        weight = ((path_length[i] - ahead) / (length[e] * length[e])) ** 2
        if j == NONE:
            n, f, high = vec.load(out, e), face[e], out[e, 3]
        else:
            n, f = vec.load(result.normal, j), result.face[j]
            high = vec.dot(vec.sub(vec.load(x, nodes.vertex[j]), p), n) + result.depth[j]
        total, deep, mean = total + weight, deep + weight * high, vec.madd(mean, n, weight)
        if weight > best:
            best, near = weight, f
    return deep / total, vec.unit(mean), near


@kernel
def descend(tet_bodies, x, f, p):
    """Descend from face f across neighbouring faces to a local minimum of the distance to p: face, point, u, v, w.

    Nearer faces on another side of the body are deliberately not found.
    """
    faces, rings, by_corner = tet_bodies.faces, tet_bodies.rings, tet_bodies.by_corner
    d2, _, u, v, w = nearest2(p, vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2]))
    for _ in range(STEPS):
        here = f
        for k in range(3):
            corner = faces[here, k]
            for r in range(by_corner[corner], by_corner[corner + 1]):
                g = rings[r]
                a, b, c = vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2])
                e2, _, s, t, q = nearest2(p, a, b, c)
                if e2 < d2:
                    f, d2, u, v, w = g, e2, s, t, q
        if f == here:
            break
    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
    return f, vec.madd(vec.madd(vec.scale(a, u), b, v), c, w), u, v, w


@kernel
def size_of(tet_bodies, x, f):
    """Mean edge length of a face."""
    a, b, c = (
        vec.load(x, tet_bodies.faces[f, 0]),
        vec.load(x, tet_bodies.faces[f, 1]),
        vec.load(x, tet_bodies.faces[f, 2]),
    )
    return (vec.norm(vec.sub(a, b)) + vec.norm(vec.sub(b, c)) + vec.norm(vec.sub(c, a))) / 3.0


@kernel
def surface_point(tet_bodies, x, p, deep, n, f):
    """Find the surface point `deep` metres from p along n: face, distance, u, v, w. The search starts at face f.

    Where two sides are almost equally near, n points at the edge between them and the point is farther than either; it
    is moved towards the nearest one until it is at most LEEWAY farther, unless n points elsewhere.
    """
    f_near, nearest, a, b, c = descend(tet_bodies, x, f, p)
    least = vec.norm(vec.sub(nearest, p))
    f, chosen, u, v, w = descend(tet_bodies, x, f, vec.madd(p, n, max(deep, least)))
    d = vec.norm(vec.sub(chosen, p))
    cosine = vec.dot(vec.sub(nearest, p), n) / least if least > 0.0 else 1.0
    most = least + LEEWAY * size_of(tet_bodies, x, f_near) / min(max(2.0 * cosine, TINY), 1.0)
    if not d > most:
        return f, d, u, v, w
    part, step = 0.0, 0.5
    d, g, u, v, w = least, f_near, a, b, c
    for _ in range(TRIES):
        h, q, s, t, r = descend(tet_bodies, x, f, vec.mix(nearest, chosen, part + step))
        if vec.norm(vec.sub(q, p)) <= most:
            part, d, g, u, v, w = part + step, vec.norm(vec.sub(q, p)), h, s, t, r
        step *= 0.5
    return g, d, u, v, w


@kernel
def propagate_inwards(tet_bodies, nodes, order, x, result):
    """Compute depth, separation direction and surface point of the nodes in `order`, by ascending path length."""
    for k in range(len(order)):
        i = order[k]
        deep, n, f = mean_of_links(nodes, result, x, i)
        f, d, u, v, w = surface_point(tet_bodies, x, vec.load(x, nodes.vertex[i]), deep, n, f)
        result.depth[i], result.face[i] = d, f
        vec.store(result.normal, i, n)
        vec.store(result.weights, i, (u, v, w))


@kernel
def find_elsewhere(tet_bodies, nodes, rows, x, first, last, faces):
    """Find, for each of the nodes `rows`, the nearest of the faces first..last-1 that has the vertex behind it and not
    as a corner; NONE if there is none.
    """
    corners = tet_bodies.faces
    for m in range(len(rows)):
        v, best = nodes.vertex[rows[m]], np.inf
        p = vec.load(x, v)
        faces[m] = NONE
        for g in range(first, last):
            i, j, k = corners[g, 0], corners[g, 1], corners[g, 2]
            if i == v or j == v or k == v:
                continue
            a, b, c = vec.load(x, i), vec.load(x, j), vec.load(x, k)
            d2 = nearest2(p, a, b, c)[0]
            if d2 < best and vec.dot(unit_normal(a, b, c), vec.sub(a, p)) > 0.0:
                best, faces[m] = d2, g


@kernel
def take_nearest(tet_bodies, nodes, rows, faces, x, result):
    """Set the surface points of the nodes `rows` to the nearest points of `faces` (k,)."""
    for m in range(len(rows)):
        i, f = rows[m], faces[m]
        a, b, c = (
            vec.load(x, tet_bodies.faces[f, 0]),
            vec.load(x, tet_bodies.faces[f, 1]),
            vec.load(x, tet_bodies.faces[f, 2]),
        )
        _, _, u, v, w = nearest2(vec.load(x, nodes.vertex[i]), a, b, c)
        result.face[i] = f
        vec.store(result.weights, i, (u, v, w))


@kernel
def direction_to(p, a, b, c, u, v, w, mean):
    """Unit direction and distance from p to a point on the face a, b, c; `mean` is the expected direction, or zero."""
    gap = vec.sub(vec.madd(vec.madd(vec.scale(a, u), b, v), c, w), p)
    d = vec.norm(gap)
    size = (vec.norm(vec.sub(a, b)) + vec.norm(vec.sub(b, c)) + vec.norm(vec.sub(c, a))) / 3.0
    if d > TINY * size:
        return vec.unit(gap), d
    # on the surface: so short a gap has no reliable direction
    n = mean if vec.norm2(mean) > 0.5 else unit_normal(a, b, c)
    return n, vec.dot(gap, n)


@kernel
def write_contacts(tet_bodies, nodes, directions, rows, x, parts, sides, out):
    """Write contact records of the nodes `rows`, whose results are in `directions`. parts (k,2): sides of vertex and
    surface of each node; sides (s,3): the first row, the body index and the first face of each side.
    """
    faces, vertex, face, weights = tet_bodies.faces, nodes.vertex, directions.face, directions.weights
    normal, depth = directions.normal, directions.depth
    for m in range(len(rows)):
        i = rows[m]
        v, f = vertex[i], face[i]
        u, s, t = weights[i, 0], weights[i, 1], weights[i, 2]
        one, two = parts[i, 0], parts[i, 1]
        bodies = sides[one, 1], sides[two, 1]
        write(out[m], VERTEX_FACE, v - sides[one, 0], f - sides[two, 2], bodies, vec.load(normal, i), -depth[i])
        write_vertices(out[m], v, faces[f, 0], faces[f, 1], faces[f, 2], (1.0, -u, -s, -t))

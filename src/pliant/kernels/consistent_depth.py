"""How deep vertices are inside bodies of tetrahedra and which way leads out, from where links pass the surface inwards.

After Heidelberger, Teschner, Keiser, Mueller and Gross 2004, Consistent penetration depth estimation for deformable
collision response. A node is a vertex inside a body, another's or its own; a link joins two vertices of one body, along
an edge of its faces or tets. docs/detectors/consistent-depth.md says what differs from the paper, and why.
"""

import math
from typing import NamedTuple

import numpy as np

from . import vec
from .jit import kernel
from .records import link, write
from .tetra import barycentrics
from .triangle import nearest2, unit_normal

NONE = -1
NOWHERE = -(2**31)
FAR = 1024  # tets that a link may pass
STEPS = 256  # from face to face to the nearest one
TRIES = 6  # of halving the way between a place on the surface and the nearest one
LEEWAY = 0.8  # of a face's size: so much farther than the nearest place the one that is chosen may be
TINY = 1e-9  # of a length


class Solids(NamedTuple):
    tets: np.ndarray  # (k,4) i4 rows of x
    beside: np.ndarray  # (k,4) i4: the tet beyond the side opposite to each corner, or -1 - the face that it is
    faces: np.ndarray  # (m,3) i4 rows of x: the surfaces of all bodies
    by_vertex: np.ndarray  # (n+1,) i8: vertex v is linked to links[by_vertex[v]:by_vertex[v+1]]
    links: np.ndarray  # (2e,) i4
    by_corner: np.ndarray  # (n+1,) i8: around vertex v are the faces rings[by_corner[v]:by_corner[v+1]]
    rings: np.ndarray  # (3m,) i4


class Nodes(NamedTuple):
    keys: np.ndarray  # (k,) i8 ascending: body * n + vertex
    vertex: np.ndarray  # (k,) i4
    tet: np.ndarray  # (k,) i4 one that holds it
    start: np.ndarray  # (k+1,) i8: links of node i are start[i]:start[i+1]
    to: np.ndarray  # (e,) i4 the node at the other end, or NONE
    face: np.ndarray  # (e,) i4 where a link leaves the body, or NONE
    length: np.ndarray  # (e,) m, up to the other end or to that face
    out: np.ndarray  # (e,4) the normal there, and how high the surface there is above the node along it, m
    way: np.ndarray  # (k,) m along links to the surface, inf where none lead there


class Told(NamedTuple):
    depth: np.ndarray  # (k,) m
    normal: np.ndarray  # (k,3) mean of normals from the border, which is what is handed on
    face: np.ndarray  # (k,) i4 of the surface
    weights: np.ndarray  # (k,3) of its corners: the place that the contact is against


@kernel
def place(keys, key):
    """Where `key` is among ascending keys, or NONE."""
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
    """Where the way from p, in `tet`, to o first leaves the tets: the face, or NONE, and the part of the way gone.

    A barycentric is linear along the way; the first of those that fall to reach 0 names the side to pass.
    """
    came, gone = NOWHERE, 0.0
    for _ in range(FAR):
        a, b = vec.load(x, tets[tet, 0]), vec.load(x, tets[tet, 1])
        c, d = vec.load(x, tets[tet, 2]), vec.load(x, tets[tet, 3])
        here, there = barycentrics(p, a, b, c, d), barycentrics(o, a, b, c, d)
        side, least = NONE, 1.0
        for k in range(4):
            fall = here[k] - there[k]
            if fall > 0.0 and beside[tet, k] != came and here[k] <= least * fall:
                side, least = k, here[k] / fall
        if side == NONE:
            return NONE, 1.0
        gone = max(gone, least)
        came, tet = tet, beside[tet, side]
        if tet < 0:
            return -1 - tet, gone
    return NONE, 1.0


@kernel
def corner_normal(solids, x, v, normals):
    """The angle-weighted normal at vertex v of the surface, made once: zero in normals (n,3) is not known yet."""
    n = vec.load(normals, v)
    if vec.norm2(n) > 0.0:
        return n
    faces, rings, by_corner = solids.faces, solids.rings, solids.by_corner
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
def normal_at(solids, x, f, q, normals):
    """Between the normals at the corners of face f, at its point q: so it does not jump from face to face."""
    i, j, k = solids.faces[f, 0], solids.faces[f, 1], solids.faces[f, 2]
    _, _, u, v, w = nearest2(q, vec.load(x, i), vec.load(x, j), vec.load(x, k))
    n = vec.scale(corner_normal(solids, x, i, normals), u)
    n = vec.madd(n, corner_normal(solids, x, j, normals), v)
    return vec.unit(vec.madd(n, corner_normal(solids, x, k, normals), w))


@kernel
def look_around(solids, nodes, x, normals):
    """Fill in the links of all nodes, and the shortest of those that leave the body as the way to its surface."""
    tets, beside, links, by_vertex = solids.tets, solids.beside, solids.links, solids.by_vertex
    keys, vertex, start, to, face, length = nodes.keys, nodes.vertex, nodes.start, nodes.to, nodes.face, nodes.length
    tet, out, way = nodes.tet, nodes.out, nodes.way
    for i in range(len(keys)):
        v = vertex[i]
        p = vec.load(x, v)
        for e in range(start[i], start[i + 1]):
            u = links[by_vertex[v] + e - start[i]]
            o, j = vec.load(x, u), place(keys, keys[i] - v + u)
            long = vec.norm(vec.sub(o, p))
            to[e], face[e], length[e] = j, NONE, max(long, 1e-150)
            if j != NONE:
                continue
            f, gone = leave(tets, beside, x, tet[i], p, o)
            face[e] = f
            if f != NONE:
                q = vec.mix(p, o, gone)
                n = normal_at(solids, x, f, q, normals)
                vec.store(out, e, n)
                out[e, 3], length[e] = vec.dot(vec.sub(q, p), n), max(max(gone, TINY) * long, 1e-150)
                way[i] = min(way[i], length[e])


@kernel
def shorten_ways(nodes):
    """From the border on, the lengths of the shortest ways along links to the surface."""
    start, to, length, way = nodes.start, nodes.to, nodes.length, nodes.way
    n, changed = len(way), True
    while changed:
        changed = False
        for m in range(2 * n):
            i = m if m < n else 2 * n - 1 - m
            for e in range(start[i], start[i + 1]):
                if to[e] != NONE and way[to[e]] + length[e] < way[i]:
                    way[i], changed = way[to[e]] + length[e], True


@kernel
def mean_of_links(nodes, told, x, i):
    """Depth and way out of node i, means over its links that lead nearer to the surface, and a face that is near.

    Paper: weights 1 / length^2. They are multiplied by (rise / length)^2, the rise being by how much the other end is
    nearer to the surface: then nothing jumps where a node joins or where one is passed by.
    """
    start, to, length, face, out, way = nodes.start, nodes.to, nodes.length, nodes.face, nodes.out, nodes.way
    p, total, deep, mean, best, near = vec.load(x, nodes.vertex[i]), 0.0, 0.0, (0.0, 0.0, 0.0), -1.0, NONE
    for e in range(start[i], start[i + 1]):
        j = to[e]
        ahead = way[j] if j != NONE else 0.0
        if ahead >= way[i] or (j == NONE and face[e] == NONE):
            continue
        weight = ((way[i] - ahead) / (length[e] * length[e])) ** 2
        if j == NONE:
            n, f, high = vec.load(out, e), face[e], out[e, 3]
        else:
            n, f = vec.load(told.normal, j), told.face[j]
            high = vec.dot(vec.sub(vec.load(x, nodes.vertex[j]), p), n) + told.depth[j]
        total, deep, mean = total + weight, deep + weight * high, vec.madd(mean, n, weight)
        if weight > best:
            best, near = weight, f
    return deep / total, vec.unit(mean), near


@kernel
def descend(solids, x, f, p):
    """From face f over those around it to one that is nearer to p than its neighbours: face, point, u, v, w.

    What is nearer on another side of the body is not found, and must not be.
    """
    faces, rings, by_corner = solids.faces, solids.rings, solids.by_corner
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
def size_of(solids, x, f):
    """Mean length of the edges of a face."""
    a, b, c = vec.load(x, solids.faces[f, 0]), vec.load(x, solids.faces[f, 1]), vec.load(x, solids.faces[f, 2])
    return (vec.norm(vec.sub(a, b)) + vec.norm(vec.sub(b, c)) + vec.norm(vec.sub(c, a))) / 3.0


@kernel
def settle(solids, x, p, deep, n, f):
    """The place on the surface `deep` metres from p along n: face, distance, u, v, w. The search begins at face f.

    Where two sides are nearly as near, n leads to the edge between them and the place is farther than either; it is
    moved towards the nearest one until it is no more than LEEWAY farther, unless that is not where n leads.
    """
    f_near, nearest, a, b, c = descend(solids, x, f, p)
    least = vec.norm(vec.sub(nearest, p))
    f, chosen, u, v, w = descend(solids, x, f, vec.madd(p, n, max(deep, least)))
    d = vec.norm(vec.sub(chosen, p))
    cosine = vec.dot(vec.sub(nearest, p), n) / least if least > 0.0 else 1.0
    most = least + LEEWAY * size_of(solids, x, f_near) / min(max(2.0 * cosine, TINY), 1.0)
    if not d > most:
        return f, d, u, v, w
    part, step = 0.0, 0.5
    d, g, u, v, w = least, f_near, a, b, c
    for _ in range(TRIES):
        h, q, s, t, r = descend(solids, x, f, vec.mix(nearest, chosen, part + step))
        if vec.norm(vec.sub(q, p)) <= most:
            part, d, g, u, v, w = part + step, vec.norm(vec.sub(q, p)), h, s, t, r
        step *= 0.5
    return g, d, u, v, w


@kernel
def lead_out(solids, nodes, order, x, told):
    """Depth, way out and place of the nodes in `order`, ascending by their way."""
    for k in range(len(order)):
        i = order[k]
        deep, n, f = mean_of_links(nodes, told, x, i)
        f, d, u, v, w = settle(solids, x, vec.load(x, nodes.vertex[i]), deep, n, f)
        told.depth[i], told.face[i] = d, f
        vec.store(told.normal, i, n)
        vec.store(told.weights, i, (u, v, w))


@kernel
def find_elsewhere(solids, nodes, rows, x, first, last, faces):
    """For nodes `rows`, the nearest of faces first..last-1 that the vertex is behind and no corner of, or NONE."""
    corners = solids.faces
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
def take_nearest(solids, nodes, rows, faces, x, told):
    """Nodes `rows` are against the nearest points of `faces` (k,)."""
    for m in range(len(rows)):
        i, f = rows[m], faces[m]
        a, b, c = vec.load(x, solids.faces[f, 0]), vec.load(x, solids.faces[f, 1]), vec.load(x, solids.faces[f, 2])
        _, _, u, v, w = nearest2(vec.load(x, nodes.vertex[i]), a, b, c)
        told.face[i] = f
        vec.store(told.weights, i, (u, v, w))


@kernel
def way_to(p, a, b, c, u, v, w, mean):
    """Unit direction and distance from p to a place on a face a, b, c; `mean` is where it should lead, or zero."""
    gap = vec.sub(vec.madd(vec.madd(vec.scale(a, u), b, v), c, w), p)
    d = vec.norm(gap)
    size = (vec.norm(vec.sub(a, b)) + vec.norm(vec.sub(b, c)) + vec.norm(vec.sub(c, a))) / 3.0
    if d > TINY * size:
        return vec.unit(gap), d
    # on the surface: a gap that short has no direction
    n = mean if vec.norm2(mean) > 0.5 else unit_normal(a, b, c)
    return n, vec.dot(gap, n)


@kernel
def tell(solids, nodes, ways, rows, x, parts, sides, out):
    """Records of the nodes `rows`, of which `ways` are told. parts (k,2): sides of vertex and surface of each node;
    sides (s,3): the first row, the body's number and the first face of each side."""
    faces, vertex, face, weights = solids.faces, nodes.vertex, ways.face, ways.weights
    normal, depth = ways.normal, ways.depth
    for m in range(len(rows)):
        i = rows[m]
        v, f = vertex[i], face[i]
        u, s, t = weights[i, 0], weights[i, 1], weights[i, 2]
        one, two = parts[i, 0], parts[i, 1]
        bodies = sides[one, 1], sides[two, 1]
        write(out[m], 0, v - sides[one, 0], f - sides[two, 2], bodies, vec.load(normal, i), -depth[i])
        link(out[m], v, faces[f, 0], faces[f, 1], faces[f, 2], (1.0, -u, -s, -t))

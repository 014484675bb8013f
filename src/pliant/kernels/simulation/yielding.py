"""The surface opposite to points of a body: of another limb that presses on it, or that overlaps it."""

import math

from .. import vec
from ..geometry.triangle import closest_on_triangle, unit_normal
from ..jit import kernel, prange

OPPOSITE = -0.2  # largest cosine between the normals of two surfaces that press on each other


@kernel
def box_distance_2(p, bounds):
    """Return the squared distance of p from a box."""
    total = 0.0
    for k in range(3):
        d = max(bounds[k] - p[k], p[k] - bounds[k + 3], 0.0)
        total += d * d
    return total


@kernel
def nearest_opposite(tree, faces, x, p, n, side, within):
    """Return the distance of point p, on a surface with the outward normal n, from the nearest point of an opposite
    face, ahead of p (side 1) or behind it (side -1), and minus the cosine between n and the normal of that face; or
    `within` metres and 0 if there is none within that distance."""
    nodes, best, opposing, i = tree.nodes, within * within, 0.0, 0
    while i < len(nodes):
        if box_distance_2(p, nodes[i].bounds) >= best:
            i = nodes[i].skip
            continue
        for k in range(nodes[i].first, nodes[i].first + nodes[i].count) if nodes[i].skip == i + 1 else range(0):
            f = tree.order[k]
            a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
            cosine = vec.dot(unit_normal(a, b, c), n)
            if cosine > OPPOSITE:
                continue
            u, v, w, _ = closest_on_triangle(p, a, b, c)
            d = vec.sub(vec.add(vec.add(vec.scale(a, u), vec.scale(b, v)), vec.scale(c, w)), p)
            if vec.norm2(d) < best and side * vec.dot(d, n) > 0.0:
                best, opposing = vec.norm2(d), -cosine
        i += 1
    return math.sqrt(best), opposing


@kernel(parallel=True)
def find_opposite(tree, faces, x, points, normals, side, within, found):
    """Fill found (k,2) with the distances of points (k,3) with normals (k,3) from the surfaces opposite to them, and
    the cosines, by `nearest_opposite`; side (k,), within (k,)."""
    for k in prange(len(points)):
        p, n = vec.load(points, k), vec.load(normals, k)
        distance, opposing = nearest_opposite(tree, faces, x, p, n, side[k], within[k])
        found[k, 0] = distance
        found[k, 1] = opposing

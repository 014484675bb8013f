"""On which side of a closed surface a point is, told from a triangle near it: a short walk, no search.

The walk goes to ever nearer triangles around the corners of the last one. Where it ends is nearest in its surroundings,
and its pseudonormal tells the side as that of the nearest of all would (kernels/nearest.py), unless another part of the
surface is nearer still.
"""

from . import vec
from .edge import closest_on_edges
from .jit import kernel, prange
from .surface import pseudonormal
from .triangle import nearest2, normal

CHUNK = 64  # points a thread takes at a time


@kernel
def walk_range(surface, by_vertex, around, points, first, last, found, place):
    """From face found[i, 0] to one that is nearest in its surroundings; as `nearest_range` writes it."""
    x, faces = surface.x, surface.faces
    for i in range(first, last):
        p, f = vec.load(points, i), found[i, 0]
        best, feature, u, v, w = nearest2(
            p, vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        )
        before = -1
        while before != f:
            before = f
            for k in range(3):
                c = faces[before, k]
                for r in range(by_vertex[c], by_vertex[c + 1]):
                    g = around[r]
                    a, b, d = vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2])
                    d_2, feature_g, u_g, v_g, w_g = nearest2(p, a, b, d)
                    if d_2 < best:
                        best, f, feature, u, v, w = d_2, g, feature_g, u_g, v_g, w_g
        found[i, 0], found[i, 1] = f, feature
        place[i, 0], place[i, 1], place[i, 2] = u, v, w


@kernel(parallel=True)
def walk_near(surface, by_vertex, around, points, found, place):
    """`walk_range` for all `points`."""
    for c in prange(-(-len(points) // CHUNK)):
        walk_range(surface, by_vertex, around, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), found, place)


@kernel
def tell_near(surface, points, found, place, distance):
    """Signed distances of points from the features that were found, by their pseudonormals; where these tell nothing
    (faces back to back), outside."""
    x, faces = surface.x, surface.faces
    for i in range(len(points)):
        p, f = vec.load(points, i), found[i, 0]
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        q = vec.add(vec.scale(a, place[i, 0]), vec.add(vec.scale(b, place[i, 1]), vec.scale(c, place[i, 2])))
        away = vec.sub(p, q)
        length = vec.norm(away)
        side = vec.dot(away, pseudonormal(surface, f, found[i, 1]))
        distance[i] = -length if side < -1e-7 * length else length


@kernel
def in_wedge(x, faces, f, g, gap):
    """Whether a gap that starts on the edge between faces f and g leads into the body."""
    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
    d, e, h = vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2])
    n, m = normal(a, b, c), normal(d, e, h)
    below, under = vec.dot(gap, n) < 0.0, vec.dot(gap, m) < 0.0
    # the corner of g that is not on the edge is the one farthest from the plane of f; convex where it lies below
    far = 0.0
    for p in (d, e, h):
        s = vec.dot(n, vec.sub(p, a))
        far = s if abs(s) > abs(far) else far
    return (below and under) if far <= 0.0 else (below or under)


@kernel
def edge_sides(x_a, edges_a, x_b, edges_b, pairs, surface_b, by_edge, edge_faces, inside):
    """Mark `inside` (k,) where the point of a's edge that is nearest to b's edge is inside b, as the two faces beside
    that edge see it."""
    faces = surface_b.faces
    for m in range(len(pairs)):
        e, f = pairs[m, 0], pairs[m, 1]
        a, b = vec.load(x_a, edges_a[e, 0]), vec.load(x_a, edges_a[e, 1])
        c, d = vec.load(x_b, edges_b[f, 0]), vec.load(x_b, edges_b[f, 1])
        s, t = closest_on_edges(a, b, c, d)
        gap = vec.sub(vec.mix(a, b, s), vec.mix(c, d, t))
        if by_edge[f + 1] - by_edge[f] == 2:
            inside[m] |= in_wedge(surface_b.x, faces, edge_faces[by_edge[f]], edge_faces[by_edge[f] + 1], gap)

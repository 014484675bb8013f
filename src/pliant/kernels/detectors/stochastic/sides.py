"""Side of a closed surface on which a point lies, from a nearby triangle: local descent instead of a global search.

The descent moves to ever nearer triangles around the corners of the last one. It ends at a local minimum, whose
pseudonormal gives the same side as the globally nearest one (queries/closest_point.py), unless another part is nearer.
"""

from ... import vec
from ...geometry.edge import closest_on_edges
from ...geometry.triangle import nearest2, normal
from ...jit import kernel, prange
from ...queries.surface import pseudonormal

CHUNK = 64  # points per task of a thread


@kernel
def descend_range(surface, by_vertex, around, points, first, last, found, barycentric):
    """Descend from face found[i, 0] to a locally nearest one; written as by `nearest_range`."""
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
        barycentric[i, 0], barycentric[i, 1], barycentric[i, 2] = u, v, w


@kernel(parallel=True)
def descend_to_nearest(surface, by_vertex, around, points, found, barycentric):
    """Apply `descend_range` to all `points`."""
    for c in prange(-(-len(points) // CHUNK)):
        descend_range(
            surface, by_vertex, around, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), found, barycentric
        )


@kernel
def signed_distances(surface, points, found, barycentric, distance):
    """Signed distances of points from the features found, by their pseudonormals; outside if these are inconclusive."""
    x, faces = surface.x, surface.faces
    for i in range(len(points)):
        p, f = vec.load(points, i), found[i, 0]
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        q = vec.add(
            vec.scale(a, barycentric[i, 0]), vec.add(vec.scale(b, barycentric[i, 1]), vec.scale(c, barycentric[i, 2]))
        )
        away = vec.sub(p, q)
        length = vec.norm(away)
        side = vec.dot(away, pseudonormal(surface, f, found[i, 1]))
        distance[i] = -length if side < -1e-7 * length else length


@kernel
def in_wedge(x, faces, f, g, gap):
    """Whether a gap that starts on the edge between faces f and g points into the body."""
    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
    d, e, h = vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2])
    n, m = normal(a, b, c), normal(d, e, h)
    behind_f, behind_g = vec.dot(gap, n) < 0.0, vec.dot(gap, m) < 0.0
    # the corner of g off the edge is the one farthest from the plane of f; convex if it lies below
    far = 0.0
    for p in (d, e, h):
        s = vec.dot(n, vec.sub(p, a))
        far = s if abs(s) > abs(far) else far
    return (behind_f and behind_g) if far <= 0.0 else (behind_f or behind_g)


@kernel
def edge_sides(one, two, pairs, surface_b, by_edge, edge_faces, inside):
    """Mark `inside` (k,) where the point of a's edge nearest to b's edge is inside b, by the two faces at that edge."""
    (x_a, edges_a), (x_b, edges_b), faces = one, two, surface_b.faces
    for m in range(len(pairs)):
        e, f = pairs[m, 0], pairs[m, 1]
        a, b = vec.load(x_a, edges_a[e, 0]), vec.load(x_a, edges_a[e, 1])
        c, d = vec.load(x_b, edges_b[f, 0]), vec.load(x_b, edges_b[f, 1])
        s, t = closest_on_edges(a, b, c, d)
        gap = vec.sub(vec.mix(a, b, s), vec.mix(c, d, t))
        if by_edge[f + 1] - by_edge[f] == 2:
            inside[m] |= in_wedge(surface_b.x, faces, edge_faces[by_edge[f]], edge_faces[by_edge[f] + 1], gap)

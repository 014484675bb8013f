"""The locally nearest triangle of a point, by descent from a nearby one; the winding number decides the side.

The descent moves to ever nearer triangles around the corners of the last one, and ends at a local minimum of the
distance. The sides of edges follow from the two adjacent faces.
"""

from ... import vec
from ...geometry.edge import closest_on_edges
from ...geometry.triangle import nearest2, normal
from ...jit import kernel, prange

CHUNK = 64  # points per task of a thread


@kernel
def descend_range(surface, by_vertex, around, points, first, last, nearest, distance):
    """Descend from face nearest[i] of each of points first..last-1 to a locally nearest one, at distance[i]."""
    x, faces = surface.x, surface.faces
    for i in range(first, last):
        p, f = vec.load(points, i), nearest[i]
        best, _, u, v, w = nearest2(p, vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2]))
        before = -1
        while before != f:
            before = f
            for k in range(3):
                c = faces[before, k]
                for r in range(by_vertex[c], by_vertex[c + 1]):
                    g = around[r]
                    a, b, d = vec.load(x, faces[g, 0]), vec.load(x, faces[g, 1]), vec.load(x, faces[g, 2])
                    d_2, _, u_g, v_g, w_g = nearest2(p, a, b, d)
                    if d_2 < best:
                        best, f, u, v, w = d_2, g, u_g, v_g, w_g
        a, b, d = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        q = vec.add(vec.scale(a, u), vec.add(vec.scale(b, v), vec.scale(d, w)))
        nearest[i], distance[i] = f, vec.norm(vec.sub(p, q))


@kernel(parallel=True)
def descend_to_nearest(surface, by_vertex, around, points, nearest, distance):
    """Apply `descend_range` to all `points`."""
    for c in prange(-(-len(points) // CHUNK)):
        first, last = c * CHUNK, min(len(points), (c + 1) * CHUNK)
        descend_range(surface, by_vertex, around, points, first, last, nearest, distance)


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

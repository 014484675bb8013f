"""Normal and signed distance of pairs of features, also where their gap is too short to have a direction.

The kernels of contact_records.py flag such pairs; their normals come from the surface instead.
"""

from .. import vec
from ..geometry.edge import closest_on_edges
from ..geometry.triangle import closest_on_triangle
from ..jit import kernel, prange
from .closest_point import any_normal, outward
from .contact_records import gap_normal_and_distance
from .surface import corners


@kernel
def gap_direction(p, q, sign, fallback):
    """Return the unit normal and signed distance from q to p; `fallback` is the direction if p and q coincide."""
    n, distance, degenerate = gap_normal_and_distance(p, q, sign)
    return (fallback, vec.dot(vec.sub(p, q), fallback)) if degenerate else (n, distance)


@kernel(parallel=True)
def vertex_face_geometry(surface, x, pairs, sign, normal, distance):
    """Compute normal and distance of each (vertex, face) pair; `sign` (n,) is -1 for vertices inside."""
    for c in prange(len(pairs)):
        p = vec.load(x, pairs[c, 0])
        a, b, d = corners(surface, pairs[c, 1])
        u, v, w, _ = closest_on_triangle(p, a, b, d)
        q = vec.add(vec.scale(a, u), vec.add(vec.scale(b, v), vec.scale(d, w)))
        n, distance[c] = gap_direction(p, q, sign[pairs[c, 0]], outward(surface, pairs[c, 1], 0))
        vec.store(normal, c, n)


@kernel
def across(a, b, c, d):
    """The nearest points of the edges ab and cd, and a unit vector perpendicular to both."""
    s, t = closest_on_edges(a, b, c, d)
    u, v = vec.unit(vec.sub(b, a)), vec.unit(vec.sub(d, c))
    direction = vec.cross(u, v)
    if vec.norm2(direction) < 1e-24:
        direction = any_normal(u if vec.norm2(u) > 0.0 else v)
    return vec.mix(a, b, s), vec.mix(c, d, t), vec.unit(direction)


@kernel(parallel=True)
def edge_edge_geometry(one, two, normals_b, pairs, normal, distance):
    """Compute the same for (edge, edge) pairs; where the gap is within its rounding error, the normal is perpendicular
    to both edges, on the side to which the pseudonormal of the second edge points; normals_b (k,3) are the
    pseudonormals of all edges of the second mesh.
    """
    (x_a, edges_a), (x_b, edges_b) = one, two
    for m in prange(len(pairs)):
        a, b = vec.load(x_a, edges_a[pairs[m, 0], 0]), vec.load(x_a, edges_a[pairs[m, 0], 1])
        c, d = vec.load(x_b, edges_b[pairs[m, 1], 0]), vec.load(x_b, edges_b[pairs[m, 1], 1])
        p, q, fallback = across(a, b, c, d)
        if vec.dot(fallback, vec.load(normals_b, pairs[m, 1])) < 0.0:
            fallback = vec.scale(fallback, -1.0)
        n, distance[m] = gap_direction(p, q, 1.0, fallback)
        vec.store(normal, m, n)

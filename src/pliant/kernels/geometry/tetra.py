"""Tetrahedra a b c d, positive if d is on the side that the normal of abc points to."""

from ..jit import kernel
from ..vec import cross, dot, norm2, sub
from .predicates import orient3d
from .rounding import cross_compensated, largest, power_of_two_below, scale_down
from .triangle import closest_on_triangle, point_triangle_distance
from .triangle_pair import segment_meets_triangle


@kernel
def signed_volume(a, b, c, d):
    """Signed volume, negative for an inverted tetrahedron; cubic metres."""
    return dot(cross(sub(b, a), sub(c, a)), sub(d, a)) / 6.0


@kernel
def barycentrics(p, a, b, c, d):
    """Barycentric weights (4,) of p, which sum to 1 and are negative where p is beyond the opposite face.

    A flat tetrahedron (an edge at a makes an angle of less than 1e-10 with the face of the other two) has no reliable
    weights: those of the nearest point of its four faces are returned.
    """
    e, f, g, r = sub(b, a), sub(c, a), sub(d, a), sub(p, a)
    size = max(largest(e), largest(f), largest(g))
    if size > 0.0:
        k = power_of_two_below(size)
        e, f, g, r = scale_down(e, k), scale_down(f, k), scale_down(g, k), scale_down(r, k)
        n_b, n_c, n_d = cross_compensated(f, g), cross_compensated(g, e), cross_compensated(e, f)
        six = dot(e, n_b)
        if six * six > 1e-20 * max(norm2(e) * norm2(n_b), norm2(f) * norm2(n_c), norm2(g) * norm2(n_d)):
            u, v, w = dot(r, n_b) / six, dot(r, n_c) / six, dot(r, n_d) / six
            return (1.0 - u - v - w, u, v, w)
    return _on_faces(p, a, b, c, d)


@kernel
def _on_faces(p, a, b, c, d):
    d_abc, d_abd = point_triangle_distance(p, a, b, c), point_triangle_distance(p, a, b, d)
    d_acd, d_bcd = point_triangle_distance(p, a, c, d), point_triangle_distance(p, b, c, d)
    best = min(d_abc, d_abd, d_acd, d_bcd)
    if d_abc == best:
        u, v, w, _ = closest_on_triangle(p, a, b, c)
        return (u, v, w, 0.0)
    if d_abd == best:
        u, v, w, _ = closest_on_triangle(p, a, b, d)
        return (u, v, 0.0, w)
    if d_acd == best:
        u, v, w, _ = closest_on_triangle(p, a, c, d)
        return (u, 0.0, v, w)
    u, v, w, _ = closest_on_triangle(p, b, c, d)
    return (0.0, u, v, w)


@kernel
def point_in_tetra(p, a, b, c, d):
    """Whether p is inside the tetrahedron or on its surface, exactly; either orientation, including flat ones."""
    orientation = orient3d(a, b, c, d)
    if orientation == 0:
        return (
            segment_meets_triangle(p, p, a, b, c)
            or segment_meets_triangle(p, p, a, b, d)
            or segment_meets_triangle(p, p, a, c, d)
            or segment_meets_triangle(p, p, b, c, d)
        )
    return (
        orient3d(a, b, c, p) * orientation >= 0
        and orient3d(a, d, b, p) * orientation >= 0
        and orient3d(b, d, c, p) * orientation >= 0
        and orient3d(c, d, a, p) * orientation >= 0
    )

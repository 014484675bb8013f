"""Distances to the spherical implicit surface of a triangle, and of edges by their midpoints.

After S. Jung, M. Hong, M. Choi, An Adaptive Collision Detection and Resolution for Deformable Objects Using Spherical
Implicit Surface, ICCS 2005, section 3. docs/detectors/sphere-surface.md contains the derivation.

A triangle is its centre c and the corners c + n_1, c + n_2, c + n_3 with n_3 = -n_1 - n_2. Split at its edge midpoints,
it has four children: one at each corner i around c + n_i / 2 with corners at n / 2, and one in the middle around c with
-n / 2. So a triangle of level k is c + b_1 n_1 + b_2 n_2 and one number, 2^-k with the sign of the rotations; nothing
else is stored. Batches of pairs descend together, in vectorised loops over columns.
"""

from ..jit import kernel
from ..queries.proximity import TINY
from ..vec import norm2, sub
from .sphere_descent import descend_to_nearest_batch, halve_to_nearest_batch, measure_batch

BATCH = 256  # pairs per batch
DEEPEST = 12  # levels; a sphere is then 4096 times smaller than at the start
# (two thirds of the area)^2 over the fourth power of the farthest corner: below this, a triangle is no wider than 2e-5
# of that, which is less than the bound allows at the deepest level, and is treated as its longest edge
FLAT = 1e-10


@kernel
def spheres_of(a, b, c):
    """Centre, n_1, n_2 of a triangle and the squared lengths of n_1, n_2, n_3."""
    third = 1.0 / 3.0
    m = ((a[0] + b[0] + c[0]) * third, (a[1] + b[1] + c[1]) * third, (a[2] + b[2] + c[2]) * third)
    u, v, w = sub(a, m), sub(b, m), sub(c, m)
    return m, u, v, norm2(u), norm2(v), norm2(w)


@kernel
def midpoint(a, b):
    return (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]))


@kernel
def locate_batch(p, n, at):
    """Barycentric coordinates 1 and 2 of the projections of points onto the planes of their triangles, to at[0], at[1].

    p (12,BATCH) holds the point relative to the centre, n_1, n_2 and the squared lengths. The products are differences
    of squared distances that are already known. A triangle without width is its longest edge.
    """
    for m in range(n):
        # all relative to the longest, so that fourth powers stay in range
        unit = 1.0 / max(max(p[9, m], p[10, m]), max(p[11, m], TINY))
        c_1 = unit * (p[0, m] * p[3, m] + p[1, m] * p[4, m] + p[2, m] * p[5, m])
        c_2 = unit * (p[0, m] * p[6, m] + p[1, m] * p[7, m] + p[2, m] * p[8, m])
        r, s, t = unit * p[9, m], unit * p[10, m], unit * p[11, m]
        g = 0.5 * (t - r - s)  # n_1.n_2
        area = r * s - g * g
        flat = area <= FLAT
        x, y = (s * c_1 - g * c_2) / max(area, TINY), (r * c_2 - g * c_1) / max(area, TINY)
        third = (1.0 - x - y) / 3.0
        # squared edges: 1 to 2, 2 to 3, 3 to 1
        k, h, j = 2.0 * (r + s) - t, 2.0 * (s + t) - r, 2.0 * (t + r) - s
        one, two = (k >= h) & (k >= j), h >= j
        # from the first end of the longest edge to the foot point
        w_1 = (r - g - (c_1 - c_2)) / max(k, TINY)
        w_2 = (0.5 * (3.0 * s + t - r) - (2.0 * c_2 + c_1)) / max(h, TINY)
        w_3 = (0.5 * (3.0 * t + r - s) + 2.0 * c_1 + c_2) / max(j, TINY)
        f_1 = 1.0 - w_1 if one else (0.0 if two else w_3)
        f_2 = w_1 if one else (1.0 - w_2 if two else 0.0)
        at[0, m], at[1, m] = f_1 if flat else x + third, f_2 if flat else y + third
        at[2, m], at[3, m], at[4, m] = 0.0, 0.0, 1.0


@kernel
def descend_batch(p, n, level, levels, at):
    """Descend each pair to the child that contains the point of its triangle nearest to P.

    at (5,BATCH): barycentric coordinates 1 and 2 of the foot point, b_1, b_2, scale. The foot point is in the child of
    a corner whose barycentric coordinate is at least one half, otherwise in the middle one. Outside the triangle, the
    nearest point is on an edge that faces P, in the half of the nearer end: so the child at the nearest of the ends of
    such edges contains it. Which end is nearer is a difference of squared distances, linear in the barycentric
    coordinates, and the same for all levels.
    """
    for m in range(n):
        u, v = at[0, m], at[1, m]
        w = 1.0 - u - v
        r, s, t = p[9, m], p[10, m], p[11, m]
        k, h, j = 2.0 * (r + s) - t, 2.0 * (s + t) - r, 2.0 * (t + r) - s
        # squared distances of corner 1 minus those of corners 2 and 3
        less_2, less_3 = k * (v - u) + w * (j - h), j * (w - u) + v * (k - h)
        inside = (u >= 0.0) & (v >= 0.0) & (w >= 0.0)
        # corners that are ends of edges facing P: all but one that alone has a negative barycentric coordinate
        far = TINY + 4.0 * (abs(less_2) + abs(less_3))
        e_1 = far if (u < 0.0) & (v >= 0.0) & (w >= 0.0) else 0.0
        e_2 = far if (v < 0.0) & (u >= 0.0) & (w >= 0.0) else -less_2
        e_3 = far if (w < 0.0) & (u >= 0.0) & (v >= 0.0) else -less_3
        i_1 = u >= 0.5 if inside else (e_1 <= e_2) & (e_1 <= e_3)
        i_2 = v >= 0.5 if inside else ~i_1 & (e_2 <= e_3)
        i_3 = w >= 0.5 if inside else ~i_1 & ~i_2
        i_2 = i_2 & ~i_1
        i_3 = i_3 & ~i_1 & ~i_2
        z, on = at[4, m], levels[m] > level
        turn = -1.0 if ~(i_1 | i_2 | i_3) else 1.0
        shift = 1.0 if turn < 0.0 else 0.0
        one, two, three = 1.0 if i_1 else 0.0, 1.0 if i_2 else 0.0, 1.0 if i_3 else 0.0
        at[0, m] = turn * 2.0 * u + shift - one if on else u
        at[1, m] = turn * 2.0 * v + shift - two if on else v
        half = 0.5 * z if on else 0.0
        at[2, m] += half * (one - three)
        at[3, m] += half * (two - three)
        at[4, m] = turn * half if on else z


@kernel
def face_batch(p, n, at, d_2):
    """Squared distances by the spheres around the corners and the centre of the triangles given by `at`.

    A point in one sphere, or in none, is measured to the nearest centre; in several, to the mean of their centres. The
    mean is returned in at[2], at[3].
    """
    for m in range(n):
        x, y, z = at[2, m], at[3, m], at[4, m]
        y_0 = p[0, m] - x * p[3, m] - y * p[6, m]
        y_1 = p[1, m] - x * p[4, m] - y * p[7, m]
        y_2 = p[2, m] - x * p[5, m] - y * p[8, m]
        c_1 = 2.0 * z * (y_0 * p[3, m] + y_1 * p[4, m] + y_2 * p[5, m])
        c_2 = 2.0 * z * (y_0 * p[6, m] + y_1 * p[7, m] + y_2 * p[8, m])
        s, d_4 = z * z, y_0 * y_0 + y_1 * y_1 + y_2 * y_2
        r_1, r_2, r_3 = s * p[9, m], s * p[10, m], s * p[11, m]
        d_1, d_2_, d_3 = d_4 - c_1 + r_1, d_4 - c_2 + r_2, d_4 + c_1 + c_2 + r_3
        least, radius = min(min(d_1, d_2_), min(d_3, d_4)), 4.0 / 9.0 * max(r_1, max(r_2, r_3))
        i_1, i_2, i_3, i_4 = d_1 <= radius, d_2_ <= radius, d_3 <= radius, d_4 <= radius
        some = (i_1 & (i_2 | i_3 | i_4)) | (i_2 & (i_3 | i_4)) | (i_3 & i_4)
        reach = radius if some else least
        w_1, w_2, w_3 = 1.0 if d_1 <= reach else 0.0, 1.0 if d_2_ <= reach else 0.0, 1.0 if d_3 <= reach else 0.0
        total = z / (w_1 + w_2 + w_3 + (1.0 if d_4 <= reach else 0.0))
        w_1, w_2 = (w_1 - w_3) * total, (w_2 - w_3) * total
        at[2, m], at[3, m] = x + w_1, y + w_2
        g_0 = y_0 - w_1 * p[3, m] - w_2 * p[6, m]
        g_1 = y_1 - w_1 * p[4, m] - w_2 * p[7, m]
        g_2 = y_2 - w_1 * p[5, m] - w_2 * p[8, m]
        d_2[m] = g_0 * g_0 + g_1 * g_1 + g_2 * g_2


@kernel
def halve_batch(p, n, levels, deepest, at, d_2):
    """Squared distances of the midpoints of what remains of two edges after halving them `levels` times.

    p (9,BATCH): from midpoint to midpoint, and along each edge. at (4,BATCH): x, y, the positions of the midpoints
    along the edges, from -1/2 to 1/2; the products of the gap there with the edges. The nearer half of the first edge
    is decided at its midpoint, against the nearest point of the second; then the reverse, with the remaining half.
    """
    for m in range(n):
        at[0, m], at[1, m] = 0.0, 0.0
        at[2, m] = p[0, m] * p[3, m] + p[1, m] * p[4, m] + p[2, m] * p[5, m]
        at[3, m] = p[0, m] * p[6, m] + p[1, m] * p[7, m] + p[2, m] * p[8, m]
    size = 0.5
    for level in range(deepest):
        for m in range(n):
            u_2 = p[3, m] * p[3, m] + p[4, m] * p[4, m] + p[5, m] * p[5, m]
            v_2 = p[6, m] * p[6, m] + p[7, m] * p[7, m] + p[8, m] * p[8, m]
            uv = p[3, m] * p[6, m] + p[4, m] * p[7, m] + p[5, m] * p[8, m]
            gu, gv, step = at[2, m], at[3, m], 0.5 * size if levels[m] > level else 0.0
            y = min(max(gv / max(v_2, TINY), -size), size)
            up = gu - y * uv <= 0.0
            x = min(max(-gu / max(u_2, TINY), 0.0 if up else -size), size if up else 0.0)
            x_step, y_step = step if up else -step, step if gv + x * uv >= 0.0 else -step
            at[0, m] += x_step
            at[1, m] += y_step
            at[2, m] = gu + x_step * u_2 - y_step * uv
            at[3, m] = gv + x_step * uv - y_step * v_2
        size *= 0.5
    for m in range(n):
        x, y = at[0, m], at[1, m]
        g_0, g_1 = p[0, m] + x * p[3, m] - y * p[6, m], p[1, m] + x * p[4, m] - y * p[7, m]
        g_2 = p[2, m] + x * p[5, m] - y * p[8, m]
        d_2[m] = g_0 * g_0 + g_1 * g_1 + g_2 * g_2


@kernel
def face_distances(p, n, levels, deepest, nearest, at, d_2):
    """Squared distances of n points from their triangles, p (12,BATCH), after descending `levels`; `nearest`: to the
    child of the nearest sphere, by three new distances per level. at (9,BATCH) is workspace.
    """
    at[2, :n], at[3, :n], at[4, :n] = 0.0, 0.0, 1.0
    if deepest > 0 and nearest:
        measure_batch(p, n, at)
    elif deepest > 0:
        locate_batch(p, n, at)
    for level in range(deepest):
        if nearest:
            descend_to_nearest_batch(p, n, level, levels, at)
        else:
            descend_batch(p, n, level, levels, at)
    face_batch(p, n, at, d_2)


@kernel
def edge_distances(p, n, levels, deepest, nearest, at, d_2):
    """Squared distances of n pairs of edges, p (9,BATCH), after halving them `levels` times; at (6,BATCH) is workspace.
    `nearest`: to the halves at the two nearest ends.
    """
    if nearest:
        halve_to_nearest_batch(p, n, levels, deepest, at, d_2)
    else:
        halve_batch(p, n, levels, deepest, at, d_2)

"""The descent of the paper: to the child of the nearest sphere, by three new distances per level (Jung 2005, 3.2).

Data and names are those of `sphere_surface.py`. Of the four spheres of a child one is known: that of its corner of the
parent, or the centre for the middle child. The other three are at edge midpoints and at the centre of a child.
"""

from ..jit import kernel


@kernel
def squared_distance(p, m, x, y):
    """Squared distance of point m from c + x n_1 + y n_2."""
    g_0 = p[0, m] - x * p[3, m] - y * p[6, m]
    g_1 = p[1, m] - x * p[4, m] - y * p[7, m]
    g_2 = p[2, m] - x * p[5, m] - y * p[8, m]
    return g_0 * g_0 + g_1 * g_1 + g_2 * g_2


@kernel
def measure_batch(p, n, at):
    """The four squared distances of level 0, from the corners and the centre, to at[5] to at[8]."""
    for m in range(n):
        at[5, m], at[6, m] = squared_distance(p, m, 1.0, 0.0), squared_distance(p, m, 0.0, 1.0)
        at[7, m], at[8, m] = squared_distance(p, m, -1.0, -1.0), squared_distance(p, m, 0.0, 0.0)


@kernel
def descend_to_nearest_batch(p, n, level, levels, at):
    """Descend each pair to the child of its nearest sphere: that at a corner, or the middle one for the centre. Of
    equal distances the first counts.
    """
    for m in range(n):
        x, y, z = at[2, m], at[3, m], at[4, m]
        d_1, d_2, d_3, d_4 = at[5, m], at[6, m], at[7, m], at[8, m]
        on = levels[m] > level
        i_1 = (d_1 <= d_2) & (d_1 <= d_3) & (d_1 <= d_4)
        i_2 = ~i_1 & (d_2 <= d_3) & (d_2 <= d_4)
        i_3 = ~i_1 & ~i_2 & (d_3 <= d_4)
        middle = ~(i_1 | i_2 | i_3)
        h = 0.5 * z
        # the midpoint opposite corner k is at -n_k / 2, the centre of the child at corner i at n_i / 2
        u = -h if middle else (0.0 if i_3 else h)
        v = 0.0 if middle else (-h if i_3 else h)
        one = squared_distance(p, m, x + u, y + v)
        u, v = 0.0 if i_1 | middle else -h, -h if i_1 | middle else 0.0
        two = squared_distance(p, m, x + u, y + v)
        u = h if i_1 | middle else (0.0 if i_2 else -h)
        v = h if i_2 | middle else (0.0 if i_1 else -h)
        three = squared_distance(p, m, x + u, y + v)
        at[2, m], at[3, m] = x + u if on & ~middle else x, y + v if on & ~middle else y
        at[4, m] = (-h if middle else h) if on else z
        at[5, m] = d_1 if i_1 | ~on else one
        at[6, m] = d_2 if i_2 | ~on else (one if i_1 else two)
        at[7, m] = d_3 if i_3 | ~on else (three if middle else two)
        at[8, m] = d_4 if middle | ~on else three


@kernel
def halve_to_nearest_batch(p, n, levels, deepest, at, d_2):
    """Squared distances of the midpoints of what remains of two edges after halving them `levels` times, each time to
    the halves at the two nearest ends; the least of all levels, since the distance may grow on the way. at[0], at[1]:
    the positions of these midpoints along the edges, from -1/2 to 1/2; at[2], at[3]: those of the current level.
    """
    for m in range(n):
        at[0, m], at[1, m], at[2, m], at[3, m] = 0.0, 0.0, 0.0, 0.0
        d_2[m] = gap_squared(p, m, 0.0, 0.0)
    size = 0.5
    for level in range(deepest):
        for m in range(n):
            x, y, on = at[2, m], at[3, m], levels[m] > level
            a, b = gap_squared(p, m, x - size, y - size), gap_squared(p, m, x - size, y + size)
            c, d = gap_squared(p, m, x + size, y - size), gap_squared(p, m, x + size, y + size)
            lower = min(a, b) <= min(c, d)
            before = a <= b if lower else c <= d
            x += -0.5 * size if lower else 0.5 * size
            y += -0.5 * size if before else 0.5 * size
            here = gap_squared(p, m, x, y)
            at[2, m], at[3, m] = x if on else at[2, m], y if on else at[3, m]
            better = on & (here < d_2[m])
            d_2[m] = here if better else d_2[m]
            at[0, m], at[1, m] = x if better else at[0, m], y if better else at[1, m]
        size *= 0.5


@kernel
def gap_squared(p, m, x, y):
    """Squared distance of the points at x and y along two edges, from their midpoints."""
    g_0, g_1 = p[0, m] + x * p[3, m] - y * p[6, m], p[1, m] + x * p[4, m] - y * p[7, m]
    g_2 = p[2, m] + x * p[5, m] - y * p[8, m]
    return g_0 * g_0 + g_1 * g_1 + g_2 * g_2

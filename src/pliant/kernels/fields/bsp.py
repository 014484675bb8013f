"""Piecewise linear signed distance on a binary space partition: samples of a cell, its fit, its split, evaluation.

After J. Wu and L. Kobbelt, "Piecewise linear approximation of signed distance fields", 2003. Coordinates are those of
the unit cube; distances are in side lengths of the cube.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange

CHUNK = 4096  # points per task of a thread
CELLS = 16  # cells per task of a thread
FEWEST = 0.125  # minimum share of the samples on each side of a split
PIVOTS = 8  # edges followed on the path to a corner
JUMP_NEAR = 0.25  # a cell that only crosses a jump of the sign is split until its size is this fraction of its distance


class Partition(NamedTuple):
    linear: np.ndarray  # (nodes,4) f4 a x + b y + c z + e: the split plane, or the distance in a leaf
    child: np.ndarray  # (nodes,) i4 child on the negative side of the plane, the other one follows; 0 in a leaf
    origin: np.ndarray  # (3,) metres
    side: float  # of the cube, metres


class Samples(NamedTuple):
    """m samples of each of n cells."""

    x: np.ndarray  # (n,m,3) points
    d: np.ndarray  # (n,m) signed distances
    normal: np.ndarray  # (n,m,3)
    # (n,m) distances from the sign plane (detect/fields/exact.py); inf if there is none
    sign_plane_distance: np.ndarray


class Fits(NamedTuple):
    """Decisions about n cells."""

    done: np.ndarray  # (n,) u1: whether the cell becomes a leaf: the linear function fits, or the sign jumps in it
    linear: np.ndarray  # (n,4) that function (nan where the sign jumps), or the split plane
    seeds: np.ndarray  # (n,2,3) a point in either half


@kernel
def cast(linear, child, parent, node, p, direction):
    """Cast a ray from `p` to the hull of the node's cell: the distance, and the normal of the wall that it hits."""
    far, wall = np.inf, (0.0, 0.0, 0.0)
    tiny = 1e-12 * vec.norm(direction)
    for k in range(3):
        # walls parallel to the ray are not hit
        if abs(direction[k]) > tiny:
            t = ((1.0 if direction[k] > 0.0 else 0.0) - p[k]) / direction[k]
            if t < far:
                far, wall = t, (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    while node != 0:
        up = parent[node]
        n = (np.float64(linear[up, 0]), np.float64(linear[up, 1]), np.float64(linear[up, 2]))
        rate = vec.dot(n, direction)
        if (rate > tiny) if node == child[up] else (rate < -tiny):
            t = -(vec.dot(n, p) + linear[up, 3]) / rate
            if t < far:
                far, wall = t, n
        node = up
    return (max(far, 0.0) if far < np.inf else 0.0), wall


@kernel
def to_edge(linear, child, parent, node, q, direction, wall):
    """From `q` on a wall, follow the direction closest to `direction` within the wall to the next wall."""
    along = vec.sub(direction, vec.scale(wall, vec.dot(direction, wall) / max(vec.norm2(wall), 1e-300)))
    far, second = cast(linear, child, parent, node, q, along)
    return vec.madd(q, along, far), second


@kernel
def to_corner(linear, child, parent, node, q, direction, a, b):
    """From `q`, where walls a and b meet, follow edges in direction `direction` to an extreme corner.

    Sharp corners are extreme in many directions, and the fit is worst there.
    """
    c = a
    for turn in range(PIVOTS):
        first, second = (a, b) if turn == 0 else (b, c)
        edge = vec.cross(first, second)
        edge = edge if vec.dot(edge, direction) > 0.0 else vec.scale(edge, -1.0)
        far, wall = cast(linear, child, parent, node, q, edge)
        if turn > 0 and far * vec.norm(edge) < 1e-9:
            first, second = a, c
            edge = vec.cross(first, second)
            edge = edge if vec.dot(edge, direction) > 0.0 else vec.scale(edge, -1.0)
            far, wall = cast(linear, child, parent, node, q, edge)
            if far * vec.norm(edge) < 1e-9:
                break
        q = vec.madd(q, edge, far)
        a, b, c = first, second, wall
    return q


@kernel(parallel=True)
def hit_and_run_samples(linear, child, parent, nodes, start, directions, shares, out):
    """Hit-and-run sampling: `out` (n,2 m,3) in the cells of `nodes`, m inside and m on the hull, from `start` (n,3)."""
    for cell in prange(len(nodes)):
        node, p = nodes[cell], vec.load(start, cell)
        for m in range(directions.shape[1]):
            direction = (directions[cell, m, 0], directions[cell, m, 1], directions[cell, m, 2])
            back, _ = cast(linear, child, parent, node, p, vec.scale(direction, -1.0))
            forth, wall = cast(linear, child, parent, node, p, direction)
            q = vec.madd(p, direction, forth)
            if m % 4 > 0:
                q, second = to_edge(linear, child, parent, node, q, direction, wall)
                if m % 4 > 1:
                    q = to_corner(linear, child, parent, node, q, direction, wall, second)
            vec.store(out[cell], 2 * m, q)
            p = vec.madd(p, direction, (back + forth) * shares[cell, m] - back)
            vec.store(out[cell], 2 * m + 1, p)


@kernel
def mean_of(x, part, which):
    """Mean of the rows of `x` with part == which, and their number."""
    total, count = (0.0, 0.0, 0.0), 0
    for i in range(len(x)):
        if part[i] == which:
            total, count = vec.add(total, vec.load(x, i)), count + 1
    return vec.scale(total, 1.0 / max(count, 1)), count


@kernel
def fit_linear(x, d, normal, part, which):
    """Least-squares fit a, b, c, e, its residual sum of squares and the number of samples with part == which.

    Where the samples lie in a plane or on a line, they do not determine the gradient across it; the mean normal does.
    """
    m, count = mean_of(x, part, which)
    g, _ = mean_of(normal, part, which)
    mean_d = 0.0
    for i in range(len(d)):
        if part[i] == which:
            mean_d += d[i] / max(count, 1)
    xx, xy, xz, yy, yz, zz, bx, by, bz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(d)):
        if part[i] == which:
            r = vec.sub(vec.load(x, i), m)
            # residual after the mean normal
            e = d[i] - mean_d - vec.dot(g, r)
            xx, xy, xz = xx + r[0] * r[0], xy + r[0] * r[1], xz + r[0] * r[2]
            yy, yz, zz = yy + r[1] * r[1], yz + r[1] * r[2], zz + r[2] * r[2]
            bx, by, bz = bx + e * r[0], by + e * r[1], bz + e * r[2]
    weight = 1e-4 * (xx + yy + zz) + 1e-300
    g = vec.add(g, solve(xx + weight, xy, xz, yy + weight, yz, zz + weight, (bx, by, bz)))
    e = mean_d - vec.dot(g, m)
    left = 0.0
    for i in range(len(d)):
        if part[i] == which:
            left += (d[i] - vec.dot(g, vec.load(x, i)) - e) ** 2
    return g, e, left, count


@kernel
def solve(xx, xy, xz, yy, yz, zz, b):
    """Solve a symmetric positive 3x3 system."""
    r0, r1, r2 = (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)
    c0, c1, c2 = vec.cross(r1, r2), vec.cross(r2, r0), vec.cross(r0, r1)
    det = vec.dot(r0, c0)
    if not abs(det) > 0.0:
        return (0.0, 0.0, 0.0)
    s = vec.add(vec.scale(c0, b[0]), vec.add(vec.scale(c1, b[1]), vec.scale(c2, b[2])))
    return vec.scale(s, 1.0 / det)


@kernel
def principal(x):
    """Mean of the rows of `x` and their principal direction."""
    m, v = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(len(x)):
        m = vec.madd(m, vec.load(x, i), 1.0 / len(x))
    far = -1.0
    for i in range(len(x)):
        r = vec.sub(vec.load(x, i), m)
        if vec.norm2(r) > far:
            far, v = vec.norm2(r), vec.unit(r)
    # from the farthest sample a few power iterations suffice; the plane need not be optimal
    for _ in range(8):
        w = (0.0, 0.0, 0.0)
        for i in range(len(x)):
            r = vec.sub(vec.load(x, i), m)
            w = vec.madd(w, r, vec.dot(r, v))
        v = vec.unit(w)
    return m, v


@kernel
def divide(x, plane, part):
    """Set part[i] to 1 above the plane and 0 below; return the number above."""
    above = 0
    for i in range(len(x)):
        part[i] = plane[0] * x[i, 0] + plane[1] * x[i, 1] + plane[2] * x[i, 2] + plane[3] >= 0.0
        above += part[i]
    return above


@kernel
def unit_plane(n, e):
    length = vec.norm(n)
    if length == 0.0:
        return (0.0, 0.0, 0.0, 0.0)
    return (n[0] / length, n[1] / length, n[2] / length, e / length)


@kernel
def best_split(x, d, normal, part):
    """Choose, out of three planes, the split after which two linear functions fit best.

    The samples are divided into two clusters along the direction in which their normals vary most. The first plane is
    where the linear functions of the two clusters are equal, the bisector of two pieces of the surface; the second lies
    halfway between the clusters; the third halves the cell across its longest direction, which always makes progress.
    """
    middle, longest = principal(x)
    halves = unit_plane(longest, -vec.dot(longest, middle))
    m, v = principal(normal)
    divide(normal, (v[0], v[1], v[2], -vec.dot(v, m)), part)
    g_0, e_0, _, _ = fit_linear(x, d, normal, part, 0)
    g_1, e_1, _, _ = fit_linear(x, d, normal, part, 1)
    m_0, m_1 = mean_of(x, part, 0)[0], mean_of(x, part, 1)[0]
    across = vec.sub(m_1, m_0)
    best, least = halves, np.inf
    for plane in (
        unit_plane(vec.sub(g_1, g_0), e_1 - e_0),
        unit_plane(across, -vec.dot(across, vec.mix(m_0, m_1, 0.5))),
        halves,
    ):
        above = divide(x, plane, part)
        if min(above, len(x) - above) >= FEWEST * len(x):
            left = fit_linear(x, d, normal, part, 0)[2] + fit_linear(x, d, normal, part, 1)[2]
            if left < least:
                best, least = plane, left
    return best


@kernel
def sign_jumps(x, d, sign_plane_distance):
    """Whether two samples of opposite sign are together farther from the surface than from each other, or a boundary
    edge is nearest to one of them.
    """
    for i in range(len(d)):
        for j in range(i):
            if d[i] * d[j] < 0.0:
                apart = vec.norm(vec.sub(vec.load(x, i), vec.load(x, j)))
                if (
                    min(sign_plane_distance[i], sign_plane_distance[j]) < np.inf
                    or abs(d[i]) + abs(d[j]) > apart * 1.000001
                ):
                    return True
    return False


@kernel
def spread(x, d):
    """Greatest distance of the samples from the first one, and the smallest |d|."""
    wide, near = 0.0, np.inf
    for i in range(len(x)):
        wide = max(wide, vec.norm(vec.sub(vec.load(x, i), vec.load(x, 0))))
        near = min(near, abs(d[i]))
    return wide, near


@kernel
def decide_range(samples, tolerance, relative, first, last, fits):
    """Decide cells first..last-1: the linear function if it fits (done), else a split plane. A cell that crosses a jump
    of the sign becomes a leaf of nan once it is small enough (JUMP_NEAR), and is split until then.
    """
    x, d, normal, sign_plane_distance = samples.x, samples.d, samples.normal, samples.sign_plane_distance
    done, linear, seeds = fits.done, fits.linear, fits.seeds
    part = np.zeros(x.shape[1], np.int64)
    for c in range(first, last):
        part[:] = 0
        g, e, _, _ = fit_linear(x[c], d[c], normal[c], part, 0)
        low, high, worst = np.inf, -np.inf, 0.0
        for i in range(len(part)):
            off = d[c, i] - vec.dot(g, vec.load(x[c], i)) - e
            low, high = min(low, off), max(high, off)
        e += 0.5 * (low + high)
        for i in range(len(part)):
            off = abs(d[c, i] - vec.dot(g, vec.load(x[c], i)) - e)
            worst = max(worst, off / max(tolerance, relative * abs(d[c, i])))
        done[c] = worst <= 1.0
        best = (g[0], g[1], g[2], e)
        if not done[c]:
            wide, near = spread(x[c], d[c])
            if wide <= max(tolerance, JUMP_NEAR * near) and sign_jumps(x[c], d[c], sign_plane_distance[c]):
                done[c], best = 1, (np.nan, np.nan, np.nan, np.nan)
            else:
                best = best_split(x[c], d[c], normal[c], part)
                divide(x[c], best, part)
                vec.store(seeds[c], 0, mean_of(x[c], part, 0)[0])
                vec.store(seeds[c], 1, mean_of(x[c], part, 1)[0])
        linear[c, 0], linear[c, 1], linear[c, 2], linear[c, 3] = best


@kernel(parallel=True)
def decide(samples, tolerance, relative, fits):
    n = len(samples.x)
    for c in prange(-(-n // CELLS)):
        decide_range(samples, tolerance, relative, c * CELLS, min(n, (c + 1) * CELLS), fits)


@kernel
def sample_range(tree, points, first, last, distance, gradient):
    """Sample signed distance and gradient at points first..last-1; nan outside the cube and where the sign jumps."""
    linear, child = tree.linear, tree.child
    for at in range(first, last):
        x = (points[at, 0] - tree.origin[0]) / tree.side
        y = (points[at, 1] - tree.origin[1]) / tree.side
        z = (points[at, 2] - tree.origin[2]) / tree.side
        d, g = np.nan, (np.nan, np.nan, np.nan)
        if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0.0 <= z <= 1.0:
            node = 0
            while True:
                g = (np.float64(linear[node, 0]), np.float64(linear[node, 1]), np.float64(linear[node, 2]))
                d = g[0] * x + g[1] * y + g[2] * z + linear[node, 3]
                if child[node] == 0:
                    break
                node = child[node] + (1 if d >= 0.0 else 0)
        distance[at] = d * tree.side
        vec.store(gradient, at, g)


@kernel(parallel=True)
def sample_points(tree, points, distance, gradient):
    for c in prange(-(-len(points) // CHUNK)):
        sample_range(tree, points, c * CHUNK, min(len(points), (c + 1) * CHUNK), distance, gradient)

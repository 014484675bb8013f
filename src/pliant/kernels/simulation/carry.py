"""Cloth carried along by bodies: how far all vertices can move together, which are pushed, and which give way.

All vertices move on straight lines by the same share t of their rows of u. Along its normal the gap of a pair is then a
concave function of t, and linear for any two vertices of its sides: the greatest t that keeps the pair separated is a
quotient. The gap of cloth that moves with the body behind it stays constant for any distance.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import first_side
from ..geometry.edge import closest_on_edges
from ..geometry.triangle import closest_on_triangle
from ..jit import kernel
from .bounds import ROUNDING_FACTOR

HALVINGS = 8  # of a displacement, to find the share that a rotating plane allows


class RotatingPlane(NamedTuple):
    """Bernstein coefficients of the normal of a rotating plane, which is quadratic in the share."""

    begin: tuple[float, float, float]
    middle: tuple[float, float, float]
    end: tuple[float, float, float]


class Carried(NamedTuple):
    marked: np.ndarray  # (n,) whether a vertex is carried
    displacement: np.ndarray  # (n,3) its whole displacement


@kernel
def shares(pairs, kept, x, u, most):
    """Fill most (k,): the greatest share of u (n,3), at most 1, that keeps each pair `kept` apart; return the least."""
    vertices, kinds, normals = pairs
    least = 1.0
    for c in range(len(kept)):
        n, split = vec.load(normals, c), first_side(kinds[c])
        t = 1.0
        for a in range(split):
            i = vertices[c, a]
            x_i, u_i = vec.load(x, i), vec.load(u, i)
            for b in range(split, 4):
                j = vertices[c, b]
                gap = vec.dot(n, vec.sub(x_i, vec.load(x, j))) - kept[c]
                change = vec.dot(n, vec.sub(u_i, vec.load(u, j)))
                # written so that nan stops
                if not gap + change * t >= 0.0:
                    t = ROUNDING_FACTOR * max(gap, 0.0) / -change if change < 0.0 else 0.0
        if t < 1.0:
            t = max(t, rotating_share(vertices, c, split, n, x, u, kept[c], t))
        most[c] = t
        least = min(least, t)
    return least


@kernel
def rotating_share(vertices, c, split, n, x, u, kept, enough):
    """Return the greatest of the shares 1, 1/2, 1/4, ... of u at which a plane that rotates with pair c separates it; 0
    if none of them exceeds `enough`.

    The plane is spanned by two directions, each interpolated linearly from its initial to its final value: one between
    two vertices of the pair, and one perpendicular to it. Its normal is then quadratic in the share, and the gap of two
    vertices along it a cubic, bounded below by its least Bernstein coefficient. Pairs that rotate rigidly by less than
    120 degrees stay separated; with a fixed normal, thin parts would block each other.
    """
    far, one, two = -1.0, 0, 0
    for a in range(4):
        for b in range(a):
            d = vec.sub(vec.load(x, vertices[c, a]), vec.load(x, vertices[c, b]))
            if vec.norm2(vec.cross(d, n)) > far:
                far, one, two = vec.norm2(vec.cross(d, n)), vertices[c, a], vertices[c, b]
    along = vec.sub(vec.load(x, one), vec.load(x, two))
    relative = vec.sub(vec.load(u, one), vec.load(u, two))
    share = 1.0
    for _ in range(HALVINGS):
        if share <= enough:
            return 0.0
        m, apart = normal_at(vertices, c, split, x, u, share)
        if apart > kept:
            plane = rotating_plane(n, m, along, vec.madd(along, relative, share))
            if stays_separated(vertices, c, split, plane, x, u, share, kept):
                return share
        share *= 0.5
    return 0.0


@kernel
def rotating_plane(n, m, along, later):
    """The plane whose normal rotates from n to m, while the direction `along` in it becomes `later`."""
    e, f = perpendicular(along, n), perpendicular(later, m)
    middle = vec.scale(vec.add(vec.cross(e, vec.cross(m, f)), vec.cross(f, vec.cross(n, e))), 0.5)
    return RotatingPlane(n, middle, m)


@kernel
def stays_separated(vertices, c, split, plane, x, u, share, kept):
    """Return whether pair c stays `kept` apart up to x + share u along a rotating plane."""
    n, middle, m = plane
    kept *= max(1.0, vec.norm(middle))
    for a in range(split):
        i = vertices[c, a]
        for b in range(split, 4):
            j = vertices[c, b]
            d = vec.sub(vec.load(x, i), vec.load(x, j))
            end = vec.madd(d, vec.sub(vec.load(u, i), vec.load(u, j)), share)
            begins, ends = vec.dot(n, d), vec.dot(m, end)
            second = (vec.dot(n, end) + 2.0 * vec.dot(middle, d)) / 3.0
            third = (vec.dot(m, d) + 2.0 * vec.dot(middle, end)) / 3.0
            # written so that nan stops
            if not (begins >= kept and second >= kept and third >= kept and ends >= kept):
                return False
    return True


@kernel
def perpendicular(d, n):
    """Unit vector of the component of d perpendicular to the unit vector n; zero if there is none."""
    d = vec.madd(d, n, -vec.dot(d, n))
    length = vec.norm(d)
    return vec.scale(d, 1.0 / length) if length > 0.0 else d


@kernel
def normal_at(vertices, c, split, x, u, share):
    """Unit normal between the nearest points of pair c at x + share u, and their distance."""
    i, j, k, h = vertices[c, 0], vertices[c, 1], vertices[c, 2], vertices[c, 3]
    o = vec.load(x, i)
    p = vec.scale(vec.load(u, i), share)
    q = vec.madd(vec.sub(vec.load(x, j), o), vec.load(u, j), share)
    r = vec.madd(vec.sub(vec.load(x, k), o), vec.load(u, k), share)
    s = vec.madd(vec.sub(vec.load(x, h), o), vec.load(u, h), share)
    if split == 1:  # a vertex and a face
        a, b, d, _ = closest_on_triangle(p, q, r, s)
        gap = vec.madd(vec.madd(vec.madd(p, q, -a), r, -b), s, -d)
    else:
        a, b = closest_on_edges(p, q, r, s)
        gap = vec.sub(vec.madd(p, vec.sub(q, p), a), vec.madd(r, vec.sub(s, r), b))
    length = vec.norm(gap)
    return (vec.scale(gap, 1.0 / length) if length > 0.0 else gap), length


@kernel
def carry_blocked(vertices, most, horizon, share, more, u, free, carried):
    """Let the free vertices of all pairs that stop before the share `horizon` of u move with the vertex of their four
    that moves farthest, so that their gap stays constant.

    u (n,3) is `share` times the displacement field of all vertices, driven ones included. A vertex that is already
    carried gets a new displacement only if its squared length exceeds `more` times that of its own. Return the number
    of newly carried vertices.
    """
    marked, displacement = carried
    new = 0
    for c in range(len(most)):
        if not most[c] < horizon:
            continue
        far, by = 0.0, -1
        for k in range(4):
            length = vec.norm2(vec.load(u, vertices[c, k]))
            if length > far:
                far, by = length, vertices[c, k]
        if by < 0:
            continue
        push = vec.scale(vec.load(u, by), 1.0 / share)
        for k in range(4):
            i = vertices[c, k]
            if free[i] and (not marked[i] or vec.norm2(push) > more * vec.norm2(vec.load(displacement, i))):
                new += not marked[i]
                marked[i] = True
                vec.store(displacement, i, push)
    return new


@kernel
def separate_displacements(pairs, wanted, x, radius, free, sweeps, u):
    """Change u of free vertices until each pair ends at least `wanted` (k,) apart, for at most `sweeps` sweeps.

    Successive projections onto half-spaces, which converge to a point of their intersection if there is one. No u
    leaves the ball of `radius` (n,) around its initial value. Return the number of sweeps.
    """
    vertices, kinds, normals = pairs
    initial = u.copy()
    for sweep in range(sweeps):
        again = False
        for c in range(len(wanted)):
            n, split = vec.load(normals, c), first_side(kinds[c])
            for a in range(split):
                i = vertices[c, a]
                for b in range(split, 4):
                    j = vertices[c, b]
                    sides = int(free[i]) + int(free[j])
                    if sides == 0:
                        continue
                    gap = vec.dot(n, vec.sub(vec.load(x, i), vec.load(x, j)))
                    gap += vec.dot(n, vec.sub(vec.load(u, i), vec.load(u, j)))
                    if gap >= wanted[c]:
                        continue
                    push = (wanted[c] - gap) / sides
                    again = True
                    if free[i]:
                        vec.store(
                            u, i, project_to_ball(vec.madd(vec.load(u, i), n, push), vec.load(initial, i), radius[i])
                        )
                    if free[j]:
                        vec.store(
                            u, j, project_to_ball(vec.madd(vec.load(u, j), n, -push), vec.load(initial, j), radius[j])
                        )
        if not again:
            return sweep
    return sweeps


@kernel
def project_to_ball(a, middle, radius):
    """Return a, projected onto the ball around `middle`."""
    d = vec.sub(a, middle)
    length = vec.norm(d)
    return a if length <= ROUNDING_FACTOR * radius else vec.madd(middle, d, ROUNDING_FACTOR * radius / length)


@kernel
def mark_overlapping(pairs, x, u, out):
    """Mark in out (k,) the pairs whose sides overlap along their normal after the full u; return their number."""
    vertices, kinds, normals = pairs
    count = 0
    for c in range(len(out)):
        n, split = vec.load(normals, c), first_side(kinds[c])
        least = math.inf
        for a in range(split):
            i = vertices[c, a]
            for b in range(split, 4):
                j = vertices[c, b]
                gap = vec.dot(n, vec.sub(vec.load(x, i), vec.load(x, j)))
                least = min(least, gap + vec.dot(n, vec.sub(vec.load(u, i), vec.load(u, j))))
        out[c] = not least > 0.0
        count += out[c]
    return count

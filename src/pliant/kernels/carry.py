"""Cloth that bodies carry along: how far all may go together, who is pushed, and who makes way.

All vertices go on straight lines by their rows of u, and all of them by the same share t of it. Along its normal the
gap of a pair is then a concave function of t, and linear between any two vertices of its sides: the greatest t that
keeps the pair apart is a quotient. Cloth that goes as the body behind it does has a gap that never changes, however far
both go.
"""

import math

from . import vec
from .edge import closest_on_edges
from .guard import KEPT
from .jit import kernel
from .triangle import closest_on_triangle

HALVINGS = 8  # of a way, to find how much of it a plane that turns allows


@kernel
def shares(vertices, kinds, normals, kept, x, u, most):
    """Fill most (k,), the greatest share of u (n,3), up to 1, at which each pair is `kept` apart; returns the least."""
    least = 1.0
    for c in range(len(kept)):
        n, split = vec.load(normals, c), 1 if kinds[c] == 0 else 2
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
                    t = KEPT * max(gap, 0.0) / -change if change < 0.0 else 0.0
        if t < 1.0:
            t = max(t, turning_share(vertices, c, split, n, x, u, kept[c], t))
        most[c] = t
        least = min(least, t)
    return least


@kernel
def turning_share(vertices, c, split, n, x, u, kept, enough):
    """The greatest of the shares 1, 1/2, 1/4, ... of u at which pair c is apart by a plane that turns with it; 0 where
    none of them is more than `enough`.

    The plane is spanned by two directions, each of which goes evenly from where it is to where it will be: one between
    two vertices of the pair, and the one across it. Its normal is then a quadratic of the share, and the gap of two
    vertices along it a cubic, which is nowhere less than the least of its Bernstein coefficients. What turns rigidly by
    less than 120 degrees is apart all the way: along a normal that stands still thin things would stop each other.
    """
    far, one, two = -1.0, 0, 0
    for a in range(4):
        for b in range(a):
            d = vec.sub(vec.load(x, vertices[c, a]), vec.load(x, vertices[c, b]))
            if vec.norm2(vec.cross(d, n)) > far:
                far, one, two = vec.norm2(vec.cross(d, n)), vertices[c, a], vertices[c, b]
    along = vec.sub(vec.load(x, one), vec.load(x, two))
    drawn = vec.sub(vec.load(u, one), vec.load(u, two))
    share = 1.0
    for _ in range(HALVINGS):
        if share <= enough:
            return 0.0
        m, apart = normal_at(vertices, c, split, x, u, share)
        if apart > kept and turns(vertices, c, split, n, m, along, vec.madd(along, drawn, share), x, u, share, kept):
            return share
        share *= 0.5
    return 0.0


@kernel
def turns(vertices, c, split, n, m, along, later, x, u, share, kept):
    """Whether pair c is `kept` apart all the way to x + share u by the plane whose normal turns from n to m, while the
    direction `along` becomes `later`."""
    e, f = across(along, n), across(later, m)
    middle = vec.scale(vec.add(vec.cross(e, vec.cross(m, f)), vec.cross(f, vec.cross(n, e))), 0.5)
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
def across(d, n):
    """The unit vector of d's part across the unit vector n; zero where there is none."""
    d = vec.madd(d, n, -vec.dot(d, n))
    length = vec.norm(d)
    return vec.scale(d, 1.0 / length) if length > 0.0 else d


@kernel
def normal_at(vertices, c, split, x, u, share):
    """The unit normal between the nearest points of pair c at x + share u, and their distance."""
    i, j, k, h = vertices[c, 0], vertices[c, 1], vertices[c, 2], vertices[c, 3]
    o = vec.load(x, i)
    p = vec.scale(vec.load(u, i), share)
    q = vec.madd(vec.sub(vec.load(x, j), o), vec.load(u, j), share)
    r = vec.madd(vec.sub(vec.load(x, k), o), vec.load(u, k), share)
    s = vec.madd(vec.sub(vec.load(x, h), o), vec.load(u, h), share)
    if split == 1:
        a, b, d, _ = closest_on_triangle(p, q, r, s)
        gap = vec.madd(vec.madd(vec.madd(p, q, -a), r, -b), s, -d)
    else:
        a, b = closest_on_edges(p, q, r, s)
        gap = vec.sub(vec.madd(p, vec.sub(q, p), a), vec.madd(r, vec.sub(s, r), b))
    length = vec.norm(gap)
    return (vec.scale(gap, 1.0 / length) if length > 0.0 else gap), length


@kernel
def join(vertices, kinds, normals, most, horizon, share, more, u, free, carried, e):
    """Let the free vertices of all pairs that stop before the part `horizon` of u go as that of their four does that
    goes farthest: then nothing changes between them.

    carried (n,) says which are carried already, e (n,3) how far in all, of which u is the `share`; only what goes
    `more` times as far, squared, changes these. Returns how many are new.
    """
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
            if free[i] and (not carried[i] or vec.norm2(push) > more * vec.norm2(vec.load(e, i))):
                new += not carried[i]
                carried[i] = True
                vec.store(e, i, push)
    return new


@kernel
def make_way(vertices, kinds, normals, wanted, x, radius, free, sweeps, u):
    """Change u of free vertices until the sides of each pair end at least `wanted` (k,) apart, or `sweeps` are over.

    Projections onto half-spaces, one after the other: they come to a place where all pairs are apart if there is one.
    No u leaves the ball of `radius` (n,) around where it is at first. Returns how many sweeps it took.
    """
    way = u.copy()
    for sweep in range(sweeps):
        again = False
        for c in range(len(wanted)):
            n, split = vec.load(normals, c), 1 if kinds[c] == 0 else 2
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
                        vec.store(u, i, within(vec.madd(vec.load(u, i), n, push), vec.load(way, i), radius[i]))
                    if free[j]:
                        vec.store(u, j, within(vec.madd(vec.load(u, j), n, -push), vec.load(way, j), radius[j]))
        if not again:
            return sweep
    return sweeps


@kernel
def within(a, middle, radius):
    """a, or the point towards it on the sphere around `middle`."""
    d = vec.sub(a, middle)
    length = vec.norm(d)
    return a if length <= KEPT * radius else vec.madd(middle, d, KEPT * radius / length)


@kernel
def broken(vertices, kinds, normals, x, u, out):
    """Mark in out (k,) the pairs whose sides overlap along their normal after all of u; returns how many."""
    count = 0
    for c in range(len(out)):
        n, split = vec.load(normals, c), 1 if kinds[c] == 0 else 2
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

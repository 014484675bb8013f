"""Cloth that bodies carry along: how far all may go together, who is pushed, and who makes way.

All vertices go on straight lines by their rows of u, and all of them by the same share t of it. Along its normal the
gap of a pair is then a concave function of t, and linear between any two vertices of its sides: the greatest t that
keeps the pair apart is a quotient. Cloth that goes as the body behind it does has a gap that never changes, however far
both go.
"""

import math

from . import vec
from .guard import KEPT
from .jit import kernel


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
        most[c] = t
        least = min(least, t)
    return least


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

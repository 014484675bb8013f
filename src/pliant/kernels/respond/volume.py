"""Volume response: a pressure on the surfaces of two bodies inside each other, along the gradient of their
intersection volume (Faure et al. 2008; Allard et al. 2010)."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel


class Regions(NamedTuple):
    """Sums over the connected regions of an intersection."""

    volume: np.ndarray  # (r,) cubic metres
    change: np.ndarray  # (r,) in this substep, linearised, cubic metres
    facing: np.ndarray  # (r,3) the sum of the gradient over the first body, square metres
    area: np.ndarray  # (r,2) of each body's surface in the other, summed over three projections, square metres
    moved: np.ndarray  # (r,2,3) the mean displacement of that surface in this substep, metres
    mobility: np.ndarray  # (r,) the sum of w |gradient|^2, m^4/kg
    tangential: np.ndarray  # (r,) the inverse mass of the two surfaces against a common displacement, 1/kg
    fastest: np.ndarray  # (r,) the largest w |gradient|, m^2/kg
    impulse: np.ndarray  # (r,) kg/m^2: displacements are w times the gradient times this


class Vertices(NamedTuple):
    """Sums over the vertices of the bodies; a vertex that can move belongs to one region."""

    gradient: np.ndarray  # (n,3) square metres
    share: np.ndarray  # (n,) of the area of its body's surface in its region, square metres; negative for the second
    region: np.ndarray  # (n,) or -1


@kernel
def sum_ends(ends, x, x_start, w, regions, vertices):
    """Sum the ends of all intervals into `regions` and `vertices`, whose rows that occur in them are 0 and -1."""
    volume, change, facing, area, moved = regions.volume, regions.change, regions.facing, regions.area, regions.moved
    gradient, share, region = vertices.gradient, vertices.share, vertices.region
    for k in range(len(ends.depth)):
        r, axis, side, signed = ends.region[k], ends.axis[k], ends.side[k], ends.area[k]
        if r < 0:
            continue
        volume[r] += signed * ends.depth[k] / 3.0
        size, shift = abs(signed), (0.0, 0.0, 0.0)
        for c in range(3):
            i, weight = ends.rows[k, c], ends.weights[k, c]
            shift = vec.madd(shift, vec.sub(vec.load(x, i), vec.load(x_start, i)), weight)
            if w[i] > 0.0:
                gradient[i, axis] += signed * weight
                share[i] += size * weight if side == 0 else -size * weight
                region[i] = r
        change[r] += signed * shift[axis]
        if side == 0:
            facing[r, axis] += signed
        area[r, side] += size
        for c in range(3):
            moved[r, side, c] += size * shift[c]


@kernel
def sum_vertices(w, regions, vertices):
    """Sum the vertices that can move into the mobilities of their regions, and complete the means."""
    area, moved = regions.area, regions.moved
    for r in range(len(area)):
        for side in range(2):
            if area[r, side] > 0.0:
                for c in range(3):
                    moved[r, side, c] /= area[r, side]
    for i in range(len(w)):
        r = vertices.region[i]
        if r < 0:
            continue
        squared = vec.norm2(vec.load(vertices.gradient, i))
        regions.mobility[r] += w[i] * squared
        regions.fastest[r] = max(regions.fastest[r], w[i] * np.sqrt(squared))
        side = 0 if vertices.share[i] > 0.0 else 1
        if area[r, side] > 0.0:
            regions.tangential[r] += w[i] * (vertices.share[i] / area[r, side]) ** 2


@kernel
def press(regions, dt_over_tau, farthest):
    """Compute regions.impulse: that of a critically damped spring on each volume, integrated implicitly. Bodies that
    separate are not held back. What a volume itself demands moves no vertex by more than `farthest` metres."""
    scale = 1.0 / (1.0 + dt_over_tau) ** 2
    for r in range(len(regions.volume)):
        mobility = regions.mobility[r]
        if mobility <= 0.0 or regions.volume[r] <= 0.0:
            continue
        open_up = scale * dt_over_tau * dt_over_tau * regions.volume[r] / mobility
        if regions.fastest[r] * open_up > farthest:
            open_up = farthest / regions.fastest[r]
        regions.impulse[r] = max(open_up + 2.0 * scale * dt_over_tau * regions.change[r] / mobility, 0.0)


@kernel
def rub(region, regions, friction):
    """Return the tangential impulse (kg m) on the first body of a region: it stops the relative displacement, at most
    by the friction coefficient times the normal impulse."""
    n, moved = vec.load(regions.facing, region), regions.moved
    length = vec.norm(n)
    total = regions.tangential[region]
    if regions.impulse[region] == 0.0 or length == 0.0 or total == 0.0:
        return (0.0, 0.0, 0.0)
    n = vec.scale(n, 1.0 / length)
    slide = (
        moved[region, 0, 0] - moved[region, 1, 0],
        moved[region, 0, 1] - moved[region, 1, 1],
        moved[region, 0, 2] - moved[region, 1, 2],
    )
    slide = vec.madd(slide, n, -vec.dot(slide, n))
    stop = vec.norm(slide) / total
    if stop == 0.0:
        return (0.0, 0.0, 0.0)
    part = friction.coefficient
    if not friction.simple:
        part = min(friction.coefficient * regions.impulse[region] * length / stop, 1.0)
    return vec.scale(slide, -part / total)


@kernel
def displace(x, w, regions, vertices, rubbed):
    """Move all vertices by the pressure and the friction (r,3) of their region, and clear `vertices`."""
    for i in range(len(w)):
        r = vertices.region[i]
        if r < 0:
            continue
        move = vec.scale(vec.load(vertices.gradient, i), -w[i] * regions.impulse[r])
        side = 0 if vertices.share[i] > 0.0 else 1
        if regions.area[r, side] > 0.0:
            move = vec.madd(move, vec.load(rubbed, r), w[i] * vertices.share[i] / regions.area[r, side])
        vec.store(x, i, vec.add(vec.load(x, i), move))
        vec.store(vertices.gradient, i, (0.0, 0.0, 0.0))
        vertices.share[i], vertices.region[i] = 0.0, -1


@kernel
def rub_all(regions, friction, rubbed):
    """Fill rubbed (r,3) with the tangential impulses on the first body of each region, kg m."""
    for r in range(len(rubbed)):
        vec.store(rubbed, r, rub(r, regions, friction))

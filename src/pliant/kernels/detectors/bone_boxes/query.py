"""Exact point queries: the nearest triangle of points near a skin or inside it, and the clearance of all others."""

import math
from typing import NamedTuple

import numpy as np

from ... import vec
from ...jit import kernel, prange
from .boxes import CHUNK, LANES, Boxes, Placed, Skin
from .lookup import gather, keep_within
from .search import boxes_near, search_one, wind_one

# The clearance of a point outside is measured up to `near` plus LASTS times its displacement per step, so that it stays
# valid for as many steps, but never beyond MOST times `near`.
LASTS, MOST = 16.0, 20.0
# A clearance proved by a neighbour suffices if it exceeds `near` by WORTH displacements; a smaller one is measured.
WORTH = 4.0
# Beyond `near` by EXACT displacements, a lower bound of the distance suffices.
EXACT = 1.0


class Query(NamedTuple):
    """What is asked."""

    near: float  # distance up to which points outside have a result, metres
    sided: bool  # whether the skin is closed, so that a point off it is inside or outside
    deep: bool  # whether points inside have a result at any depth; otherwise up to `near`
    axis: int  # direction of the rays that decide sides
    within: float  # distance of results, metres
    beyond: float  # distance from a face at which its sides are tested, metres


class Lists(NamedTuple):
    """Indices of points."""

    order: np.ndarray  # (n,) neighbours in space together
    which: np.ndarray  # (n,) workspace: points to query
    unsure: np.ndarray  # (n,) workspace: results whose side is not known
    ignored: np.ndarray  # (n,) or (0,) bool: points without results


@kernel
def radius_of(query, pace):
    """Search radius for a point that moves by `pace` per step."""
    return max(query.near, min(query.near + LASTS * pace, MOST * query.near))


@kernel
def query_range(skin, probes, which, first, last, query):
    """Query the points which[first:last]. Return the numbers of triangles visited and measured.

    The clearance of a measured point outside, less its distance to a neighbour, is a lower bound of the neighbour's
    clearance, so that few points are searched. Where neither such a bound nor the clearance of the step before decides
    whether a point is inside, a ray does.
    """
    points, found, barycentric = probes.points, probes.found, probes.barycentric
    clear, side, pace, slack, near = probes.clear, probes.side, probes.pace, skin.slack, query.near
    every, gaps = np.arange(len(skin.placed.world)), np.empty((3, LANES), np.float32)
    balls, count, visited, measured, widest = np.empty((last - first, 4)), 0, 0, 0, near
    for t in range(first, last):
        widest = max(widest, radius_of(query, pace[which[t]]))
    boxes = every.copy()
    boxes = boxes[: boxes_near(skin.placed.world, points, which, first, last, widest + slack, boxes)]
    for t in range(first, last):
        i, bound = which[t], 0.0
        p = vec.load(points, i)
        for k in range(count):
            gap = math.sqrt(vec.norm2(vec.sub(p, vec.load(balls, k))))
            bound = max(bound, balls[k, 3] - gap * (1.0 + 1e-12) - slack)
        if bound > near + WORTH * pace[i]:
            found[i, 0], clear[i], side[i] = -1, bound, 1
            continue
        radius, opened, again = radius_of(query, pace[i]), boxes, True
        enough = np.inf if query.deep and side[i] < 0 else near + EXACT * pace[i]
        while again:  # the search is called in one place, into which it is inlined
            d_2, f, feature, row, u, v, w, one, two = search_one(skin, p, found[i, 2], radius, enough, opened, gaps)
            visited, measured = visited + one, measured + two
            again = radius < np.inf
            if again:
                if query.sided and not (bound > slack or clear[i] > slack):
                    side[i] = -1 if wind_one(skin, query.axis, p) > 0 else 1
                elif bound > slack or not query.sided:
                    side[i] = 1
                again = query.deep and f < 0 and side[i] < 0
                radius, enough, opened = np.inf, np.inf, every
        distance = math.sqrt(d_2)
        clear[i] = max(distance - slack, 0.0)
        if row >= 0:
            found[i, 2] = row
        if side[i] > 0 and distance > near:
            found[i, 0] = -1
            balls[count, 3] = clear[i]
            vec.store(balls, count, p)
            count += 1
        elif distance > near and not query.deep:
            found[i, 0] = -1
        else:
            found[i, 0], found[i, 1] = f, feature
            vec.store(barycentric, i, (u, v, w))
    return visited, measured


@kernel(parallel=True)
def query_points(skin, probes, which, query, counts):
    """Apply `query_range` to all of `which`; counts (chunks,2)."""
    boxes = Boxes(*skin.boxes)  # a parallel loop takes no tuples within tuples
    placed = Placed(*skin.placed)
    x, slack = skin.x, skin.slack
    n = len(which)
    for c in prange(-(-n // CHUNK)):
        posed = Skin(boxes, placed, x, slack)
        counts[c, 0], counts[c, 1] = query_range(posed, probes, which, c * CHUNK, min(n, (c + 1) * CHUNK), query)


@kernel
def query_and_collect(skin, surface, probes, lists, count, query, out):
    """`query_range` of the first `count` points of `lists.which`, then `collect`, on one thread. Return the numbers of
    triangles visited and measured, and those of `collect`."""
    visited, measured = 0, 0
    for first in range(0, count, CHUNK):
        one, two = query_range(skin, probes, lists.which, first, min(count, first + CHUNK), query)
        visited, measured = visited + one, measured + two
    return visited, measured, collect(skin, probes, surface, lists, query, out)


@kernel
def collect(skin, probes, surface, lists, query, out):
    """Gather the results of all points in `out`; return their number, that of those in `lists.unsure`, and the number
    of results to keep, if all are sure."""
    count, unsure = gather(skin, probes, surface, lists.ignored, query, out, lists.unsure)
    return count, unsure, keep_within(out, count, query.within) if unsure == 0 else 0


@kernel
def find_nearest(skin, points, found, barycentric):
    """Find the nearest triangle of each point (n,3): found (n,3) as in `ProbeArrays`, its rows are initial guesses."""
    every, gaps = np.arange(len(skin.placed.world)), np.empty((3, LANES), np.float32)
    for i in range(len(points)):
        result = search_one(skin, vec.load(points, i), found[i, 2], np.inf, np.inf, every, gaps)
        _, found[i, 0], found[i, 1], found[i, 2], u, v, w, _, _ = result
        vec.store(barycentric, i, (u, v, w))


@kernel
def wind(skin, axis, points, winding):
    """Fill winding (n,) with the winding numbers of points (n,3), by rays along the axis."""
    for i in range(len(points)):
        winding[i] = wind_one(skin, axis, vec.load(points, i))

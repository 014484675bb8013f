"""Penetration depth between the vertices of a garment: the deepest point of the faces that intersect the body.

Distance is 1-Lipschitz: no point of a triangle is deeper than its centroid by more than the distance to the farthest
corner. Triangles that may contain a point deeper than the deepest known one are subdivided into four, until none can
exceed it by more than `MARGIN`, or `MOST_POINTS` points were queried.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DistanceQuery = Callable[[Floats], Floats]  # points (k,3) -> signed distance (k,), negative inside
MARGIN = 0.05  # relative to the depth: a point is reported if it is deeper than the deepest vertex by more than this
TOLERANCE = 1e-9  # relative to the size: tolerance of inside and outside in double precision
LEVELS, MOST_POINTS = 8, 20_000


class DeepestPoint(NamedTuple):
    """The deepest point between vertices, and the depth of the deepest sample of each face; metres, 0: none inside."""

    depth: float
    position: Floats  # (3,)
    face_depths: Floats  # (k,)


NO_POINT = DeepestPoint(0.0, np.zeros(3), np.zeros(0))


def deepest_point(corners: Floats, query: DistanceQuery, least: float, size: float) -> DeepestPoint:
    """The deepest point of faces with these corners (k,3,3); `least`: depth of the deepest vertex; `size`: metres."""
    depth, position, deepest = 0.0, np.zeros(3), np.zeros(len(corners))
    owner, queried = np.arange(len(corners)), 0
    for _ in range(LEVELS):
        if not len(corners):
            break
        centroid = corners.mean(1)
        deep = -query(centroid)
        queried += len(deep)
        np.maximum.at(deepest, owner, deep)
        best = int(np.argmax(deep))
        if deep[best] > max(depth, TOLERANCE * size):
            depth, position = float(deep[best]), centroid[best]
        most = deep + np.linalg.norm(corners - centroid[:, None], axis=2).max(1)
        rows = np.flatnonzero(most > (1.0 + MARGIN) * max(depth, least) + TOLERANCE * size)
        rows = rows[np.argsort(-most[rows], kind="stable")][: max(MOST_POINTS - queried, 0) // 4]
        corners, owner = _subdivided(corners[rows]), np.repeat(owner[rows], 4)
    if depth <= (1.0 + MARGIN) * least:
        depth = 0.0  # not deeper than the deepest vertex
    return DeepestPoint(depth, position, np.where(deepest > TOLERANCE * size, deepest, 0.0))


def reach_inside(corners: Floats, query: DistanceQuery, size: float) -> NDArray[np.bool_]:
    """(k,) mask of faces with corners (k,3,3) that have a sample inside, after a few subdivisions."""
    inside, owner, queried = np.zeros(len(corners), np.bool_), np.arange(len(corners)), 0
    for _ in range(4):
        if not len(corners) or queried > MOST_POINTS:
            break
        centroid = corners.mean(1)
        deep = -query(centroid)
        queried += len(deep)
        inside[owner[deep > TOLERANCE * size]] = True
        most = deep + np.linalg.norm(corners - centroid[:, None], axis=2).max(1)
        rows = np.flatnonzero(~inside[owner] & (most > TOLERANCE * size))
        corners, owner = _subdivided(corners[rows]), np.repeat(owner[rows], 4)
    return inside


def _subdivided(corners: Floats) -> Floats:
    """Subdivide triangles (k,3,3) into four each, (4k,3,3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    d, e, f = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = np.stack([np.stack(each, 1) for each in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))], 1)
    return parts.reshape(-1, 3, 3)

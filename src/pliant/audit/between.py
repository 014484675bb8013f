"""How deep a garment is inside a body between its vertices: the deepest point of the faces that the body cuts.

Distance is 1-Lipschitz: no point of a triangle is deeper than its centroid by more than the way to the farthest corner.
Triangles that could hold a deeper point than the deepest known are divided in four, until none could by more than
`MARGIN`, or `MOST` points were asked about.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ask = Callable[[Floats], Floats]  # points (k,3) -> signed distance (k,), negative inside
MARGIN = 0.05  # of the depth: by how much a point must be deeper than the deepest vertex to be told
HAIR = 1e-9  # of the size of things: as far as double precision tells inside from outside
LEVELS, MOST = 8, 20_000


class Between(NamedTuple):
    """The deepest point between vertices, and of every face the deepest that was looked at; metres, 0: none inside."""

    depth: float
    place: Floats  # (3,)
    faces: Floats  # (k,)


def deepest_between(corners: Floats, ask: Ask, least: float, size: float) -> Between:
    """Of faces with these corners (k,3,3), where a vertex is `least` deep already; size: of things, metres."""
    depth, place, deepest = 0.0, np.zeros(3), np.zeros(len(corners))
    owner, asked = np.arange(len(corners)), 0
    for _ in range(LEVELS):
        if not len(corners):
            break
        middle = corners.mean(1)
        deep = -ask(middle)
        asked += len(deep)
        np.maximum.at(deepest, owner, deep)
        best = int(np.argmax(deep))
        if deep[best] > max(depth, HAIR * size):
            depth, place = float(deep[best]), middle[best]
        most = deep + np.linalg.norm(corners - middle[:, None], axis=2).max(1)
        rows = np.flatnonzero(most > (1.0 + MARGIN) * max(depth, least) + HAIR * size)
        rows = rows[np.argsort(-most[rows], kind="stable")][: max(MOST - asked, 0) // 4]
        corners, owner = _divided(corners[rows]), np.repeat(owner[rows], 4)
    if depth <= (1.0 + MARGIN) * least:
        depth = 0.0  # a vertex tells it as well
    return Between(depth, place, np.where(deepest > HAIR * size, deepest, 0.0))


def reach_inside(corners: Floats, ask: Ask, size: float) -> NDArray[np.bool_]:
    """(k,) which faces with these corners (k,3,3) have a point inside, of those a few divisions give."""
    inside, owner, asked = np.zeros(len(corners), np.bool_), np.arange(len(corners)), 0
    for _ in range(4):
        if not len(corners) or asked > MOST:
            break
        middle = corners.mean(1)
        deep = -ask(middle)
        asked += len(deep)
        inside[owner[deep > HAIR * size]] = True
        most = deep + np.linalg.norm(corners - middle[:, None], axis=2).max(1)
        rows = np.flatnonzero(~inside[owner] & (most > HAIR * size))
        corners, owner = _divided(corners[rows]), np.repeat(owner[rows], 4)
    return inside


def _divided(corners: Floats) -> Floats:
    """Triangles (k,3,3), each in four (4k,3,3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    d, e, f = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = np.stack([np.stack(each, 1) for each in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))], 1)
    return parts.reshape(-1, 3, 3)

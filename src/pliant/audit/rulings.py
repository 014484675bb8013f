"""Ruling: what is right and what is wrong about the contacts that a method found, in one state."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CLEAR = 1e3  # times the slack of double precision: shorter gaps have no direction, smaller errors are none


class Ruling(NamedTuple):
    """One method, one question, one state. Places are (k,3), metres."""

    expected: int  # contacts that are there, of the kind that the method says it finds
    right: Floats  # places of those that it found
    missed: Floats
    extra: Floats
    beyond: int  # of these, and of wrong distances, those that its bound does not excuse
    unreached: int  # contacts beyond what it says that it sees, such as deeper than the band of a field
    depth: Floats  # (k,) metres: by how much the distances of right ones are off
    turn: Floats  # (k,) radians: and their normals
    bound: float  # metres; 0 for exact methods, nan where none is stated


def added(parts: Sequence[Ruling]) -> Ruling:
    """All of them together; the largest bound that is stated."""
    none = np.zeros((0, 3)), np.zeros(0)
    right, missed, extra = (np.concatenate([none[0], *(p[k] for p in parts)]) for k in (1, 2, 3))
    depth, turn = (np.concatenate([none[1], *(p[k] for p in parts)]) for k in (6, 7))
    bounds = np.array([p.bound for p in parts])
    stated = bounds[~np.isnan(bounds)]
    bound = float(stated.max()) if len(stated) else float("nan") if len(bounds) else 0.0
    counts = [sum(p.expected for p in parts), sum(p.beyond for p in parts), sum(p.unreached for p in parts)]
    return Ruling(counts[0], right, missed, extra, counts[1], counts[2], depth, turn, bound)


def turns(normal: Floats, gap: Floats, least: float) -> Floats:
    """Angles (k,) between unit normals (k,3) and the directions of gaps (k,3), of those longer than `least`."""
    length = np.linalg.norm(gap, axis=1)
    some = length > least
    one, two = normal[some], gap[some] / length[some, None]
    # as many digits near 0 as elsewhere
    return 2.0 * np.arctan2(np.linalg.norm(one - two, axis=1), np.linalg.norm(one + two, axis=1))


def repeated(names: NDArray[np.integer]) -> NDArray[np.bool_]:
    """(n,) which numbers were there before."""
    out = np.ones(len(names), np.bool_)
    out[np.unique(names, return_index=True)[1]] = False
    return out

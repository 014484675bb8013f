"""Verdict: comparison of the contacts of a method with the exact ones, in one state."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CLEAR = 1e3  # in units of the tolerance: shorter gaps have no direction, smaller errors count as 0


class Verdict(NamedTuple):
    """One method, one query, one state. Positions are (k,3), metres."""

    expected: int  # number of exact contacts of the method's kind
    right: Floats  # positions of correctly reported contacts
    missed: Floats
    extra: Floats
    beyond: int  # missed, extra and wrong distances that exceed its bound
    unreached: int  # contacts outside its stated range, such as deeper than the narrow band of a field
    depth: Floats  # (k,) errors of the distances of right contacts, metres, without deep ones and collisions
    turn: Floats  # (k,) errors of their normals, radians
    bound: float  # metres; 0 for exact methods, nan where none is stated


def added(parts: Sequence[Verdict]) -> Verdict:
    """The sum of verdicts, with the largest stated bound."""
    none = np.zeros((0, 3)), np.zeros(0)
    right, missed, extra = (np.concatenate([none[0], *(p[k] for p in parts)]) for k in (1, 2, 3))
    depth, turn = (np.concatenate([none[1], *(p[k] for p in parts)]) for k in (6, 7))
    bounds = np.array([p.bound for p in parts])
    stated = bounds[~np.isnan(bounds)]
    bound = float(stated.max()) if len(stated) else float("nan") if len(bounds) else 0.0
    counts = [sum(p.expected for p in parts), sum(p.beyond for p in parts), sum(p.unreached for p in parts)]
    return Verdict(
        expected=counts[0],
        right=right,
        missed=missed,
        extra=extra,
        beyond=counts[1],
        unreached=counts[2],
        depth=depth,
        turn=turn,
        bound=bound,
    )


def turns(normal: Floats, gap: Floats, least: float) -> Floats:
    """Angles between unit normals (k,3) and the directions of gaps (k,3), for gaps longer than `least`."""
    length = np.linalg.norm(gap, axis=1)
    some = length > least
    one, two = normal[some], gap[some] / length[some, None]
    # accurate near 0 as well
    return 2.0 * np.arctan2(np.linalg.norm(one - two, axis=1), np.linalg.norm(one + two, axis=1))


def repeated(names: NDArray[np.integer]) -> NDArray[np.bool_]:
    """(n,) mask of values that occurred before."""
    out = np.ones(len(names), np.bool_)
    out[np.unique(names, return_index=True)[1]] = False
    return out

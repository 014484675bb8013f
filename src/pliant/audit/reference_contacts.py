"""The reference contacts of `compare`, exact by definition; they share no search code with any method.

Candidates come from sweep and prune along one axis, distances from projections onto segments and planes, in NumPy.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_CHUNK = 2_000_000  # pairs per block
_SOLID = 4_000_000  # points times faces per block of solid angles


class Near(NamedTuple):
    """Pairs (k,2) of features, in ascending order, and the vector (k,3) from the second to the first, metres."""

    pairs: Rows
    gap: Floats

    @property
    def distance(self) -> Floats:
        return np.linalg.norm(self.gap, axis=1)


def from_segments(p: Floats, a: Floats, b: Floats) -> Floats:
    """(k,3) vector from the nearest point of segment a b to p, each (k,3)."""
    e = b - a
    t = _dot(p - a, e) / np.maximum(_dot(e, e), 1e-300)
    return p - a - np.clip(t, 0.0, 1.0)[:, None] * e


def from_triangles(p: Floats, t: Floats) -> Floats:
    """(k,3) vector from the nearest point of triangle t (k,3,3) to p (k,3)."""
    gap = _least(*(from_segments(p, t[:, k], t[:, (k + 1) % 3]) for k in range(3)))
    n = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
    length = np.linalg.norm(n, axis=1)
    over = length > 1e-12 * np.abs(t[:, 1:] - t[:, :1]).max((1, 2)) ** 2  # slivers are treated as their edges
    for k in range(3):
        a, b = t[:, k], t[:, (k + 1) % 3]
        over &= _dot(np.cross(n, b - a), p - a) > 0.0
    unit = n / np.maximum(length, 1e-300)[:, None]
    plumb = _dot(p - t[:, 0], unit)[:, None] * unit
    return np.where(over[:, None], plumb, gap)


def between_segments(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """(k,3) vector from segment c d to segment a b at their nearest points."""
    ends = [from_segments(a, c, d), from_segments(b, c, d), -from_segments(c, a, b), -from_segments(d, a, b)]
    gap = _least(*ends)
    u, v, r = b - a, d - c, c - a
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    det = uu * vv - uv * uv
    safe = np.where(det > 1e-14 * uu * vv, det, np.inf)  # parallel segments are nearest at an end
    s = (_dot(u, r) * vv - _dot(v, r) * uv) / safe
    t = (_dot(u, r) * uv - _dot(v, r) * uu) / safe
    inner = np.isfinite(safe) & (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    crossing = a + s[:, None] * u - c - t[:, None] * v
    return np.where(inner[:, None], crossing, gap)


def near_faces(p: Floats, x: Floats, faces: NDArray[Any], reach: float, own: bool = False) -> Near:
    """Pairs of points (n,3) and faces on x no farther apart than `reach`; `own`: the points are x, and a corner is not
    paired with its own face."""
    corners = x[faces]
    parts = []
    for pairs in box_pairs(p, p, corners.min(1), corners.max(1), reach):
        if own:
            pairs = pairs[(faces[pairs[:, 1]] != pairs[:, :1]).all(1)]
        parts.append(_within(pairs, from_triangles(p[pairs[:, 0]], corners[pairs[:, 1]]), reach))
    return _joined(parts)


def near_edges(x: Floats, edges: NDArray[Any], y: Floats, others: NDArray[Any], reach: float, own: bool) -> Near:
    """Pairs of edges on x and y no farther apart than `reach`; `own`: both are the same, neighbours do not count and
    each pair occurs once, the lower edge first."""
    a, b = x[edges], y[others]
    parts = []
    for pairs in box_pairs(a.min(1), a.max(1), b.min(1), b.max(1), reach):
        if own:
            pairs = pairs[pairs[:, 0] < pairs[:, 1]]
            pairs = pairs[(edges[pairs[:, 0]][:, :, None] != edges[pairs[:, 1]][:, None]).all((1, 2))]
        one, two = a[pairs[:, 0]], b[pairs[:, 1]]
        parts.append(_within(pairs, between_segments(one[:, 0], one[:, 1], two[:, 0], two[:, 1]), reach))
    return _joined(parts)


def box_pairs(low_a: Floats, high_a: Floats, low_b: Floats, high_b: Floats, reach: float) -> Iterator[Rows]:
    """(k,2) rows of boxes no farther than `reach` from each other along every axis, in blocks."""
    if not len(low_a) or not len(low_b):
        return
    low_b, high_b = low_b - reach, high_b + reach
    axis = int(np.argmax(high_b.max(0) - low_b.min(0)))
    order = np.argsort(low_b[:, axis], kind="stable")
    sorted_low = low_b[order, axis]
    wide = float((high_b - low_b)[:, axis].max())
    first = np.searchsorted(sorted_low, low_a[:, axis] - wide)
    last = np.searchsorted(sorted_low, high_a[:, axis], side="right")
    counts = last - first
    total, start = np.cumsum(counts), 0
    while start < len(counts):
        done = int(total[start - 1]) if start else 0
        end = max(int(np.searchsorted(total, done + _CHUNK, side="right")), start + 1)
        number = counts[start:end]
        i = np.repeat(np.arange(start, end), number)
        skip = np.repeat(np.cumsum(number) - number, number)
        j = order[np.arange(len(i)) - skip + np.repeat(first[start:end], number)]
        overlap = np.ones(len(i), np.bool_)
        for k in range(3):
            a, b = i[overlap], j[overlap]
            overlap[overlap] = (low_a[a, k] <= high_b[b, k]) & (high_a[a, k] >= low_b[b, k])
        if overlap.any():
            yield np.stack([i[overlap], j[overlap]], 1)
        start = end


def in_tets(p: Floats, x: Floats, tets: NDArray[Any], own: bool = False) -> tuple[Rows, Rows]:
    """Rows of points (n,3) certainly inside a tet on x, and those possibly inside within rounding. `own`: the points
    are x, and a corner is not inside its own tet."""
    corners, sure, perhaps = x[tets], [], []
    for pairs in box_pairs(p, p, corners.min(1), corners.max(1), 0.0):
        if own:
            pairs = pairs[(tets[pairs[:, 1]] != pairs[:, :1]).all(1)]
        c, q = corners[pairs[:, 1]], p[pairs[:, 0]]
        whole = _volume(c[:, 0], c[:, 1], c[:, 2], c[:, 3])
        parts = np.stack([_volume(*(q if m == k else c[:, m] for m in range(4))) for k in range(4)], 1)
        size = np.abs(c - c[:, :1]).max((1, 2))
        least = (parts * np.sign(whole)[:, None]).min(1)
        # rounding error of the volumes; coordinates may be far from the origin
        slack = 1e-12 * size**2 * np.maximum(np.abs(c).max((1, 2)), size)
        sure.append(pairs[least > slack, 0])
        perhaps.append(pairs[least > -slack, 0])
    none = np.zeros(0, np.int64)
    return np.unique(np.concatenate([none, *sure])), np.unique(np.concatenate([none, *perhaps]))


def winding(points: Floats, x: Floats, faces: NDArray[Any]) -> Floats:
    """(n,) winding number of the surface at each point, by summing solid angles (van Oosterom and Strackee)."""
    total = np.zeros(len(points))
    step = max(1, _SOLID // max(len(faces), 1))
    validate.budget("solid angles", 400.0 * step * len(faces), "take a smaller mesh")
    for k in range(0, len(points), step):
        a, b, c = (x[faces[:, m]] - points[k : k + step, None, :] for m in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=-1) for v in (a, b, c))
        det = (a * np.cross(b, c)).sum(-1)
        rest = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
        total[k : k + step] = np.arctan2(det, rest).sum(1) / (2.0 * np.pi)
    return total


def _volume(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    return _dot(np.cross(b - a, c - a), d - a)


def _least(*gaps: Floats) -> Floats:
    """The shortest of several vectors (k,3), row by row."""
    best, length = gaps[0], _dot(gaps[0], gaps[0])
    for gap in gaps[1:]:
        other = _dot(gap, gap)
        best, length = np.where((other < length)[:, None], gap, best), np.minimum(length, other)
    return best


def _within(pairs: Rows, gap: Floats, reach: float) -> Near:
    near = _dot(gap, gap) <= reach * reach
    return Near(pairs[near], gap[near])


def _joined(parts: list[Near]) -> Near:
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *(part.pairs for part in parts)])
    gap = np.concatenate([np.zeros((0, 3)), *(part.gap for part in parts)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return Near(pairs[order], gap[order])


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a, b))

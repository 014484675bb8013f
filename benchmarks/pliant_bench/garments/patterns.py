"""Flat pieces of cloth between closed curves, meshed with nearly equilateral triangles."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


def pattern(outer: Floats, holes: Sequence[Floats], particles: int) -> tuple[Floats, Ints]:
    """Vertices (n,2) and counter-clockwise faces (m,3) of the region inside `outer` and outside of `holes`.

    Curves (k,2) are closed polygons, given finely; corners sharper than 30 degrees stay. About `particles` vertices.
    """
    area = abs(_area(outer)) - sum(abs(_area(hole)) for hole in holes)
    length = float(np.sqrt(2.0 / np.sqrt(3.0) * area / particles))
    for _ in range(4):
        x, faces = _meshed([outer, *holes], length)
        ratio = len(x) / particles
        if 0.97 < ratio < 1.03:
            break
        length *= np.sqrt(ratio)
    return x, faces


def _meshed(curves: Sequence[Floats], length: float) -> tuple[Floats, Ints]:
    rim = np.concatenate([resampled(curve, length) for curve in curves])
    low, high = rim.min(0), rim.max(0)
    rows, columns = np.ceil((high - low)[::-1] / (length * np.array([0.5 * np.sqrt(3.0), 1.0]))).astype(int) + 1
    j, i = np.mgrid[:rows, :columns]
    lattice = low + length * np.stack([i + 0.5 * (j % 2), 0.5 * np.sqrt(3.0) * j], 2).reshape(-1, 2)
    inner = lattice[_inside(lattice, curves)]
    near = np.full(len(inner), np.inf)
    for k in range(0, len(inner), 2000):
        near[k : k + 2000] = np.linalg.norm(inner[k : k + 2000, None] - rim[None], axis=2).min(1)
    x = np.concatenate([rim, inner[near > 0.62 * length]])
    for _ in range(12):
        faces = _triangles(x, curves)
        ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        both = np.concatenate([ends, ends[:, ::-1]])
        count = np.maximum(np.bincount(both[:, 0], minlength=len(x)), 1)
        mean = np.stack([np.bincount(both[:, 0], x[both[:, 1], k], len(x)) / count for k in range(2)], 1)
        x[len(rim) :] += 0.7 * (mean - x)[len(rim) :]
    return x, _triangles(x, curves)


def _triangles(x: Floats, curves: Sequence[Floats]) -> Ints:
    faces = Delaunay(x).simplices.astype(np.int32)
    a, b, c = (x[faces[:, k]] for k in range(3))
    u, v = b - a, c - a
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    faces[area < 0.0] = faces[area < 0.0, ::-1]
    size = np.abs(area)
    return faces[_inside((a + b + c) / 3.0, curves) & (size > 0.02 * np.median(size))]


def resampled(curve: Floats, length: float) -> Floats:
    """Points of a closed polygon about `length` apart, with all its corners."""
    ahead, behind = np.roll(curve, -1, 0) - curve, curve - np.roll(curve, 1, 0)
    turn = np.abs(np.angle(_complex(ahead) / _complex(behind)))
    corners = np.flatnonzero(turn > np.pi / 6.0)
    start = int(corners[0]) if len(corners) else 0
    curve = np.roll(curve, -start, 0)
    corners = (corners - start) if len(corners) else np.array([0])
    closed = np.concatenate([curve, curve[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    found = []
    for first, last in zip(corners, [*corners[1:], len(curve)]):
        count = max(1, round((along[last] - along[first]) / length))
        at = np.linspace(along[first], along[last], count + 1)[:-1]
        found.append(np.stack([np.interp(at, along, closed[:, k]) for k in range(2)], 1))
    return np.concatenate(found)


def _complex(v: Floats) -> NDArray[np.complex128]:
    return np.asarray(v[:, 0] + 1j * v[:, 1])


def _inside(points: Floats, curves: Sequence[Floats]) -> Bools:
    """Whether points (n,2) are inside an odd number of the closed curves."""
    odd = np.zeros(len(points), np.bool_)
    for curve in curves:
        for a, b in zip(curve, np.roll(curve, -1, 0)):
            crosses = (a[1] > points[:, 1]) != (b[1] > points[:, 1])
            if a[1] != b[1]:
                at = a[0] + (points[:, 1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0])
                odd ^= crosses & (points[:, 0] < at)
    return odd


def _area(curve: Floats) -> float:
    x, y = curve.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))

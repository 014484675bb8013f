"""Surfaces of revolution about the y axis with triangles of uniform size: rings near the axis have fewer vertices."""

from typing import Any

import numpy as np

from ..validate import Floats, Ints


def resampled(line: Any, h: float) -> Floats:
    """Points along a polyline (n,2) at equal steps of about `h`, including both ends."""
    p = np.asarray(line, float)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
    count = max(1, round(along[-1] / h))
    at = np.linspace(0.0, along[-1], count + 1)
    return np.stack([np.interp(at, along, p[:, k]) for k in range(2)], 1)


def arc(centre: tuple[float, float], radius: float, start: float, stop: float, h: float) -> Floats:
    """Points of a circle from angle `start` to `stop` (radians from the radius axis towards +y), about `h` apart."""
    count = max(2, round(abs(stop - start) * radius / h))
    angle = np.linspace(start, stop, count + 1)
    return np.stack([centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)], 1)


def revolved(profile: Floats, h: float) -> tuple[Floats, Ints]:
    """Vertices and faces of `profile` (k,2: radius, height) revolved about y, with edges of about `h`.

    The profile starts and ends on the axis (radius exactly 0, one vertex there). Along the profile, in the plane of
    radius and height, the outside is on the right.
    """
    counts = [1 if r == 0.0 else max(6, round(2 * np.pi * r / h)) for r in profile[:, 0]]
    first = np.concatenate([[0], np.cumsum(counts)])
    rings = []
    for k, (r, y) in enumerate(profile):
        # every other ring is rotated by half a step, which gives nearly equilateral triangles
        angle = 2 * np.pi * (np.arange(counts[k]) + 0.5 * (k % 2)) / counts[k]
        rings.append(np.stack([r * np.sin(angle), np.full(counts[k], y), r * np.cos(angle)], 1))
    faces = [
        zipped(first[k], counts[k], 0.5 * (k % 2), first[k + 1], counts[k + 1], 0.5 * ((k + 1) % 2))
        for k in range(len(profile) - 1)
    ]
    return np.concatenate(rings), np.concatenate(faces)


def zipped(a_0: int, n_a: int, shift_a: float, b_0: int, n_b: int, shift_b: float) -> Ints:
    """Faces between two rings of equally spaced vertices, advancing on the ring whose next vertex comes first."""
    faces = []
    i = j = 0
    while i < n_a or j < n_b:
        a, b = a_0 + i % n_a, b_0 + j % n_b
        # a ring of one vertex is a pole and is not advanced
        next_a = (i + 1 + shift_a) / n_a if n_a > 1 and i < n_a else np.inf
        next_b = (j + 1 + shift_b) / n_b if n_b > 1 and j < n_b else np.inf
        if min(next_a, next_b) == np.inf:
            break
        if next_a <= next_b:
            faces.append((a, a_0 + (i + 1) % n_a, b))
            i += 1
        else:
            faces.append((a, b_0 + (j + 1) % n_b, b))
            j += 1
    return np.array(faces, np.int32)

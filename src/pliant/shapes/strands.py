"""Strands: polylines that grow from roots, straight or as helices."""

from typing import Any

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats


@check_arguments
def strands(
    roots: Any,
    directions: Any,
    length: float = 0.25,
    points: int = 16,
    *,
    curl: float = 0.0,
    turns: float = 4.0,
    name: str = "strands",
) -> Mesh:
    """Strands from `roots` (n,3) along `directions` (n,3), which need not have unit length, each of `length` metres
    with so many points. Vertex `points` * k + i is point i of strand k, its root for i = 0.

    curl: radius in metres of the helix of `turns` turns that each strand is wound to; 0 for straight strands. The helix
    begins with radius 0, and the strand is longer than `length` by what it winds.
    """
    at = validate.floats("roots", roots, (None, 3))
    along = validate.floats("directions", directions, at.shape)
    size = np.linalg.norm(along, axis=1)
    if not len(at):
        raise ValueError("roots is empty; expected at least one row of x, y, z")
    if (size == 0.0).any():
        raise ValueError(f"directions[{int(np.argmax(size == 0.0))}] is zero; expected a direction for each root")
    long = validate.number("length", length, above=0.0, high=validate.LARGEST)
    count = validate.whole("points", points, low=2, high=10_000)
    radius = validate.number("curl", curl, low=0.0, high=validate.LARGEST)
    wound = 2.0 * np.pi * validate.number("turns", turns, low=0.0, high=validate.LARGEST)
    if radius > 0.0 and wound > 0.5 * np.pi * (count - 1):
        raise ValueError(f"a helix of {turns:g} turns with {count} points; expected at least 4 points per turn")
    validate.budget(f"{len(at)} strands of {count} points", 400.0 * len(at) * count, "take fewer")
    unit = along / size[:, None]
    s = np.linspace(0.0, 1.0, count)
    x = at[:, None] + long * s[:, None] * unit[:, None]
    if radius > 0.0:
        one, two = _across(unit)
        swing = radius * np.minimum(4.0 * s, 1.0)[:, None]
        angle = (wound * s)[:, None]
        x += swing * (np.cos(angle) * one[:, None] + np.sin(angle) * two[:, None])
    first = count * np.arange(len(at))[:, None] + np.arange(count - 1)
    return Mesh.from_lines(x.reshape(-1, 3), np.stack([first, first + 1], 2).reshape(-1, 2), name=name)


def _across(unit: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors across each of `unit` (n,3), and across each other."""
    axis = np.eye(3)[np.argmin(np.abs(unit), 1)]
    one = axis - (axis * unit).sum(1)[:, None] * unit
    one /= np.linalg.norm(one, axis=1)[:, None]
    return one, np.cross(unit, one)

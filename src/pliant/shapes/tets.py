"""Bodies filled with tetrahedra: bar, cylinder. Tets have positive volume; faces are their surface, facing outward."""

from typing import Any

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats, Ints
from .revolve import zipped
from .solids import ORIGIN

# corner k of a cell is at k & 1, k >> 1 & 1, k >> 2 along x, y, z: four tets at its corners and one in the centre
_CELL = np.array([[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]])


@check_arguments
def bar(
    size: Any = (0.4, 0.1, 0.1), divisions: int | tuple[int, int, int] = (8, 2, 2), *, centre: Any = ORIGIN
) -> Mesh:
    """A box of tets of `size` (one number, or width, height, depth), in `divisions` cells (one number, or per axis).

    Each cell consists of five tets; neighbouring cells are mirrored, so that no direction is preferred.
    """
    edges, n = validate.axes("size", size), validate.counts("divisions", divisions, high=4096)
    middle = validate.floats("centre", centre, (3,))
    cells = float(n[0]) * n[1] * n[2]
    validate.budget(f"a bar of {n[0]} x {n[1]} x {n[2]} cells", 1500.0 * cells, "lower the divisions")
    grid = np.stack(np.meshgrid(*(np.arange(c + 1) for c in n), indexing="ij"), -1).reshape(-1, 3)
    cell = np.stack(np.meshgrid(*(np.arange(c) for c in n), indexing="ij"), -1).reshape(-1, 3)
    odd = cell.sum(1) % 2
    corner = np.arange(8)
    step = np.stack([corner & 1, corner >> 1 & 1, corner >> 2], 1)
    # an odd cell is an even cell mirrored along x
    at = cell[:, None] + np.where(odd[:, None, None] == 1, step[corner ^ 1], step)
    index = (at[..., 0] * (n[1] + 1) + at[..., 1]) * (n[2] + 1) + at[..., 2]
    tets = index[:, _CELL].reshape(-1, 4)
    return Mesh.from_tets((grid / n - 0.5) * edges + middle, positive((grid / n) * edges, tets), name="bar")


@check_arguments
def cylinder(radius: float = 0.05, height: float = 0.3, resolution: int = 3, *, centre: Any = ORIGIN) -> Mesh:
    """An upright cylinder of tets around `centre`; `resolution` is the number of edges along a radius.

    Rings of 6, 12, 18 ... vertices in layers whose spacing is that of the rings; each prism between two layers is
    split into three tets.
    """
    radius = validate.number("radius", radius, above=0.0, high=validate.LARGEST)
    height = validate.number("height", height, above=0.0, high=validate.LARGEST)
    rings = validate.whole("resolution", resolution, low=1, high=512)
    middle = validate.floats("centre", centre, (3,))
    if height > 1e6 * radius:
        raise ValueError(f"height = {height:g} must be at most a million times radius = {radius:g}")
    layers = max(1, round(height * rings / radius))
    what = f"a cylinder of {layers} layers of {rings} rings"
    validate.budget(what, 5000.0 * rings * rings * layers, "lower the resolution")
    flat, faces, rank = _disc(rings)
    n = len(flat)
    x = np.empty((layers + 1, n, 3))
    x[:, :, [0, 2]] = radius * flat
    x[:, :, 1] = height * (np.arange(layers + 1)[:, None] / layers - 0.5)
    # a diagonal connects the lower-ranked of two vertices in the even layer with the other in the odd layer: so
    # neighbours agree, and diagonals alternate between layers and around the axis
    u, v, w = np.take_along_axis(faces, np.argsort(rank[faces], 1), 1).T
    k = np.arange(layers)[:, None]
    even, odd = n * (k + k % 2), n * (k + 1 - k % 2)
    parts = [
        (u + even, v + even, w + even, w + odd),
        (u + even, v + even, v + odd, w + odd),
        (u + even, u + odd, v + odd, w + odd),
    ]
    tets = np.stack([np.stack(part, -1) for part in parts], 2).reshape(-1, 4)
    points = x.reshape(-1, 3)
    return Mesh.from_tets(points + middle, positive(points, tets), name="cylinder")


def positive(x: Floats, tets: Any) -> Ints:
    """The tets, with two corners swapped in those that have negative volume at x."""
    a, b, c, d = (x[tets[:, k]] for k in range(4))
    wrong = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0
    return np.where(wrong[:, None], tets[:, [0, 1, 3, 2]], tets).astype(np.int32)


def _disc(rings: int) -> tuple[Floats, Ints, Ints]:
    """Points (n,2) of a unit disc in rings around its centre, its triangles, and a ranking of the points in which
    neighbours on a ring are far apart."""
    points, faces, odd = [np.zeros((1, 2))], [], [np.zeros(1, np.int64)]
    first = [0, 1]
    for k in range(1, rings + 1):
        angle = 2 * np.pi * np.arange(6 * k) / (6 * k)
        points.append(k / rings * np.stack([np.sin(angle), np.cos(angle)], 1))
        odd.append(np.arange(6 * k) % 2)
        faces.append(zipped(first[-2], max(1, 6 * (k - 1)), 0.0, first[-1], 6 * k, 0.0))
        first.append(first[-1] + 6 * k)
    rank = np.empty(first[-1], np.int32)
    rank[np.argsort(np.concatenate(odd), kind="stable")] = np.arange(first[-1])
    return np.concatenate(points), np.concatenate(faces), rank

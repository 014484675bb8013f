"""Soft bodies filled with tets by isosurface stuffing: creature, liver, intestine, tet_ball, tet_box.

`size` is the length of their longer edges. Meshes are cached per set of arguments.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats
from .implicit import Part, Point, distance, ellipsoid, limb
from .solids import ORIGIN
from .stuffing import Function, stuffed

# for length 1 from nose to tail, facing +z, standing on y = 0
_CREATURE: tuple[Part, ...] = (
    ellipsoid((0, 0.30, -0.02), (0.17, 0.16, 0.25), blend=0.05),
    ellipsoid((0, 0.40, 0.30), (0.16, 0.15, 0.17), blend=0.12),
    limb((0.13, 0.26, 0.13), (0.22, 0.075, 0.19), 0.085, 0.075, blend=0.08, mirror=True),
    limb((0.13, 0.26, -0.17), (0.22, 0.075, -0.24), 0.090, 0.075, blend=0.08, mirror=True),
    limb((0.09, 0.50, 0.28), (0.15, 0.62, 0.25), 0.065, 0.055, blend=0.06, mirror=True),
    limb((0, 0.36, -0.22), (0, 0.47, -0.44), 0.080, 0.060, blend=0.08),
)

# for length 1 from side to side: a right lobe, a left lobe over the middle, a thin edge, a hollow underneath
_LIVER: tuple[Part, ...] = (
    ellipsoid((-0.20, 0.02, 0.0), (0.30, 0.25, 0.26), turn=(0, 0, -12), blend=0.05),
    ellipsoid((0.12, 0.08, 0.03), (0.34, 0.15, 0.20), turn=(0, 0, 8), blend=0.14),
    ellipsoid((-0.26, -0.17, 0.05), (0.20, 0.16, 0.20), turn=(0, 0, -30), blend=0.12),
    ellipsoid((0.14, -0.34, -0.08), (0.42, 0.32, 0.34), turn=(0, 0, 18), blend=0.10, carve=True),
)


@check_arguments
def creature(length: float = 0.15, size: float | None = None, *, centre: Any = ORIGIN) -> Mesh:
    """A four-legged animal with ears and a tail, `length` from nose to tail, standing at `centre` and facing +z.

    Default `size`: a twelfth of the length, which gives about 560 vertices and legs two cells thick.
    """
    return _made("creature", _CREATURE, ((-0.4, -0.1, -0.6), (0.4, 0.8, 0.6)), length, size, 12.0, centre)


@check_arguments
def liver(length: float = 0.22, size: float | None = None, *, centre: Any = ORIGIN) -> Mesh:
    """A smooth organ of two lobes over a hollow, `length` from side to side, around `centre`.

    Default `size`: a fourteenth of the length, which gives about 1000 vertices.
    """
    return _made("liver", _LIVER, ((-0.6, -0.5, -0.5), (0.6, 0.5, 0.5)), length, size, 14.0, centre)


@check_arguments
def intestine(
    radius: float = 0.012, bends: int = 4, width: float = 0.14, size: float | None = None, *, centre: Any = ORIGIN
) -> Mesh:
    """A round tube of tets that lies flat in loops, with `bends` half turns between straight runs of `width`.

    The axes of neighbouring runs are 3.2 radii apart. Default `size`: 0.8 of the radius.
    """
    radius = validate.number("radius", radius, above=0.0, high=validate.LARGEST)
    bends = validate.whole("bends", bends, high=200)
    width = validate.number("width", width, above=2.0 * radius, high=validate.LARGEST)
    size = 0.8 * radius if size is None else validate.number("size", size, above=0.0, high=radius)
    return _placed(_intestine(radius, bends, width, size), centre)


@check_arguments
def tet_ball(radius: float = 0.1, size: float | None = None, *, centre: Any = ORIGIN) -> Mesh:
    """A ball of tets. Default `size`: a quarter of the radius, which gives about 830 vertices."""
    radius = validate.number("radius", radius, above=0.0, high=validate.LARGEST)
    size = 0.25 * radius if size is None else validate.number("size", size, above=0.0, high=radius)
    return _placed(_tet_ball(radius, size), centre)


@check_arguments
def tet_box(
    edges: Any = 0.2, size: float | None = None, *, rounding: float | None = None, centre: Any = ORIGIN
) -> Mesh:
    """A box of tets with rounded edges, of `edges` (one number, or width, height, depth); `bar` has sharp edges.

    `rounding` is the radius of the edges (default: `size`); stuffing would cut sharp edges off unevenly. Default
    `size`: an eighth of the shortest edge.
    """
    sides = validate.axes("edges", edges)
    least = float(sides.min())
    size = 0.125 * least if size is None else validate.number("size", size, above=0.0, high=0.5 * least)
    rounding = size if rounding is None else validate.number("rounding", rounding, low=0.0, high=0.5 * least)
    return _placed(_tet_box(tuple(sides.tolist()), size, rounding), centre)


def _made(
    name: str,
    parts: tuple[Part, ...],
    box: tuple[Point, Point],
    length: float,
    size: float | None,
    cells: float,
    centre: Any,
) -> Mesh:
    length = validate.number("length", length, above=0.0, high=validate.LARGEST)
    size = length / cells if size is None else validate.number("size", size, above=0.0, high=0.2 * length)
    return _placed(_blended(name, parts, box, length, size), centre)


def _placed(mesh: Mesh, centre: Any) -> Mesh:
    middle = validate.floats("centre", centre, (3,))
    return mesh.moved(mesh.vertices + middle) if middle.any() else mesh


@functools.lru_cache(16)
def _blended(name: str, parts: tuple[Part, ...], box: tuple[Point, Point], length: float, size: float) -> Mesh:
    """Fill the parts at length one and scale the result, because their blend widths scale with the length."""
    unit = stuffed(lambda p: distance(parts, p), box[0], box[1], size / length, name=name)
    return unit.moved(length * unit.vertices)


@functools.lru_cache(8)
def _intestine(radius: float, bends: int, width: float, size: float) -> Mesh:
    return tube_along(_loops(bends, width, 1.6 * radius), radius, size, "intestine")


def tube_along(path: Floats, radius: float, size: float, name: str) -> Mesh:
    """A round tube of tets along a polyline (n,3), with edges of about `size`."""
    low, high = path.min(0) - radius, path.max(0) + radius
    return stuffed(_tube(path, radius), low, high, size, slope=1.0, name=name)


@functools.lru_cache(8)
def _tet_ball(radius: float, size: float) -> Mesh:
    def inside(p: Floats) -> Floats:
        return np.sqrt((p * p).sum(1)) - radius

    return stuffed(inside, [-radius] * 3, [radius] * 3, size, slope=1.0, name="tet ball")


@functools.lru_cache(8)
def _tet_box(edges: tuple[float, ...], size: float, rounding: float) -> Mesh:
    half = 0.5 * np.array(edges)

    def inside(p: Floats) -> Floats:
        q = np.abs(p) - (half - rounding)
        out = np.maximum(q, 0.0)
        return np.sqrt((out * out).sum(1)) + np.minimum(q.max(1), 0.0) - rounding

    return stuffed(inside, -half, half, size, slope=1.0, name="tet box")


def _loops(bends: int, width: float, turn: float) -> Floats:
    """(n,3) runs along x, connected by half circles of radius `turn`, around the origin at y = 0."""
    straight = width - 2.0 * turn if bends else width
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 17)[1:-1]
    pieces: list[Sequence[Sequence[float]] | Floats] = []
    for k in range(bends + 1):
        side, z = (1.0 if k % 2 == 0 else -1.0), 2.0 * turn * (k - 0.5 * bends)
        pieces.append([[-0.5 * side * straight, z], [0.5 * side * straight, z]])
        if k < bends:
            arc = np.stack([np.cos(angle), np.sin(angle)], 1) * turn
            pieces.append(arc * (side, 1.0) + (0.5 * side * straight, z + turn))
    flat = np.concatenate([np.asarray(piece) for piece in pieces])
    return np.stack([flat[:, 0], np.zeros(len(flat)), flat[:, 1]], 1)


def _tube(path: Floats, radius: float) -> Function:
    """The distance function of a round tube along a polyline."""
    a, d = path[:-1], np.diff(path, axis=0)
    length2 = (d * d).sum(1)

    def inside(p: Floats) -> Floats:
        best = np.full(len(p), np.inf)
        for k in range(len(a)):
            q = p - a[k]
            t = np.clip(q @ d[k] / length2[k], 0.0, 1.0)
            q = q - t[:, None] * d[k]
            np.minimum(best, (q * q).sum(1), out=best)
        return np.sqrt(best) - radius

    return inside

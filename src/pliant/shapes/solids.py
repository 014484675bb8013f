"""Simple closed bodies: ball, box, torus, bowl."""

from typing import Any

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats, Ints
from .revolve import arc, resampled, revolved
from .sheets import lattice_faces

ORIGIN = (0.0, 0.0, 0.0)


@check_arguments
def ball(radius: float = 0.5, subdivisions: int = 4, *, centre: Any = ORIGIN) -> Mesh:
    """An icosphere: 20 * 4**subdivisions nearly equal faces, every vertex at `radius` from `centre`."""
    radius = validate.number("radius", radius, above=0.0, high=validate.LARGEST)
    subdivisions = validate.whole("subdivisions", subdivisions, high=9)
    middle = validate.floats("centre", centre, (3,))
    x, faces = _icosahedron()
    for _ in range(subdivisions):
        x, faces = split(x, faces)
        x /= np.linalg.norm(x, axis=1)[:, None]
    return Mesh(x * radius + middle, faces, name="ball")


@check_arguments
def box(size: Any = 1.0, divisions: int | tuple[int, int, int] = 8, *, centre: Any = ORIGIN) -> Mesh:
    """A box of `size` (one number, or width, height, depth) in `divisions` cells (one number, or per axis)."""
    edges, n = validate.axes("size", size), validate.counts("divisions", divisions, high=4096)
    middle = validate.floats("centre", centre, (3,))
    cells_across = 2.0 * (n[0] * n[1] + n[1] * n[2] + n[2] * n[0])
    validate.budget(f"a box of {n[0]} x {n[1]} x {n[2]} cells", 400.0 * cells_across, "lower the divisions")
    corners: list[Floats] = []
    pieces = []
    for axis in range(3):
        s, t = (axis + 1) % 3, (axis + 2) % 3
        i, j = (a.ravel() for a in np.meshgrid(np.arange(n[s] + 1), np.arange(n[t] + 1), indexing="xy"))
        lattice = lattice_faces(n[s] + 1, n[t] + 1)
        for end in (0, n[axis]):
            cell = np.zeros((len(i), 3))
            cell[:, s], cell[:, t], cell[:, axis] = i, j, end
            pieces.append((lattice if end else lattice[:, ::-1]) + sum(len(c) for c in corners))
            corners.append(cell)
    # cells have integer coordinates, so corners shared by sides are equal and merge exactly
    cells, index = np.unique(np.concatenate(corners), axis=0, return_inverse=True)
    x = (cells / n - 0.5) * edges + middle
    return Mesh(x, index.ravel()[np.concatenate(pieces)].astype(np.int32), name="box")


@check_arguments
def torus(
    major: float = 0.35, minor: float = 0.15, around: int = 64, across: int = 28, *, centre: Any = ORIGIN
) -> Mesh:
    """A torus lying flat: `major` from its centre to the centre of the tube, tube radius `minor` < `major`."""
    major = validate.number("major", major, above=0.0, high=validate.LARGEST)
    minor = validate.number("minor", minor, above=0.0)
    if minor >= major:
        raise ValueError(f"minor = {minor:g} must be less than major = {major:g}, or the tube intersects itself")
    around = validate.whole("around", around, low=3, high=8192)
    across = validate.whole("across", across, low=3, high=8192)
    middle = validate.floats("centre", centre, (3,))
    validate.budget(f"a torus of {around} x {across}", 400.0 * around * across, "lower around or across")
    i, j = (a.ravel() for a in np.meshgrid(np.arange(across), np.arange(around), indexing="xy"))
    tube, turn = 2 * np.pi * i / across, 2 * np.pi * j / around
    r = major + minor * np.cos(tube)
    x = np.stack([r * np.sin(turn), minor * np.sin(tube), r * np.cos(turn)], 1)
    faces = lattice_faces(across + 1, around + 1)
    row, column = faces // (across + 1) % around, faces % (across + 1) % across
    return Mesh(x + middle, (row * across + column)[:, ::-1], name="torus")


@check_arguments
def bowl(radius: float = 0.3, thickness: float = 0.03, resolution: int = 24, *, centre: Any = ORIGIN) -> Mesh:
    """A solid bowl on a flat foot at y = 0: a hemispherical cavity of `radius`, walls of `thickness`, a round rim.

    `resolution` is the number of edges along a quarter circle of the cavity; `centre` is the centre of the foot. The
    cavity's centre is at height radius + thickness / 2, and the rim ends thickness / 2 above it.
    """
    radius = validate.number("radius", radius, above=0.0, high=validate.LARGEST)
    thickness = validate.number("thickness", thickness, above=0.0, high=radius)
    if thickness < 1e-6 * radius:
        raise ValueError(f"thickness = {thickness:g} must be at least a millionth of radius = {radius:g}")
    resolution = validate.whole("resolution", resolution, low=3, high=512)
    middle = validate.floats("centre", centre, (3,))
    # a chord of length h cuts h^2 / (8 radius) into the wall; both sides together may cut at most half the wall
    h = min(0.5 * np.pi * radius / resolution, np.sqrt(2.0 * radius * thickness))
    outer, top = radius + thickness, radius + 0.5 * thickness
    foot = np.sqrt(outer**2 - top**2)
    start = np.arctan2(-top, foot)
    rim_step = min(h, thickness)  # at least three edges over the rim
    profile = np.concatenate(
        [
            resampled(np.array([[0.0, 0.0], [foot, 0.0]]), h)[:-1],
            arc((0.0, top), outer, start, 0.0, h)[:-1],
            arc((radius + 0.5 * thickness, top), 0.5 * thickness, 0.0, np.pi, rim_step)[:-1],
            arc((0.0, top), radius, 0.0, -0.5 * np.pi, h),
        ]
    )
    profile[-1, 0] = 0.0
    x, faces = revolved(profile, h)
    return Mesh(x + middle, faces, name="bowl")


def split(x: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """Every face split into four at its edge midpoints."""
    ends = np.sort(np.stack([faces, np.roll(faces, -1, 1)], 2).reshape(-1, 2), 1)
    edges, index = np.unique(ends, axis=0, return_inverse=True)
    a, b, c = faces.T
    ab, bc, ca = (index.reshape(-1, 3) + len(x)).T
    quarters = [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    new = np.stack([np.stack(q, 1) for q in quarters], 1).reshape(-1, 3).astype(np.int32)
    return np.concatenate([x, 0.5 * (x[edges[:, 0]] + x[edges[:, 1]])]), new


def _icosahedron() -> tuple[Floats, Ints]:
    """Twelve unit vertices with poles on the y axis, and twenty faces."""
    lift, ring = 1 / np.sqrt(5), 2 / np.sqrt(5)
    upper = 2 * np.pi * np.arange(5) / 5
    lower = upper + np.pi / 5
    x = np.zeros((12, 3))
    x[0, 1], x[11, 1] = 1.0, -1.0
    x[1:6] = np.stack([ring * np.sin(upper), np.full(5, lift), ring * np.cos(upper)], 1)
    x[6:11] = np.stack([ring * np.sin(lower), np.full(5, -lift), ring * np.cos(lower)], 1)
    faces = []
    for k in range(5):
        n = (k + 1) % 5
        faces += [(0, 1 + k, 1 + n), (1 + k, 6 + k, 1 + n), (1 + n, 6 + k, 6 + n), (11, 6 + n, 6 + k)]
    return x, np.array(faces, np.int32)

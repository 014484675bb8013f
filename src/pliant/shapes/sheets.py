"""Flat cloth: a regular or an irregular triangulation of a rectangle."""

from typing import Any

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats, Ints


@check_arguments
def cloth(
    width: float = 1.0,
    height: float = 1.0,
    resolution: int | tuple[int, int] = 36,
    *,
    irregular: bool = False,
    seed: int = 0,
    plane: str = "xz",
    centre: Any = (0.0, 0.0, 0.0),
) -> Mesh:
    """A rectangle of cloth, width x height metres around `centre`.

    `resolution` is the number of particles along the longer side, or along (width, height). plane: "xz" lies flat with
    normals up, "xy" hangs with normals along +z. Regular: diagonals alternate, so that no direction is preferred.
    Irregular: inner points are jittered by `seed` and triangulated by Delaunay; the boundary stays straight. uv is
    0..1 over the rectangle.
    """
    width = validate.number("width", width, above=0.0, high=validate.LARGEST)
    height = validate.number("height", height, above=0.0, high=validate.LARGEST)
    plane = validate.choice("plane", plane, ("xz", "xy"))
    seed = validate.whole("seed", seed)
    middle = validate.floats("centre", centre, (3,))
    nx, ny = _counts(resolution, width, height)
    validate.budget(f"a cloth of {nx} x {ny}", 400.0 * nx * ny, "lower the resolution")
    # u along the width, v along the height
    u, v = (a.T.ravel() for a in np.meshgrid(np.linspace(0, 1, nx), np.linspace(0, 1, ny), indexing="ij"))
    uv = np.stack([u, v], 1)
    if irregular:
        uv = _jittered(uv, nx, ny, seed)
        faces = _delaunay(uv * (width, height))
    else:
        faces = lattice_faces(nx, ny)
    s, t = (uv[:, 0] - 0.5) * width, (uv[:, 1] - 0.5) * height
    # v runs along -z, so that flat cloth seen from above has the layout of hanging cloth seen from the front
    x = np.stack([s, 0 * s, -t] if plane == "xz" else [s, t, 0 * s], 1)
    return Mesh(x + middle, faces, name="cloth", uv=uv[faces])


def lattice_faces(nx: int, ny: int) -> Ints:
    """(2(nx-1)(ny-1), 3) faces of an nx x ny lattice (vertex i + nx j), with alternating diagonals."""
    i, j = (a.ravel() for a in np.meshgrid(np.arange(nx - 1), np.arange(ny - 1), indexing="xy"))
    a, b, c, d = i + nx * j, i + 1 + nx * j, i + 1 + nx * (j + 1), i + nx * (j + 1)
    even = ((i + j) % 2 == 0)[:, None, None]
    rising = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], 1)
    falling = np.stack([np.stack([a, b, d], 1), np.stack([b, c, d], 1)], 1)
    return np.where(even, rising, falling).reshape(-1, 3).astype(np.int32)


def _counts(resolution: Any, width: float, height: float) -> tuple[int, int]:
    if isinstance(resolution, (tuple, list, np.ndarray)) and np.ndim(validate.numbers("resolution", resolution)):
        if np.shape(resolution) != (2,):
            raise ValueError(f"resolution has {len(resolution)} entries; expected a whole number or (nx, ny)")
        return (
            validate.whole("resolution[0]", resolution[0], low=2, high=20_000),
            validate.whole("resolution[1]", resolution[1], low=2, high=20_000),
        )
    longer = validate.whole("resolution", resolution, low=2, high=20_000)
    shorter = max(2, 1 + round((longer - 1) * min(width, height) / max(width, height)))
    return (longer, shorter) if width >= height else (shorter, longer)


def _jittered(uv: Floats, nx: int, ny: int, seed: int) -> Floats:
    """Inner points moved by up to 0.3 cells: more would create slivers, less would be nearly regular."""
    out = uv.copy()
    inner = ((uv > 0) & (uv < 1)).all(1)
    shift = np.random.default_rng(seed).uniform(-0.3, 0.3, uv.shape)
    out[inner] += shift[inner] / (nx - 1, ny - 1)
    return out


def _delaunay(p: Floats) -> Ints:
    """Counter-clockwise faces over the plane points `p`; degenerate ones along the straight boundary are dropped."""
    from scipy.spatial import Delaunay

    faces = Delaunay(p).simplices
    a, b, c = (p[faces[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    faces = np.where((area < 0)[:, None], faces[:, ::-1], faces)
    return faces[np.abs(area) > 1e-9 * np.abs(area).max()].astype(np.int32)

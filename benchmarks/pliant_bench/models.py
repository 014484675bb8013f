"""Test models: procedural bumpy spheres, and the original models of the papers where a folder has them."""

import functools
import pathlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.io import load
from pliant.mesh import Mesh
from pliant.shapes import ball

Floats = NDArray[np.float64]
# file names of the original models
FILES = {
    "Bunny": ("bunny_69451.ply", "bun_zipper.ply"),
    "Dragon": ("dragon_871414.ply", "dragon_vrip.ply"),
    "Buddha": ("happy_vrip.ply",),
    "Turbine": ("blade.ply",),
}
# placement and order of query points
KINDS = {
    "anywhere": "anywhere, no order",
    "near": "near, no order",
    "faces": "near, order of faces",
    "along": "near, Morton order",
}
_BESIDE = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "data"  # beside a checkout


def bumpy_sphere(subdivisions: int) -> Mesh:
    """A unit icosphere with bumps of a tenth of its radius: 20 * 4**subdivisions faces (6: 81 920, 8: 1 310 720)."""
    smooth = ball(1.0, subdivisions)
    x, y, z = smooth.vertices.T
    bumps = 1.0 + 0.1 * np.sin(8.0 * x) * np.cos(7.0 * y) * np.sin(9.0 * z)
    return Mesh(smooth.vertices * bumps[:, None], smooth.faces, name="bumpy sphere")


def bumpy_torus(n: int = 500, m: int | None = None) -> Mesh:
    """A closed torus with bumps, 2 n m faces (500: 500 000) in the order of a grid; m is n by default."""
    m = n if m is None else m
    i, j = np.divmod(np.arange(n * m), m)
    a, b = 2.0 * np.pi * i / n, 2.0 * np.pi * j / m
    r = 0.4 * (1.0 + 0.1 * np.sin(9.0 * a) * np.cos(5.0 * b))
    out = 1.0 + r * np.cos(b)
    up, right = (i + 1) % n, (j + 1) % m
    here, above, beyond, beside = i * m + j, up * m + j, up * m + right, i * m + right
    faces = [np.stack([here, above, beyond], 1), np.stack([here, beyond, beside], 1)]
    return Mesh(np.stack([out * np.cos(a), out * np.sin(a), r * np.sin(b)], 1), np.concatenate(faces), name="torus")


def find_model(name: str, folder: pathlib.Path | None = None) -> pathlib.Path | None:
    """Path of the original model `name`, plain or with .gz; None if it is not available."""
    if folder is not None and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder; --data needs the folder with the mesh files")
    wanted = {w for known in FILES.get(name, ()) for w in (known, f"{known}.gz")}
    root = data_folder(folder)
    return next((path for path in _files_in(root) if path.name.lower() in wanted), None)


def data_folder(folder: pathlib.Path | None = None) -> pathlib.Path:
    """The folder that is searched for models; it may not exist."""
    return _BESIDE if folder is None else folder.resolve()


@functools.lru_cache(4)
def _files_in(root: pathlib.Path) -> tuple[pathlib.Path, ...]:
    return tuple(sorted(root.rglob("*"))) if root.is_dir() else ()


def original(name: str, folder: pathlib.Path | None = None) -> Mesh | None:
    """The mesh of `find_model`."""
    path = find_model(name, folder)
    return None if path is None else load(path)


def arrays(mesh: Mesh) -> tuple[Floats, NDArray[np.int32]]:
    """Copies of vertices and faces as plain arrays, without derived data."""
    return mesh.vertices.copy(), mesh.faces.copy()


def spacing_for(mesh: Mesh, nodes: int) -> float:
    """Grid spacing in metres at which the mesh spans `nodes` - 8 cells; band and margin take 4 on either side."""
    return float((mesh.bounds[1] - mesh.bounds[0]).max()) / max(nodes - 8, 2)


def points_for(mesh: Mesh, h: float, kind: str, count: int, seed: int = 0) -> Floats:
    """Query points (count,3) of a field: anywhere in its grid, or up to a cell off the surface along each axis."""
    from pliant.detect.fields.reconstruct import points_on

    rng = np.random.default_rng(seed)
    low, high = mesh.bounds[0] - 3.0 * h, mesh.bounds[1] + 3.0 * h
    if kind == "anywhere":
        anywhere: Floats = low + rng.random((count, 3)) * (high - low)
        return anywhere
    # `points_on` samples the faces in their order
    points = points_on(mesh, count, rng) + rng.uniform(-1.0, 1.0, (count, 3)) * h
    if kind == "near":
        points = rng.permutation(points)
    elif kind == "along":
        points = points[np.argsort(morton((points - low) / (4.0 * h)))]
    return np.ascontiguousarray(points)


def morton(cell: Floats) -> NDArray[np.int64]:
    """Morton codes (n,) of integer cells (n,3) of 16 bits each."""
    bits = cell.astype(np.int64)
    key = np.zeros(len(cell), np.int64)
    for axis in range(3):
        for b in range(16):
            key |= ((bits[:, axis] >> b) & 1) << (3 * b + axis)
    return key


def missing(names: Sequence[str], folder: pathlib.Path | None = None) -> list[str]:
    return [name for name in names if find_model(name, folder) is None]

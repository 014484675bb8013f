"""Baking of a field in slabs: each can be baked by a different process; joined on disk they equal the whole field.

Bricks are numbered tile by tile and tiles layer by layer along x, so the bricks of a slab of layers form one range of
the whole, and joining writes one range after the other. A slab is baked with one extra layer on either side, because
unclear signs and sign discontinuities depend on neighbouring nodes; only its own layers are kept. At most one slab is
in memory at a time.
"""

import dataclasses
import hashlib
import math
import os
import pathlib
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...files import atomic_write
from ...kernels.fields.bricks import BRICK
from ...kernels.fields.regions import TILE
from ...mesh import Mesh
from .bake import Grid, adjacency_of, bake_bricks, with_jumps
from .basis import Basis
from .field import FORMAT, SIGNS, STORAGES, grid_for
from .npz_arrays import read_npz

_SIDE = TILE // BRICK
_ARRAYS = ("values", "index", "rim", "jump", "examined")


@dataclasses.dataclass(frozen=True, eq=False)
class Slab:
    """Layers of tiles of a field; rows of `values`, `rim` and `jump` are its bricks, numbered from 1 in `index`."""

    values: NDArray[np.float32]  # (n,64) metres
    index: NDArray[np.int32]  # (bx,by,bz) of these layers
    rim: NDArray[np.uint64]  # (n,) nodes nearest to a boundary edge; empty if the mesh has none
    jump: NDArray[np.uint64]  # (n,) cells with a sign change but no surface, see `with_jumps`; empty if there are none
    examined: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """The grid of a field, its sign rule, and the layers of tiles at which it is divided."""

    grid: Grid
    sign: str
    bounds: tuple[int, ...]

    @property
    def slabs(self) -> int:
        return len(self.bounds) - 1


def layout(
    mesh: Mesh,
    resolution: int = 128,
    *,
    slabs: int = 1,
    spacing: float | None = None,
    band: float = 3.0,
    sign: str = "pseudonormal",
) -> Layout:
    """Return the grid that `DistanceField.bake` uses, divided into at most `slabs` slabs of similar thickness."""
    validate.choice("sign", sign, SIGNS)
    if not mesh.n_faces:
        raise ValueError(f"mesh {mesh.name!r} has no faces; a distance field needs a surface")
    grid = grid_for(mesh, resolution, spacing, band, 0.0)
    layers = int(grid.tiles[0])
    count = min(validate.whole("slabs", slabs, low=1), layers)
    return Layout(grid, sign, tuple(layers * k // count for k in range(count + 1)))


def bake_slab(mesh: Mesh, plan: Layout, number: int, *, max_bytes: float | None = None) -> Slab:
    """Bake slab `number` of the field of `mesh`, bitwise identical to that part of the whole field."""
    grid, paper = plan.grid, plan.sign == "face"
    first, last = plan.bounds[number], plan.bounds[number + 1]
    low, high = max(0, first - 1), min(int(grid.tiles[0]), last + 1)
    layer = int(grid.tiles[1] * grid.tiles[2])
    wanted = np.zeros(math.prod(grid.tiles.tolist()), np.bool_)
    wanted[low * layer : high * layer] = True
    basis = Basis(mesh.welded, None) if paper else Basis.of(mesh.welded)
    made, counts, examined = bake_bricks(basis, adjacency_of(basis.mesh, grid), grid, paper, wanted, max_bytes)
    # one more, empty layer: cells of the last layer use the nodes beyond it
    made = made._replace(index=made.index[low * _SIDE : high * _SIDE + 1])
    made = with_jumps(made, paper)
    own = slice(first * layer, last * layer)
    before = int(counts[: own.start].sum())
    rows = slice(1 + before, 1 + before + int(counts[own].sum()))
    index = made.index[(first - low) * _SIDE : (last - low) * _SIDE]
    rim, jump = (bits[rows] if len(bits) else bits for bits in (made.rim, made.jump))
    local = np.where(index > 0, index - np.int32(before), np.int32(0))
    return Slab(made.values[rows], local, rim, jump, int(examined[own].sum()))


def save_slab(path: str | os.PathLike[str], slab: Slab) -> None:
    """Write a slab to an .npz file, atomically."""
    with atomic_write(path) as stream:
        np.savez(stream, **vars(slab))


def load_slab(path: str | os.PathLike[str]) -> Slab:
    saved = read_npz(path, _ARRAYS)
    return Slab(**(saved | {"examined": int(saved["examined"])}))  # type: ignore[arg-type]


def join_slabs(
    path: str | os.PathLike[str], mesh: Mesh, plan: Layout, files: Sequence[str | os.PathLike[str]]
) -> dict[str, Any]:
    """Join the slabs in `files`, in order, into one file as `DistanceField.save` writes it; return its figures.

    The duration of the bake is stored as 0, so that equal fields give identical files.
    """
    if len(files) != plan.slabs:
        raise ValueError(f"{len(files)} slabs; expected {plan.slabs}")
    kept, examined, jumps, rims = [], 0, False, False
    for file in files:
        slab = load_slab(file)
        kept.append(len(slab.values))
        examined += slab.examined
        jumps |= bool(len(slab.jump))
        rims |= bool(len(slab.rim))
    grid, total = plan.grid, 1 + sum(kept)
    starts = np.cumsum([0, *kept]).tolist()
    shape = tuple((grid.tiles * _SIDE).tolist())

    def rows(name: str, head: NDArray[Any]) -> Iterator[NDArray[Any]]:
        yield head
        for file, count in zip(files, kept):
            found = read_npz(file, (name,))[name]
            # an empty array means that no bits are set
            yield found if len(found) else np.zeros((count, *head.shape[1:]), head.dtype)

    def numbers() -> Iterator[NDArray[Any]]:
        for file, before in zip(files, starts):
            index = read_npz(file, ("index",))["index"]
            yield np.where(index > 0, index + np.int32(before), np.int32(0))

    nothing, zero = np.full((1, BRICK**3), np.nan, np.float32), np.zeros(1, np.uint64)
    digest = hashlib.sha256()
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        small = {
            "format": np.array(FORMAT),
            "storage": np.array(STORAGES.index("sparse")),
            "figures": np.array([grid.h, grid.reach, 0.0]),
            "examined": np.array(examined),
            "sign": np.array(SIGNS.index(plan.sign)),
            "vertices": mesh.vertices,
            "faces": mesh.faces,
            "origin": np.array(grid.origin),
            "size": np.array(grid.shape, np.int64),
        }
        for name, array in small.items():
            _write(archive, name, array.shape, array.dtype, iter([array]))
        _write(archive, "values", (total, BRICK**3), nothing.dtype, rows("values", nothing), digest)
        _write(archive, "index", shape, np.dtype(np.int32), numbers(), digest)
        for name, there in (("rim", rims), ("jump", jumps)):
            parts = rows(name, zero) if there else iter(())
            _write(archive, name, (total if there else 0,), zero.dtype, parts, digest)
    return {
        "grid": list(grid.shape),
        "spacing_m": grid.h,
        "bricks": total - 1,
        "examined_points": examined,
        "bytes": 4 * BRICK**3 * total + 4 * math.prod(shape) + 8 * total * (rims + jumps),
        "sha256": digest.hexdigest(),
        "file_bytes": pathlib.Path(path).stat().st_size,
    }


def _write(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    parts: Iterator[NDArray[Any]],
    digest: Any = None,
) -> None:
    """Write one array as .npy, part by part, with a fixed date, so that equal arrays give identical bytes."""
    member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(member, "w", force_zip64=True) as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(stream, header)
        for part in parts:
            block = np.ascontiguousarray(part, dtype).reshape(-1).view(np.uint8).data
            stream.write(block)
            if digest is not None:
                digest.update(block)

"""DistanceField: signed distances on a grid, in a narrow band around a triangle mesh."""

import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import check_arguments
from ...brief import brief
from ...files import atomic_write
from ...kernels.fields import bake as _bake
from ...kernels.fields import bricks as _bricks
from ...kernels.fields import dense as _kernels
from ...kernels.fields.regions import TILE
from ...kernels.mesh import adjacency as _adjacency
from ...mesh import Mesh
from .bake import Grid, adjacency_of, bake_bricks, bricks_of, tiles_near, with_jumps
from .basis import Basis, is_plain_mesh
from .npz_arrays import read_field
from .sampled import CELL, Sampled

Floats = NDArray[np.float64]
FORMAT = 2
SIGNS = ("pseudonormal", "face")
STORAGES = ("sparse", "dense")


@dataclasses.dataclass(frozen=True, eq=False)
class DistanceField(Sampled):
    """Signed distance around `mesh`: positive outside, nan beyond `band` spacings from the surface.

    The `shape` nodes lie at origin + spacing (i,j,k). The interpolation is trilinear, so the error is at most 0.866
    spacings (guarantee class B), and far less where the surface is smooth. Any oriented mesh, open or closed, can be
    baked; cells where the sign changes without a surface, as beyond a boundary edge, return nan. `grid` holds the
    distances, in bricks around the surface or as a dense array (`storage`).
    """

    mesh: Mesh
    grid: _bricks.Bricks | _kernels.Dense
    band: float
    sign: str = "pseudonormal"
    seconds: float = 0.0  # duration of the bake
    examined: int = 0  # point-triangle distances computed by the bake, as in table 1 of the paper

    __repr__ = brief

    @check_arguments
    @classmethod
    def bake(
        cls,
        mesh: Mesh,
        resolution: int = 128,
        *,
        spacing: float | None = None,
        band: float = 3.0,
        margin: float = 0.0,
        sign: str = "pseudonormal",
        storage: str = "sparse",
        like: "DistanceField | None" = None,
        max_bytes: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> "DistanceField":
        """Bake `mesh` with `resolution` cells along its longest side, or with cells of `spacing` metres.

        `band`: half-width of the narrow band in cells; `margin` (metres): room around the mesh for later deformation;
        `like`: field whose grid, band, sign and storage are used. `sign="face"` reproduces the paper: the normal of the
        nearest face decides, and only the box of the prism over each face is visited; it is wrong at acute edges.
        `progress` is called with the fraction done, 0..1.
        """
        validate.choice("sign", sign, SIGNS)
        validate.choice("storage", storage, STORAGES)
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; a distance field needs a surface")
        start = time.perf_counter()
        if like is None:
            grid = grid_for(mesh, resolution, spacing, band, margin)
        else:
            grid, sign, storage = like._grid, like.sign, like.storage
            if not like.holds(mesh):
                raise ValueError(f"mesh {mesh.name!r} does not fit into the grid of `like`; bake it without `like`")
        dense, paper = storage == "dense", sign == "face"
        grid.budget(max_bytes, dense=dense)
        basis = Basis(mesh.welded, None) if paper else Basis.of(mesh.welded)
        bricks, _, examined = bake_bricks(basis, adjacency_of(basis.mesh, grid), grid, paper, None, max_bytes, progress)
        bricks = with_jumps(bricks, paper)
        made = cls(mesh, _read_only(bricks), grid.reach, sign, 0.0, int(examined.sum()))
        made = dataclasses.replace(made, grid=_dense(made, bricks)) if dense else made
        return dataclasses.replace(made, seconds=time.perf_counter() - start)

    @check_arguments
    def rebake(self, vertices: Any, *, progress: Callable[[float], None] | None = None) -> "DistanceField":
        """Return the field of the same mesh with `vertices` (n,3) moved; only bricks near moved faces are baked again.

        The result is bitwise identical to `bake(..., like=self)`. A mesh that leaves the grid gets a new grid; bake
        with a `margin` to leave room. Requires sparse storage.
        """
        start = time.perf_counter()
        bricks = self.grid
        if not isinstance(bricks, _bricks.Bricks):
            raise ValueError("rebake needs a field in sparse storage; bake it with storage='sparse'")
        mesh, grid, paper = self.mesh.moved(vertices), self._grid, self.sign == "face"
        if not self.holds(mesh):
            return DistanceField.bake(mesh, spacing=grid.h, band=grid.reach, sign=self.sign, progress=progress)
        same = np.array_equal(mesh.weld_index, self.mesh.weld_index)
        if not same or not (paper or (is_plain_mesh(mesh.welded) and self._plain)):
            return DistanceField.bake(mesh, like=self, progress=progress)
        old = self._adjacency_data
        adjacency = adjacency_of(mesh.welded, grid, old)
        moved = (adjacency.x != old.x).any(1)
        faces = np.flatnonzero(moved[adjacency.faces].any(1)).astype(np.int32)
        stale = tiles_near(old, faces, grid) | tiles_near(adjacency, faces, grid)
        new, counts, examined = bake_bricks(Basis(mesh.welded, None), adjacency, grid, paper, stale, None, progress)
        counts = np.where(stale, counts, self._counts)
        first = 1 + np.cumsum(counts) - counts
        values, index = np.empty((1 + int(counts.sum()), 64), np.float32), np.zeros_like(bricks.index)
        values[0] = np.nan
        rim = np.zeros(len(values) if len(bricks.rim) else 0, np.uint64)
        _bricks.splice(bricks, new, stale, first, grid.tiles, values, rim, index)
        joined = bricks_of(values, index, rim, grid)
        joined = with_jumps(joined, paper)
        took = time.perf_counter() - start
        made = DistanceField(mesh, _read_only(joined), self.band, self.sign, took, int(examined.sum()))
        made.__dict__["_adjacency_data"], made.__dict__["_counts"], made.__dict__["_plain"] = adjacency, counts, True
        return made

    def holds(self, mesh: Mesh) -> bool:
        """Whether the whole band around `mesh` lies inside the grid."""
        reach = self.band * self.spacing
        return bool((mesh.bounds[0] >= self.low + reach).all() and (mesh.bounds[1] <= self.high - reach).all())

    @property
    def storage(self) -> str:
        return "sparse" if isinstance(self.grid, _bricks.Bricks) else "dense"

    @functools.cached_property
    def origin(self) -> tuple[float, float, float]:
        x, y, z = self.grid.origin.tolist()
        return (x, y, z)

    @property
    def spacing(self) -> float:
        return self.grid.h

    @functools.cached_property
    def shape(self) -> tuple[int, int, int]:
        """Nodes along x, y, z."""
        grid = self.grid
        x, y, z = grid.size.tolist() if isinstance(grid, _bricks.Bricks) else grid.values.shape
        return (x, y, z)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self.grid if isinstance(a, np.ndarray))

    @property
    def dense_nbytes(self) -> int:
        """Bytes that the nodes would take in dense storage."""
        return 4 * math.prod(self.shape)

    @functools.cached_property
    def values(self) -> NDArray[np.float32]:
        """(nx,ny,nz) distance at every node, metres; nan beyond the band. Unpacks the bricks."""
        if isinstance(self.grid, _kernels.Dense):
            return self.grid.values
        validate.budget("the dense grid of this field", self.dense_nbytes, "sample it instead")
        values = np.empty(self.shape, np.float32)
        _bricks.expand(self.grid, values)
        values.flags.writeable = False
        return values

    @functools.cached_property
    def jump(self) -> NDArray[np.uint8]:
        """(nx-1,ny-1,nz-1) 1 in cells marked because the sign changes without a surface, see `with_jumps` in bake.py;
        empty array if there are none."""
        if isinstance(self.grid, _kernels.Dense) or not len(self.grid.jump):
            return self.grid.jump if isinstance(self.grid, _kernels.Dense) else np.zeros((0, 0, 0), np.uint8)
        jump = np.empty(tuple(n - 1 for n in self.shape), np.uint8)
        _bricks.expand_jumps(self.grid, jump)
        jump.flags.writeable = False
        return jump

    @property
    def _grid(self) -> Grid:
        return Grid(self.origin, self.spacing, self.shape, self.band)

    @functools.cached_property
    def _adjacency_data(self) -> _adjacency.FaceAdjacency:
        return adjacency_of(self.mesh.welded, self._grid)

    @functools.cached_property
    def _plain(self) -> bool:
        return is_plain_mesh(self.mesh.welded)

    @functools.cached_property
    def _counts(self) -> NDArray[np.int64]:
        """(tiles,) number of bricks in each tile."""
        assert isinstance(self.grid, _bricks.Bricks)
        (a, b, c), side = self._grid.tiles.tolist(), TILE // _bake.BRICK
        return (self.grid.index > 0).reshape(a, side, b, side, c, side).sum((1, 3, 5)).ravel()

    @property
    def low(self) -> Floats:
        return self.grid.origin

    @property
    def high(self) -> Floats:
        return self.low + (np.array(self.shape) - 1.0) * self.spacing

    @property
    def sign_reliable_beyond(self) -> float:
        return 0.866 * self.spacing

    def bound_at(self, distance: Floats) -> Floats:
        return np.full(len(distance), CELL * self.spacing)

    @property
    def sampler(self) -> tuple[ModuleType, Any]:
        return _bricks if isinstance(self.grid, _bricks.Bricks) else _kernels, self.grid

    @check_arguments
    def error(self, samples: int = 20_000, seed: int = 0, *, within: float | None = None) -> dict[str, float]:
        """Like `Sampled.error`, by default at points within the band."""
        return super().error(samples, seed, within=self.band * self.spacing if within is None else within)

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an .npz file, atomically."""
        arrays: dict[str, Any] = {n: a for n, a in self.grid._asdict().items() if isinstance(a, np.ndarray)}
        with atomic_write(path) as stream:
            np.savez_compressed(
                stream,
                format=FORMAT,
                storage=STORAGES.index(self.storage),
                figures=np.array([self.spacing, self.band, self.seconds]),
                examined=self.examined,
                sign=SIGNS.index(self.sign),
                vertices=self.mesh.vertices,
                faces=self.mesh.faces,
                **arrays,
            )

    @check_arguments
    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: float | None = None) -> "DistanceField":
        """Read a file written by `save`; MeshFileError if it is damaged, of another kind, or exceeds `max_bytes`."""
        mesh, grid, (band, seconds), sign, examined = read_field(path, FORMAT, len(SIGNS), max_bytes)
        return cls(mesh, _read_only(grid), band, SIGNS[sign], seconds, examined)


def grid_for(mesh: Mesh, resolution: int, spacing: float | None, band: float, margin: float) -> Grid:
    """Return a grid that contains the mesh, the band and `margin`."""
    band = validate.number("band", band, low=1.0, high=1e6)
    margin = validate.number("margin", margin, low=0.0, high=validate.LARGEST)
    longest = float((mesh.bounds[1] - mesh.bounds[0]).max())
    if spacing is None:
        h = longest / validate.whole("resolution", resolution, low=2, high=100_000)
    else:
        h, largest = validate.number("spacing", spacing, above=0.0), 1e-3 * validate.LARGEST / band
        if h > largest:
            raise ValueError(
                f"spacing = {h:g} must be at most {largest:g} m; mesh {mesh.name!r} is {longest:g} m long: check its "
                "units, or use method bvh, which needs no field"
            )
    if not h > 1e-9 * float(np.abs(mesh.bounds).max()):
        raise ValueError(
            f"mesh {mesh.name!r} is {longest:g} m long at coordinates up to {np.abs(mesh.bounds).max():g} m, where "
            f"cells of {h:g} m are below rounding; move it nearer to the origin, or choose a larger spacing"
        )
    room = (band + 1.0) * h + margin
    low = mesh.bounds[0] - room
    nx, ny, nz = (np.ceil((mesh.bounds[1] + room - low) / h) + 1.0).tolist()
    return Grid((float(low[0]), float(low[1]), float(low[2])), h, (int(nx), int(ny), int(nz)), band)


def _dense(field: DistanceField, bricks: _bricks.Bricks) -> _kernels.Dense:
    return _read_only(_kernels.Dense(field.values, field.jump, bricks.origin, bricks.h))


def _read_only(grid: Any) -> Any:
    for array in grid:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return grid

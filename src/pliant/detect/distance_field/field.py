"""DistanceField: signed distances on a grid, in a band around a triangle mesh."""

import dataclasses
import functools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...errors import MeshFileError
from ...files import atomic_write
from ...kernels import distance_field as _kernels
from ...kernels.jit import threads
from ...mesh import Mesh
from ..surface import ClosestPoints, surface_of
from .archive import read_npz

Floats = NDArray[np.float64]
FORMAT = 1
NAMES = ("format", "values", "jump", "grid", "examined", "sign", "vertices", "faces")
SIGNS = ("pseudonormal", "face")
_WORTH_THREADS = 20_000  # points; below it launching threads costs more than they save
_LAUNCH = 0.25  # s


@dataclasses.dataclass(frozen=True, eq=False)
class DistanceField:
    """Signed distance around `mesh`: positive outside, nan beyond `band` spacings from the surface.

    values (nx,ny,nz) float32 at origin + spacing (i,j,k), metres. Between nodes trilinear, so the error is at most
    0.866 spacings (guarantee class B), and far less where the surface is smooth. Works on any oriented mesh, open
    or closed; cells where the sign jumps without a surface, as beyond an open border, answer nan (`jump`).
    """

    mesh: Mesh
    values: NDArray[np.float32]
    jump: NDArray[np.uint8]
    origin: tuple[float, float, float]
    spacing: float
    band: float
    sign: str = "pseudonormal"
    seconds: float = 0.0  # the bake took
    examined: int = 0  # point-triangle distances the bake computed, as in the paper's table 1

    @classmethod
    def bake(
        cls,
        mesh: Mesh,
        resolution: int = 128,
        *,
        spacing: float | None = None,
        band: float = 3.0,
        sign: str = "pseudonormal",
        max_bytes: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> "DistanceField":
        """Bake `mesh` at `resolution` cells along its longest side, or at `spacing` metres a cell.

        `band` is how far the field reaches on either side, in cells. `sign="face"` reproduces the paper: the nearest
        face's normal decides and only the prism over each face is visited; it is wrong at acute edges.
        `progress` is called with the share done, 0..1.
        """
        validate.choice("sign", sign, SIGNS)
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; a distance field needs a surface")
        band = validate.number("band", band, low=1.0, high=1e6)
        longest = float((mesh.bounds[1] - mesh.bounds[0]).max())
        if spacing is None:
            h = longest / validate.whole("resolution", resolution, low=2, high=100_000)
        else:
            h = validate.number("spacing", spacing, above=0.0)
        if not h > 1e-9 * float(np.abs(mesh.bounds).max()):
            raise ValueError(
                f"mesh {mesh.name!r} is {longest:g} m long at coordinates up to {np.abs(mesh.bounds).max():g}: "
                "too small for its distance from the origin; move it nearer, or choose a larger spacing"
            )
        margin = (band + 1.0) * h
        low = mesh.bounds[0] - margin
        counts = np.ceil((mesh.bounds[1] + margin - low) / h) + 1.0
        text = "x".join(f"{n:.0f}" for n in counts)
        is_open = bool(mesh.welded.topology.border.any())
        # values, jumps, rim; and what each thread keeps of its slab: distance, face, feature
        bytes_needed = float(np.prod(counts)) * (6.0 if is_open else 5.0)
        bytes_needed += float(counts[1] * counts[2]) * _kernels.SLAB * 13.0 * threads()
        validate.budget(f"grid {text}", bytes_needed, "lower the resolution or raise max_bytes", max_bytes)
        start = time.perf_counter()
        shape = tuple(int(n) for n in counts)
        origin = (float(low[0]), float(low[1]), float(low[2]))
        values, jump, examined = _bake(mesh.welded, origin, h, shape, band * h, sign == "face", is_open, progress)
        values.flags.writeable = jump.flags.writeable = False
        return cls(mesh, values, jump, origin, h, band, sign, time.perf_counter() - start, examined)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.jump.nbytes

    @functools.cached_property
    def kernel(self) -> _kernels.Field:
        """What the kernels take."""
        return _kernels.Field(self.values, self.jump, np.array(self.origin), self.spacing)

    @functools.cached_property
    def exact(self) -> ClosestPoints:
        """The surface itself, for what a grid cannot say."""
        return ClosestPoints(self.mesh)

    def sample(self, points: Any) -> tuple[Floats, Floats]:
        """Signed distance (n,) and unit normal (n,3) at `points` (n,3); nan where the band ends.

        Where the gradient vanishes (between two walls) the normal is that of the nearest triangle.
        """
        p = validate.floats("points", points, (None, 3))
        distance, normal = np.empty(len(p)), np.empty((len(p), 3))
        self.probe(p, distance, normal)
        self.straighten(p, normal)
        return distance, normal

    def probe(self, p: Floats, distance: Floats, gradient: Floats) -> None:
        """Fill distance (n,) and raw gradient (n,3) at points `p` that are known to be clean."""
        if len(p) > _WORTH_THREADS:
            _kernels.sample_points(self.kernel, p, distance, gradient)
        else:
            _kernels.sample_range(self.kernel, p, 0, len(p), distance, gradient)

    def straighten(self, p: Floats, gradient: Floats) -> None:
        """Make `gradient` unit in place; where it vanishes take the exact direction."""
        length = np.sqrt(np.einsum("ij,ij->i", gradient, gradient))
        gone = length < _kernels.VANISHED
        lost = np.flatnonzero(gone)
        gradient /= np.where(gone, 1.0, length)[:, None]
        if len(lost):
            gradient[lost] = self.exact.query(p[lost])[3]

    def error(self, samples: int = 20_000, seed: int = 0) -> dict[str, float]:
        """How far the field is from the truth at random points near the surface, metres; and how many signs are wrong.

        Points beyond the band do not count; signs are judged farther than 0.866 cells from the surface.
        """
        rng = np.random.default_rng(seed)
        mesh = self.mesh.welded
        share = mesh.face_areas / mesh.face_areas.sum()
        uv = rng.dirichlet((1.0, 1.0, 1.0), samples)
        on = np.einsum("ij,ijk->ik", uv, mesh.vertices[mesh.faces[rng.choice(mesh.n_faces, samples, p=share)]])
        away = rng.normal(size=(samples, 3))
        away *= rng.random((samples, 1)) * self.band * self.spacing / np.linalg.norm(away, axis=1, keepdims=True)
        points = on + away
        said = self.sample(points)[0]
        true = self.exact.query(points)[0]
        valid = ~np.isnan(said)
        off = np.abs(said - true)[valid]
        far = valid & (np.abs(true) > 0.866 * self.spacing)
        return {
            "samples": int(valid.sum()),
            "error_p50_m": float(np.quantile(off, 0.5)) if off.size else float("nan"),
            "error_p99_m": float(np.quantile(off, 0.99)) if off.size else float("nan"),
            "error_max_m": float(off.max(initial=0.0)),
            "wrong_signs": int(((said > 0.0) != (true > 0.0))[far].sum()),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """To an .npz file, atomically."""
        with atomic_write(path) as stream:
            np.savez_compressed(
                stream,
                format=FORMAT,
                values=self.values,
                jump=self.jump,
                grid=np.array([*self.origin, self.spacing, self.band, self.seconds]),
                examined=self.examined,
                sign=np.array(SIGNS.index(self.sign)),
                vertices=self.mesh.vertices,
                faces=self.mesh.faces,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: float | None = None) -> "DistanceField":
        """What `save` wrote; MeshFileError when the file is damaged, of another kind, or larger than `max_bytes`."""
        saved = read_npz(path, NAMES, max_bytes)
        try:
            version = validate.whole("format", saved["format"])
            if version != FORMAT:
                raise MeshFileError(path, "format", f"version {version}; this pliant reads {FORMAT}")
            grid = validate.floats("grid", saved["grid"], (6,))
            mesh = Mesh(saved["vertices"], saved["faces"])
            sign = SIGNS[validate.whole("sign", saved["sign"], high=len(SIGNS) - 1)]
            examined = validate.whole("examined", saved["examined"], high=2**53)
        except ValueError as error:
            raise MeshFileError(path, "", str(error)) from None
        values, jump = saved["values"], saved["jump"]
        if values.ndim != 3 or values.dtype != np.float32 or min(values.shape) < 2 or np.isinf(values).any():
            raise MeshFileError(path, "values", f"shape {values.shape} of {values.dtype}; expected a float32 grid")
        cells = tuple(n - 1 for n in values.shape)
        if jump.dtype != np.uint8 or jump.shape not in (cells, (0, 0, 0)):
            raise MeshFileError(path, "jump", f"shape {jump.shape} of {jump.dtype} does not fit values {values.shape}")
        if not (grid[3] > 0.0 and grid[4] >= 1.0 and mesh.n_faces):
            raise MeshFileError(path, "grid", f"spacing {grid[3]:g}, band {grid[4]:g} and {mesh.n_faces} faces")
        values.flags.writeable = jump.flags.writeable = False
        origin = (float(grid[0]), float(grid[1]), float(grid[2]))
        return cls(mesh, values, jump, origin, float(grid[3]), float(grid[4]), sign, float(grid[5]), examined)


def _bake(
    mesh: Mesh,
    origin: tuple[float, float, float],
    h: float,
    shape: tuple[int, ...],
    reach: float,
    paper: bool,
    is_open: bool,
    progress: Callable[[float], None] | None,
) -> tuple[NDArray[np.float32], NDArray[np.uint8], int]:
    surface = surface_of(mesh)
    slabs = -(-shape[0] // _kernels.SLAB)
    count = np.zeros(slabs + 1, np.int64)
    _kernels.slab_counts(surface, reach, paper, origin, h, shape[0], count)
    start = np.cumsum(count)
    items = np.empty(int(start[-1]), np.int32)
    _kernels.slab_fill(surface, reach, paper, origin, h, shape[0], start.copy(), items)
    values = np.empty(shape, np.float32)
    rim = np.zeros(shape if is_open else (0, 0, 0), np.uint8)
    borders = (mesh.topology.border, mesh.topology.border_vertices)
    examined = np.zeros(slabs, np.int64)
    last, group = 0, threads()
    while last < slabs:
        # a launch lasts about a quarter of a second; between launches Ctrl-C and progress get their turn
        first, last = last, min(last + group, slabs)
        began = time.perf_counter()
        _kernels.bake_slabs(surface, reach, paper, origin, h, first, last, start, items, values, rim, borders, examined)
        took = time.perf_counter() - began
        group = max(threads(), group // 2) if took > _LAUNCH else 2 * group if took < 0.4 * _LAUNCH else group
        if progress is not None:
            progress(last / slabs)
    jump: NDArray[np.uint8] = np.zeros((0, 0, 0), np.uint8)
    if is_open or not paper:
        marks = np.empty(tuple(n - 1 for n in shape), np.uint8)
        _kernels.mark_jumps(values, rim, h, marks)
        jump = marks if marks.any() else jump
    return values, jump, int(examined.sum())

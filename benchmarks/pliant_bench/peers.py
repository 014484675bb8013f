"""The installed peers: each bakes a band or evaluates distances at points; absent ones are only listed.

A peer that only answers for single points is asked at some slices of the grid and counted up to all of them, the way
a person would use it to fill a grid.
"""

import contextlib
import dataclasses
import importlib
import importlib.metadata
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.detect.fields.field import DistanceField
from pliant.mesh import Mesh

from . import openvdb, timing
from .truth import Nodes, node_values

Floats = NDArray[np.float64]
_SLICES = 8  # slices of the grid at which peers for single points are evaluated
# import name -> display name, package
PACKAGES = {
    "open3d": ("Open3D", "open3d"),
    "warp": ("Warp", "warp-lang"),
    "igl": ("libigl", "libigl"),
    "ipctk": ("IPC Toolkit", "ipctk"),
    "coal": ("Coal", "coal"),
    "fcl": ("FCL", "python-fcl"),
    "newton": ("Newton", "newton"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """A mesh as plain arrays, and the common grid: `shape` nodes at origin + h (i,j,k)."""

    vertices: Floats
    faces: NDArray[np.int32]
    origin: Floats
    h: float
    shape: tuple[int, int, int]
    band: float = 3.0


class Baker(Protocol):
    """A participant that bakes the band."""

    name: str
    note: str

    def start(self, job: Job) -> None: ...

    def bake(self, threads: int) -> float:
        """Seconds from arrays to the finished field."""
        ...

    def values(self, nodes: Nodes) -> Floats:
        """Values (n,) of the last bake, in cells; nan outside of the band."""
        ...

    @property
    def nbytes(self) -> int | None: ...


class Pliant:
    """pliant, with a new Mesh in each run, so that no derived data is reused."""

    name, note = "pliant", ""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.field: DistanceField | None = None

    def start(self, job: Job) -> None:
        self.job, self.field = job, None

    def bake(self, threads: int) -> float:
        job, self.field = self.job, None
        with timing.threads(threads):
            start = time.perf_counter()
            self.field = DistanceField.bake(Mesh(job.vertices, job.faces), spacing=job.h, band=job.band, **self.options)
            return time.perf_counter() - start

    def values(self, nodes: Nodes) -> Floats:
        assert self.field is not None
        return node_values(self.field, nodes)

    @property
    def nbytes(self) -> int | None:
        return None if self.field is None else self.field.nbytes


class OpenVDBBaker:
    """tools::meshToLevelSet."""

    def __init__(self, program: openvdb.OpenVDB) -> None:
        self.program, self.nbytes = program, None
        self.name, self.note = "OpenVDB", f"{openvdb.version()}, C++, -O3 -march=native"

    nbytes: int | None

    def start(self, job: Job) -> None:
        self.job = job
        self.program.mesh(job.vertices, job.faces, job.origin)

    def bake(self, threads: int) -> float:
        seconds, _, self.nbytes = self.program.bake(self.job.h, self.job.band, threads)
        return seconds

    def values(self, nodes: Nodes) -> Floats:
        found: Floats = self.program.nodes(nodes) / self.job.h
        return found


Ask = Callable[[Floats], Floats]  # points (n,3) -> signed distance (n,), metres


class PointBaker:
    """A participant that evaluates single points: at a few slices, extrapolated to the whole grid."""

    nbytes = None

    def __init__(self, module: str, build: Callable[[Any, Job, int], Ask]) -> None:
        self.name, package = PACKAGES[module]
        self.module, self._build = importlib.import_module(module), build
        self.note = importlib.metadata.version(package)

    def start(self, job: Job) -> None:
        self.job = job
        self.ask: Ask | None = None

    def bake(self, threads: int) -> float:
        nx, ny, nz = self.job.shape
        # centres of equal parts: slices at the ends of the grid contain no surface and are not representative
        slices = ((np.arange(_SLICES) + 0.5) * nx / _SLICES).astype(int)
        points = np.stack(np.meshgrid(slices, np.arange(ny), np.arange(nz), indexing="ij"), -1).reshape(-1, 3)
        where = self.job.origin + self.job.h * points
        with contextlib.redirect_stdout(sys.stderr):  # Warp prints a banner; stdout must contain only JSON
            start = time.perf_counter()
            self.ask = self._build(self.module, self.job, threads)
            built = time.perf_counter()
            self.ask(where)
            end = time.perf_counter()
        self.note = f"{self.note.split(';')[0]}; extrapolated from {len(slices)} of {nx} slices"
        return built - start + (end - built) * nx / len(slices)

    def values(self, nodes: Nodes) -> Floats:
        assert self.ask is not None
        found: Floats = self.ask(self.job.origin + self.job.h * nodes) / self.job.h
        return np.where(np.abs(found) <= self.job.band, found, np.nan)


def _open3d(module: Any, job: Job, threads: int) -> Ask:
    scene = module.t.geometry.RaycastingScene(nthreads=threads)
    scene.add_triangles(job.vertices.astype(np.float32), job.faces.astype(np.uint32))

    def ask(points: Floats) -> Floats:
        query = module.core.Tensor(points.astype(np.float32))
        found: Floats = scene.compute_signed_distance(query, nthreads=threads).numpy().astype(np.float64)
        return found

    return ask


def _igl(module: Any, job: Job, threads: int) -> Ask:
    kind, reach = module.SIGNED_DISTANCE_TYPE_PSEUDONORMAL, 1.01 * job.band * job.h

    def ask(points: Floats) -> Floats:
        found = module.signed_distance(points, job.vertices, job.faces.astype(np.int64), kind, -reach, reach)
        return np.asarray(found[0], np.float64)

    return ask


def _warp(module: Any, job: Job, threads: int) -> Ask:
    from .warp_kernels import signed_distance

    x = module.array(job.vertices.astype(np.float32), dtype=module.vec3, device="cpu")
    mesh = module.Mesh(x, module.array(job.faces.ravel(), dtype=int, device="cpu"))

    def ask(points: Floats) -> Floats:
        return signed_distance(mesh, points, 1.01 * job.band * job.h)

    return ask


# import name -> how to build, and the numbers of threads it supports (None: always all)
POINT_PEERS: dict[str, tuple[Callable[[Any, Job, int], Ask], str]] = {
    "open3d": (_open3d, "any"),
    "igl": (_igl, "all"),
    "warp": (_warp, "one"),
}


def present(module: str) -> str | None:
    """The version of an importable package; None where it is absent or broken."""
    try:
        importlib.import_module(module)
        return importlib.metadata.version(PACKAGES.get(module, (module, module))[1])
    except Exception:  # a package that raises any error on import counts as absent
        return None


def roll_call() -> dict[str, str]:
    """Every known peer -> its version, or why it is absent."""
    found = {"OpenVDB": openvdb.version() or "absent (needs g++ and libopenvdb-dev)"}
    for module, (name, package) in {**PACKAGES, "scipy": ("scipy", "scipy")}.items():
        found[name] = present(module) or f"absent (pip install {package})"
    return found

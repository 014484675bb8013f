"""PlanarField: a signed distance that is linear in each cell of a BSP tree with arbitrarily oriented planes.

After J. Wu, L. Kobbelt: *Piecewise Linear Approximation of Signed Distance Fields*, 2003. Compact where surfaces are
flat, because the planes may lie on the bisectors; not continuous.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.fields import bsp as _kernels
from ...mesh import Mesh
from .exact import ExactDistances
from .sampled import Cube, Floats

# (steps of the random walk that draws samples, smallest cell size in tolerances): a cell that fits the samples of one
# row is tested with those of the next; the last is for large cells only, since small ones cannot be wrong by much
_WALKS = ((16, 0.0), (32, 0.0), (96, 16.0))
_BATCH = 1024  # cells decided together
_GROWTH = 4096  # nodes allocated at first
_FINEST = 1e-9  # of the largest coordinate: smaller tolerances are lost in rounding


@dataclasses.dataclass(frozen=True, eq=False)
class PlanarField(Cube):
    """Signed distance in a cube around `mesh`, linear in each leaf of a BSP tree.

    The error is at most max(tolerance, relative |d|) at the samples that each leaf was fitted to, 96, or 288 in large
    leaves, half of them on its boundary; between them it is measured, not proved (guarantee class C). The
    discontinuities between leaves are of the same size. Leaves in which the sign jumps without a surface are nan.
    """

    mesh: Mesh
    linear: NDArray[np.float32]
    child: NDArray[np.int32]
    origin: tuple[float, float, float]
    side: float  # of the cube, metres
    tolerance: float  # metres
    relative: float  # allowed error per distance, where that exceeds the tolerance
    seconds: float = 0.0  # duration of the bake
    examined: int = 0  # exact distances computed during the bake

    @classmethod
    def bake(
        cls,
        mesh: Mesh,
        tolerance: float | None = None,
        *,
        relative: float = 0.05,
        margin: float = 0.1,
        seed: int = 0,
        max_bytes: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> "PlanarField":
        """Split a cube around `mesh` until every cell fits to `tolerance` metres (default: 0.001 of the diagonal).

        Far from the surface an error of `relative` times the distance is allowed. `margin`: distance between the mesh
        and the cube, as a fraction of the mesh's longest side; `seed`: random seed of the samples. `progress` is called
        with an estimate of the fraction that is done.
        """
        exact = ExactDistances(mesh)
        extent = mesh.bounds[1] - mesh.bounds[0]
        tolerance = 1e-3 * mesh.size if tolerance is None else validate.number("tolerance", tolerance, above=0.0)
        relative = validate.number("relative", relative, low=0.0, high=1.0)
        side = float(extent.max()) * (1.0 + 2.0 * validate.number("margin", margin, low=0.01, high=100.0))
        if not tolerance > _FINEST * float(np.abs(mesh.bounds).max()) or not side > 0.0:
            raise ValueError(
                f"tolerance = {tolerance:g} m is below rounding at coordinates up to {np.abs(mesh.bounds).max():g} m; "
                "move the mesh nearer to the origin, or raise the tolerance"
            )
        start = time.perf_counter()
        low = 0.5 * (mesh.bounds[0] + mesh.bounds[1] - side)
        linear, child = _split(exact, low, side, tolerance / side, relative, seed, max_bytes, progress)
        linear.flags.writeable = child.flags.writeable = False
        origin = (float(low[0]), float(low[1]), float(low[2]))
        took = time.perf_counter() - start
        return cls(mesh, linear, child, origin, side, tolerance, relative, took, exact.query_count)

    @property
    def nbytes(self) -> int:
        return self.linear.nbytes + self.child.nbytes

    @property
    def n_leaves(self) -> int:
        return (len(self.child) + 1) // 2

    @property
    def sign_reliable_beyond(self) -> float:
        return 4.0 * self.tolerance

    @functools.cached_property
    def kernel(self) -> _kernels.Partition:
        """The kernels' view."""
        return _kernels.Partition(self.linear, self.child, np.array(self.origin), self.side)

    @property
    def sampler(self) -> tuple[ModuleType, Any]:
        return _kernels, self.kernel


class _Growing:
    """Nodes during the bake: the arrays of the field, and the parent, a sample point and the estimated share of the
    volume of each node."""

    def __init__(self, max_bytes: float | None) -> None:
        self.count, self.max_bytes = 1, max_bytes
        self.linear, self.child = np.zeros((_GROWTH, 4), np.float32), np.zeros(_GROWTH, np.int32)
        self.parent, self.start, self.share = np.zeros(_GROWTH, np.int32), np.full((_GROWTH, 3), 0.5), np.ones(_GROWTH)
        self.face = np.full(_GROWTH, -1, np.int32)  # a nearby face, as a first guess

    def reserve(self, more: int) -> None:
        if self.count + more > len(self.child):
            length = 2 * max(len(self.child), more)
            validate.budget(
                f"partition of {self.count} cells", 72.0 * length, "raise the tolerance or max_bytes", self.max_bytes
            )
            for name in ("linear", "child", "parent", "start", "share", "face"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros((length - len(old), *old.shape[1:]), old.dtype)]))

    def split(self, nodes: NDArray[np.int64], seeds: Floats) -> NDArray[np.int64]:
        """Give each of `nodes` two children, with a seed point in each; return the children."""
        self.reserve(2 * len(nodes))
        first = self.count + 2 * np.arange(len(nodes))
        self.child[nodes] = first
        for k in (0, 1):
            self.parent[first + k] = nodes
            self.start[first + k] = seeds[:, k]
            self.share[first + k] = 0.5 * self.share[nodes]
            self.face[first + k] = self.face[nodes]
        self.count += 2 * len(nodes)
        return np.stack([first, first + 1], 1).ravel()


def _split(
    exact: ExactDistances,
    low: Floats,
    side: float,
    tolerance: float,
    relative: float,
    seed: int,
    max_bytes: float | None,
    progress: Callable[[float], None] | None,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    rng, tree = np.random.default_rng(seed), _Growing(max_bytes)

    def samples(nodes: NDArray[np.int64], steps: int) -> list[NDArray[np.float64]]:
        """Return points in the cells, their exact distances and normals, and their distance to a sign discontinuity."""
        directions, shares = rng.normal(size=(len(nodes), steps, 3)), rng.random((len(nodes), steps))
        x = np.empty((len(nodes), 2 * steps, 3))
        _kernels.hit_and_run_samples(
            tree.linear, tree.child, tree.parent, nodes, tree.start[nodes], directions, shares, x
        )
        guess = np.repeat(tree.face[nodes], x.shape[1])
        d, normal, sign_plane_distance, face = exact.query(low + side * x.reshape(-1, 3), guess)
        tree.face[nodes] = face[x.shape[1] - 1 :: x.shape[1]]
        shape = x.shape[:2]
        return [x, d.reshape(shape) / side, normal.reshape(*shape, 3), sign_plane_distance.reshape(shape) / side]

    waiting, finished = np.zeros(1, np.int64), 0.0
    while len(waiting):
        nodes, waiting = waiting[-_BATCH:], waiting[:-_BATCH]
        done, linear, seeds = np.empty(len(nodes), np.uint8), np.empty((len(nodes), 4)), np.empty((len(nodes), 2, 3))
        some, found = np.arange(len(nodes)), [np.empty((len(nodes), 0, *shape)) for shape in ((3,), (), (3,), ())]
        for steps, wide in _WALKS:
            if wide:
                large = np.ptp(found[0], axis=1).max(1) > wide * tolerance
                some, found = some[large], [a[large] for a in found]
            found = [np.concatenate([a, b], 1) for a, b in zip(found, samples(nodes[some], steps))]
            fits, line, halves = done[some], linear[some], seeds[some]
            _kernels.decide(_kernels.Samples(*found), tolerance, relative, _kernels.Fits(fits, line, halves))
            done[some], linear[some], seeds[some] = fits, line, halves
            some, found = some[fits > 0], [a[fits > 0] for a in found]
        tree.linear[nodes] = linear
        unfit = done == 0
        finished += float(tree.share[nodes[~unfit]].sum())
        waiting = np.concatenate([waiting, tree.split(nodes[unfit], seeds[unfit])])
        if progress is not None:
            progress(min(finished, 1.0))
    return tree.linear[: tree.count].copy(), tree.child[: tree.count].copy()

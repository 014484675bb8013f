"""AdaptiveField: adaptively sampled distance field (ADF) on an octree, fine where the field is not linear.

After S. Frisken, R. Perry, A. Rockwood, T. Jones, 2000. Hanging nodes take the interpolated value of the coarser leaf
(R. Westermann, L. Kobbelt, T. Ertl, 1999), so the field has no cracks.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.fields import octree as _kernels
from ...mesh import Mesh
from .exact import ExactDistances
from .octree_cells import HALF_DIAGONAL, Allowed, Cells, Families, Lattice
from .sampled import Cube, Floats

DEEPEST = 18  # levels; keys of lattice points must fit into 63 bits
_FINEST = 1e-9  # of the largest coordinate: smaller cubes are lost in rounding


@dataclasses.dataclass(frozen=True, eq=False)
class AdaptiveField(Cube):
    """Signed distance in a cube around `mesh`, trilinear in the leaves of a balanced octree; continuous to 16 bits.

    Leaves that share a face, edge or corner differ by at most one level. The error is at most max(tolerance,
    relative |d|) at every corner, edge midpoint, face centre and centre of a leaf above the last level, and at most
    0.433 of its sides more between them; in leaves of the last level at most 0.866 sides more (guarantee class B).
    """

    mesh: Mesh
    families: Families
    errors: Floats  # (k,2) see `bound_at`
    origin: tuple[float, float, float]
    side: float  # of the cube, metres
    levels: int  # below the root
    tolerance: float  # metres
    relative: float  # allowed error per distance, where that exceeds the tolerance
    band: float  # distance up to which errors are bounded, metres
    coarsest: float  # largest side of leaves at the surface, metres
    seconds: float = 0.0  # duration of the bake
    examined: int = 0  # exact distances computed during the bake

    @classmethod
    def bake(
        cls,
        mesh: Mesh,
        tolerance: float | None = None,
        *,
        relative: float = 0.05,
        levels: int | None = None,
        margin: float = 0.1,
        band: float = math.inf,
        coarsest: float = math.inf,
        max_bytes: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> "AdaptiveField":
        """Subdivide a cube around `mesh` to an error of at most `tolerance` metres (default: 0.001 of the diagonal).

        Far from the surface an error of `relative` times the distance is allowed; with 0, the medial axis, where the
        gradient is discontinuous, is subdivided as finely as the surface. `levels` limits the depth; by default the
        last level is the first whose leaves have an error bound below the tolerance wherever the surface lies.
        `margin`: distance between the mesh and the cube, as a fraction of the mesh's longest side. `band`: farther than
        this (metres) from the surface only the sign counts, and nothing is subdivided for accuracy. `coarsest`: largest
        side (metres) of leaves at the surface; those at a distance d are no larger than d. `progress` is called with
        the fraction done, 0..1.
        """
        exact = ExactDistances(mesh)
        extent = mesh.bounds[1] - mesh.bounds[0]
        tolerance = 1e-3 * mesh.size if tolerance is None else validate.number("tolerance", tolerance, above=0.0)
        relative = validate.number("relative", relative, low=0.0, high=1.0)
        side = float(extent.max()) * (1.0 + 2.0 * validate.number("margin", margin, low=0.01, high=100.0))
        if not side > _FINEST * float(np.abs(mesh.bounds).max()):
            raise ValueError(
                f"mesh {mesh.name!r} is {extent.max():g} m long at coordinates up to {np.abs(mesh.bounds).max():g} m, "
                "where its details are below rounding; move it nearer to the origin"
            )
        band = validate.number("band", band, above=0.0) if band < math.inf else math.inf
        coarsest = validate.number("coarsest", coarsest, above=0.0) if coarsest < math.inf else math.inf
        if levels is None:
            enough = math.ceil(math.log2(HALF_DIAGONAL * side / tolerance)) if tolerance < side else 1
            levels = min(max(enough, 2), DEEPEST)
        levels = validate.whole("levels", levels, low=1, high=DEEPEST)
        start = time.perf_counter()
        low = 0.5 * (mesh.bounds[0] + mesh.bounds[1] - side)
        lattice = Lattice(exact, low, side, levels, max_bytes, progress)
        cells = Cells.subdivide(lattice, Allowed(tolerance, relative, band, coarsest))
        families, errors = cells.packed(), cells.error_by_distance()
        for array in (*families, errors):
            array.flags.writeable = False
        if progress is not None:
            progress(1.0)
        origin = (float(low[0]), float(low[1]), float(low[2]))
        took = time.perf_counter() - start
        count = exact.query_count
        return cls(mesh, families, errors, origin, side, levels, tolerance, relative, band, coarsest, took, count)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.families) + self.errors.nbytes

    @property
    def n_leaves(self) -> int:
        return 7 * len(self.families.first) + 1

    @property
    def sign_reliable_beyond(self) -> float:
        return 2.0 * self.tolerance

    def bound_at(self, distance: Floats) -> Floats:
        """Return the bound (n,) of the error at points whose exact distances are `distance` (n,), metres; nan beyond
        the band, where none is stated."""
        far = np.abs(distance)
        row = np.searchsorted(self.errors[:, 0], far, side="right") - 1
        # the differences stored in 16 bits are rounded
        rounded = self.errors[np.maximum(row, 0), 1] * (1.0 + 2.0**-10)
        bound: Floats = np.where(far <= self.band, rounded, np.nan)
        return bound

    @functools.cached_property
    def kernel(self) -> _kernels.Octree:
        """The kernels' view."""
        return _kernels.Octree(*self.families, np.array(self.origin), self.side)

    @property
    def sampler(self) -> tuple[ModuleType, Any]:
        return _kernels, self.kernel

    def leaves(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Return the lowest corner (n,3) and the side (n,) of every leaf, metres, and its level (n,)."""
        octant = np.array([[c >> 2, c >> 1 & 1, c & 1] for c in range(8)])
        families, at, low, level = np.zeros(1, np.int64), np.zeros((1, 3), np.int64), [], []
        for depth in range(1, self.levels + 1):
            split = np.unpackbits(self.families.split[families, None], axis=1, bitorder="little").astype(bool)
            at = 2 * at[:, None] + octant
            low.append(at[~split] * (self.side / 2**depth) + self.low)
            level.append(np.full(len(low[-1]), depth))
            families = (self.families.first[families, None] + np.cumsum(split, 1) - 1)[split]
            at = at[split]
        levels = np.concatenate(level)
        side: Floats = np.ldexp(self.side, -levels)
        return np.concatenate(low), side, levels

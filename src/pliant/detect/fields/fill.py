"""FilledField: a narrow band extended to every node of its grid, inside and outside, by fast sweeping."""

import dataclasses
import functools
import time
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.fields import fill as _kernels
from ...mesh import Mesh
from .field import DistanceField
from .sampled import CELL, Floats, Sampled

TOLERANCE = 1e-4  # cells; smaller changes of a node are not propagated
NARROWEST = 2.0  # cells; in a narrower band a cell may contain the surface and have a corner beyond the band
GROWTH = 0.578  # cells: error each time the distance is multiplied by e (docs/fields/fill.md)
_MOST_SWEEPS = 10_000


def fill(values: NDArray[np.float32], h: float) -> tuple[NDArray[np.float32], int]:
    """Extend a band `values` (nx,ny,nz), nan beyond it, to every node at spacing `h`; return it and the sweep count.

    Values in the band are kept. Beyond it |d| solves the eikonal equation |grad d| = 1 upwind, and the sign is that of
    the surrounding band: connected nodes surrounded by one sign get it, those between both signs (beyond the boundary
    of an open mesh) stay nan.
    """
    known = ~np.isnan(values)
    if not known.any():
        return values.copy(), 0
    side = np.zeros(values.shape, np.uint8)
    side[known] = _kernels.OUTSIDE | _kernels.KNOWN
    side[values < 0.0] = _kernels.INSIDE | _kernels.KNOWN
    u = np.where(known, np.abs(values), np.float32(np.inf))
    stamp, seen = np.zeros(u.shape[:2], np.int32), np.full(u.shape[:2], -1, np.int32)
    number = 0
    while number < _MOST_SWEEPS and (stamp == number).any():
        number += 1
        _kernels.sweep(u, side, h, TOLERANCE * h, number, stamp, seen)
    side &= _kernels.OUTSIDE | _kernels.INSIDE
    np.negative(u, out=u, where=side == _kernels.INSIDE)
    u[side == _kernels.OUTSIDE | _kernels.INSIDE] = np.nan
    return u, number


def filled(field: DistanceField, *, max_bytes: float | None = None) -> "FilledField":
    """Return `field` extended to every node whose sign is known."""
    if field.band < NARROWEST:
        raise ValueError(f"a band of {field.band:g} cells is too narrow to fill; bake with band={NARROWEST:g} or more")
    shape = field.values.shape
    text = "x".join(map(str, shape))
    validate.budget(f"filled grid {text}", 12.0 * float(np.prod(shape)), "lower the resolution", max_bytes)
    start = time.perf_counter()
    values, sweeps = fill(field.values, field.spacing)
    jump = _jumps(field, values)
    values.flags.writeable = jump.flags.writeable = False
    took = time.perf_counter() - start
    return FilledField(field.mesh, values, jump, field.origin, field.spacing, field.band, sweeps, took)


def _jumps(field: DistanceField, values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the cells that have both signs but no surface: those where the band itself returns nan."""
    some, every = values < 0.0, values < 0.0
    for axis in range(3):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(-1), slice(1, None)
        some, every = some[*low] | some[*high], every[*low] & every[*high]
    cells = np.argwhere(some & ~every)
    d, g = np.empty(len(cells)), np.empty((len(cells), 3))
    field.probe((cells + 0.5) * field.spacing + np.array(field.origin), d, g)
    cells = cells[np.isnan(d)]
    jump = np.zeros(some.shape if len(cells) else (0, 0, 0), np.uint8)
    jump[tuple(cells.T)] = 1
    return jump


@dataclasses.dataclass(frozen=True, eq=False)
class FilledField(Sampled):
    """Signed distance at every node of a grid: exact in the band, by fast sweeping beyond it.

    values (nx,ny,nz) float32 at origin + spacing (i,j,k), metres; nan where no sign is known. The error at the nodes is
    0 in the band and grows by about 0.58 cells each time the distance is multiplied by e (see docs).
    """

    mesh: Mesh
    values: NDArray[np.float32]
    jump: NDArray[np.uint8]
    origin: tuple[float, float, float]
    spacing: float
    band: float  # half-width of the original band, cells
    sweeps: int
    seconds: float = 0.0  # duration of the filling, without the bake

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.jump.nbytes

    @property
    def undefined(self) -> float:
        """Fraction of nodes without a value, because their sign is unknown."""
        return float(np.isnan(self.values).mean())

    @property
    def low(self) -> Floats:
        return np.array(self.origin)

    @property
    def high(self) -> Floats:
        return self.low + (np.array(self.values.shape) - 1.0) * self.spacing

    @property
    def sign_reliable_beyond(self) -> float:
        return 0.866 * self.spacing

    def bound_at(self, distance: Floats) -> Floats:
        """In the band the bound of its interpolation; beyond it that of fast sweeping is added, at the farthest corner
        of the cell."""
        cells = np.abs(distance) / self.spacing + 2.0 * CELL
        swept = np.where(cells < self.band, 0.0, GROWTH * np.log(np.maximum(cells, 1.0)))
        bound: Floats = (CELL + swept) * self.spacing
        return bound

    @functools.cached_property
    def kernel(self) -> _kernels.Volume:
        """The kernels' view."""
        return _kernels.Volume(self.values, self.jump, np.array(self.origin), self.spacing)

    @property
    def sampler(self) -> tuple[ModuleType, Any]:
        return _kernels, self.kernel

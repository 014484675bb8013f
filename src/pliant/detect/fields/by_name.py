"""Fields by the name of their kind, baked for a contact distance, and baked again for a mesh that has deformed."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from .bsp import PlanarField
from .cache import baked
from .field import DistanceField
from .fill import FilledField, filled
from .octree import AdaptiveField
from .sampled import CELL, Cube, Sampled

Floats = NDArray[np.float64]
GRIDS = ("bricks", "dense", "filled")  # the kinds that have cells of one size
# of the spacing of a grid with the same error bound, CELL: tolerance, and side of the largest leaves at the surface
TOLERANCE, COARSEST = 0.25, 1.4
assert TOLERANCE + 0.5 * CELL * COARSEST < CELL


class Accuracy(NamedTuple):
    """How finely a field is baked: as a grid with cells of `spacing` metres and a narrow band of `band` cells.

    Trees get a tolerance of a quarter of a cell, and the octree a bound that is no larger than the grid's.
    `room` (metres) around the mesh is left for later deformation.
    """

    spacing: float
    band: float
    room: float = 0.0


def bake_kind(
    kind: str,
    mesh: Mesh,
    accuracy: Accuracy,
    *,
    cache: bool = True,
    max_bytes: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Sampled:
    """Bake the field of a mesh of the named `kind`, one of `sampled.KINDS`; `cache` reads grids from the disk cache."""
    spacing, band, room = accuracy
    if kind in GRIDS:
        storage = "sparse" if kind == "bricks" else "dense"
        grid = baked(
            mesh, cache=cache, spacing=spacing, band=band, margin=room, storage=storage,
            max_bytes=max_bytes, progress=progress,
        )  # fmt: skip
        return filled(grid, max_bytes=max_bytes) if kind == "filled" else grid
    longest, around = _longest(mesh), (band + 1.0) * spacing + room
    tolerance = TOLERANCE * spacing
    if kind == "planar":
        margin = min(max(around / longest, 0.01), 100.0)
        return PlanarField.bake(mesh, tolerance, margin=margin, max_bytes=max_bytes, progress=progress)
    # a cube of which the largest leaves at the surface are a power of two
    coarsest = COARSEST * spacing
    side = coarsest * 2.0 ** math.ceil(math.log2(max((longest + 2.0 * around) / coarsest, 1.0)))
    margin = min(max(0.5 * (side / longest - 1.0), 0.01), 100.0)
    return AdaptiveField.bake(
        mesh, tolerance, margin=margin, band=band * spacing, coarsest=1.001 * coarsest,
        max_bytes=max_bytes, progress=progress,
    )  # fmt: skip


def bake_again(field: Sampled, base: Sampled, vertices: Floats) -> Sampled:
    """Return the field of the same mesh with `vertices` (n,3), of the kind and accuracy of `base`.

    `field` is the present one: bricks are baked again only near faces that moved. A grid is that of `base`, or, for a
    mesh that leaves it, one that fits. The result depends on `base` and the vertices alone.
    """
    if isinstance(field, DistanceField) and isinstance(base, DistanceField):
        mesh = base.mesh.moved(vertices)
        if not base.holds(mesh):
            made = {"spacing": base.spacing, "band": base.band, "sign": base.sign, "storage": base.storage}
            return DistanceField.bake(mesh, **made)  # type: ignore[arg-type]
        on_base = field.storage == "sparse" and field.origin == base.origin and field.shape == base.shape
        return field.rebake(vertices) if on_base else DistanceField.bake(mesh, like=base)
    mesh = base.mesh.moved(vertices)
    if isinstance(base, FilledField):
        return filled(DistanceField.bake(mesh, spacing=base.spacing, band=base.band, storage="dense"))
    assert isinstance(base, Cube)
    margin = min(max(0.5 * (base.side / _longest(mesh) - 1.0), 0.01), 100.0)
    if isinstance(base, PlanarField):
        return PlanarField.bake(mesh, base.tolerance, relative=base.relative, margin=margin)
    assert isinstance(base, AdaptiveField)
    return AdaptiveField.bake(
        mesh, base.tolerance, relative=base.relative, margin=margin, band=base.band, coarsest=base.coarsest
    )


def _longest(mesh: Mesh) -> float:
    return max(float((mesh.bounds[1] - mesh.bounds[0]).max()), 1e-300)

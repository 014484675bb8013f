"""Comparison of all distance field structures on one mesh, measured in the same way."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...mesh import Mesh
from .bsp import PlanarField
from .field import DistanceField
from .fill import FilledField, filled
from .octree import AdaptiveField
from .sampled import around

Floats = NDArray[np.float64]
Field = DistanceField | FilledField | AdaptiveField | PlanarField
_REPEATS = 3  # timings; the best counts, because the machine may be shared


def compare_fields(
    mesh: Mesh,
    resolution: int = 64,
    tolerance: float | None = None,
    *,
    samples: int = 50_000,
    seed: int = 0,
    max_bytes: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Return a row for each structure: memory, seconds, error against the exact distance, query time, guarantee.

    Grids have `resolution` cells along the longest side; trees are subdivided to `tolerance` metres (default: the 99th
    percentile of the grid's error, so that all are about equally accurate). Errors are measured at the same points
    within the grid's band, and given as fractions of the diagonal and in cells of the grid; `volume_p99` is for points
    anywhere in the grid, `known` and `volume_known` are the fractions of points with a value. `progress` is called with
    the name of each structure before it is baked.
    """
    samples = validate.whole("samples", samples, low=100, high=10_000_000)
    if tolerance is not None:
        tolerance = validate.number("tolerance", tolerance, above=0.0)
    rows: list[dict[str, Any]] = []
    points: Floats | None = None
    for _ in _fields(_small(), 4, 0.5, rows, max_bytes, None):
        pass  # warm-up, so that compilation is not timed
    for name, guarantee, field, seconds in _fields(mesh, resolution, tolerance, rows, max_bytes, progress):
        if points is None:  # the first is the dense grid, which defines cell size and band
            rng = np.random.default_rng(seed)
            cell, low = field.spacing, np.array(field.origin)
            points = around(mesh, samples, field.band * cell, rng)
            size = (np.array(field.shape) - 1.0) * cell
            volume = low + rng.random((samples, 3)) * size
            true, true_volume = field.exact.query(points)[0], field.exact.query(volume)[0]
        d, took = _timed(field, points)
        d_volume, _ = _timed(field, volume)
        off, off_volume = np.abs(d - true), np.abs(d_volume - true_volume)
        row: dict[str, Any] = {"field": name, "guarantee": guarantee, "bytes": field.nbytes, "seconds": seconds}
        for label, q in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
            error = _quantile(off, q)
            row |= {f"error_{label}_diagonal": error / mesh.size, f"error_{label}_cells": error / cell}
        row["volume_p99_cells"] = _quantile(off_volume, 0.99) / cell
        row["known"], row["volume_known"] = float(np.isfinite(d).mean()), float(np.isfinite(d_volume).mean())
        row["query_ns"] = 1e9 * took / samples
        rows.append(row)
    return rows


def _fields(
    mesh: Mesh,
    resolution: int,
    tolerance: float | None,
    rows: list[dict[str, Any]],
    max_bytes: float | None,
    progress: Callable[[str], None] | None,
) -> Iterator[tuple[str, str, Any, float]]:
    """Yield name, guarantee, field and seconds; each field is baked on demand and released before the next."""
    say = progress or (lambda _: None)
    say("uniform dense")
    band = DistanceField.bake(mesh, resolution, storage="dense", max_bytes=max_bytes)
    yield "uniform dense", "B", band, band.seconds
    if tolerance is None:
        # a grid can be exact by coincidence, as for a box aligned with its cells; a tree cannot reach that tolerance
        tolerance = max(rows[0]["error_p99_cells"], 0.02) * band.spacing
    say("uniform sparse")
    sparse = DistanceField.bake(mesh, resolution, max_bytes=max_bytes)
    yield "uniform sparse", "B", sparse, sparse.seconds
    say("filled")
    whole = filled(band, max_bytes=max_bytes)
    yield "filled", "B", whole, band.seconds + whole.seconds
    say("octree")
    tree = AdaptiveField.bake(mesh, tolerance, margin=_margin(band), max_bytes=max_bytes)
    yield "octree", "B", tree, tree.seconds
    del tree
    say("octree in the band")
    near = AdaptiveField.bake(mesh, tolerance, margin=_margin(band), band=band.band * band.spacing, max_bytes=max_bytes)
    yield "octree in the band", "B", near, near.seconds
    say("planar")
    planes = PlanarField.bake(mesh, tolerance, margin=_margin(band), max_bytes=max_bytes)
    yield "planar", "C", planes, planes.seconds


def _small() -> Mesh:
    """Return a tetrahedron, for the warm-up."""
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
    return Mesh(np.vstack([np.zeros(3), np.eye(3)]), faces)


def _margin(grid: DistanceField) -> float:
    """Return the margin with which a tree's cube extends as far beyond the mesh as the grid does."""
    longest = float((grid.mesh.bounds[1] - grid.mesh.bounds[0]).max())
    return min(max((grid.band + 2.0) * grid.spacing / longest, 0.01), 100.0)


def _timed(field: Field, points: Floats) -> tuple[Floats, float]:
    """Return distances at `points`, and the shortest duration of a few runs, seconds (the first may compile)."""
    d, g, best = np.empty(len(points)), np.empty((len(points), 3)), np.inf
    for _ in range(1 + _REPEATS):
        start = time.perf_counter()
        field.probe(points, d, g)
        best = min(best, time.perf_counter() - start)
    return d, best


def _quantile(off: Floats, q: float) -> float:
    off = off[np.isfinite(off)]
    return float(np.quantile(off, q)) if len(off) else float("nan")

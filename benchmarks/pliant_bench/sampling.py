"""T2: distance and gradient at many points, against the sampler of OpenVDB and scipy."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.fields.field import DistanceField
from pliant.report.charts import bars_svg
from pliant.report.tables import Chart, Column, Table

from . import machine, models, openvdb, timing
from .timing import Run, Times, alternate

Floats = NDArray[np.float64]
Answers = dict[str, Callable[[], Floats]]  # participant -> distances (n,) in metres
BAND = 3.0
CHECKED = 20_000  # points that are compared with exact distances
NEAR = BAND - np.sqrt(3.0) - 0.01  # cells from the surface: nearer than this, all corners of a cell are in the band
COLUMNS = (
    Column("points", show="{:,}"),
    Column("where"),
    Column("who"),
    Column("threads", show="{:d}"),
    Column("ns", show="{:.1f}"),
    Column("ns_median", "median", "{:.1f}", detail=True),
    Column("ratio", show="{:.2f}"),
    Column("error_p99_cells", "error-p99", "{:.4f}"),
    Column("error_max_cells", "error-max", "{:.4f}"),
    Column("checked", "of", "{:,}"),
    Column("note", detail=True),
)
OWN, PEER, IMAGE = "pliant sparse", "OpenVDB", "scipy"
SINGLE = f"{OWN}, single"  # points and results in single precision, as in OpenVDB


def sample_table(
    program: openvdb.OpenVDB | None,
    *,
    subdivisions: int = 6,
    nodes: int = 400,
    count: int = 10_000_000,
    repeats: int = 5,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """A bumpy sphere, the same points for all, in each order of `models.KINDS`, on one thread and on all."""
    mesh = models.bumpy_sphere(subdivisions)
    progress("the fields")
    field = DistanceField.bake(mesh, spacing=models.spacing_for(mesh, nodes), band=BAND)
    dense = DistanceField.bake(mesh, spacing=field.spacing, band=BAND, storage="dense")
    if program is not None:
        program.mesh(*models.arrays(mesh), np.array(field.origin))
        program.bake(field.spacing, BAND, machine.cores())
    rows: list[dict[str, Any]] = []
    for kind, words in models.KINDS.items():
        points = models.points_for(mesh, field.spacing, kind, count)
        if program is not None:
            program.points(points, np.array(field.origin))
        errors = _errors(points, field, dense, program)
        for threads in sorted({1, machine.cores()}):
            progress(f"{words}, {threads} thread{'s' if threads > 1 else ''}")
            with timing.threads(threads):
                times = alternate(_runs(points, field, dense, program, threads), repeats)
            facts = {"points": count, "where": words, "threads": threads}
            rows += [facts | row for row in _rows(times, errors, count, threads)]
    return Table("t2-sample", "T2: distance and gradient at points, nanoseconds a point", COLUMNS, rows)


def _runs(
    points: Floats, field: DistanceField, dense: DistanceField, program: openvdb.OpenVDB | None, threads: int
) -> dict[str, Run]:
    """The allocation of the results is timed; the last two participants write into given arrays."""
    runs: dict[str, Run] = {
        OWN: functools.partial(_probe, field, points),
        "pliant dense": functools.partial(_probe, dense, points),
    }
    single = points.astype(np.float32)
    runs[SINGLE] = functools.partial(_probe, field, single)
    if program is not None:
        runs[PEER] = functools.partial(program.sample, threads, fresh=True)
    d, g = np.empty(len(points)), np.empty((len(points), 3))
    runs[f"{OWN}, given arrays"] = lambda: timing.timed(lambda: field.probe(points, d, g))
    if program is not None:
        runs[f"{PEER}, given arrays"] = functools.partial(program.sample, threads)
    runs["pliant sample()"] = lambda: timing.timed(lambda: field.sample(points))
    runs["pliant sample(), float32"] = lambda: timing.timed(lambda: field.sample(single))
    if threads == 1:
        runs[IMAGE] = _scipy(dense, points)
    return runs


_NOTES = {
    OWN: "probe(): distance and gradient, results allocated",
    "pliant dense": "probe(): distance and gradient, results allocated",
    SINGLE: "probe(): single precision in and out, results allocated",
    PEER: "tree accessor, trilinear value and gradient, float32, results allocated",
    f"{OWN}, given arrays": "probe() into arrays used before",
    f"{PEER}, given arrays": "into arrays used before",
    "pliant sample()": "points checked and copied, unit normals",
    "pliant sample(), float32": "points checked and widened, unit normals",
    IMAGE: "map_coordinates, order 1, dense, distance only",
}


def _probe(field: DistanceField, points: Any) -> float:
    kind = points.dtype
    return timing.timed(lambda: field.probe(points, np.empty(len(points), kind), np.empty((len(points), 3), kind)))


def _scipy(dense: DistanceField, points: Floats) -> Run:
    from scipy.ndimage import map_coordinates

    image = _filled(dense)
    where = np.ascontiguousarray(((points - np.array(dense.origin)) / dense.spacing).T)
    return lambda: timing.timed(lambda: map_coordinates(image, where, order=1, output=np.float32))


def _filled(dense: DistanceField) -> NDArray[np.float32]:
    """The dense grid with nan replaced, since scipy would spread nan to whole cells."""
    return np.nan_to_num(dense.values, nan=dense.band * dense.spacing)


def _errors(
    points: Floats, field: DistanceField, dense: DistanceField, program: openvdb.OpenVDB | None
) -> dict[str, dict[str, Any]]:
    """Errors against exact distances at points whose cells are in the band."""
    from scipy.ndimage import map_coordinates

    some = np.random.default_rng(0).choice(len(points), min(len(points), CHECKED), replace=False)
    h, exact = field.spacing, field.exact.query(points[some])[0]
    near = np.abs(exact) < NEAR * h
    where = ((points[some] - np.array(field.origin)) / h).T
    said = {
        OWN: field.sample(points[some])[0],
        "pliant dense": dense.sample(points[some])[0],
        IMAGE: map_coordinates(_filled(dense), where, order=1, output=np.float64),
    }
    if program is not None:
        said[PEER] = program.sampled(machine.cores())[some, 0].astype(np.float64)
    found: dict[str, dict[str, Any]] = {}
    for who, d in said.items():
        off = np.abs(d - exact)[near] / h
        worst, p99 = (float(off.max()), float(np.quantile(off, 0.99))) if len(off) else (None, None)
        found[who] = {"error_max_cells": worst, "error_p99_cells": p99, "checked": int(near.sum())}
    return found


def _rows(times: dict[str, Times], errors: dict[str, dict[str, Any]], count: int, threads: int) -> list[dict[str, Any]]:
    """Ratios relate to the sparse storage of pliant, with allocated results, or with given arrays for given arrays."""
    rows = []
    for who, took in times.items():
        ours = times[f"{OWN}, given arrays"] if who.endswith("given arrays") else times[OWN]
        row = {"who": who, "ns": 1e9 * took.best / count, "ns_median": 1e9 * took.median / count}
        rows.append(row | {"ratio": took.best / ours.best, "note": _NOTES[who]} | errors.get(who, {}))
    return rows


def sample_findings(table: Table) -> list[str]:
    """OpenVDB and the dense grid against bricks, for each kind of points and number of threads."""
    said = []
    for where, threads in dict.fromkeys((row["where"], row["threads"]) for row in table.rows):
        rows = {r["who"]: r for r in table.rows if (r["where"], r["threads"]) == (where, threads)}
        text = f"{where}, {threads} thread{'s' if threads > 1 else ''}: {rows[OWN]['ns']:.1f} ns a point in bricks"
        text += f", {rows[OWN]['ns'] / rows['pliant dense']['ns']:.2f} times the dense grid"
        if PEER in rows:
            text += f"; OpenVDB takes {rows[PEER]['ratio']:.1f} times as long ({rows[PEER]['ns']:.1f} ns)"
            text += f", {rows[PEER]['ns'] / rows[SINGLE]['ns']:.1f} times with pliant in single precision as well"
        said.append(text)
    return said


def sample_chart(table: Table) -> Chart:
    """Nanoseconds per point on all threads; scipy on one."""
    most = max(row["threads"] for row in table.rows)
    groups: dict[str, dict[str, float]] = {}
    for who in (OWN, "pliant dense", PEER, IMAGE):
        for row in table.rows:
            if row["who"] == who and (row["threads"] == most or who == IMAGE):
                said = "scipy (1 thread, distance only)" if who == IMAGE else who
                groups.setdefault(row["where"], {})[said] = row["ns"]
    svg = bars_svg(groups, "ns", "Nanoseconds for distance and gradient at a point, by order of the points")
    return Chart("t2-sample", f"Nanoseconds per point on {most} threads, logarithmic: shorter is better.", svg)

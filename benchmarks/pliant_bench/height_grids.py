"""Cost of a query against the size of a height grid, and a cloth on a face (Neal 2003)."""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from pliant.detect.fields.height_grid import HeightGrid, blank
from pliant.kernels.fields import height_grid as _kernels
from pliant.report.charts import curves_svg
from pliant.report.tables import BYTES, Chart, Column, Table
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.simulation.record import record

from .timing import alternate, threads, timed

Floats = NDArray[np.float64]
SIZES, QUICK = (64, 128, 256, 512, 1024, 2048, 4096), (64, 256)
QUERIES = 1 << 20
CLOTH = 100  # vertices along one side of a cloth that covers the whole grid
ROWS, STEPS, RANDOM = "cell by cell", f"cloth of {CLOTH} x {CLOTH}", "no order"
OURS, SCIPY = "pliant", "scipy"
# on the face: participant -> method, options
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "height-grid, from above": ("height-grid", {"directions": ("+y",)}),
    "height-grid, six sides": ("height-grid", {}),
    "distance-field": ("distance-field", {"cache": False}),
    "bvh": ("bvh", {}),
}


def grid_of(nodes: int) -> HeightGrid:
    """Hills over 1 m x 1 m; the measurement does not depend on their shape."""
    s = np.linspace(0.0, 1.0, nodes)
    heights = 0.05 * np.sin(20.0 * s)[:, None] * np.cos(17.0 * s)
    return HeightGrid(heights, spacing=1.0 / (nodes - 1))


def points_of(order: str, nodes: int, count: int) -> Floats:
    """Points (n,3) near the hills, in an order with or without cache locality."""
    rng = np.random.default_rng(2003)
    if order == ROWS:  # consecutive points are neighbours in memory
        cell = np.arange(count) % (nodes - 1) ** 2
        zx = (np.stack([cell // (nodes - 1), cell % (nodes - 1)], 1) + rng.random((count, 2))) / (nodes - 1)
    elif order == STEPS:  # the same vertices in the same order, as in the substeps of a simulation
        side = (np.arange(CLOTH) + 0.5) / CLOTH
        sheet = np.stack(np.meshgrid(side, side, indexing="ij"), 2).reshape(-1, 2)
        zx = np.tile(sheet, (-(-count // len(sheet)), 1))[:count]
    else:
        zx = rng.random((count, 2))
    zx = np.minimum(zx, 1.0 - 1e-9)
    return np.ascontiguousarray(np.stack([zx[:, 1], rng.normal(size=count) * 0.01, zx[:, 0]], 1))


def cost_table(
    sizes: Sequence[int] = SIZES,
    *,
    repeats: int = 5,
    count: int = QUERIES,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Nanoseconds of CPU time per query on one thread; runs alternate between sizes."""
    rows: list[dict[str, Any]] = []
    for order in (ROWS, STEPS, RANDOM):
        progress(f"points in {order}")
        runs: dict[str, Any] = {}
        errors = {}
        for nodes in sizes:
            grid, points = grid_of(nodes), points_of(order, nodes, count)
            errors[nodes] = _check(grid, points[:20_000])
            columns, answers = grid.columns(), blank(count)
            answers.which[:] = _kernels.NO_RESULT
            runs[f"{OURS} {nodes}"] = functools.partial(_ask, columns, points, answers)
            runs[f"{SCIPY} {nodes}"] = functools.partial(_interpolate, grid, points)
        times = alternate(runs, repeats)
        for who in (OURS, SCIPY):
            first = times[f"{who} {sizes[0]}"].best
            for nodes in sizes:
                best = times[f"{who} {nodes}"].best
                row = {"order": order, "nodes": nodes, "who": who, "ns": 1e9 * best / count, "ratio": best / first}
                rows.append(row | {"bytes": 8 * nodes**2} | ({"error_m": errors[nodes]} if who == OURS else {}))
    columns_shown = (
        Column("order"),
        Column("nodes", "side", "{:,}"),
        Column("who"),
        Column("ns", "ns/query", "{:.2f}"),
        Column("ratio", f"to-{sizes[0]}", "{:.2f}x"),
        Column("bytes", "memory", BYTES),
        Column("error_m", "error", "{:.1e}"),
    )
    return Table("neal-cost", "Time of a query of a height grid, by the size of the grid", columns_shown, rows)


def _ask(columns: _kernels.Columns, points: Floats, answers: _kernels.Answers) -> float:
    answers.which[:] = _kernels.NO_RESULT
    start = time.process_time()
    _kernels.probe_range(columns, 0, points, 0, len(points), answers)
    return time.process_time() - start


def _interpolate(grid: HeightGrid, points: Floats) -> float:
    """The height by scipy, without distance and normal."""
    at = np.ascontiguousarray(points[:, [2, 0]].T / grid.spacing[:, None])
    start = time.process_time()
    map_coordinates(grid.heights, at, order=1)
    return time.process_time() - start


def _check(grid: HeightGrid, points: Floats) -> float:
    """Maximum difference of the heights from those of scipy, in metres."""
    d, n = grid.sample(points)
    theirs = map_coordinates(grid.heights, points[:, [2, 0]].T / grid.spacing[:, None], order=1)
    return float(np.abs(points[:, 1] - d / n[:, 1] - theirs).max())


def face_table(*, resolution: int = 36, frames: int = 100, progress: Callable[[str], None] = lambda _: None) -> Table:
    """The same cloth on the same face with several methods; depth by the exact referee."""
    rows: list[dict[str, Any]] = []
    for who, (method, options) in WAYS.items():
        progress(f"cloth on the face: {who}")
        scene = SCENES["cloth-on-face"](resolution=resolution)
        make = functools.partial(Simulation, scene, method=method, options=options)
        building = [timed(make), timed(make)][-1]  # the first run may compile
        sim = make()
        result = record(sim, frames)
        rows.append(
            {"who": who, "build_ms": 1e3 * building, "detect_us": 1e6 * _detecting(sim)}
            | {"frame_ms": 1e3 * float(np.median(result.seconds[1 + frames // 2 :]))}
            | {"contacts": result.summary["contacts_most"]}
            | {"deepest_mm": 1e3 * result.summary["penetration_m"]}
            | {"nearest_mm": 1e3 * result.summary["least_distance_m"]}
        )
    columns = (
        Column("who"),
        Column("build_ms", "build-ms", "{:.1f}"),
        Column("detect_us", "detect-us", "{:.0f}"),
        Column("frame_ms", "frame-ms", "{:.1f}", detail=True),
        Column("contacts", "contacts", "{:,}"),
        Column("deepest_mm", "deepest-mm", "{:.3g}"),
        Column("nearest_mm", "nearest-mm", "{:.2f}"),
    )
    title = f"{resolution**2:,} particles of cloth on the face, frames of 10 ms in {sim.substeps} substeps"
    return Table("neal-face", title, columns, rows)


def _detecting(sim: Simulation, repeats: int = 7, steps: int = 20) -> float:
    """CPU time in seconds of one detection pass at the current positions, on one thread, best of several runs."""

    def run() -> float:
        start = time.process_time()
        for _ in range(steps):
            for detector in sim.detectors:
                detector.update(sim.state).find(sim.state)
        return (time.process_time() - start) / steps

    with threads(1):
        return min(run() for _ in range(repeats))


def findings(cost: Table, face: Table) -> list[str]:
    said = []
    for order in (ROWS, STEPS, RANDOM):
        ours = [row for row in cost.rows if row["order"] == order and row["who"] == OURS]
        a, b = ours[0], ours[-1]
        said.append(
            f"{order}: {a['ns']:.1f} ns per query on {a['nodes']} x {a['nodes']}, {b['ns']:.1f} ns on {b['nodes']} x "
            f"{b['nodes']}: {b['ratio']:.2f} times"
        )
    deepest = max(row["deepest_mm"] for row in face.rows if row["who"].startswith("height-grid"))
    return [*said, f"cloth on the face by height grids: at most {deepest:.3g} mm inside (exact)"]


NOTES = (
    "The paper prints no measurements; it states that the time depends on the cloth only, not on the grid. A query "
    "returns distance and normal; CPU time of one thread, best of several runs, which alternate between sizes. cell"
    f" by cell: consecutive queries are neighbours in memory. cloth: the same {CLOTH**2:,} vertices all over the "
    "grid in every substep, as in a simulation; each accesses two cache lines, whatever the size of the grid. no "
    "order: queries wait for memory if the grid is larger than the caches. scipy is map_coordinates of order 1, "
    "which returns only the height; error is the maximum difference from its heights.",
    "On the face: build is the second rendering or baking, wall-clock time; detect is one detection pass at the final "
    "positions, CPU time of one thread, best of several runs.",
)


def cost_chart(table: Table) -> Chart:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        if row["who"] == OURS:
            curves.setdefault(row["order"], []).append((row["nodes"], row["ns"]))
    svg = curves_svg(
        curves, ("nodes along a side", "ns per query"), "Nanoseconds per query against the size of the grid"
    )
    return Chart("neal-cost", "Nanoseconds per query against the size of the grid, both logarithmic.", svg)

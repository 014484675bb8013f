"""What a question to a height grid costs as the grid grows, and a cloth on a face (Neal 2003)."""

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
CLOTH = 100  # vertices along the side of a cloth that covers the whole grid
ROWS, STEPS, RANDOM = "cell by cell", f"cloth of {CLOTH} x {CLOTH}", "no order"
OURS, SCIPY = "pliant", "scipy"
# on the face: who -> method, options
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "height-grid, from above": ("height-grid", {"directions": ("+y",)}),
    "height-grid, six sides": ("height-grid", {}),
    "distance-field": ("distance-field", {"cache": False}),
    "tree": ("tree", {}),
}


def grid_of(nodes: int) -> HeightGrid:
    """Hills over 1 m x 1 m; nothing here depends on what they look like."""
    s = np.linspace(0.0, 1.0, nodes)
    heights = 0.05 * np.sin(20.0 * s)[:, None] * np.cos(17.0 * s)
    return HeightGrid(heights, spacing=1.0 / (nodes - 1))


def points_of(order: str, nodes: int, count: int) -> Floats:
    """(n,3) points near the hills, in an order that is kind to caches or not."""
    rng = np.random.default_rng(2003)
    if order == ROWS:  # neighbours in memory, one after the other
        cell = np.arange(count) % (nodes - 1) ** 2
        zx = (np.stack([cell // (nodes - 1), cell % (nodes - 1)], 1) + rng.random((count, 2))) / (nodes - 1)
    elif order == STEPS:  # the same vertices in the same order, as a simulation asks step after step
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
    """Nanoseconds of processor time a question, one thread; sizes take turns."""
    rows: list[dict[str, Any]] = []
    for order in (ROWS, STEPS, RANDOM):
        progress(f"points in {order}")
        runs: dict[str, Any] = {}
        errors = {}
        for nodes in sizes:
            grid, points = grid_of(nodes), points_of(order, nodes, count)
            errors[nodes] = _check(grid, points[:20_000])
            columns, answers = grid.columns(), blank(count)
            answers.which[:] = _kernels.NOBODY
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
    return Table("neal-cost", "A question to a height grid, as the grid grows", columns_shown, rows)


def _ask(columns: _kernels.Columns, points: Floats, answers: _kernels.Answers) -> float:
    answers.which[:] = _kernels.NOBODY
    start = time.process_time()
    _kernels.probe_range(columns, 0, points, 0, len(points), answers)
    return time.process_time() - start


def _interpolate(grid: HeightGrid, points: Floats) -> float:
    """The height alone, by scipy; no distance, no normal."""
    at = np.ascontiguousarray(points[:, [2, 0]].T / grid.spacing[:, None])
    start = time.process_time()
    map_coordinates(grid.heights, at, order=1)
    return time.process_time() - start


def _check(grid: HeightGrid, points: Floats) -> float:
    """The largest difference of our heights from scipy's, metres."""
    d, n = grid.sample(points)
    theirs = map_coordinates(grid.heights, points[:, [2, 0]].T / grid.spacing[:, None], order=1)
    return float(np.abs(points[:, 1] - d / n[:, 1] - theirs).max())


def face_table(*, resolution: int = 36, frames: int = 100, progress: Callable[[str], None] = lambda _: None) -> Table:
    """The same cloth on the same face by several methods; depth by the exact referee."""
    rows: list[dict[str, Any]] = []
    for who, (method, options) in WAYS.items():
        progress(f"cloth on the face: {who}")
        scene = SCENES["cloth-on-face"](resolution=resolution)
        make = functools.partial(Simulation, scene, method=method, options=options)
        building = [timed(make), timed(make)][-1]  # the first may compile
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
    return Table("neal-face", f"{resolution**2:,} particles of cloth on the face, a frame of 16 steps", columns, rows)


def _detecting(sim: Simulation, repeats: int = 7, steps: int = 20) -> float:
    """Seconds of processor time that one detection takes where the cloth lies now, one thread, best of several."""

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
            f"{order}: {a['ns']:.1f} ns a query on {a['nodes']} x {a['nodes']}, {b['ns']:.1f} ns on {b['nodes']} x "
            f"{b['nodes']}: {b['ratio']:.2f} times"
        )
    deepest = max(row["deepest_mm"] for row in face.rows if row["who"].startswith("height-grid"))
    return [*said, f"cloth on the face by height grids: at most {deepest:.3g} mm inside (exact)"]


NOTES = (
    "The paper prints no figures; it says that the time depends on the cloth alone and not on the grid. A query is a "
    "distance with its normal; processor time of one thread, best of several, sizes in turn. cell by cell: neighbours "
    f"in memory one after the other, what a cache is made for. cloth: the same {CLOTH**2:,} vertices all over the grid "
    "again and again, as a simulation asks; each touches two lines of memory, however large the grid is. no order: a "
    "query waits for memory once the grid is larger than the caches. scipy is map_coordinates of order 1, which gives "
    "the height alone; error is the largest difference of our height from its.",
    "On the face: build is rendering or baking for the second time, wall time; detect is one small step where the "
    "cloth lies at the end, processor time of one thread, best of several; frame is the median of the second half, "
    "wall time on all cores.",
)


def cost_chart(table: Table) -> Chart:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        if row["who"] == OURS:
            curves.setdefault(row["order"], []).append((row["nodes"], row["ns"]))
    svg = curves_svg(curves, ("nodes along a side", "ns a query"), "Nanoseconds a query against the size of the grid")
    return Chart("neal-cost", "Nanoseconds a query against the size of the grid, both logarithmic.", svg)

"""Table 1 of Fuhrmann et al. 2003 beside our own figures, for the models that are to be had."""

import functools
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pliant.detect.fields.field import DistanceField
from pliant.detect.fields.reconstruct import fidelity, reconstruct
from pliant.mesh import Mesh
from pliant.report.charts import bars_svg
from pliant.report.tables import BYTES, Chart, Column, Table
from pliant.shapes import bust, mannequin

from . import models, timing
from .papers import TABLE_1, Baked
from .timing import alternate

DELTA = 1.0  # cell diagonals; the paper does not print its own
THIN = math.sqrt(3.0) * DELTA  # the same in cells
PAPER = "the paper"
# who -> options of the bake; the last is the paper's algorithm
WAYS: dict[str, dict[str, Any]] = {
    "pliant, band 3": {"band": 3.0},
    f"pliant, band {THIN:.2f}": {"band": THIN},
    f"pliant, the paper's way, band {THIN:.2f}": {"band": THIN, "sign": "face"},
}
COLUMNS = (
    Column("model"),
    Column("triangles", show="{:,}"),
    Column("who"),
    Column("grid"),
    Column("seconds", show="{:.4f}"),
    Column("ratio", "faster", "{:.1f}x"),
    Column("examined", show="{:,}"),
    Column("delta", show="{:.2f}"),
    Column("hausdorff_cells", "hausdorff", "{:.3f}"),
    Column("hausdorff_mm", "mm", "{:.4f}"),
    Column("mean_cells", "mean", "{:.4f}"),
    Column("backward_cells", "backward", "{:.3f}"),
    Column("lost_percent", "lost%", "{:.3f}"),
    Column("border_percent", "border%", "{:.3f}"),
    Column("bytes", "memory", BYTES),
    Column("dense_bytes", "dense", BYTES),
)


def paper_table(
    folder: pathlib.Path | None,
    *,
    quick: bool = False,
    repeats: int = 3,
    samples: int = 100_000,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """The paper's lines and ours for the same model on the same grid; our own shapes where no original is at hand."""
    rows: list[dict[str, Any]] = []
    at_hand = [line for line in TABLE_1 if models.find_model(line.model, folder) is not None]
    if quick:
        at_hand = at_hand[:1]
    load = functools.lru_cache(1)(lambda name: models.original(name, folder))
    for line in at_hand:
        mesh = load(line.model)
        assert mesh is not None
        grid = " x ".join(map(str, line.grid))
        rows.append(
            {"model": line.model, "triangles": line.triangles, "who": PAPER, "grid": grid, "seconds": line.seconds}
            | {"examined": line.examined, "delta": delta_of(mesh, line)}
        )
        for row in _ours(mesh, line.longest, repeats, samples, progress, line.model):
            rows.append({"model": line.model} | row | {"ratio": line.seconds / row["seconds"]})
    if not at_hand:
        for name, mesh in {"bust": bust(), "mannequin": mannequin()}.items():
            for longest in (60,) if quick else (200, 400):
                rows += [{"model": name} | row for row in _ours(mesh, longest, repeats, samples, progress, name)]
    return Table("fuhrmann2003-table1", "Table 1 of the paper, and the same bakes here", COLUMNS, rows)


def _ours(
    mesh: Mesh, longest: int, repeats: int, samples: int, progress: Callable[[str], None], name: str
) -> Iterator[dict[str, Any]]:
    h = spacing_of(mesh, longest)
    x, faces = models.arrays(mesh)

    def bake(options: dict[str, Any]) -> DistanceField:
        return DistanceField.bake(Mesh(x, faces), spacing=h, **options)

    progress(f"{name} at {longest}")
    runs = {who: functools.partial(timing.timed, functools.partial(bake, o)) for who, o in WAYS.items()}
    times = alternate(runs, repeats)
    for who, options in WAYS.items():
        progress(f"{name} at {longest}: reconstruction")
        field = bake(options)
        yield {
            "triangles": mesh.n_faces,
            "who": who,
            "grid": " x ".join(map(str, field.shape)),
            "seconds": times[who].best,
            "examined": field.examined,
            "bytes": field.nbytes,
            "dense_bytes": field.dense_nbytes,
        } | _fidelity(field, samples)


def _fidelity(field: DistanceField, samples: int) -> dict[str, float]:
    found = fidelity(field, reconstruct(field), field.spacing, samples)
    said = found.figures()
    return {
        "hausdorff_cells": said["forward_max_m"] / field.spacing,
        "hausdorff_mm": 1e3 * said["forward_max_m"],
        "mean_cells": said["forward_mean_m"] / field.spacing,
        "backward_cells": said["backward_max_m"] / field.spacing,
        "lost_percent": 100.0 * said["forward_lost_share"],
        "border_percent": 100.0 * said["forward_unknown_share"],
    }


def spacing_of(mesh: Mesh, longest: int) -> float:
    """Metres between nodes, of which `longest` span the longest side of the mesh; our grids add the band's room."""
    return float((mesh.bounds[1] - mesh.bounds[0]).max()) / (longest - 1)


def examined_points(mesh: Mesh, h: float, delta: float) -> int:
    """Nodes in the integer boxes, rounded outward, of the prisms `delta` cell diagonals high over every face."""
    corners, up = mesh.vertices[mesh.faces] - mesh.bounds[0], delta * math.sqrt(3.0) * h * mesh.face_normals
    both = np.stack([corners + up[:, None], corners - up[:, None]])
    low, high = np.floor(both.min((0, 2)) / h), np.ceil(both.max((0, 2)) / h)
    return int((high - low + 1.0).prod(1).sum())


def delta_of(mesh: Mesh, line: Baked) -> float:
    """The paper's delta as its own count of examined points tells it, by bisection."""
    h, low, high = spacing_of(mesh, line.longest), 0.0, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if examined_points(mesh, h, middle) < line.examined:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _span(values: list[float]) -> list[str]:
    return sorted({f"{min(values):.2f}", f"{max(values):.2f}"})


def paper_notes(table: Table, folder: pathlib.Path | None) -> list[str]:
    """What could not be had, and what the paper leaves open."""
    names = list(dict.fromkeys(line.model for line in TABLE_1))
    absent = models.missing(names, folder)
    said = []
    if absent:
        what = "None of the originals is at hand" if len(absent) == len(names) else "Originals that could not be had"
        said.append(f"{what}: {', '.join(absent)}. --data FOLDER names a folder with mesh files.")
    deltas = [row["delta"] for row in table.rows if "delta" in row]
    if deltas:
        said.append(
            "The paper does not print its delta (the height of the prisms in cell diagonals). If its integer boxes are "
            f"rounded outward, its counts of examined points mean a delta of {' to '.join(_span(deltas))} "
            "(column delta, found by bisection)."
        )
    said.append(
        f"Ours: a band of 3 cells, and a thin one of sqrt(3) = {THIN:.2f} cells, which is delta = {DELTA:g}, with our "
        "own bake and with the paper's way (the nearest face's normal decides the sign, only the box of each prism is "
        "visited). Times are the best of several on all cores, from vertex and face arrays to the finished field. The "
        "spacing puts as many nodes along the longest side of the mesh as the paper's grid has; ours adds room for the "
        "band around it, and its axes are the file's, in another order than the paper's."
    )
    said.append(
        "Hausdorff: from every vertex and from points spread over the mesh to the marching-cubes reconstruction, "
        "largest and mean, in cells (backward: the other direction). lost%: area beyond 0.866 cells because it is too "
        "thin or sharp for the grid; border%: because the field gives no value beside an open border."
    )
    said.append("The paper's machines: a Pentium IV of 1.8 GHz; of 2.2 GHz for Dragon, Buddha and Turbine.")
    return said


def paper_findings(table: Table) -> list[str]:
    return [
        f"{row['model']} at {row['grid']}: {row['seconds']:.3f} s, the paper {row['seconds'] * row['ratio']:.3f} s "
        f"({row['who']})"
        for row in table.rows
        if "ratio" in row and row["who"] != list(WAYS)[1]
    ]


def paper_chart(table: Table) -> Chart:
    """Seconds, by model and grid."""
    groups: dict[str, dict[str, float]] = {}
    theirs: dict[str, float] = {}
    first, title = next(iter(WAYS)), ""
    for row in table.rows:
        if row["who"] == PAPER or (row["who"] == first and "ratio" not in row):
            title = f"{row['model']} {row['grid'].replace(' ', '')}"
        if row["who"] == PAPER:
            theirs[title] = row["seconds"]
        else:
            groups.setdefault(title, {})[row["who"]] = row["seconds"]
    groups = {name: ours | ({PAPER: theirs[name]} if name in theirs else {}) for name, ours in groups.items()}
    svg = bars_svg(groups, "s", "Seconds to bake a distance field: the paper's and ours")
    return Chart("fuhrmann2003-table1", "Seconds to bake, logarithmic; the paper's hardware is of 2003.", svg)

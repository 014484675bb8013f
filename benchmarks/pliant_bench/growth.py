"""Cost of a bake against resolution: it grows with the surface (slope 2), not with the volume (slope 3)."""

import functools
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.detect.fields.field import DistanceField
from pliant.mesh import Mesh
from pliant.report.charts import curves_svg
from pliant.report.tables import BYTES, Chart, Column, Table
from pliant.shapes import bust

from . import models, timing
from .timing import alternate

CELLS = (100, 200, 400, 800)
QUICK = (25, 50, 100)
COLUMNS = (
    Column("mesh"),
    Column("triangles", show="{:,}"),
    Column("cells", show="{:,}"),
    Column("seconds", show="{:.4f}"),
    Column("slope", show="{:.2f}"),
    Column("band_nodes", "band-nodes", "{:,}"),
    Column("ns_per_node", "ns/node", "{:.1f}"),
    Column("bytes", "memory", BYTES),
    Column("percent_of_dense", "of-dense%", "{:.2f}"),
)


def growth_table(
    meshes: dict[str, Mesh],
    cells: Sequence[int] = CELLS,
    *,
    repeats: int = 3,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Each mesh baked at each resolution, on all threads; the slope is relative to the previous resolution."""
    rows: list[dict[str, Any]] = []
    for name, mesh in meshes.items():
        before: dict[str, Any] | None = None
        for n in cells:
            progress(f"{name} at {n}")
            row = {"mesh": name, "triangles": mesh.n_faces, "cells": n} | _measure(mesh, n, repeats)
            if before is not None:
                row["slope"] = float(np.log(row["seconds"] / before["seconds"]) / np.log(n / before["cells"]))
            rows.append(row)
            before = row
    return Table("growth", "Bake time and memory against resolution", COLUMNS, rows)


def _measure(mesh: Mesh, cells: int, repeats: int) -> dict[str, Any]:
    x, faces = models.arrays(mesh)
    run = functools.partial(timing.timed, lambda: DistanceField.bake(Mesh(x, faces), cells))
    seconds = alternate({"pliant": run}, repeats)["pliant"].best
    field = DistanceField.bake(mesh, cells)
    nodes = int(np.isfinite(field.grid.values).sum())
    return {
        "seconds": seconds,
        "band_nodes": nodes,
        "ns_per_node": 1e9 * seconds / nodes,
        "bytes": field.nbytes,
        "percent_of_dense": 100.0 * field.nbytes / field.dense_nbytes,
    }


def growth_meshes(quick: bool, folder: pathlib.Path | None) -> dict[str, Mesh]:
    """The bunny where it is available, and two procedural shapes."""
    found = {} if (bunny := models.original("Bunny", folder)) is None else {"bunny": bunny}
    return found | {"bumpy sphere": models.bumpy_sphere(4 if quick else 6), "bust": bust()}


def slope(rows: Sequence[dict[str, Any]]) -> float:
    """Slope of the regression line of log(seconds) over log(cells)."""
    x, y = (np.log([row[key] for row in rows]) for key in ("cells", "seconds"))
    return float(np.polyfit(x, y, 1)[0])


def growth_findings(table: Table) -> list[str]:
    said = []
    for name in dict.fromkeys(row["mesh"] for row in table.rows):
        rows = [row for row in table.rows if row["mesh"] == name]
        first, last = rows[0], rows[-1]
        more, volume = last["seconds"] / first["seconds"], (last["cells"] / first["cells"]) ** 3
        said.append(
            f"{name}: slope {slope(rows):.2f} from {first['cells']} to {last['cells']} cells "
            f"({more:.1f} times the time; the volume grows {volume:.0f} times)"
        )
    return said


def growth_chart(table: Table) -> Chart:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        curves.setdefault(row["mesh"], []).append((row["cells"], row["seconds"]))
    svg = curves_svg(curves, ("cells along the longest side", "seconds"), "Seconds to bake against resolution", 2.0)
    return Chart(
        "growth", "Seconds against resolution, both logarithmic. Dashed: slope 2, the growth of a surface.", svg
    )

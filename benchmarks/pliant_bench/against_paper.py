"""Table 1 of Fuhrmann et al. 2003 and the same bakes with pliant; a torus replaces each model that is not at hand."""

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

from . import models, timing
from .papers import TABLE_1, Baked
from .timing import alternate

DELTA = 1.0  # in cell diagonals; the paper does not state its value
THIN = math.sqrt(3.0) * DELTA  # the same, in cells
PAPERS_DELTA = 1.09  # reproduces the paper's numbers of examined points, see `delta_of`
BUDGET = 16.0  # s per way and line: signs around an open mesh of many triangles take that long
PAPER = "the paper"
STAND_IN = "a torus of as many triangles"
# participant -> options of the bake; the last one is the algorithm of the paper
WAYS: dict[str, dict[str, Any]] = {
    "pliant, band 3": {"band": 3.0},
    f"pliant, band {THIN:.2f}": {"band": THIN},
    f"pliant, algorithm of the paper, band {THIN:.2f}": {"band": THIN, "sign": "face"},
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
    Column("counted", "paper-counts", "{:,}"),
    Column("hausdorff_cells", "hausdorff", "{:.3f}"),
    Column("hausdorff_mm", "mm", "{:.4f}"),
    Column("mean_cells", "mean", "{:.4f}"),
    Column("backward_cells", "backward", "{:.3f}"),
    Column("lost_percent", "lost%", "{:.3f}"),
    Column("boundary_percent", "boundary%", "{:.3f}"),
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
    """Rows of the paper and of pliant for the same model and grid; a torus replaces models that are not at hand."""
    rows: list[dict[str, Any]] = []
    at_hand = [line for line in TABLE_1 if models.find_model(line.model, folder) is not None]
    others = [line for line in TABLE_1 if line not in at_hand]
    if quick:
        at_hand, others = at_hand[:1], sorted(others, key=lambda line: line.examined)[:1]
    load = functools.lru_cache(1)(lambda name: models.original(name, folder))
    for line in at_hand:
        mesh = load(line.model)
        assert mesh is not None
        rows.append(_theirs(line) | {"delta": delta_of(mesh, line)})
        counted = {"counted": examined_points(mesh, spacing_of(mesh, line.longest), PAPERS_DELTA)}
        for row in _ours(mesh, line.longest, repeats, samples, progress, line.model):
            rows.append({"model": line.model} | row | counted | {"ratio": line.seconds / row["seconds"]})
    for line in others:
        progress(f"a torus instead of {line.model}")
        rows += [_theirs(line), _stand_in_row(line, repeats)]
    return Table("fuhrmann2003-table1", "Table 1 of the paper, and the same bakes here", COLUMNS, rows)


def _theirs(line: Baked) -> dict[str, Any]:
    grid = " x ".join(map(str, line.grid))
    row = {"model": line.model, "triangles": line.triangles, "who": PAPER, "grid": grid}
    return row | {"seconds": line.seconds, "examined": line.examined}


def stand_in(line: Baked) -> Mesh:
    """A bumpy torus with the triangles of a line of the table (to one in a hundred) and the proportions of its grid."""
    across = round(math.sqrt(line.triangles / 2.0))
    mesh = models.bumpy_torus(across, round(line.triangles / (2.0 * across)))
    sides = mesh.bounds[1] - mesh.bounds[0]
    return mesh.moved((mesh.vertices - mesh.bounds[0]) / sides * (np.array(line.grid) - 1.0) / (line.longest - 1.0))


def _stand_in_row(line: Baked, repeats: int) -> dict[str, Any]:
    mesh = stand_in(line)
    h, (x, faces) = spacing_of(mesh, line.longest), models.arrays(mesh)

    made: list[DistanceField] = []

    def bake() -> None:
        made[:] = [DistanceField.bake(Mesh(x, faces), spacing=h, band=THIN)]

    seconds = alternate({"": functools.partial(timing.timed, bake)}, repeats, BUDGET)[""].best
    (field,) = made
    return {
        "model": line.model,
        "triangles": mesh.n_faces,
        "who": f"pliant, band {THIN:.2f}, {STAND_IN}",
        "grid": " x ".join(map(str, field.shape)),
        "seconds": seconds,
        "ratio": line.seconds / seconds,
        "examined": field.examined,
        "counted": examined_points(mesh, h, PAPERS_DELTA),
        "bytes": field.nbytes,
        "dense_bytes": field.dense_nbytes,
    }


def _ours(
    mesh: Mesh, longest: int, repeats: int, samples: int, progress: Callable[[str], None], name: str
) -> Iterator[dict[str, Any]]:
    h = spacing_of(mesh, longest)
    x, faces = models.arrays(mesh)

    made: dict[str, DistanceField] = {}

    def bake(who: str) -> None:
        made[who] = DistanceField.bake(Mesh(x, faces), spacing=h, **WAYS[who])

    progress(f"{name} at {longest}")
    runs = {who: functools.partial(timing.timed, functools.partial(bake, who)) for who in WAYS}
    times = alternate(runs, repeats, BUDGET)
    for who, field in made.items():
        progress(f"{name} at {longest}: reconstruction")
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
        "boundary_percent": 100.0 * said["forward_unknown_share"],
    }


def spacing_of(mesh: Mesh, longest: int) -> float:
    """Grid spacing in metres at which `longest` nodes span the longest side of the mesh, without the band."""
    return float((mesh.bounds[1] - mesh.bounds[0]).max()) / (longest - 1)


def examined_points(mesh: Mesh, h: float, delta: float) -> int:
    """Number of nodes in the integer boxes (rounded outward) of prisms over all faces, `delta` cell diagonals high."""
    corners, up = mesh.vertices[mesh.faces] - mesh.bounds[0], delta * math.sqrt(3.0) * h * mesh.face_normals
    both = np.stack([corners + up[:, None], corners - up[:, None]])
    low, high = np.floor(both.min((0, 2)) / h), np.ceil(both.max((0, 2)) / h)
    return int((high - low + 1.0).prod(1).sum())


def delta_of(mesh: Mesh, line: Baked) -> float:
    """The delta that reproduces the paper's number of examined points, by bisection."""
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
    """Which models are missing, and what the paper does not state."""
    names = list(dict.fromkeys(line.model for line in TABLE_1))
    absent = models.missing(names, folder)
    said = []
    if absent:
        what = "None of the originals is at hand" if len(absent) == len(names) else "Originals that are not at hand"
        said.append(
            f"{what}: {', '.join(absent)}. A bumpy torus of as many triangles and the proportions of the grid replaces "
            "each: its seconds show the cost of such a size, its examined points those of another surface. --data "
            "FOLDER names a folder with mesh files."
        )
    deltas = [row["delta"] for row in table.rows if "delta" in row]
    if deltas:
        said.append(
            "The paper does not state its delta (the height of the prisms in cell diagonals). If its integer boxes are "
            f"rounded outward, its numbers of examined points imply a delta of {' to '.join(_span(deltas))} "
            "(column delta, found by bisection). paper-counts: the number of nodes in those boxes for our mesh, at a "
            f"delta of {PAPERS_DELTA:g}."
        )
    said.append(
        f"pliant: a band of 3 cells, and a thin one of sqrt(3) = {THIN:.2f} cells, which is delta = {DELTA:g}; with "
        "its own bake and with the algorithm of the paper (the normal of the nearest face gives the sign, only the box "
        "of each prism is visited). Times are the best of several runs on all cores, from vertex and face arrays to "
        "the finished field. The spacing gives as many nodes along the longest side of the mesh as in the paper; the "
        "grid of pliant extends by the band around it, and its axes are those of the file, in another order than in "
        "the paper."
    )
    said.append(
        "Hausdorff: from all vertices and from sampled points of the mesh to the marching-cubes reconstruction, "
        "maximum and mean, in cells (backward: the other direction). lost%: area farther than 0.866 cells that is too "
        "thin or sharp for the grid; boundary%: area where the field has no value because a boundary is near."
    )
    said.append("The paper's machines: a Pentium IV of 1.8 GHz; of 2.2 GHz for Dragon, Buddha and Turbine.")
    return said


def paper_findings(table: Table) -> list[str]:
    return [
        f"{row['model']} at {row['grid']}: {row['seconds']:.3f} s, the paper {row['seconds'] * row['ratio']:.3f} s "
        f"({row['who']})"
        for row in table.rows
        if row["who"] in WAYS and row["who"] != list(WAYS)[1]
    ]


def paper_chart(table: Table) -> Chart:
    """Seconds by model and grid."""
    groups: dict[str, dict[str, float]] = {}
    title = ""
    for row in table.rows:
        if row["who"] == PAPER:
            title = f"{row['model']} {row['grid'].replace(' ', '')}"
        groups.setdefault(title, {})[row["who"]] = row["seconds"]
    svg = bars_svg(groups, "s", "Seconds to bake a distance field: the paper and pliant")
    return Chart("fuhrmann2003-table1", "Seconds to bake, logarithmic; the hardware of the paper is of 2003.", svg)

"""Every figure and stated result of Neal 2003, and ours."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pliant.detect.fields.height_grid import HeightGrid
from pliant.detect.fields.height_grids import HeightGrids
from pliant.detect.fields.height_sequence import HeightSequence
from pliant.detect.fields.reconstruct import points_on
from pliant.mesh import Mesh
from pliant.report.tables import Table
from pliant.scenes import SCENES
from pliant.shapes import bust, face, face_heights
from pliant.shapes.face import LENGTH
from pliant.simulation import Simulation

from . import height_grids
from .statements import Statement
from .survey_trees import least
from .timing import threads

Progress = Callable[[str], None]
LEVELS = 65535  # of a picture of 16 bits


def statements(cost: Table, shown: Table, *, quick: bool, repeats: int, progress: Progress) -> Iterator[Statement]:
    """From the tables of the report, or measured here: CPU time of one thread, best of several runs."""
    yield Statement(
        "section 1, [Vassilev et al. 2001]",
        "frame rate of image-based cloth of 2001, and of this paper",
        '"only a few frames per second"; interactive, no number',
        _rates(shown),
        "the paper measures nothing; ours: frames of 10 ms, without drawing",
    )
    yield from _independence(cost)
    with threads(1):
        yield from _cloths(quick, repeats, progress)
        yield from _brute_force(shown, quick, progress)
        yield from _picture(shown)
        yield from _several(quick, repeats, progress)
        yield from _animated(quick, repeats, progress)


def _rates(shown: Table) -> str:
    row = shown.rows[0]
    return f"{1e3 / row['frame_ms']:.0f} frames per second, {row['contacts']:,} contacts at most"


def _independence(cost: Table) -> Iterator[Statement]:
    for order in (height_grids.ROWS, height_grids.STEPS, height_grids.RANDOM):
        rows = [row for row in cost.rows if row["order"] == order and row["who"] == height_grids.OURS]
        first, last = rows[0], rows[-1]
        yield Statement(
            "section 2",
            f"time of a query, by size of the grid ({order})",
            "independent of the size",
            f"{first['ns']:.1f} ns on {first['nodes']}^2, {last['ns']:.1f} ns on {last['nodes']}^2: "
            f"{last['ratio']:.2f} times",
            "the work is the same; queries without order wait for memory" if last["ratio"] > 1.3 else "",
        )


def _cloths(quick: bool, repeats: int, progress: Progress) -> Iterator[Statement]:
    progress("cloths of several sizes")
    said = []
    for side in (10, 20) if quick else (18, 36, 72):
        scene = SCENES["cloth-on-face"](resolution=side)
        sim = Simulation(scene, method="height-grid", options={"directions": ("+y",)})
        for _ in range(2 if quick else 30):
            sim.step()
        spent = least(functools.partial(sim.detect, sim.state), repeats)
        said.append(f"{side**2:,} nodes: {1e6 * spent:.0f} us ({1e9 * spent / side**2:.0f} ns each)")
    yield Statement(
        "section 2",
        "time to collide a cloth, by its nodes",
        "depends only on their number",
        "; ".join(said),
        "edge midpoints near the surface are tested, too",
    )


def _brute_force(shown: Table, quick: bool, progress: Progress) -> Iterator[Statement]:
    progress("every vertex against every triangle")
    sim = Simulation(SCENES["cloth-on-face"](resolution=10 if quick else 36), method="brute-force")
    spent = least(functools.partial(sim.detect, sim.state), 1)
    grid = shown.rows[0]["detect_us"]
    yield Statement(
        "section 2",
        "traditional detection: each vertex against all other objects",
        "slower; no number",
        f"{1e3 * spent:.0f} ms by brute force, {1e-3 * grid:.2f} ms by the grid: {1e6 * spent / grid:.0f} times",
        "brute force here also tests edges against edges",
    )


def _picture(shown: Table) -> Iterator[Statement]:
    heights = face_heights()
    grey = heights / heights.max()
    image = np.rint(grey * LEVELS) / LEVELS
    spacing = LENGTH / (len(heights) - 1)
    read = HeightGrid.of_picture(image, spacing=spacing, scale=float(heights.max()))
    deepest = max(row["deepest_mm"] for row in shown.rows if row["who"].startswith("height-grid"))
    yield Statement(
        "figure 1",
        "a face from a height map, and cloth draped over it",
        "pictures without numbers",
        f"{' x '.join(map(str, read.heights.shape))} nodes of 16 bits, at most "
        f"{1e6 * float(np.abs(read.heights - heights).max()):.2f} um off; cloth "
        f"{deepest:.3g} mm inside",
        "their face is not at hand; ours is the front of the bust",
    )


def surface_error(mesh: Mesh, resolution: int, samples: int) -> tuple[float, float, float]:
    """Median and largest distance that six grids give at points of the surface, in cells, and the covered share."""
    grids = HeightGrids.around(mesh, resolution=resolution)
    d = np.abs(grids.sample(points_on(mesh, samples, np.random.default_rng(0)))[0])
    cell, known = max(float(grid.spacing.max()) for grid in grids.grids), np.isfinite(d)
    return float(np.median(d[known])) / cell, float(d[known].max()) / cell, float(known.mean())


def _several(quick: bool, repeats: int, progress: Progress) -> Iterator[Statement]:
    progress("six grids of a bust")
    median, most, covered = surface_error(bust(), 32 if quick else 128, 2_000 if quick else 40_000)
    yield Statement(
        "sections 2 and 3",
        "several grids reproduce any surface",
        '"any 3D surface"; no number',
        f"six grids of a bust: median error {median:.3f} cells, largest {most:.2f}, {covered:.1%} of its surface known",
        "what no axis sees is not reproduced; the bound is the diagonal of a cell",
    )


def _animated(quick: bool, repeats: int, progress: Progress) -> Iterator[Statement]:
    progress("grids that change")
    mesh = face(32) if quick else face()
    grid = HeightGrid.of_mesh(mesh, resolution=32 if quick else 128)
    moved = [mesh.vertices * (1.0, s, 1.0) for s in (1.0, 1.1)]
    render = least(lambda: [grid.update(x) for x in moved], repeats) / len(moved)
    stack = np.stack([grid.heights, grid.heights * 1.1])
    options: dict[str, Any] = {"spacing": grid.spacing, "origin": grid.origin}
    sequence = HeightSequence((0.0, 1.0), np.nan_to_num(stack), **options)
    seek = least(lambda: [sequence.seek(t) for t in (0.25, 0.75)], repeats) / 2.0
    ni, nj = grid.heights.shape
    yield Statement(
        "section 2, last paragraph",
        "heights changed by a sequence or on the fly",
        "no number",
        f"{ni} x {nj} nodes: sequence {1e6 * seek:.0f} us, rendered again from {mesh.n_faces:,} faces "
        f"{1e3 * render:.1f} ms",
    )

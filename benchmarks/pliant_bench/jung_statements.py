"""Every figure and stated result of Jung et al. 2005, and ours."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pliant.report.tables import Table
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.simulation.clock import Clock

from .jung import many
from .papers import JUNG_CUBIC, JUNG_SAID, JUNG_SPHERES
from .statements import Statement, picture, span
from .timing import threads

Progress = Callable[[str], None]
OLD = "a narrow phase on a CPU of 2026; theirs is an iteration on a Pentium 4"


def statements(times: Table, levels: Table, left: Table, *, quick: bool, progress: Progress) -> Iterator[Statement]:
    """Read from the tables of the report; the cylinders are measured here."""
    yield from _levels(levels)
    yield picture("figure 3", "normals of a contact at level 0", "tests/detect/test_sphere_surface.py")
    asked = [row for row in times.rows if row["candidates"]]
    for what, key, theirs in (("cubic", "cubic_us", JUNG_CUBIC), ("spheres", "spheres_us", JUNG_SPHERES)):
        yield Statement(
            "figure 5, section 5",
            f"time of an iteration: {what}",
            f"{theirs[0]:g} to {theirs[1]:g} s",
            f"{span((1e-3 * row[key] for row in asked), '{:.3g}')} ms" if asked else "no candidates in the quick run",
            OLD,
        )
    crowded = many(times)
    ratios = [row["cubic_ratio"] for row in crowded]
    yield Statement(
        "figure 5, section 5",
        "spheres, times faster than the cubic",
        f"{JUNG_SAID[0]} to {JUNG_SAID[1]}; its printed seconds give 3.6 to 20",
        f"{span(ratios, '{:.1f}')}, median {np.median(ratios):.1f}, where contacts are many"
        if ratios
        else "no contacts in the quick run",
        "not reached: our cubic has filters and is vectorised; without these see the column no-filters",
    )
    yield Statement(
        "figure 4, section 4",
        "the ribbon piles up: collisions after a frame",
        "collision-free",
        "; ".join(
            f"{row['response']}: at most {row['unresolved']} pairs too near, {row['intersections']} intersecting"
            for row in left.rows
            if "intersections" in row
        ),
        "what passes completely through within a frame is not seen",
    )
    progress("two cylinders")
    yield _cylinders(quick)


def _levels(levels: Table) -> Iterator[Statement]:
    for figure, kind in (("figure 1", "vertex-face"), ("figure 2", "edge-edge")):
        rows = [row for row in levels.rows if row["kind"] == kind]
        yield Statement(
            f"{figure}, section 3",
            f"levels 0 to {rows[-1]['level']}, {kind}: error against the exact distance",
            "a picture without numbers",
            "largest "
            + ", ".join(f"{row['error_max_mm']:.2f}" for row in rows if "error_max_mm" in row)
            + " mm; bounds "
            + ", ".join(f"{row['bound_mm']:.2f}" for row in rows),
        )


def _cylinders(quick: bool) -> Statement:
    sim = Simulation(SCENES["cylinders"](), 0.01, method="sphere-surface", self_method="sphere-surface", clock=Clock())
    frames, whole = 3 if quick else 60, 0.0
    spent: list[float] = []
    with threads(1):
        for _ in range(frames):
            began = time.process_time()
            whole += sim.step().seconds
            spent.append(time.process_time() - began)
    parts: dict[str, Any] = sim.clock.seconds
    share = sum(parts.get(name, 0.0) for name in ("detect", "respond", "guard")) / whole
    ms, tets = 1e3 * float(np.median(spent)), sum(len(body.mesh.tets) for body in sim.scene.bodies)
    return Statement(
        "figure 4, section 5",
        "two soft cylinders: cost of detection and resolution",
        "negligible beside the finite elements; real time",
        f"{share:.0%} of a frame, {ms:.1f} ms of CPU time for 10 ms, {sim.substeps} substeps, {tets:,} tets",
        "their cylinders are coarse, without a size; ours are detected in every substep"
        + ("" if ms <= 10.0 else ": not real time"),
    )

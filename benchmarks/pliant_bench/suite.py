"""The reports that `pliant bench` makes."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Sequence

from pliant.report.tables import Chart, Report, Table

from . import (
    baking,
    cloth_step,
    contest,
    gpu,
    gradients,
    growth,
    inside,
    layers,
    nearest,
    openvdb,
    pairs,
    paper_reports,
    proximity,
    sampling,
    skins,
    steps,
    stochastic,
    trees,
)
from .garments import gauntlet, hanging
from .paper_reports import begin, load_text
from .peers import roll_call

FIELDS = ("T1", "T2")
Progress = Callable[[str], None]
Part = tuple[list[Table], list[Chart], list[str]]  # tables, charts, findings
CONTESTS = {
    "T3": nearest.TASK,
    "T4": proximity.TASK,
    "T5": steps.TASK,
    "T6": pairs.TASK,
    "T6b": pairs.REFIT_TASK,
    "T7": inside.TASK,
    "T8": cloth_step.TASK,
    "T9": layers.TASK,
    "T9b": layers.INSIDE_TASK,
}
TASKS = (*FIELDS, *CONTESTS)


def peers_report(
    tasks: Sequence[str], *, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress
) -> Report:
    """The tasks, with all installed peers."""
    fields = [task for task in tasks if task in FIELDS]
    about, load = begin(progress, fields=bool(fields))
    found = roll_call()
    tables, charts, findings = _field_tasks(fields, found, quick, repeats, folder, progress) if fields else ([], [], [])
    for task in tasks:
        if task in CONTESTS:
            table = CONTESTS[task].table(quick=quick, repeats=repeats, folder=folder, progress=progress)
            tables.append(table)
            findings += contest.findings(table, CONTESTS[task].unit) + CONTESTS[task].more(table)
            charts += contest.charts(table, CONTESTS[task])
    who = "Peers: " + "; ".join(f"{name} {state}" for name, state in found.items()) + "."
    notes = [who, *_notes(tasks, load)]
    title = "Distance fields against peers" if len(fields) == len(tasks) else "Comparison with peers"
    return Report(
        title=title, findings=findings, tables=tables, charts=charts, notes=notes, about=about | {"peers": found}
    )


def _field_tasks(
    tasks: Sequence[str],
    found: dict[str, str],
    quick: bool,
    repeats: int,
    folder: pathlib.Path | None,
    progress: Progress,
) -> Part:
    """T1 and T2, in which OpenVDB takes part."""
    tables: list[Table] = []
    charts: list[Chart] = []
    findings: list[str] = []
    with _openvdb(found, progress) as program:
        if "T1" in tasks:
            cases = baking.cases(quick, folder)
            checked = 20_000 if quick else 200_000
            table = baking.bake_table(cases, program, repeats=repeats, checked=checked, progress=progress)
            tables.append(table)
            charts.append(baking.bake_chart(table))
            findings += baking.bake_findings(table)
        if "T2" in tasks:
            size = {"subdivisions": 4, "nodes": 100, "count": 200_000} if quick else {}
            table = sampling.sample_table(program, repeats=repeats, progress=progress, **size)
            tables.append(table)
            charts.append(sampling.sample_chart(table))
            findings += sampling.sample_findings(table)
    return tables, charts, findings


def skins_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Bone-attached boxes, bone-attached fields and the BVH on the same skins."""
    about, load = begin(progress)
    tables = skins.skins_tables(folder, quick=quick, repeats=repeats, progress=progress)
    return Report(
        title="Skins that bones move",
        findings=skins.findings(tables),
        tables=tables,
        charts=[],
        notes=[*skins.NOTES, load_text(load)],
        about=about,
    )


def trees_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Every volume, arity, build and update of BVHs over deforming meshes: rebuild, refit, traversal."""
    about, load = begin(progress, fields=False)
    scenes = [trees.folding(10, 30, 3)] if quick else [trees.folding(), trees.two_bodies(folder)]
    tables = [
        trees.trees_table(scenes, repeats=1 if quick else repeats, progress=progress),
        trees.updates_table(scenes, repeats=1, progress=progress),
        trees.worn_table(),
    ]
    notes = [
        "CPU time on one thread, the least of several alternating rounds; numbers of tests and pairs are exact.",
        load_text(load),
    ]
    return Report(
        title="BVHs over deforming meshes",
        findings=trees.findings(tables[0]),
        tables=tables,
        charts=[],
        notes=notes,
        about=about,
    )


def stochastic_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Recall against cost of the stochastic detectors, and compliance with a time budget."""
    about, load = begin(progress, fields=False)
    moving = stochastic.scenes(quick)
    found = stochastic.with_cost(stochastic.quality_table(moving, repeats=repeats, progress=progress))
    pairs = stochastic.with_cost(stochastic.pairs_table(moving, repeats=repeats, progress=progress))
    frames = 20 if quick else 200
    budget = stochastic.budget_table(moving, budget_ms=4.0, frames=frames, progress=progress)
    charts = [stochastic.quality_chart(found), stochastic.cost_chart(pairs, "active-pairs")]
    notes = [*stochastic.NOTES, load_text(load)]
    said = stochastic.findings(found, pairs, budget)
    return Report(
        title="Recall against cost",
        findings=said,
        tables=[found, pairs, budget],
        charts=charts,
        notes=notes,
        about=about,
    )


def gradients_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """A penetration loss and its derivatives."""
    about, load = begin(progress, fields=False)
    table = gradients.gradients_table(quick=quick, repeats=repeats, progress=progress)
    notes = [
        f"Loss: the sum of max({1e3 * gradients.CLEARANCE:g} mm - distance, 0)^2, forward and backward, with "
        "derivatives with respect to the points and the vertices of the body. moving: vertices change before each run, "
        "so that each needs a BVH of its own. off-loss, off-points, off-body: errors of the loss, relative, and of the "
        "derivatives, relative to the largest.",
        "Absent: " + "; ".join(f"{name}: {why}" for name, why in gradients.ABSENT.items()) + ".",
        load_text(load),
    ]
    return Report(
        title="A penetration loss and its derivatives",
        findings=contest.findings(table, gradients.UNIT),
        tables=[table],
        notes=notes,
        about=about | {"peers": roll_call()},
    )


def growth_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Cost of a bake against resolution."""
    about, load = begin(progress)
    meshes = growth.growth_meshes(quick, folder)
    cells = growth.QUICK if quick else growth.CELLS
    table = growth.growth_table(meshes, cells, repeats=repeats, progress=progress)
    notes = [
        "From vertex and face arrays to the finished field, band of 3 cells, all cores, best of several runs. slope: "
        "of log(seconds) over log(cells) since the previous row; 2 for a surface, 3 for a volume.",
        load_text(load),
    ]
    chart = growth.growth_chart(table)
    return Report(
        title="Cost of a bake against resolution",
        findings=growth.growth_findings(table),
        tables=[table],
        charts=[chart],
        notes=notes,
        about=about,
    )


def gpu_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Kernels on a graphics card beside threads."""
    table, used = gpu.gpu_table(quick=quick, repeats=repeats, progress=progress)
    about, load = begin(progress, fields=False)
    different = [row["task"] for row in table.rows if not row["equal"]]
    notes = [
        "threads, card: the call in Python, best of several runs, with the memory of its results; kernel: the launches "
        "alone. floor: the bytes that the card has to read and write, at the rate at which it copies.",
        load_text(load),
    ]
    finding = f"differ from threads: {', '.join(different)}" if different else "All results are bitwise equal."
    about = about | {"card": used}
    return Report(title="Graphics card", findings=[finding], tables=[table], charts=[], notes=notes, about=about)


def garments_report(
    *,
    quick: bool,
    repeats: int,
    folder: pathlib.Path | None,
    progress: Progress,
    choice: gauntlet.Choice | None = None,
    done: Progress = lambda _: None,
) -> Report:
    """The gauntlet: garments on moving characters, with every bar as a column. Without a choice the quick runs."""
    about, load = begin(progress, fields=False)
    short = quick or choice is None
    chosen = choice or gauntlet.Choice()
    tables = gauntlet.gauntlet_tables(chosen, quick=short, folder=folder, progress=progress, done=done)
    return Report(
        title="Garments on moving characters",
        findings=gauntlet.findings(tables, folder),
        tables=tables,
        charts=[],
        notes=[*(hanging.NOTES if chosen.hanging else gauntlet.NOTES), load_text(load)],
        about=about,
    )


# papers of `pliant bench --paper`
PAPERS: dict[str, Callable[..., Report]] = {
    "fuhrmann2003": paper_reports.fuhrmann_report,
    "jung2005": paper_reports.jung_report,
    "neal": paper_reports.neal_report,
    "pelechano": paper_reports.pelechano_report,
    "teschner2005": paper_reports.teschner_report,
}
# further benchmarks, besides peers and papers
REPORTS: dict[str, Callable[..., Report]] = {
    "garments": garments_report,
    "gradients": gradients_report,
    "gpu": gpu_report,
    "growth": growth_report,
    "skins": skins_report,
    "stochastic": stochastic_report,
    "trees": trees_report,
}


@contextlib.contextmanager
def _openvdb(found: dict[str, str], progress: Progress) -> Iterator[openvdb.OpenVDB | None]:
    """The program of OpenVDB, or None with the reason in `found`."""
    if openvdb.version() is None:
        yield None
        return
    if not openvdb.program().exists():
        progress("compiling for OpenVDB (once, about a minute)")
    try:
        openvdb.build()
    except openvdb.OpenVDBError as error:
        found["OpenVDB"] += f", absent ({error})"
        yield None
        return
    with openvdb.started() as program:
        yield program


def _notes(tasks: Sequence[str], load: float | None) -> list[str]:
    said = [
        "Runs alternate between the participants, and the best of several counts; a first round is discarded, so that "
        "no time includes compilation. ratio: time relative to pliant on as many threads; ratio-all: relative to "
        "pliant on all threads.",
    ]
    if "T1" in tasks:
        said.append(
            "T1: pliant is timed from vertex and face arrays (a new Mesh in each run) to the finished field; OpenVDB "
            "is timed in meshToLevelSet only, with points and triangles in its own types. covered%, error (maximum, in "
            "cells) and wrong signs are determined at random nodes of the band against exact distances. Open3D, libigl "
            "and Warp evaluate single points: at some slices of the grid, extrapolated to all."
        )
    if "T2" in tasks:
        said.append(
            "T2: one field of a bumpy sphere and the same points for all: anywhere in the grid (most of them "
            "outside of the band) in random order, and up to a cell off the surface in random order, in the order of "
            "the faces, and along a Morton curve of 4 cells. Distance and gradient (probe()), pliant in double and in "
            "single precision, OpenVDB in single; the allocation of results is timed except for given arrays. sample() "
            "also validates the points and returns unit normals; scipy is map_coordinates of order 1 on the dense "
            "grid, distance only, one thread. Errors in "
            f"cells against exact distances, at points nearer than {sampling.NEAR:.2f} cells, where all corners of a "
            "cell are in the band."
        )
    said += [CONTESTS[task].about for task in tasks if task in CONTESTS]
    return [*said, load_text(load)]

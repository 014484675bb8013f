"""The reports of `pliant bench --paper`: every table and figure of a paper, and ours."""

import itertools
import pathlib
from collections.abc import Callable
from typing import Any

from pliant.detect.fields.field import DistanceField
from pliant.report.tables import Report
from pliant.shapes import ball, walking_mannequin

from . import (
    against_paper,
    bone_boxes,
    figure_8,
    fuhrmann_statements,
    height_grids,
    jung,
    jung_response,
    jung_statements,
    machine,
    neal_statements,
    pelechano_statements,
    real_time,
    skin_sizes,
    survey_rest,
    survey_trees,
    teschner,
)
from .papers import FUHRMANN_2003, JUNG_2005, NEAL_2003, PELECHANO, TESCHNER_2005
from .statements import NOTE, statements_table

Progress = Callable[[str], None]


def fuhrmann_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Every table and figure of Fuhrmann et al. 2003."""
    about, load = begin(progress)
    samples = 5_000 if quick else 100_000
    table = against_paper.paper_table(folder, quick=quick, repeats=repeats, samples=samples, progress=progress)
    cost = figure_8.figure_8(quick=quick, progress=progress)
    cloth = real_time.real_time_table(quick=quick, progress=progress)
    own = against_paper.paper_notes(table, folder)
    said = statements_table(
        "fuhrmann2003", fuhrmann_statements.statements(table, cost, cloth, quick=quick, progress=progress)
    )
    notes = [f"Source: {FUHRMANN_2003}.", NOTE, *own, figure_8.note(quick), real_time.note(quick), load_text(load)]
    chart = against_paper.paper_chart(table)
    return Report(
        title="Tables and figures of the paper, and pliant",
        findings=[*against_paper.paper_findings(table), *real_time.findings(cloth)],
        tables=[said, table, cost, cloth],
        charts=[chart],
        notes=notes,
        about=about,
    )


def neal_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Cost of a query against the size of a height grid, and a cloth on a face."""
    about, load = begin(progress, fields=False)
    sizes, count = (height_grids.QUICK, 20_000) if quick else (height_grids.SIZES, height_grids.QUERIES)
    cost = height_grids.cost_table(sizes, repeats=repeats, count=count, progress=progress)
    small = {"resolution": 10, "frames": 8} if quick else {}
    face = height_grids.face_table(progress=progress, **small)
    stated = neal_statements.statements(cost, face, quick=quick, repeats=repeats, progress=progress)
    first = statements_table("neal", stated)
    notes = [f"Source: {NEAL_2003}.", NOTE, *height_grids.NOTES, load_text(load)]
    said, chart = height_grids.findings(cost, face), height_grids.cost_chart(cost)
    return Report(
        title="Height grids: the cost of a query",
        findings=said,
        tables=[first, cost, face],
        charts=[chart],
        notes=notes,
        about=about,
    )


def pelechano_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Triangles culled by bone-attached bounding boxes, and the remaining frame rate."""
    about, load = begin(progress, fields=False)
    table = bone_boxes.bone_boxes_table(folder, quick=quick, repeats=repeats, progress=progress)
    progress("skins of several sizes")
    body, cloth = walking_mannequin(0.7), bone_boxes.paper_skirt()
    sizes = skin_sizes.skin_sizes_table(body, cloth, quick=quick, repeats=repeats)
    first = statements_table("pelechano", pelechano_statements.statements(table, sizes))
    notes = [f"Source: {PELECHANO}.", NOTE, *bone_boxes.NOTES, *skin_sizes.NOTES, load_text(load)]
    said, chart = [*bone_boxes.findings(table), *skin_sizes.findings(sizes)], bone_boxes.chart(table)
    title = "Bone-attached bounding boxes"
    return Report(title=title, findings=said, tables=[first, table, sizes], charts=[chart], notes=notes, about=about)


def jung_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Spherical implicit surfaces against the cubic CCD equation, while a ribbon piles up."""
    about, load = begin(progress, fields=False)
    resolution, frames, every = (36, 60, 20) if quick else (100, 200, 5)
    fallen = jung.fall(resolution, frames, every, progress)
    times = jung.fall_table(fallen.mesh, fallen.moments, repeats=repeats, progress=progress)
    held = fallen.moments[len(fallen.moments) // 4 :: 1 if quick else 4]
    levels = jung.levels_table(fallen.mesh, held, repeats=repeats, progress=progress)
    size = {"frames": 3, "lines": 60} if quick else {"frames": 40}
    view, seen = jung.view_table(fallen, repeats=repeats, progress=progress, **size)
    left = jung_response.response_table(*((20, 20) if quick else (60, 150)), progress)
    said = [*jung.findings(times, levels, view, seen), *jung_response.findings(left)]
    first = statements_table(
        "jung2005", jung_statements.statements(times, levels, left, quick=quick, progress=progress)
    )
    notes = [f"Source: {JUNG_2005}.", NOTE, *jung.NOTES, *jung_response.NOTES, load_text(load)]
    title = "Spherical implicit surfaces against the cubic CCD equation"
    return Report(
        title=title,
        findings=said,
        tables=[first, times, levels, view, left],
        charts=[jung.chart(times)],
        notes=notes,
        about=about,
    )


def teschner_report(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Report:
    """Figures of the survey of 2005 and of pliant; hash cells and hash tables."""
    about, load = begin(progress, fields=False)
    survey = teschner.survey_table(quick=quick, repeats=repeats, folder=folder, progress=progress)
    cells = teschner.cells_table(quick=quick, repeats=repeats, folder=folder, progress=progress)
    buckets = teschner.buckets_table(quick=quick, repeats=repeats, progress=progress)
    size: dict[str, Any] = {"quick": quick, "repeats": repeats, "folder": folder, "progress": progress}
    stated = itertools.chain(survey_trees.statements(**size), survey_rest.statements(survey, cells, buckets, **size))
    first = statements_table("teschner2005", stated)
    said = teschner.findings(survey, cells)
    notes = [f"Source: {TESCHNER_2005}.", NOTE, *teschner.notes(quick), load_text(load)]
    return Report(
        title="Methods of the survey of 2005",
        findings=said,
        tables=[first, survey, cells, buckets],
        charts=[teschner.cells_chart(cells), teschner.buckets_chart(buckets)],
        notes=notes,
        about=about,
    )


def begin(progress: Progress, fields: bool = True) -> tuple[dict[str, Any], float | None]:
    """Description and load of this machine; compiles all field kernels before timing."""
    load = machine.load()
    progress("loading compiled loops")
    for options in ({}, {"sign": "face"}, {"storage": "dense"}) if fields else ():
        field = DistanceField.bake(ball(0.1, 1), 16, **options)  # type: ignore[arg-type]
        field.sample(field.mesh.vertices.repeat(1000, 0))
    return machine.about() | {"load": load}, load


def load_text(load: float | None) -> str:
    return "" if load is None else f"Load of the machine when it began: {load:g} (0 is idle)."

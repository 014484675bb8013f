"""T1: baking a signed narrow band of 3 cells on either side, from vertex and face arrays."""

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pliant.detect.fields.field import DistanceField
from pliant.mesh import Mesh
from pliant.report.charts import bars_svg
from pliant.report.tables import BYTES, Chart, Column, Table

from . import machine, models, openvdb
from .peers import POINT_PEERS, Baker, Job, OpenVDBBaker, Pliant, PointBaker, present
from .timing import alternate
from .truth import Truth

BAND = 3.0
COLUMNS = (
    Column("case"),
    Column("triangles", show="{:,}"),
    Column("nodes_longest", "nodes", "{:,}"),
    Column("who"),
    Column("threads", show="{:d}"),
    Column("seconds", show="{:.4f}"),
    Column("median", show="{:.4f}", detail=True),
    Column("runs", show="{:d}", detail=True),
    Column("ratio", show="{:.2f}"),
    Column("covered_percent", "covered%", "{:.4f}"),
    Column("error_max_cells", "error", "{:.2g}"),
    Column("wrong_signs", "wrong-signs", "{:,}"),
    Column("checked_nodes", "of", "{:,}"),
    Column("bytes", "memory", BYTES),
    Column("note"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A mesh whose band spans `nodes` nodes along its longest side."""

    name: str
    make: Callable[[], Mesh]
    nodes: int


def cases(quick: bool, folder: pathlib.Path | None) -> list[Case]:
    """The cases of T1; original models only where they are available."""
    spheres = [(5, 100)] if quick else [(6, 400), (8, 600)]
    found = [Case(_sphere(s), functools.partial(models.bumpy_sphere, s), n) for s, n in spheres]
    for name, nodes in (("Bunny", 400), ("Dragon", 600)):
        path = models.find_model(name, folder)
        if path is not None and not (quick and name == "Dragon"):
            make = functools.partial(_original, name, folder)
            found.insert(1 if name == "Bunny" else len(found), Case(name.lower(), make, 100 if quick else nodes))
    return found


def _original(name: str, folder: pathlib.Path | None) -> Mesh:
    mesh = models.original(name, folder)
    assert mesh is not None
    return mesh


def _sphere(subdivisions: int) -> str:
    n = 20 * 4**subdivisions
    return f"bumpy sphere {n / 1e6:.1f}M" if n >= 1_000_000 else f"bumpy sphere {n / 1e3:.0f}k"


def bake_table(
    chosen: Sequence[Case],
    program: openvdb.OpenVDB | None,
    *,
    repeats: int = 5,
    checked: int = 200_000,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """All cases on one thread and on all, with alternating runs; peers without a bake run once, on the first case."""
    rows: list[dict[str, Any]] = []
    everybody: list[Baker] = [Pliant()] if program is None else [Pliant(), OpenVDBBaker(program)]
    for number, case in enumerate(chosen):
        progress(f"{case.name} at {case.nodes}: the truth")
        mesh = case.make()
        job = job_for(mesh, case.nodes)
        truth = Truth.of(mesh, job.origin, job.h, job.band, checked)
        facts = {"case": case.name, "triangles": mesh.n_faces, "nodes_longest": case.nodes}
        del mesh
        for threads in sorted({1, machine.cores()}):
            progress(f"{case.name} at {case.nodes}: {threads} {'thread' if threads == 1 else 'threads'}")
            rows += [facts | row for row in _compare(job, truth, everybody, threads, repeats)]
        if number == 0:
            for row in _single_points(job, truth, progress):
                rows.append(facts | row)
        _ratios([row for row in rows if row["case"] == case.name])
    return Table("t1-bake", "T1: a signed band of 3 cells from vertex and face arrays", COLUMNS, rows)


def job_for(mesh: Mesh, nodes: int) -> Job:
    """The grid that pliant chooses at this spacing; all participants use it."""
    h = models.spacing_for(mesh, nodes)
    field = DistanceField.bake(mesh, spacing=h, band=BAND)
    return Job(*models.arrays(mesh), np.array(field.origin), field.spacing, field.shape, BAND)


def _compare(
    job: Job, truth: Truth, everybody: Sequence[Baker], threads: int, repeats: int
) -> Iterator[dict[str, Any]]:
    for one in everybody:
        one.start(job)
    times = alternate({one.name: functools.partial(one.bake, threads) for one in everybody}, repeats)
    for one in everybody:
        yield _row(one, truth, threads) | {
            "seconds": times[one.name].best,
            "median": times[one.name].median,
            "runs": len(times[one.name].runs),
        }


def _row(one: Baker, truth: Truth, threads: int) -> dict[str, Any]:
    said = truth.judge(one.values(truth.nodes))
    return {
        "who": one.name,
        "threads": threads,
        "covered_percent": 100.0 * said["covered"],
        "error_max_cells": said["error_max_cells"],
        "wrong_signs": said["wrong_signs"],
        "checked_nodes": said["nodes"],
        "bytes": one.nbytes,
        "note": one.note,
    }


def _single_points(job: Job, truth: Truth, progress: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Peers that evaluate distances at points: slow enough for one run to suffice."""
    for module, (build, runs_on) in POINT_PEERS.items():
        if present(module) is None:
            continue
        one = PointBaker(module, build)
        progress(f"{one.name} at some slices")
        one.start(job)
        threads = 1 if runs_on == "one" else machine.cores()
        one.bake(threads)  # a first run: Warp compiles, and the others start their threads
        seconds = one.bake(threads)
        few = Truth(truth.nodes[:20_000], truth.distance[:20_000])
        yield _row(one, few, threads) | {"seconds": seconds, "median": seconds, "runs": 1}


def _ratios(rows: list[dict[str, Any]]) -> None:
    """The time relative to pliant on as many threads."""
    ours = {row["threads"]: row["seconds"] for row in rows if row["who"] == Pliant.name}
    for row in rows:
        row["ratio"] = row["seconds"] / ours[row["threads"]]


def bake_findings(table: Table) -> list[str]:
    """A sentence for each case and number of threads that OpenVDB ran."""
    said = []
    for row in table.rows:
        if row["who"] == "OpenVDB":
            words = f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"
            said.append(
                f"{row['case']} at {row['nodes_longest']}, {words}: OpenVDB takes {row['ratio']:.1f} times as long "
                f"({row['seconds']:.3f} s against {row['seconds'] / row['ratio']:.3f} s)"
            )
    return said


def bake_chart(table: Table) -> Chart:
    """Seconds on all threads."""
    groups: dict[str, dict[str, float]] = {}
    most = max(row["threads"] for row in table.rows)
    for row in table.rows:
        if row["threads"] == most or row["who"] not in (Pliant.name, "OpenVDB"):
            groups.setdefault(f"{row['case']} at {row['nodes_longest']}", {})[row["who"]] = row["seconds"]
    svg = bars_svg(groups, "s", "Seconds to bake a signed narrow band, by mesh and program")
    return Chart("t1-bake", f"Seconds to bake the band on {most} threads, logarithmic: shorter is better.", svg)

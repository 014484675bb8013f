"""The geometric response on the falling ribbon: what remains after each frame, beside an independent count (Jung et
al. 2005, sections 4 and 5)."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.report.tables import Column, Table
from pliant.scenes import SCENES
from pliant.simulation import Simulation

from . import referee
from .timing import threads

RESPONSES = ("penalty", "geometric", "penalty+geometric")
COLUMNS = (
    Column("response"),
    Column("frames", show="{:d}"),
    Column("unresolved", "most too near", "{:d}"),
    Column("unresolved_frames", "in frames", "{:d}"),
    Column("intersections", "most intersecting", "{:d}"),
    Column("intersections_frames", "in frames", "{:d}"),
    Column("last", "at the end", "{:d}"),
    Column("referee", "by the referee", "{:d}"),
    Column("disagree", "frames that differ", "{:d}"),
    Column("cpu_ms", "CPU ms/frame", "{:.1f}"),
)
NOTES = (
    "Response: the ribbon, self-contact detected by spherical implicit surfaces (levels=2) in mode push, whose "
    "response is given. most too near: pairs nearer than 0.9 of the thickness after a frame (Frame.unresolved; a "
    "penalty counts none). most intersecting: pairs of triangles that intersect after a frame (Frame.intersections; "
    "counted only in runs that iterate). by the referee: intersecting pairs at the end by edge-triangle tests of all "
    "faces with overlapping AABBs, which shares no code with the count; frames that differ: of every tenth frame, "
    "those in which both counts are not equal. The paper states that the state after its response is free of "
    "collisions, without a measurement.",
)


def response_table(resolution: int, frames: int, progress: Callable[[str], None]) -> Table:
    rows = []
    for response in RESPONSES:
        progress(f"the ribbon with the response {response}")
        with threads(1):
            rows.append(_row(response, resolution, frames))
    title = f"What the geometric response leaves: a ribbon of {rows[0]['vertices']:,} particles"
    return Table("jung-response", title, COLUMNS, rows)


def _row(response: str, resolution: int, frames: int) -> dict[str, Any]:
    scene = SCENES["ribbon"](resolution=resolution, self_contact="push")
    sim = Simulation(scene, self_method="sphere-surface", self_options={"levels": 2}, self_response=response)
    mesh = scene.bodies[0].mesh
    counted = response != "penalty"
    near, crossing, took, differ, truth = [], [], [], 0, 0
    for k in range(frames):
        start = time.process_time()
        frame = sim.step()
        took.append(time.process_time() - start)
        near.append(frame.unresolved)
        crossing.append(frame.intersections)
        if (k + 1) % 10 == 0 or k + 1 == frames:
            x = sim.state.x
            truth = referee.self_crossings(x[: mesh.n_vertices], mesh.faces)
            for b in range(1, len(scene.bodies)):
                body = scene.bodies[b].mesh.welded.faces
                truth += len(referee.crossings(x[: mesh.n_vertices], mesh.faces, x[scene.rows(b)], body))
            differ += counted and truth != frame.intersections
    row: dict[str, Any] = {"response": response, "frames": frames, "vertices": mesh.n_vertices, "referee": truth}
    row |= {"unresolved": max(near), "unresolved_frames": int(np.count_nonzero(near))}
    if counted:
        row |= {"intersections": max(crossing), "intersections_frames": int(np.count_nonzero(crossing))}
        row |= {"last": crossing[-1], "disagree": differ}
    return row | {"cpu_ms": 1e3 * float(np.median(took))}


def findings(table: Table) -> list[str]:
    out = []
    for row in table.rows:
        if "last" in row:
            out.append(
                f"{row['response']}: after a frame at most {row['unresolved']} pairs too near and "
                f"{row['intersections']} intersecting, of {row['frames']} frames; {row['last']} intersect at the end, "
                f"{row['referee']} by the referee. The paper claims none"
            )
    return out

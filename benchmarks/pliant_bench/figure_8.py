"""Figure 8 of Fuhrmann et al. 2003: what edges, normals and friction cost in collision detection and response."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.detect.base import Side
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.detect.fields.field import DistanceField
from pliant.kernels.fields import dense
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table
from pliant.respond import PrintedProjection
from pliant.scene import Scene
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.state import State

from .kernels.distance_only import distances
from .timing import threads

SCENE, DT, SIDE, FRAMES = "tablecloth-on-bust", 0.01, 36, 200  # 1 296 particles, 2 s
CELLS = 272  # of the paper's grid, along the longest side of its head
COLUMNS = (
    Column("tested"),
    Column("normals"),
    Column("friction"),
    Column("us", "microseconds", "{:.0f}"),
    Column("ratio", "of-the-first", "{:.2f}"),
    Column("contacts", show="{:.0f}"),
    Column("paper", "the-paper-says"),
)
NOTE = (
    "Figure 8: detection in a dense grid of {cells} cells and the response with the paper's equations as printed, on "
    "the predicted states of a run of {seconds:g} s of a cloth of {particles:,} particles, in microseconds "
    "of CPU time per frame on one thread; contacts: their mean "
    "number. The last two rows sample the field at every particle and edge midpoint, with and without gradients. The "
    "paper has curves without numbers. Its factor of three is the worst case, in which every edge is tested: only "
    "midpoints are tested that the distances at the ends of an edge do not rule out, as in the paper."
)
# tested elements, with normals, model of friction (None: sampling only), and what the paper says of it
WAYS = (
    ("particles", True, "coulomb", "the reference"),
    ("particles and edges", True, "coulomb", "about three times as long"),
    ("particles and edges", True, "simple", "slightly faster than the enhanced model"),
    ("particles and edges", True, "none", ""),
    ("every particle and edge", True, None, ""),
    ("every particle and edge", False, None, "dropping normals does not gain much"),
)


def note(quick: bool) -> str:
    """What the figure measures, at its sizes."""
    side, frames = _size(quick)
    return NOTE.format(cells=_cells(quick), seconds=frames * DT, particles=side * side)


def _size(quick: bool) -> tuple[int, int]:
    """Particles along a side of the cloth, and frames."""
    return (12, 20) if quick else (SIDE, FRAMES)


def _cells(quick: bool) -> int:
    return CELLS // 8 if quick else CELLS


def figure_8(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> Table:
    """Detection and response on the states of one run, in each way in turn."""
    progress("figure 8: the run")
    scene, states = run(quick)
    field = dense_field(scene.bodies[scene.obstacles[0]].mesh, quick)
    rows: list[dict[str, Any]] = []
    with threads(1):
        for tested, normals, friction, said in WAYS:
            progress(f"figure 8: {tested}, {friction}")
            if friction is None:
                spent, contacts = _sampling_seconds(scene, field, states, normals), None
            else:
                spent, contacts = response_seconds(scene, field, states, tested != "particles", friction)
            row = {"tested": tested, "normals": "yes" if normals else "no", "friction": friction or "sampling only"}
            counted = {} if contacts is None else {"contacts": contacts}
            rows.append(row | {"us": 1e6 * spent, "paper": said} | counted)
    for row in rows:
        row["ratio"] = row["us"] / rows[0]["us"]
    return Table("fuhrmann2003-figure8", "Figure 8: what edges, normals and friction cost", COLUMNS, rows)


def run(quick: bool) -> tuple[Scene, list[State]]:
    """The scene of the figure and the predicted state of every frame."""
    side, frames = _size(quick)
    scene = SCENES[SCENE](resolution=side)
    sim, states = Simulation(scene, DT), []
    for _ in range(frames):
        sim.step()
        states.append(_predicted(scene, sim.state))
    return scene, states


def dense_field(body: Mesh, quick: bool) -> DistanceField:
    return DistanceField.bake(body, _cells(quick), band=4.0, storage="dense")


def _predicted(scene: Scene, state: State) -> State:
    """The state after a prediction of one frame (section 4.1), in which cloth that lies on the body enters it."""
    made, cloth = state.copy(), scene.deformable_rows
    made.x_start = made.x.copy()
    made.x[cloth] += DT * (made.v[cloth] + DT * np.array(scene.gravity))
    return made


def detector_of(scene: Scene, field: DistanceField, edges: bool) -> DistanceFieldDetector:
    cloth, body = scene.deformable[0], scene.obstacles[0]
    sides = (Side(scene.bodies[b].mesh.welded, int(scene.first[b]), b) for b in (cloth, body))
    return DistanceFieldDetector(*sides, within=scene.eps, field=field, midpoints=edges)


def response_seconds(
    scene: Scene, field: DistanceField, states: Sequence[State], edges: bool, friction: str
) -> tuple[float, float]:
    """CPU seconds of detection and response per state, the best of three passes, and the mean number of contacts."""
    if friction == "none":
        scene = dataclasses.replace(scene, friction=0.0)
    else:
        scene = dataclasses.replace(scene, friction_model=friction)
    detector, response, best, count = detector_of(scene, field, edges), PrintedProjection(scene), np.inf, 0
    for _ in range(4):  # the first may compile
        spent, count = 0.0, 0
        for state in states:
            own = state.copy()
            began = time.process_time()
            found = detector.find(own)
            response.begin(found, own)
            response.apply(found, own, DT)
            spent += time.process_time() - began
            count += len(found)
        best = min(best, spent / len(states))
    return best, count / len(states)


def _sampling_seconds(scene: Scene, field: DistanceField, states: Sequence[State], normals: bool) -> float:
    """CPU seconds of sampling the field at all vertices and edge midpoints, per state, with or without gradients."""
    detector, best = detector_of(scene, field, True), np.inf
    rows, edges = detector.deformable.rows, detector.edges
    points = [np.concatenate([state.x[rows], state.x[rows][edges].mean(1)]) for state in states]
    d, g = np.empty(len(points[0])), np.empty((len(points[0]), 3))
    for _ in range(4):  # the first may compile
        began = time.process_time()
        for p in points:
            if normals:
                dense.sample_range(field.grid, p, 0, len(p), d, g)
            else:
                distances(field.grid, p, d)
        best = min(best, (time.process_time() - began) / len(states))
    return best

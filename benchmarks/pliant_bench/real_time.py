"""The real-time line of Fuhrmann et al. 2003, section 5: cloth of 1 000 to 1 300 particles at dt = 0.01 s, with
self-contact, which their figures include."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.report.tables import Column, Table
from pliant.scene import Scene
from pliant.scenes import SCENES
from pliant.simulation import Simulation

from . import referee

Floats = NDArray[np.float64]
DT, SIDE, SETTLED = 0.01, 36, 20  # seconds; particles along a side; frames that are not measured
PAPER = "the paper"


class Way(NamedTuple):
    """How the cloth is simulated; None: the default of the library."""

    self_contact: str | None = None
    solver: str | None = None
    substeps: int | None = None


WAYS = {
    "pliant, safe": Way("safe"),
    "pliant, push": Way("push"),
    "pliant, off": Way("off"),
    "pliant, safe, xpbd, 16 substeps": Way("safe", "xpbd", 16),
}
COLUMNS = (
    Column("scene"),
    Column("who"),
    Column("particles", show="{:,}"),
    Column("ms", show="{:.2f}"),
    Column("cpu", show="{:.2f}"),
    Column("slowest", show="{:.1f}"),
    Column("real", "times-real-time", "{:.2f}"),
    Column("strain_95", "strain95%", "{:.2f}"),
    Column("strain_most", "strain-most%", "{:.2f}"),
    Column("pairs", show="{:d}"),
    Column("bar"),
)
NOTE = (
    "Real time: a tablecloth of 1 296 particles on a bust, frames of 10 ms; median of the frames after the first "
    "0.2 s. strain95%, strain-most%: elongation of edges, 95th percentile and largest, the worst of those frames. "
    "pairs: intersecting pairs of triangles of the cloth at the end, exact. bar: at most 10 ms with self-contact at a "
    "strain of 2 % / 6 % (must), 5 ms at 1 % / 3 % (stretch), by the smaller of wall-clock and CPU time."
)


def real_time_table(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> Table:
    """A tablecloth on a bust in each way; the participants compute their frames one after the other."""
    side, frames = (12, 30) if quick else (SIDE, 100)
    rows: list[dict[str, Any]] = [
        {"scene": "cloth", "who": PAPER, "particles": 1300, "ms": 1e3 * DT, "real": 1.0, "bar": ""}
    ]
    for who, way in WAYS.items():
        progress(f"real time: {who}")
        rows.append({"scene": "tablecloth-on-bust", "who": who} | _measured(way, side, frames))
    return Table("fuhrmann2003-real-time", "Real time with self-contact", COLUMNS, rows)


def _measured(way: Way, side: int, frames: int) -> dict[str, Any]:
    scene: Scene = SCENES["tablecloth-on-bust"](resolution=side)
    if way.self_contact is not None:
        scene = dataclasses.replace(scene, self_contact=way.self_contact)
    chosen: dict[str, Any] = {
        name: value for name, value in way._asdict().items() if value is not None and name != "self_contact"
    }
    sim = Simulation(scene, DT, **chosen)
    mesh = scene.bodies[0].mesh.welded
    ends = mesh.topology.edges
    rest = _lengths(mesh.vertices, ends)
    wall, cpu, strain = [], [], np.zeros(2)
    for frame in range(frames):
        began, start = time.process_time(), time.perf_counter()
        sim.step()
        if frame >= min(SETTLED, frames // 2):
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - began)
            now = _lengths(sim.state.x[scene.rows(0)], ends) / rest - 1.0
            strain = np.maximum(strain, np.percentile(now, (95.0, 100.0)))
    ms, cpu_ms = 1e3 * statistics.median(wall), 1e3 * statistics.median(cpu)
    found = {
        "particles": mesh.n_vertices,
        "ms": ms,
        "cpu": cpu_ms,
        "slowest": 1e3 * max(wall),
        "real": 1e3 * DT / ms,
        "strain_95": 100.0 * float(strain[0]),
        "strain_most": 100.0 * float(strain[1]),
        "pairs": referee.self_crossings(sim.state.x[scene.rows(0)], mesh.faces),
    }
    return found | {"bar": bar(found) if scene.self_contact != "off" else ""}


def bar(row: dict[str, Any]) -> str:
    """The bar that time and strain of a row meet."""
    spent = min(row["ms"], row["cpu"])
    for name, most, strain in (("stretch", 5.0, (1.0, 3.0)), ("must", 10.0, (2.0, 6.0))):
        if spent <= most and row["strain_95"] <= strain[0] and row["strain_most"] <= strain[1]:
            return name
    return "missed"


def _lengths(x: Floats, ends: NDArray[np.int32]) -> Floats:
    return np.asarray(np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1))


def findings(table: Table) -> list[str]:
    return [
        f"{row['who']}: {row['ms']:.1f} ms per frame of 10 ms ({row['cpu']:.1f} ms of CPU time), strain 95 % "
        f"{row['strain_95']:.1f} %, largest {row['strain_most']:.1f} %"
        for row in table.rows
        if row["who"] != PAPER
    ]

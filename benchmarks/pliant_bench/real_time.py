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

from . import contest, machine, referee, timing

Floats = NDArray[np.float64]
DT, SIDES, SETTLED = 0.01, (32, 36), 20  # seconds; particles along a side; frames that are not measured
SCENE = "tablecloth-on-bust"
PAPER = "the paper"


class Way(NamedTuple):
    """How the cloth is simulated; None: the default of the library."""

    self_contact: str
    solver: str | None = None
    substeps: int | None = None


SAFE = Way("safe")
WAYS = {
    "pliant, safe": SAFE,
    "pliant, push": Way("push"),
    "pliant, off": Way("off"),
    "pliant, safe, xpbd, 16 substeps": Way("safe", "xpbd", 16),
}
COLUMNS = (
    Column("scene"),
    Column("who"),
    Column("particles", show="{:,}"),
    Column("threads", show="{:d}"),
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
    "Real time: a tablecloth of 1 024 and of 1 296 particles on a bust, frames of 10 ms, which participants compute "
    "in turn; median of the frames after the first 0.2 s. times-real-time, by the smaller of wall-clock and CPU time. "
    "strain95%, strain-most%: elongation of edges, 95th percentile and largest, the worst of those frames. "
    "pairs: intersecting pairs of triangles of the cloth at the end, exact. bar: at most 10 ms with self-contact at a "
    "strain of 2 % / 6 % (must), 5 ms at 1 % / 3 % (stretch), by the smaller of wall-clock and CPU time."
)


def real_time_table(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> Table:
    """A tablecloth on a bust in each way; the participants compute their frames in turn."""
    sides, frames = ((12,), 30) if quick else (SIDES, 100)
    runners = [
        _Runner(who, way, side, threads)
        for side in sides
        for who, way in WAYS.items()
        if side == sides[-1] or way == SAFE
        for threads in sorted({1, machine.cores()})
        if threads > 1 or way == SAFE
    ]
    for frame in range(frames):
        progress(f"real time: frame {frame + 1} of {frames}")
        for runner in runners:
            runner.step(measured=frame >= min(SETTLED, frames // 2))
    rows: list[dict[str, Any]] = [{"scene": "cloth", "who": PAPER, "particles": 1300, "ms": 1e3 * DT, "real": 1.0}]
    rows += [{"scene": SCENE} | runner.row() for runner in runners]
    return Table("fuhrmann2003-real-time", "Real time with self-contact", COLUMNS, rows)


class _Runner:
    """A participant: its simulation, the times of its frames in seconds, and the largest strain so far."""

    def __init__(self, who: str, way: Way, side: int, threads: int) -> None:
        scene: Scene = SCENES[SCENE](resolution=side)
        self.who, self.threads = who, threads
        self.scene = dataclasses.replace(scene, self_contact=way.self_contact)
        chosen: dict[str, Any] = {} if way.solver is None else {"solver": way.solver, "substeps": way.substeps}
        self.sim = Simulation(self.scene, DT, **chosen)
        self.mesh = scene.bodies[0].mesh.welded
        self.ends = self.mesh.topology.edges
        self.rest = _lengths(self.mesh.vertices, self.ends)
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.strain = np.zeros(2)

    @property
    def x(self) -> Floats:
        return self.sim.state.x[self.scene.rows(0)]

    def step(self, *, measured: bool) -> None:
        with timing.threads(self.threads):
            began, start = time.process_time(), time.perf_counter()
            self.sim.step()
            wall, cpu = time.perf_counter() - start, time.process_time() - began
        if measured:
            self.wall.append(wall)
            self.cpu.append(cpu)
            now = _lengths(self.x, self.ends) / self.rest - 1.0
            self.strain = np.maximum(self.strain, np.percentile(now, (95.0, 100.0)))

    def row(self) -> dict[str, Any]:
        ms, cpu_ms = 1e3 * statistics.median(self.wall), 1e3 * statistics.median(self.cpu)
        found = {
            "who": self.who,
            "threads": self.threads,
            "particles": self.mesh.n_vertices,
            "ms": ms,
            "cpu": cpu_ms,
            "slowest": 1e3 * max(self.wall),
            "real": 1e3 * DT / min(ms, cpu_ms),
            "strain_95": 100.0 * float(self.strain[0]),
            "strain_most": 100.0 * float(self.strain[1]),
            "pairs": referee.self_crossings(self.x, self.mesh.faces),
        }
        return found | ({"bar": bar(found)} if self.scene.self_contact != "off" else {})


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
        f"{row['who']}, {row['particles']} particles, {contest.count_text(row['threads'])}: {row['ms']:.1f} ms a frame "
        f"of 10 ms ({row['cpu']:.1f} ms of CPU time), strain 95 % {row['strain_95']:.1f} %, largest "
        f"{row['strain_most']:.1f} %"
        for row in table.rows
        if row["who"] != PAPER
    ]

"""The real-time line of Fuhrmann et al. 2003, section 5: cloth of 1 000 to 1 300 particles at dt = 0.01 s, with
self-contact, which their figures include; Newton on the same cloth where it is installed."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.closest_point import ClosestPoints
from pliant.report.tables import Column, Table
from pliant.scene import Cloth, Scene
from pliant.scenes import SCENES
from pliant.simulation import Simulation

from . import contest, machine, referee, timing
from .newton_peer import SOLVERS, Drop, Falling
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
DT, SIDES, SETTLED = 0.01, (32, 36), 20  # seconds; particles along a side; frames that are not measured
SCENE = "tablecloth-on-bust"
PAPER = "the paper"


class Way(NamedTuple):
    """How the cloth is simulated; None: the default of the library."""

    self_contact: str
    solver: str | None = None
    substeps: int | None = None


SAFE, FEWER = Way("safe"), Way("safe", "implicit", 2)
WAYS = {
    "pliant, safe": SAFE,
    "pliant, safe, implicit, 2 substeps": FEWER,
    "pliant, push": Way("push"),
    "pliant, off": Way("off"),
    "pliant, safe, xpbd, 16 substeps": Way("safe", "xpbd", 16),
}
# Newton with self-contact: the fastest of each solver, and those with less strain
PEERS = tuple(one for one in SOLVERS if one.self_contact and (one.name, one.substeps) != ("VBD", 1))
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
    Column("depth_mm", "in-body-mm", "{:.2f}"),
    Column("bar"),
)
NOTE = (
    "Real time: a tablecloth of {particles} particles on a bust, {frames} frames of 10 ms, which participants "
    "compute in turn; median of the frames after the first {settled:g} s. times-real-time, by the smaller of "
    "wall-clock and CPU time. strain95%, strain-most%: elongation of edges, 95th percentile and largest, the worst "
    "of those frames. pairs, in-body-mm: intersecting pairs of triangles of the cloth, and the depth of its deepest"
    " vertex in the bust, at the end, exact. bar, for pliant: at most 10 ms with self-contact at a strain of 2 % / "
    "6 % (must), 5 ms at 1 % / 3 % (stretch), by the smaller of wall-clock and CPU time. Newton has the same cloth "
    "in float32 on one thread, with self-contact, without air; the isotropic triangles of its VBD have the same "
    "stiffness along the threads and a larger one in shear."
)


def note(quick: bool) -> str:
    """What the table measures, at its sizes."""
    sides, frames = _size(quick)
    particles = " and of ".join(f"{side * side:,}" for side in sides)
    return NOTE.format(particles=particles, frames=frames, settled=min(SETTLED, frames // 2) * DT)


def _size(quick: bool) -> tuple[tuple[int, ...], int]:
    """Particles along a side of each cloth, and frames."""
    return ((12,), 30) if quick else (SIDES, 100)


def real_time_table(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> Table:
    """A tablecloth on a bust in each way; the participants compute their frames in turn."""
    sides, frames = _size(quick)
    runners = [
        _Runner(who, threads, Tablecloth(side, way))
        for side in sides
        for who, way in WAYS.items()
        if side == sides[-1] or way == SAFE
        for threads in sorted({1, machine.cores()})
        if threads > 1 or way in (SAFE, FEWER)
    ]
    if present("newton") is not None:
        runners += _newton(sides[-1], progress)
    for frame in range(frames):
        progress(f"real time: frame {frame + 1} of {frames}")
        for runner in runners:
            runner.step(measured=frame >= min(SETTLED, frames // 2))
    rows: list[dict[str, Any]] = [{"scene": "cloth", "who": PAPER, "particles": 1300, "ms": 1e3 * DT, "real": 1.0}]
    body = ClosestPoints(SCENES[SCENE](resolution=sides[-1]).bodies[1].mesh)
    rows += [{"scene": SCENE} | runner.row(body) for runner in runners]
    return Table("fuhrmann2003-real-time", "Real time with self-contact", COLUMNS, rows)


class Tablecloth:
    """The simulation of pliant."""

    def __init__(self, side: int, way: Way) -> None:
        self.scene: Scene = dataclasses.replace(SCENES[SCENE](resolution=side), self_contact=way.self_contact)
        chosen: dict[str, Any] = {} if way.solver is None else {"solver": way.solver, "substeps": way.substeps}
        self.simulation = Simulation(self.scene, DT, **chosen)
        self.faces = self.scene.bodies[0].mesh.welded.faces

    def step(self) -> None:
        self.simulation.step()

    def positions(self) -> Floats:
        return self.simulation.state.x[self.scene.rows(0)].copy()


def drop(side: int) -> Drop:
    """The scene as Newton simulates it."""
    scene = SCENES[SCENE](resolution=side)
    cloth, body = scene.bodies
    material, friction = cloth.material, scene.friction
    if not isinstance(material, Cloth) or friction is None:
        raise TypeError(f"the scene {SCENE} has no cloth with a friction of its own")
    low, high = cloth.mesh.vertices.min(0), cloth.mesh.vertices.max(0)
    return Drop(
        body=body.mesh,
        size=(side, side),
        h=float(high[0] - low[0]) / (side - 1),
        corner=(float(low[0]), float(low[1]), float(high[2])),
        density=material.density,
        stretch=material.stretch,
        shear=material.shear,
        bend=material.bend,
        damping=material.damping,
        friction=friction,
        eps=scene.eps,
        dt=DT,
    )


def _newton(side: int, progress: Callable[[str], None]) -> "list[_Runner]":
    found, setting = [], drop(side)
    for solver in PEERS:
        progress(f"Newton {solver.name} (compiles at first)")
        name = f"{PACKAGES['newton'][0]} {solver.text}"
        try:
            with contest.quiet():
                Falling(setting, solver).step()
                found.append(_Runner(name, 1, Falling(setting, solver)))
        except Exception as error:  # the installed version of the package may not have this solver
            progress(f"{name} takes no part: {error}")
    return found


class _Runner:
    """A participant, the times of its frames in seconds, and the largest strain so far."""

    def __init__(self, who: str, threads: int, faller: Tablecloth | Falling) -> None:
        self.who, self.threads, self.faller = who, threads, faller
        faces = faller.faces
        self.ends = np.unique(
            np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), 1), axis=0
        )
        self.rest = _lengths(faller.positions(), self.ends)
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.strain = np.zeros(2)

    def step(self, *, measured: bool) -> None:
        with timing.threads(self.threads), contest.quiet():
            began, start = time.process_time(), time.perf_counter()
            self.faller.step()
            wall, cpu = time.perf_counter() - start, time.process_time() - began
        if measured:
            self.wall.append(wall)
            self.cpu.append(cpu)
            now = _lengths(self.faller.positions(), self.ends) / self.rest - 1.0
            self.strain = np.maximum(self.strain, np.percentile(now, (95.0, 100.0)))

    def row(self, body: ClosestPoints) -> dict[str, Any]:
        ms, cpu_ms = 1e3 * statistics.median(self.wall), 1e3 * statistics.median(self.cpu)
        x = self.faller.positions()
        found = {
            "who": self.who,
            "threads": self.threads,
            "particles": len(x),
            "ms": ms,
            "cpu": cpu_ms,
            "slowest": 1e3 * max(self.wall),
            "real": 1e3 * DT / min(ms, cpu_ms),
            "strain_95": 100.0 * float(self.strain[0]),
            "strain_most": 100.0 * float(self.strain[1]),
            "pairs": referee.self_crossings(x, self.faller.faces),
            "depth_mm": 1e3 * max(-float(body.query(x)[0].min()), 0.0),
        }
        judged = isinstance(self.faller, Tablecloth) and self.faller.scene.self_contact != "off"
        return found | ({"bar": bar(found)} if judged else {})


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

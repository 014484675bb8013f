"""T8: a strip of cloth falls over a sphere, onto the ground and onto itself: time per frame, and quality."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant import geometry
from pliant.detect.queries.intersections import Intersections
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import ball, box, cloth

from . import contest, machine, own, referee, timing
from .newton_peer import SOLVERS, Ball, Drop, Falling
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
UNIT = "ms"
SETTLED = 0.2  # seconds at the start in which strain is not measured
EVERY = 10  # frames between counts of intersections
LIMIT = 2.0  # per cent: 95th percentile of strain at which participants are compared


class Mode(NamedTuple):
    """A way in which pliant takes part; None: its default."""

    self_contact: str  # "safe" guarantees an intersection-free state, "push" does not
    solver: str | None = None
    substeps: int | None = None


MODES = {
    contest.OWN: Mode("safe"),
    f"{contest.OWN} push": Mode("push"),
    f"{contest.OWN} implicit 2": Mode("safe", "implicit", 2),
    f"{contest.OWN} xpbd 3": Mode("safe", "xpbd", 3),
}
COLUMNS = (
    Column("case"),
    Column("who"),
    Column("threads", show="{:d}"),
    Column(UNIT, show="{:.2f}"),
    Column("slowest", show="{:.2f}"),
    Column("cpu", show="{:.2f}"),
    Column("ratio", show="{:.2f}"),
    Column("ratio_all", "ratio-all", "{:.2f}"),
    Column("ratio_strain", "ratio-strain", "{:.2f}"),
    Column("strain_95", "strain95%", "{:.2f}"),
    Column("strain_most", "strain-most%", "{:.2f}"),
    Column("stretch_mean_percent", "stretch%", "{:.3f}"),
    Column("stretch_max_percent", "max%", "{:.2f}"),
    Column("depth_mm", "in-sphere-mm", "{:.3f}"),
    Column("ground_mm", "in-ground-mm", "{:.3f}"),
    Column("crossings", show="{:,}"),
    Column("crossings_most", "crossings-most", "{:,}"),
    Column("note"),
)


@dataclasses.dataclass(frozen=True)
class Setting:
    """A strip of nx x ny particles, `h` apart, above a sphere whose centre is `height` above the ground. SI units."""

    size: tuple[int, int] = (30, 100)
    frames: int = 100
    h: float = 0.02
    radius: float = 0.25
    height: float = 0.3
    start: float = 0.58
    density: float = 0.2
    stiffness: float = 1e3  # N/m: both constants (lambda, mu) of a triangle
    bend: float = 2e-4  # N m
    damping: float = 0.01  # m2/s
    friction: float = 0.2
    eps: float = 0.005
    dt: float = 0.01

    @property
    def stretch(self) -> float:
        """N/m: stiffness along the threads of a triangle with these constants, 4 mu (lambda + mu) / (lambda + 2 mu)."""
        return 8.0 / 3.0 * self.stiffness

    @property
    def drop(self) -> Drop:
        """What Newton simulates."""
        nx, ny = self.size
        return Drop(
            body=Ball(self.radius, self.height),
            size=self.size,
            h=self.h,
            corner=(-0.5 * self.h * (nx - 1), self.start, 0.5 * self.h * (ny - 1)),
            density=self.density,
            stretch=self.stretch,
            shear=self.stiffness,
            bend=self.bend,
            damping=self.damping,
            friction=self.friction,
            eps=self.eps,
            dt=self.dt,
        )

    @property
    def strip(self) -> Mesh:
        nx, ny = self.size
        return cloth((nx - 1) * self.h, (ny - 1) * self.h, self.size, centre=(0.0, self.start, 0.0))

    @property
    def scene(self) -> Scene:
        """The scene of pliant; its sphere is a polyhedron at most 0.04 mm inside the round one."""
        long = max(self.size) * self.h + 1.0
        sphere = ball(self.radius, 5, centre=(0.0, self.height, 0.0))
        ground = box((long, 0.1, long), 1, centre=(0.0, -0.05, 0.0))
        material = Cloth(
            density=self.density,
            stretch=self.stretch,
            shear=self.stiffness,
            bend=self.bend,
            damping=self.damping,
            air=0.0,
        )
        bodies = [Body(self.strip, material=material), Body(sphere, obstacle=True), Body(ground, obstacle=True)]
        return Scene(bodies, eps=self.eps, friction=self.friction, name="strip on a sphere")


class Faller(Protocol):
    """The simulation of one participant."""

    faces: NDArray[np.int32]

    def step(self) -> None: ...

    def positions(self) -> Floats:
        """Positions (n,3) of the cloth, y up, in rows of nx particles."""
        ...


class Pliant:
    """The simulation of pliant."""

    def __init__(self, setting: Setting, mode: Mode) -> None:
        self.simulation = own.simulation(setting.scene, setting.dt, *mode)
        self.faces = setting.strip.faces
        used = f"{self.simulation.solver}, {self.simulation.substeps} substeps"
        precision = "positions in double, solve in single" if self.simulation.solver == "implicit" else "double"
        self.note = f'{precision} precision, self-contact "{mode.self_contact}", {used}'

    def step(self) -> None:
        self.simulation.step()

    def positions(self) -> Floats:
        scene = self.simulation.scene
        return self.simulation.state.x[scene.rows(0)].copy()


@dataclasses.dataclass(eq=False)
class _Runner:
    """A participant, its number of threads, the times of its frames in seconds, and the largest strain and number of
    intersecting pairs of triangles so far."""

    who: str
    threads: int
    note: str
    faller: Faller
    gauge: "Gauge"
    strain: Floats = dataclasses.field(default_factory=lambda: np.zeros(2))
    crossings: int = 0
    seconds: list[float] = dataclasses.field(default_factory=list)
    cpu: list[float] = dataclasses.field(default_factory=list)

    def step(self) -> None:
        with timing.threads(self.threads), contest.quiet():
            began, start = time.process_time(), time.perf_counter()
            self.faller.step()
            self.seconds.append(time.perf_counter() - start)
            self.cpu.append(time.process_time() - began)
        x = self.faller.positions()
        if len(self.seconds) > self.gauge.settled:
            self.strain = np.maximum(self.strain, self.gauge.strain(x))
        if len(self.seconds) % EVERY == 0 and np.isfinite(x).all():
            self.crossings = max(self.crossings, len(self.gauge.own.update(x).pairs()))


class Gauge:
    """Measures the strain of the edges of a strip, and its intersections."""

    def __init__(self, setting: Setting, faces: NDArray[np.int32]) -> None:
        self.own = Intersections(Mesh(setting.strip.vertices, faces, name="strip"))
        self.settled = round(SETTLED / setting.dt)
        ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), 1)
        self.ends = np.unique(ends, axis=0)
        row, column = np.divmod(self.ends, setting.size[0])
        self.rest = setting.h * np.hypot(row[:, 0] - row[:, 1], column[:, 0] - column[:, 1])

    def strain(self, x: Floats) -> Floats:
        """95th percentile and largest of the elongations of all edges, relative to their rest length."""
        if not np.isfinite(x).all():
            return np.full(2, np.inf)
        along = np.linalg.norm(x[self.ends[:, 0]] - x[self.ends[:, 1]], axis=1) / self.rest - 1.0
        return np.asarray(np.percentile(along, (95.0, 100.0)))


def cloth_table(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None, **_: Any) -> Table:
    """Participants compute their frames in turn; the second half of the fall, with contacts, is timed."""
    setting = Setting((8, 24), 30) if quick else Setting()
    runners = _ours(setting)
    if present("newton") is not None:
        runners += _newton(setting, progress)
    for frame in range(setting.frames):
        progress(f"frame {frame + 1} of {setting.frames}")
        for runner in runners:
            runner.step()
    progress("judging")
    nx, ny = setting.size
    case = f"{nx}x{ny} after {setting.frames * setting.dt:g} s"
    rows = contest.with_ratios([{"case": case} | _row(runner, setting) for runner in runners], UNIT)
    rows = at_equal_strain(rows)
    return Table("t8-cloth", "T8: a frame of 10 ms of cloth on a sphere and on itself, ms", COLUMNS, rows)


def _ours(setting: Setting) -> list[_Runner]:
    found = []
    for count in sorted({1, machine.cores()}):
        for who, mode in MODES.items():
            faller = Pliant(setting, mode)
            found.append(_Runner(who, count, faller.note, faller, Gauge(setting, faller.faces)))
    return found


def _newton(setting: Setting, progress: Callable[[str], None]) -> list[_Runner]:
    found = []
    for solver in SOLVERS:
        progress(f"Newton {solver.name} (compiles at first)")
        name = f"{PACKAGES['newton'][0]} {solver.text}"
        try:
            with contest.quiet():
                Falling(setting.drop, solver).step()
                faller = Falling(setting.drop, solver)
                found.append(_Runner(name, 1, solver.note, faller, Gauge(setting, faller.faces)))
        except Exception as error:  # the installed version of the package may not have this solver
            progress(f"{name} takes no part: {error}")
    return found


def _row(runner: _Runner, setting: Setting) -> dict[str, Any]:
    """Median time of the frames with contacts, and the quality of the final state."""
    late = slice(len(runner.seconds) // 2, None)
    times = {
        UNIT: 1e3 * statistics.median(runner.seconds[late]),
        "slowest": 1e3 * max(runner.seconds[late]),
        "cpu": 1e3 * statistics.median(runner.cpu[late]),
    }
    about = {"who": runner.who, "threads": runner.threads, "note": runner.note}
    times |= {"crossings_most": runner.crossings}
    times |= {"strain_95": 100.0 * float(runner.strain[0]), "strain_most": 100.0 * float(runner.strain[1])}
    return about | times | quality(runner.faller.positions(), runner.faller.faces, setting)


def at_equal_strain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add `ratio_strain` to each row of a peer with self-contact: its time relative to the fastest safe variant of
    pliant, on any number of threads, whose strain is no larger."""
    for row in rows:
        if _is_peer(row) and (ours := _fastest(rows, row["strain_95"])) is not None:
            row["ratio_strain"] = _spent(row) / _spent(ours)
    return rows


def _is_peer(row: dict[str, Any]) -> bool:
    """Whether this is a peer that takes self-contact into account and did not diverge."""
    own = row["who"].startswith(contest.OWN) or "no self-contact" in row["who"]
    return not own and bool(np.isfinite(row["strain_95"]))


def _spent(row: dict[str, Any]) -> float:
    """Milliseconds of a frame: the smaller of wall-clock and CPU time, since other work may delay a participant."""
    return float(min(row[UNIT], row.get("cpu", np.inf)))


def _fastest(rows: Sequence[dict[str, Any]], strain: float) -> dict[str, Any] | None:
    """The fastest safe variant of pliant with a 95th percentile of strain of at most this, per cent."""
    safe = [row for row in rows if row["who"].startswith(contest.OWN) and '"safe"' in row["note"]]
    return min((row for row in safe if row["strain_95"] <= strain), key=_spent, default=None)


def strain_findings(table: Table) -> list[str]:
    """The fastest participants whose strain is within the limit, and how they compare at equal strain."""
    ours = _fastest(table.rows, LIMIT)
    if ours is None:
        return [f"T8: no safe variant of pliant keeps 95 % of the edges within a strain of {LIMIT:g} %"]
    said = [f"T8 at a strain (95 %) of at most {LIMIT:g} %: {_told(ours)}"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in filter(_is_peer, table.rows):
        groups.setdefault(" ".join(row["who"].split()[:2]), []).append(row)
    for name, rows in groups.items():
        within = [row for row in rows if row["strain_95"] <= LIMIT]
        best = min(within or rows, key=_spent if within else lambda row: float(row["strain_95"]))
        text = _told(best) if within else f"{name} does not reach it: {_told(best)}"
        times = f"{_spent(best) / _spent(ours):.1f} times as long as pliant"
        if "ratio_strain" in best:
            times += f" ({best['ratio_strain']:.1f} at its strain)"
        said.append(f"T8 {text}, {times}")
    return said


def _told(row: dict[str, Any]) -> str:
    threads, strain = contest.count_text(row["threads"]), f"{row['strain_95']:.2f} / {row['strain_most']:.1f} %"
    return f"{row['who']}, {threads}: {_spent(row):.1f} ms, strain {strain}, {row['crossings_most']} crossings"


def quality(x: Floats, faces: NDArray[np.int32], setting: Setting) -> dict[str, Any]:
    """Relative change of edge lengths, penetration depth in the round sphere and in the ground, and number of
    intersecting pairs of triangles; exact for the positions (n,3)."""
    if not np.isfinite(x).all():
        return {"note": "diverged"}
    nx, ny = setting.size
    grid = x.reshape(ny, nx, 3)
    along = [np.linalg.norm(np.diff(grid, axis=axis), axis=2).ravel() for axis in (0, 1)]
    stretch = np.abs(np.concatenate(along) / setting.h - 1.0)
    stencil = np.empty((len(faces), 4, 3))
    stencil[:, 0] = (0.0, setting.height, 0.0)
    stencil[:, 1:] = x[faces]
    nearest = float(geometry.point_triangle_distance(stencil).min())
    return {
        "stretch_mean_percent": 100.0 * float(stretch.mean()),
        "stretch_max_percent": 100.0 * float(stretch.max()),
        "depth_mm": 1e3 * max(setting.radius - nearest, 0.0),
        "ground_mm": 1e3 * max(-float(x[:, 1].min()), 0.0),
        "crossings": referee.self_crossings(x, faces),
    }


TASK = contest.Task(
    cloth_table,
    UNIT,
    "Milliseconds of a frame of cloth on a sphere and on itself",
    "T8: participants compute their frames in turn; median and maximum of the second half of the fall, when the cloth "
    "lies on the sphere, on the ground and on itself. Quality of the final state: relative difference of edges from "
    "their rest length (mean and maximum), depth of triangles in the round sphere and of vertices in the ground, and "
    "the exact number of intersecting pairs of triangles; crossings-most: the largest of every tenth frame. "
    "strain95%, strain-most%: elongation of all edges, 95th percentile and largest, the worst of all frames after the "
    "first 0.2 s. ratio-strain: time (the smaller of wall-clock and CPU time) relative to the fastest variant of "
    "pliant, safe and on any number of threads, whose 95th percentile is no larger.",
    strain_findings,
)

"""One run of the gauntlet: simulate, measure every frame, and keep a few for the contact sheet."""

import dataclasses
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.closest_point import ClosestPoints
from pliant.motion.clip import Clip
from pliant.report.sheet import contact_sheet
from pliant.scene import Scene
from pliant.simulation import Simulation

from .measuring import Gauge, Measured
from .tailor import Garment
from .wearing import DT, Run, barycentric, frames, scene, simulation, tailored

Floats = NDArray[np.float64]
SETTLED = 0.2  # seconds at the start that are not measured
SHOWN = 6  # frames of a contact sheet
BEHIND = ("cape",)  # garments that are shown from behind
LAST = 20  # frames at the end of a run with a body at rest, which count
PERIOD = 1.0 / 30.0  # seconds of animation for which the cost is given


@dataclasses.dataclass
class _Kept:
    """What is kept of the frames."""

    measured: list[Measured] = dataclasses.field(default_factory=list)
    wall: list[float] = dataclasses.field(default_factory=list)
    cpu: list[float] = dataclasses.field(default_factory=list)
    jerks: list[NDArray[np.float32]] = dataclasses.field(default_factory=list)
    lost: int = 0
    substeps: int = 0  # the most of a frame


def run_one(
    run: Run, sheet: pathlib.Path | None = None, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """The row of one run; an `Unfit` garment raises. `sheet`: a PNG that is written."""
    progress("tailoring")
    worn = tailored(run)
    built = scene(run, worn)
    sim = simulation(run, built)
    count = frames(run, built)
    progress("ready")
    kept, shown = _Kept(), [(0, *_positions(built, sim))]
    wanted = set(np.rint(np.linspace(0, count, SHOWN)).astype(int).tolist())
    for index in _stepped(sim, worn, kept, count):
        progress(f"frame {index} of {count}")
        if index in wanted:
            shown.append((index, *_positions(built, sim)))
    if sheet is not None:
        _draw(sheet, run, built, shown, count)
    return _row(run, built, sim, worn, kept, count)


def _positions(built: Scene, sim: Simulation) -> tuple[Floats, Floats]:
    return sim.state.x[built.rows(0)].copy(), sim.state.x[built.rows(1)].copy()


def gauge(built: Scene, worn: Garment) -> Gauge:
    """What measures a garment on its character."""
    grips = [grip.rows for grip in built.bodies[0].grips]
    return Gauge(worn, built.bodies[1].mesh, built.eps, np.concatenate(grips) if grips else None)


def _stepped(sim: Simulation, worn: Garment, kept: _Kept, count: int) -> Iterator[int]:
    """Step and measure; ends early when the state is no longer finite."""
    built = sim.scene
    judge = gauge(built, worn)
    follow = _Follower(worn, built)
    for index in range(1, count + 1):
        began, start = time.process_time(), time.perf_counter()
        frame = sim.step()
        wall, cpu = time.perf_counter() - start, time.process_time() - began
        x, body = _positions(built, sim)
        kept.lost += frame.lost
        kept.substeps = max(kept.substeps, frame.substeps)
        if not np.isfinite(x).all():
            kept.lost += int((~np.isfinite(x)).any(1).sum())
            return
        jerk = follow.add(x, body)
        if index * DT > SETTLED:
            kept.wall.append(wall)
            kept.cpu.append(cpu)
            kept.measured.append(judge.measure(x, body))
            if jerk is not None:
                kept.jerks.append(jerk)
        yield index


class _Follower:
    """Third differences in time of the garment relative to the points of the skin nearest at the start."""

    def __init__(self, worn: Garment, built: Scene) -> None:
        skin = built.bodies[1].mesh
        x = worn.mesh.welded.vertices
        _, nearest, face, _ = ClosestPoints(skin).query_by_nearest_face(x)
        self.corners = skin.welded.faces[face]
        self.weights = barycentric(skin.welded.vertices[self.corners], nearest)
        self.last: list[Floats] = []

    def add(self, x: Floats, body: Floats) -> NDArray[np.float32] | None:
        """Lengths (n,) of the jerk in m/s3, once there are four frames."""
        under = (body[self.corners] * self.weights[:, :, None]).sum(1)
        self.last = [*self.last[-3:], x - under]
        if len(self.last) < 4:
            return None
        a, b, c, d = self.last
        return np.asarray(np.linalg.norm(d - 3.0 * c + 3.0 * b - a, axis=1) / DT**3, np.float32)


def _row(run: Run, built: Scene, sim: Simulation, worn: Garment, kept: _Kept, count: int) -> dict[str, Any]:
    about = {
        "character": run.character,
        "garment": run.garment,
        "wanted": run.particles,
        "particles": worn.mesh.welded.n_vertices,
        "ease": 0.0 if worn.ease is None else 100.0 * float(worn.ease.mean() - 1.0),
        "ease_most": 0.0 if worn.ease is None else 100.0 * float(worn.ease.max() - 1.0),
        "solver": sim.solver,
        "substeps": sim.substeps,
        "most_substeps": kept.substeps,
        "self_contact": built.self_contact,
        "frames": len(kept.measured),
        "lost": kept.lost,
        "given_up": sim.self_contact.given_up_pairs,
        "state": "" if kept.measured and kept.lost == 0 else "not finite",
    }
    if not kept.measured:
        return about
    seen = kept.measured[-LAST:] if run.still else kept.measured
    strain = 100.0 * np.array([one.strain for one in seen]).max(0)
    mean = float(np.mean(kept.wall))
    return about | {
        "strain_95": float(strain[0]),
        "strain_99": float(strain[1]),
        "strain_most": float(strain[2]),
        "depth_mm": 1e3 * max(one.points.depth for one in seen),
        "deep": max(one.points.deep for one in seen),
        "avoidable_mm": 1e3 * max(one.points.avoidable_depth for one in seen),
        "avoidable": max(one.points.avoidable for one in seen),
        "pinched": max(one.points.pinched for one in seen),
        "cloth_pairs": max(one.cloth_pairs for one in seen),
        "body_pairs": max(one.pairs.counted for one in seen),
        "avoidable_pairs": max(one.pairs.avoidable for one in seen),
        "pinched_pairs": max(one.pairs.pinched for one in seen),
        "ms": 1e3 * float(np.median(kept.wall)),
        "cpu_ms": 1e3 * float(np.median(kept.cpu)),
        "slowest_ms": 1e3 * max(kept.wall),
        "period_ms": 1e3 * mean * PERIOD / DT,
        "period_cpu_ms": 1e3 * float(np.mean(kept.cpu)) * PERIOD / DT,
        "jerk": float(np.percentile(np.concatenate(kept.jerks), 99.0)) if kept.jerks else 0.0,
        "drop": float(np.median([one.drop for one in seen])),
        "made": float(worn.mesh.vertices[worn.top, 1].mean() - worn.mesh.vertices[worn.hem, 1].mean()),
        "speed": 1e3 * float(np.linalg.norm(sim.state.v[built.rows(0)], axis=1).mean()),
    }


def _draw(path: pathlib.Path, run: Run, built: Scene, shown: list[tuple[int, Floats, Floats]], count: int) -> None:
    """A contact sheet of the kept frames, at equal distances in time."""
    turn = np.array([-1.0, 1.0, -1.0]) if run.garment in BEHIND else 1.0
    x, body = (turn * np.stack([one[k] for one in shown]) for k in (1, 2))
    cloth, skin = (built.bodies[b].mesh for b in (0, 1))
    clips = [
        Clip(cloth, x[:, cloth.weld_index].astype(np.float32), (0.62, 0.16, 0.13)),
        Clip(skin, body[:, skin.weld_index].astype(np.float32), (0.80, 0.60, 0.50)),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    solver = "" if run.solver is None else f", {run.solver}"
    title = f"{run.character}: {run.garment}, {cloth.welded.n_vertices} particles{solver}"
    contact_sheet(clips, (SHOWN - 1) / (count * DT), path, title=title, frames=SHOWN, tile=(300, 360))

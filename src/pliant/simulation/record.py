"""Record: run a simulation, and keep and measure its frames."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..scenes.drape import drape_scene
from .measure.intersections import IntersectionStatistics
from .measure.referee import Referee
from .measure.shared import SharedCounter
from .result import Result
from .step import Frame, Simulation

Floats = NDArray[np.float64]


@check_arguments
def record(
    sim: Simulation,
    frames: int,
    *,
    measure: bool = True,
    count_intersections: bool | None = None,
    progress: Callable[[Frame], None] | None = None,
) -> Result:
    """Run `sim` for `frames` frames and keep them; `measure` measures each one with the exact referee.

    `count_intersections` counts the intersecting triangle pairs of every frame. Default: only with self-contact.
    """
    count = validate.whole("frames", frames, low=1)
    kept = _Record(sim, count, measure, count_intersections)
    for t, frame in enumerate(sim.run(count), 1):
        if frame.lost:
            raise ValueError(f"the cloth flew apart in frame {t}; use more substeps, a smaller dt or milder forces")
        kept.add(t, frame)
        if progress is not None:
            progress(frame)
    return kept.result()


@check_arguments
def drape(
    cloth: Mesh,
    body: Mesh,
    frames: int = 250,
    *,
    dt: float = 0.01,
    substeps: int = 16,
    method: str = "distance-field",
    measure: bool = True,
    progress: Callable[[Frame], None] | None = None,
    **options: Any,
) -> Result:
    """Drape `cloth` over `body` and keep every frame. Options are those of `drape_scene` (place, eps, friction ...).

    `method` is as in `Simulation`: one fixed method by default, where the command `pliant drape` has "auto".

    >>> pliant.drape(pliant.shapes.cloth(), pliant.shapes.ball(0.25)).save("out.glb")
    """
    start = time.perf_counter()
    sim = Simulation(drape_scene(cloth, body, **options), dt, substeps=substeps, method=method)
    result = record(sim, frames, measure=measure, progress=progress)
    result.seconds[0] = time.perf_counter() - start - float(result.seconds[1:].sum())
    return result


class _Record:
    """The state of `sim` at its construction and `count` frames after it, each measured when it is added."""

    def __init__(self, sim: Simulation, count: int, measure: bool, count_intersections: bool | None) -> None:
        self.sim, self.scene = sim, sim.scene
        scene, size = sim.scene, count + 1
        particles = {b: scene.bodies[b].mesh.welded.n_vertices for b in (*scene.deformable, *scene.deforming_motions)}
        total = sum(particles[b] for b in scene.deformable)
        validate.budget(f"{count} frames of {total} particles", 24.0 * size * total, "keep fewer frames")
        self.referee = Referee(scene) if measure and scene.deformable else None
        self.counting = scene.self_contact != "off" if count_intersections is None else count_intersections
        counts = measure and bool(scene.deformable or self.counting)
        self.counter = IntersectionStatistics(scene, sim.state.x) if counts else None
        self.initial_intersections = self.counter.intersecting_bodies() if self.counter else ()
        self.shared = SharedCounter(scene, size)
        self.x = {b: np.empty((size, particles[b], 3)) for b in scene.deformable}
        self.deforming_x = {b: np.empty((size, particles[b], 3), np.float32) for b in scene.deforming_motions}
        self.poses = np.empty((size, len(scene.bodies), 3, 4))
        self.contacts, self.unresolved = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.intersecting, self.crossing = np.zeros((size, 2), np.int64), np.zeros((size, 2), np.int64)
        self.seconds, self.pinched = np.zeros(size), np.zeros((size, 2))
        self.least_distance = np.full(size, np.nan)
        self._keep(0, sim.state.x, sim.state.pose)

    def add(self, t: int, frame: Frame) -> None:
        """Keep and measure frame t."""
        self._keep(t, frame.x, frame.pose)
        self.contacts[t], self.seconds[t] = len(frame.contacts), frame.seconds
        self.unresolved[t] = frame.unresolved

    def _keep(self, t: int, x: Floats, pose: Floats) -> None:
        self.poses[t] = pose
        for b, kept in self.x.items():
            kept[t] = x[self.scene.rows(b)]
        for b, shape in self.deforming_x.items():
            shape[t] = x[self.scene.rows(b)]
        if self.referee is not None:
            self.least_distance[t] = self.referee.least_distance(x, pose)
            self.pinched[t] = self.referee.pinched, self.referee.pinched_depth
        if self.counter is not None:
            if self.counting:
                self.intersecting[t] = self.counter.at(x)
            else:
                self.counter.move(x)
            self.crossing[t] = self.counter.crossing_pairs()
        self.shared.at(t, x)

    def result(self) -> Result:
        """Return the finished run."""
        sim, scene, counter = self.sim, self.scene, self.counter
        on_bodies = counter is not None and bool(scene.deformable and scene.obstacles)
        return Result(
            scene=scene,
            dt=sim.dt,
            substeps=sim.substeps,
            x=self.x,
            deforming_x=self.deforming_x,
            poses=self.poses,
            contacts=self.contacts,
            seconds=self.seconds,
            initial_intersections=self.initial_intersections,
            least_distance=self.least_distance,
            pinched=self.pinched,
            intersecting_pairs=self.intersecting if counter and self.counting else None,
            crossing_pairs=self.crossing if on_bodies else None,
            intersecting_pairs_bodies_at_end=counter.with_bodies() if counter and on_bodies else None,
            shared=self.shared.found,
            unresolved=self.unresolved if sim.separates else None,
            failed_substeps=sim.self_contact.failed_substeps,
            given_up_pairs=sim.self_contact.given_up_pairs,
        )

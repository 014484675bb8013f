"""Record: run a simulation, and keep and measure its frames."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import renamed, validate
from ..arguments import check_arguments, wrong
from ..motion.rigid import placed
from ..scene import Scene
from .frame import Frame
from .measure.intersection_statistics import IntersectionStatistics
from .measure.intersection_volume import IntersectionVolumeMeasurement
from .measure.referee import Referee
from .moving_scenes import moving_frame
from .result import Result
from .step import Simulation

Floats = NDArray[np.float64]
__getattr__ = renamed.module(__name__, {"drape": "pliant.simulation.drape"})


class Watch(Protocol):
    """Sees the cloths of a run while it goes on: the positions x (n,3) of each deformable body of `scene`, by its
    index, in a frame."""

    def __call__(self, *, scene: Scene, frame: int, x: dict[int, Floats]) -> None: ...


@check_arguments
def record(
    sim: Simulation,
    frames: int,
    *,
    measure: bool = True,
    count_intersections: bool | None = None,
    progress: Callable[[Frame], None] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Run `sim` for `frames` frames and keep them; `measure` measures each one with the exact referee. `watch` sees
    each frame as soon as it is kept, frame 0 included.

    With `measure`, `count_intersections` counts the intersecting triangle pairs of every frame. Default: only with
    self-contact. Pairs of cloth and body that cross are counted in any case.
    """
    if watch is not None and not callable(watch):
        raise wrong("watch", watch, "a function of scene, frame and x, or None")
    n_frames = validate.whole("frames", frames, low=1)
    kept = FrameRecord(sim, sim.scene, sim.state.x, n_frames, measure, count_intersections, watch)
    for t, frame in enumerate(sim.run(n_frames), 1):
        if frame.lost:
            raise ValueError(f"the cloth flew apart in frame {t}; use more substeps, a smaller dt or milder forces")
        kept.add(t, frame)
        if progress is not None:
            progress(frame)
    return kept.result()


class FrameRecord:
    """The state of `sim` at its construction and `n_frames` frames after it, each measured when it is added; x (n,3)
    are the positions of `scene`: that of `sim`, or one with other meshes of its cloths. Positions in a moving frame are
    measured there, and kept relative to the world."""

    def __init__(
        self,
        sim: Simulation,
        scene: Scene,
        x: Floats,
        n_frames: int,
        measure: bool,
        count_intersections: bool | None,
        watch: Watch | None = None,
    ) -> None:
        self.sim, self.scene, self.watch = sim, scene, watch
        size, self.begin = n_frames + 1, float(sim.state.time)
        particles = {b: scene.bodies[b].mesh.welded.n_vertices for b in (*scene.deformable, *scene.deforming_motions)}
        soft, deforming = (sum(particles[b] for b in some) for some in (scene.deformable, scene.deforming_motions))
        what = f"{n_frames} frames of {soft} particles" + (f" and {deforming} vertices of bodies" if deforming else "")
        validate.budget(what, size * (24.0 * soft + 12.0 * deforming), "keep fewer frames")
        self.referee = Referee(scene) if measure and scene.deformable else None
        counts = bool(scene.deformable) and scene.self_contact != "off"
        self.counts_cloth = counts if count_intersections is None else count_intersections
        needs_counter = measure and bool(scene.deformable or self.counts_cloth)
        self.statistics = IntersectionStatistics(scene, x) if needs_counter else None
        self.initial_intersections = self.statistics.intersecting_bodies() if self.statistics else ()
        self.intersection_volumes = IntersectionVolumeMeasurement(scene, size)
        self.x = {b: np.empty((size, particles[b], 3)) for b in scene.deformable}
        self.deforming_x = {b: np.empty((size, particles[b], 3), np.float32) for b in scene.deforming_motions}
        self.poses = np.empty((size, len(scene.bodies), 3, 4))
        self.n_contacts, self.n_obstacle_contacts = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.unresolved, self.frame_substeps = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.intersecting, self.crossing = np.zeros((size, 2), np.int64), np.zeros((size, 2), np.int64)
        self.seconds, self.pinched = np.zeros(size), np.zeros((size, 2))
        self.least_distance = np.full(size, np.nan)
        self.without_room, self.slipped, self.moving_frame = 0, 0.0, moving_frame(scene)
        self.computed_again = 0
        self._keep(0, sim.state.time, x, sim.state.pose)

    def add(self, t: int, frame: Frame) -> None:
        """Keep and measure frame t."""
        self._keep(t, frame.time, frame.x, frame.pose)
        self.n_contacts[t], self.seconds[t] = len(frame.contacts), frame.seconds
        among_cloth = np.isin(frame.contacts["bodies"], self.scene.deformable).all(1)
        self.n_obstacle_contacts[t], self.frame_substeps[t] = (~among_cloth).sum(), frame.substeps
        self.unresolved[t] = frame.unresolved
        self.without_room, self.slipped = max(self.without_room, frame.no_room), max(self.slipped, frame.slipped)
        self.computed_again += frame.attempts > 1

    def _keep(self, t: int, time: float, x: Floats, pose: Floats) -> None:
        self.poses[t] = pose
        frame = self.moving_frame
        world = x if frame is None else placed(x, frame.poses(np.array([time]))[0])
        for b, kept in self.x.items():
            kept[t] = world[self.scene.rows(b)]
        for b, shape in self.deforming_x.items():
            shape[t] = world[self.scene.rows(b)]
        if self.referee is not None:
            self.least_distance[t] = self.referee.least_distance(x, pose)
            self.pinched[t] = self.referee.pinched, self.referee.pinched_depth
        if self.statistics is not None:
            if self.counts_cloth:
                self.intersecting[t] = self.statistics.at(x)
            else:
                self.statistics.move(x)
            self.crossing[t] = self.statistics.crossing_pairs()
        self.intersection_volumes.at(t, x)
        if self.watch is not None:
            self.watch(scene=self.scene, frame=t, x={b: kept[t] for b, kept in self.x.items()})

    def result(self) -> Result:
        """Return the finished run."""
        sim, scene, statistics = self.sim, self.scene, self.statistics
        on_bodies = statistics is not None and bool(scene.deformable and scene.obstacles)
        return Result(
            scene=scene,
            dt=sim.dt,
            substeps=sim.substeps,
            x=self.x,
            deforming_x=self.deforming_x,
            poses=self.poses,
            n_contacts=self.n_contacts,
            n_obstacle_contacts=self.n_obstacle_contacts,
            frame_substeps=self.frame_substeps,
            events=sim.events if sim.stepping == "events" else None,
            seconds=self.seconds,
            initial_intersections=self.initial_intersections,
            least_distance=self.least_distance,
            pinched=self.pinched,
            intersecting_pairs=self.intersecting if statistics and self.counts_cloth else None,
            crossing_pairs=self.crossing if on_bodies else None,
            intersecting_pairs_bodies_at_end=statistics.with_bodies() if statistics and on_bodies else None,
            shared=self.intersection_volumes.found,
            unresolved=self.unresolved if sim.separates else None,
            failed_substeps=sim.self_contact.failed_substeps - sim.failed_before[0],
            given_up_pairs=sim.self_contact.given_up_pairs - sim.failed_before[1],
            begin=self.begin,
            without_room=self.without_room,
            slipped=self.slipped,
            computed_again=self.computed_again,
        )

"""Result: a finished run with its measurements, which can be saved and shown."""

import dataclasses
import functools
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..io import save_animation
from ..mesh import Mesh
from ..motion.character import Character
from ..motion.clip import Clip
from ..motion.deforming import Skinned
from ..motion.rigid import Motion
from ..scene import CLOTH_COLOUR, Scene
from ..scenes.drape import drape_scene
from ..simulation import Frame, Simulation
from .intersections import IntersectionCount, Meeting
from .referee import Referee
from .replay import iframe_html, replay_html, write_replay
from .shared import SharedCounter, SharedVolume, litres
from .sheet import contact_sheet

Floats = NDArray[np.float64]
CLOTH_COLOURS = (
    CLOTH_COLOUR,
    (0.10, 0.22, 0.42),
    (0.68, 0.42, 0.11),
    (0.13, 0.30, 0.19),
    (0.55, 0.50, 0.44),
    (0.31, 0.13, 0.30),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """The frames of a run, including its initial state, and the measurements taken during it.

    x: per deformable body the positions (T,n,3) of its welded vertices. poses: (T,bodies,3,4) of all bodies. deepest:
    (T,) least exact distance of any cloth vertex or edge midpoint from any fixed body, metres, negative inside; nan
    where not measured. crossings: (T,2) exact numbers of intersecting triangle pairs, cloth with cloth and cloth with
    bodies; None where not counted. forced: substeps in which safe mode gave up pairs, unheld: the number of these pairs
    of features (see `Guard`). shapes: per deforming body the positions (T,n,3), single precision, of its welded
    vertices. pinched: (T,2) number and depth (m) of points inside such a body where it intersects itself; they are not
    part of `deepest`. remained: (T,) pairs still too close when a response that iterates until separation stopped; None
    without such a response. shared: intersection volumes of the pairs `scene.overlaps`. skins: whether files may store
    skinned bodies with bones, whose clip then begins with the run; otherwise they are stored frame by frame. through:
    intersecting triangle pairs of cloth and bodies in the last frame, which points of the cloth alone do not reveal;
    None: not counted. cuts: (T,2) pairs of cloth and body triangles that cross, and pairs near self-intersections of a
    body, which are not in the first column; None: not counted. start: intersections in the initial state.
    """

    scene: Scene
    dt: float
    x: dict[int, Floats]
    poses: Floats
    contacts: NDArray[np.int64]  # (T,) in the last substep of each frame
    deepest: Floats
    seconds: Floats  # (T,) computing time without measurements
    crossings: NDArray[np.int64] | None = None
    failed_substeps: int = 0
    shapes: dict[int, NDArray[np.float32]] = dataclasses.field(default_factory=dict)
    pinched: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 2)))
    unresolved: NDArray[np.int64] | None = None
    shared: tuple[SharedVolume, ...] = ()
    skins: bool = True
    through: int | None = None
    given_up_pairs: int = 0
    cuts: NDArray[np.int64] | None = None
    start: tuple[Meeting, ...] = ()
    substeps: int = 1

    @functools.cached_property
    def clips(self) -> list[Clip]:
        """Every body as it is written to files: with the unwelded vertices of its mesh."""
        found = []
        for b, body in enumerate(self.scene.bodies):
            index = body.mesh.weld_index
            kept = self.x.get(b, self.shapes.get(b))
            frames = body.mesh.vertices[None] if kept is None else kept[:, index]
            poses = self.poses[:, b] if isinstance(body.motion, Motion) else None
            found.append(Clip(body.mesh, frames.astype(np.float32), self._colour(b), poses, self._skin(b)))
        return found

    def _skin(self, b: int) -> Character | None:
        """The skinned character of a body with one keyframe per frame; None for other bodies and morph targets."""
        motion = self.scene.bodies[b].motion
        if not self.skins or not isinstance(motion, Skinned) or motion.character.morphs:
            return None
        return motion.keyed(self.dt * np.arange(len(self.seconds)))

    def _colour(self, b: int) -> tuple[float, float, float]:
        """The colour of a body; cloths without one get distinct colours."""
        body, soft = self.scene.bodies[b], self.scene.deformable
        if b in soft and body.color == CLOTH_COLOUR:
            return CLOTH_COLOURS[soft.index(b) % len(CLOTH_COLOURS)]
        return body.color or (0.8, 0.8, 0.8)

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the run: counts, exact penetration in metres, time per frame, and speed relative to real time."""
        steps = self.seconds[1:]
        median = float(np.median(steps)) if len(steps) else 0.0
        measured = not np.isnan(self.deepest).all()
        deepest = float(np.nanmin(self.deepest)) if measured else float("nan")
        ends = [x[-1] - x[-2] for x in self.x.values() if len(x) > 1]
        crossings = self.crossings
        own, bodies = (None, None) if crossings is None else crossings.T
        return {
            "scene": self.scene.name,
            "frames": len(steps),
            "simulated_s": len(steps) * self.dt,
            "particles": sum(x.shape[1] for x in self.x.values()),
            "body_triangles": sum(self.scene.bodies[b].mesh.n_faces for b in self.scene.fixed),
            "contacts_most": int(self.contacts.max(initial=0)),
            "least_distance_m": deepest,
            "penetration_m": max(0.0, -deepest) if measured else float("nan"),
            "pinched_most": int(self.pinched[:, 0].max(initial=0.0)),
            "pinched_depth_m": float(self.pinched[:, 1].max(initial=0.0)),
            "self_contact": self.scene.self_contact,
            "thickness_m": self.scene.thickness,
            "crossings_cloth_most": None if own is None else int(own.max()),
            "crossings_cloth_total": None if own is None else int(own.sum()),
            "crossings_bodies_most": None if bodies is None else int(bodies.max()),
            "crossings_bodies_total": None if bodies is None else int(bodies.sum()),
            "frames_with_crossings": None if crossings is None else int(crossings.any(1).sum()),
            "through_at_end": self.through,
            "cuts_bodies_most": None if self.cuts is None else int(self.cuts[:, 0].max()),
            "cuts_bodies_total": None if self.cuts is None else int(self.cuts[:, 0].sum()),
            "frames_with_cuts": None if self.cuts is None else int((self.cuts[:, 0] > 0).sum()),
            "pinched_pairs_most": None if self.cuts is None else int(self.cuts[:, 1].max()),
            "start_pairs": sum(each.pairs for each in self.start) if measured or self.crossings is not None else None,
            "start": [{"bodies": list(self.names(each)), "pairs": each.pairs} for each in self.start],
            "forced": self.failed_substeps,
            "unheld": self.given_up_pairs,
            "remained_most": None if self.unresolved is None else int(self.unresolved.max()),
            "frames_with_remained": None if self.unresolved is None else int((self.unresolved > 0).sum()),
            "fastest_at_end_m_per_s": max((float(np.linalg.norm(e, axis=1).max()) for e in ends), default=0.0)
            / self.dt,
            "ms_per_frame": 1e3 * median,
            "times_real_time": self.dt / median if median > 0.0 else float("nan"),
            "compute_s": float(steps.sum()),
            **({"shared": [s.summary for s in self.shared]} if self.shared else {}),
        }

    @property
    def penetrates(self) -> bool:
        """True if a measured point was inside a body by more than a millionth of the body's size."""
        size = max((self.scene.bodies[b].mesh.size for b in self.scene.fixed), default=0.0)
        return bool(self.summary["penetration_m"] > 1e-6 * size)

    @property
    def cut(self) -> bool:
        """True if triangles of cloth and bodies crossed in a measured frame, pinched places excluded."""
        return self.cuts is not None and bool(self.cuts[:, 0].any())

    @property
    def tangled(self) -> bool:
        """True if cloth intersects cloth at the end of a run in push mode."""
        return self.scene.self_contact == "push" and self.crossings is not None and bool(self.crossings[-1, 0])

    def names(self, meeting: Meeting) -> tuple[str, str]:
        """The labels of the two bodies."""
        a, b = (self.scene.bodies[k].label for k in meeting.bodies)
        return a, b

    @property
    def broken(self) -> bool:
        """True if safe mode allowed an intersection in a counted frame, or gave up a pair."""
        met = self.crossings is not None and bool(self.crossings.any())
        return self.scene.self_contact == "safe" and (met or self.failed_substeps > 0)

    @property
    def facts(self) -> dict[str, str]:
        """The summary as readable text, by row heading."""
        s = self.summary
        deepest = s["penetration_m"]
        is_open = not all(self.scene.bodies[b].mesh.issues.closed for b in self.scene.fixed)
        how = "exact; open body: penetration through its faces only" if is_open else "exact"
        where = f"{1e3 * deepest:.3g} mm at vertices and edge midpoints ({how})" if self.cut else ""
        if self.cut:  # 0 mm is never reported without the crossing pairs
            where += f"; {s['cuts_bodies_most']:,} pairs of triangles cross, in {s['frames_with_cuts']:,} frames"
        bodies = {
            "deepest penetration": "not measured" if np.isnan(deepest) else where or f"{1e3 * deepest:.3g} mm ({how})",
            "nearest approach": "" if np.isnan(deepest) else f"{1e3 * s['least_distance_m']:.2f} mm",
        }
        if self.through is not None and self.crossings is None:
            bodies["intersecting pairs, cloth and bodies"] = f"{self.through:,} at the end"
        if s["pinched_most"]:
            deep = f"{1e3 * s['pinched_depth_m']:.3g} mm"
            bodies["pinched where the body intersects itself"] = f"at most {s['pinched_most']} points, {deep} deep"
        if s["pinched_pairs_most"]:
            bodies["cut where the body intersects itself"] = f"at most {s['pinched_pairs_most']:,} pairs of triangles"
        return {
            "frames": f"{s['frames']} ({s['simulated_s']:.2f} s)",
            **({"particles": f"{s['particles']:,}"} if self.scene.deformable else {}),
            "body triangles": f"{s['body_triangles']:,}",
            **({"contacts, at most": f"{s['contacts_most']:,}"} if self.scene.deformable else {}),
            **(bodies if self.scene.fixed and self.scene.deformable else {}),
            **({"start": self.start_words} if self.start else {}),
            **self._met,
            **{
                f"{self._pair(s)}, at most": litres(s.volume.max(), s.bound[int(np.argmax(s.volume))])
                for s in self.shared
            },
            "time per frame": f"{s['ms_per_frame']:.1f} ms",
            "times real time": f"{s['times_real_time']:.1f}x",
        }

    @property
    def start_words(self) -> str:
        """The intersections in the initial state as text; empty where there are none."""
        told = []
        for each in self.start:
            a, b = self.names(each)
            word = f"{a} with itself" if each.bodies[0] == each.bodies[1] else f"{a} with {b}"
            told.append(f"{each.pairs:,} pair{'s' * (each.pairs != 1)} of triangles of {word}")
        return ", ".join(told)

    @property
    def _met(self) -> dict[str, str]:
        """The numbers of intersecting triangle pairs as text; empty where not counted."""
        if self.crossings is None:
            return {}
        counted = {"cloth": self.crossings[:, 0], "bodies": self.crossings[:, 1]}
        if not self.scene.fixed:
            del counted["bodies"]
        told = {
            f"intersecting pairs, cloth and {what}": f"{n.sum():,} in all, worst frame {n.max():,}" if n.any() else "0"
            for what, n in counted.items()
        }
        if self.unresolved is not None:
            bad = int((self.unresolved > 0).sum())
            told["pairs left too near"] = f"{self.unresolved.max():,} at most, in {bad:,} frames" if bad else "0"
        mode = self.scene.self_contact
        if mode != "off":
            told[f"{mode} mode"] = f"{self.crossings.sum():,} intersecting pairs in {len(self.crossings) - 1:,} frames"
        if self.failed_substeps:
            told["could not be held"] = (
                f"{self.given_up_pairs:,} pairs of features in {self.failed_substeps:,} substeps"
            )
        return told

    def save(self, path: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Save as .glb, .usda, .npz, .pc2 (per deformable body) or .obj (a sequence); return the written paths."""
        return save_animation(path, self.clips, 1.0 / self.dt)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the replay, a self-contained HTML page."""
        write_replay(path, self.clips, 1.0 / self.dt, title=self._title, facts=self.facts, **self._drawn)

    def to_png(self, path: str | os.PathLike[str], frames: int = 6) -> None:
        """Write a contact sheet of a few frames."""
        overlays, notes = self._drawn["overlays"], self.shared[0].readings if len(self.shared) == 1 else ()
        contact_sheet(self.clips, 1.0 / self.dt, path, frames=frames, title=self._title, overlays=overlays, notes=notes)

    @property
    def _drawn(self) -> dict[str, Any]:
        """The overlays of the run, and its per-frame readings."""
        readings = {f"{self._pair(s)} now": s.readings for s in self.shared}
        return {"overlays": [s.overlay for s in self.shared], "readings": readings}

    def _pair(self, shared: SharedVolume) -> str:
        if len(self.shared) == 1:
            return "shared volume"
        return "shared volume, " + " and ".join(self.scene.bodies[b].label for b in shared.bodies)

    @property
    def _title(self) -> str:
        return f"pliant: {self.scene.name}"

    def _repr_html_(self) -> str:
        return iframe_html(replay_html(self.clips, 1.0 / self.dt, title=self._title, facts=self.facts, **self._drawn))

    def __repr__(self) -> str:
        return f"<Result {self.scene.name!r}: " + ", ".join(f"{k} {v}" for k, v in self.facts.items() if v) + ">"


def record(
    sim: Simulation,
    frames: int,
    *,
    measure: bool = True,
    crossings: bool | None = None,
    progress: Callable[[Frame], None] | None = None,
) -> Result:
    """Run `sim` for `frames` frames and keep them; `measure` measures each one with the exact referee.

    `crossings` counts intersecting triangle pairs. Default: only with self-contact.
    """
    count = validate.whole("frames", frames, low=1)
    scene = sim.scene
    particles = sum(scene.bodies[b].mesh.welded.n_vertices for b in scene.deformable)
    validate.budget(f"{count} frames of {particles} particles", 24.0 * (count + 1) * particles, "keep fewer frames")
    referee = Referee(scene) if measure and scene.deformable else None
    counting = scene.self_contact != "off" if crossings is None else crossings
    counter = IntersectionCount(scene, sim.state.x) if measure and (scene.deformable or counting) else None
    start = counter.meetings() if counter else ()
    shared = SharedCounter(scene, count + 1)
    met, cuts = np.zeros((count + 1, 2), np.int64), np.zeros((count + 1, 2), np.int64)
    soft = {b: np.empty((count + 1, scene.bodies[b].mesh.welded.n_vertices, 3)) for b in scene.deformable}
    bent = {b: np.empty((count + 1, scene.bodies[b].mesh.welded.n_vertices, 3), np.float32) for b in scene.shapes}
    contacts, seconds, unresolved = np.zeros(count + 1, np.int64), np.zeros(count + 1), np.zeros(count + 1, np.int64)
    deepest, pinched = np.full(count + 1, np.nan), np.zeros((count + 1, 2))
    poses = np.empty((count + 1, len(scene.bodies), 3, 4))

    def keep(t: int, x: Floats, pose: Floats) -> None:
        poses[t] = pose
        for b, store in soft.items():
            store[t] = x[scene.rows(b)]
        for b, shape in bent.items():
            shape[t] = x[scene.rows(b)]
        if referee is not None:
            deepest[t] = referee.least_distance(x, pose)
            pinched[t] = referee.pinched, referee.pinched_depth
        if counter is not None:
            if counting:
                met[t] = counter.at(x)
            else:
                counter.move(x)
            cuts[t] = counter.cuts()
        shared.at(t, x)

    keep(0, sim.state.x, sim.state.pose)
    for t, frame in enumerate(sim.run(count), 1):
        if frame.lost:
            raise ValueError(f"the cloth flew apart in frame {t}; use more substeps, a smaller dt or milder forces")
        keep(t, frame.x, frame.pose)
        contacts[t], seconds[t], unresolved[t] = len(frame.contacts), frame.seconds, frame.unresolved
        if progress is not None:
            progress(frame)
    failed_substeps, given_up_pairs = (sim.guard.failed_substeps, sim.guard.given_up_pairs) if sim.guard else (0, 0)
    counted = met if counter and counting else None
    left = unresolved if sim.separates else None
    through = counter.with_bodies() if counter and scene.deformable and scene.fixed else None
    kept = (soft, poses, contacts, deepest, seconds, counted, failed_substeps, bent, pinched, left, shared.found)
    crossed = cuts if counter and scene.deformable and scene.fixed else None
    return Result(
        scene,
        sim.dt,
        *kept,
        through=through,
        given_up_pairs=given_up_pairs,
        cuts=crossed,
        start=start,
        substeps=sim.substeps,
    )


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

    >>> pliant.drape(pliant.shapes.cloth(), pliant.shapes.ball(0.25)).save("out.glb")
    """
    start = time.perf_counter()
    sim = Simulation(drape_scene(cloth, body, **options), dt, substeps=substeps, method=method)
    result = record(sim, frames, measure=measure, progress=progress)
    result.seconds[0] = time.perf_counter() - start - float(result.seconds[1:].sum())
    return result

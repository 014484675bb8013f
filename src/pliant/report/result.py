"""Result: a finished run that can be measured, saved, and shown."""

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
from ..character import Character
from ..clip import Clip
from ..deforming import Skinned
from ..detect.surface import ClosestPoints
from ..detect.tree.depth import Depths
from ..io import save_animation
from ..mesh import Mesh
from ..motion import Motion, brought
from ..scene import CLOTH_COLOUR, Scene
from ..scenes.drape import drape_scene
from ..simulation import Frame, Simulation
from .crossings import CrossingCount
from .replay import iframe_html, replay_html, write_replay
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
    """The frames of a run, its first state included, and what was measured on the way.

    x: for each soft body the positions (T,n,3) of its welded vertices. poses: (T,bodies,3,4) of all bodies. deepest:
    (T,) the least exact distance of any cloth vertex or edge midpoint from any fixed body, metres, negative inside; nan
    where it was not measured. crossings: (T,2) pairs of triangles that meet, exactly: cloth with cloth, cloth with
    bodies; None where they were not counted. forced: how often bodies left no room (see `Guard`). shapes: for each
    body that bends the positions (T,n,3), single precision, of its welded vertices.
    """

    scene: Scene
    dt: float
    x: dict[int, Floats]
    poses: Floats
    contacts: NDArray[np.int64]  # (T,) in the last substep of each frame
    deepest: Floats
    seconds: Floats  # (T,) computing time, measuring left out
    crossings: NDArray[np.int64] | None = None
    forced: int = 0
    shapes: dict[int, NDArray[np.float32]] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def clips(self) -> list[Clip]:
        """Every body as it is written to files: the vertices the mesh came with, seams included."""
        found = []
        for b, body in enumerate(self.scene.bodies):
            index = body.mesh.weld_index
            kept = self.x.get(b, self.shapes.get(b))
            frames = body.mesh.vertices[None] if kept is None else kept[:, index]
            poses = self.poses[:, b] if isinstance(body.motion, Motion) else None
            found.append(Clip(body.mesh, frames.astype(np.float32), self._colour(b), poses, self._skin(b)))
        return found

    def _skin(self, b: int) -> Character | None:
        """A body that bones move, with a key for each frame; none of one that morphs, too."""
        motion = self.scene.bodies[b].motion
        if not isinstance(motion, Skinned) or motion.character.morphs:
            return None
        return motion.keyed(self.dt * np.arange(len(self.seconds)))

    def _colour(self, b: int) -> tuple[float, float, float]:
        """A body's own; where several cloths were given none, each has another, so that they can be told apart."""
        body, soft = self.scene.bodies[b], self.scene.soft
        if b in soft and body.color == CLOTH_COLOUR:
            return CLOTH_COLOURS[soft.index(b) % len(CLOTH_COLOURS)]
        return body.color or (0.8, 0.8, 0.8)

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the run: counts, exact penetration in metres, time per frame, and times faster than real time."""
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
            "self_contact": self.scene.self_contact,
            "thickness_m": self.scene.thickness,
            "crossings_cloth_most": None if own is None else int(own.max()),
            "crossings_cloth_total": None if own is None else int(own.sum()),
            "crossings_bodies_most": None if bodies is None else int(bodies.max()),
            "crossings_bodies_total": None if bodies is None else int(bodies.sum()),
            "frames_with_crossings": None if crossings is None else int(crossings.any(1).sum()),
            "forced": self.forced,
            "fastest_at_end_m_per_s": max((float(np.linalg.norm(e, axis=1).max()) for e in ends), default=0.0)
            / self.dt,
            "ms_per_frame": 1e3 * median,
            "times_real_time": self.dt / median if median > 0.0 else float("nan"),
            "compute_s": float(steps.sum()),
        }

    @property
    def penetrates(self) -> bool:
        """Was any measured point inside a body by more than a millionth of the body's size?"""
        size = max((self.scene.bodies[b].mesh.size for b in self.scene.fixed), default=0.0)
        return bool(self.summary["penetration_m"] > 1e-6 * size)

    @property
    def broken(self) -> bool:
        """Did safe mode let anything meet, in any frame that was counted?"""
        return self.scene.self_contact == "safe" and self.crossings is not None and bool(self.crossings.any())

    @property
    def facts(self) -> dict[str, str]:
        """The summary as a person reads it."""
        s = self.summary
        deepest = s["penetration_m"]
        is_open = not all(self.scene.bodies[b].mesh.issues.closed for b in self.scene.fixed)
        how = "exact; the body is not closed: through its faces, not round them" if is_open else "exact"
        bodies = {
            "deepest penetration": "not measured" if np.isnan(deepest) else f"{1e3 * deepest:.3g} mm ({how})",
            "nearest approach": "" if np.isnan(deepest) else f"{1e3 * s['least_distance_m']:.2f} mm",
        }
        return {
            "frames": f"{s['frames']} ({s['simulated_s']:.2f} s)",
            "particles": f"{s['particles']:,}",
            "body triangles": f"{s['body_triangles']:,}",
            "contacts, at most": f"{s['contacts_most']:,}",
            **(bodies if self.scene.fixed else {}),
            **self._met,
            "time per frame": f"{s['ms_per_frame']:.1f} ms",
            "times real time": f"{s['times_real_time']:.1f}x",
        }

    @property
    def _met(self) -> dict[str, str]:
        """How many triangle pairs met, in words; nothing where they were not counted."""
        if self.crossings is None:
            return {}
        counted = {"cloth": self.crossings[:, 0], "bodies": self.crossings[:, 1]}
        if not self.scene.fixed:
            del counted["bodies"]
        told = {
            f"intersecting pairs, cloth and {what}": f"{n.sum():,} in all, worst frame {n.max():,}" if n.any() else "0"
            for what, n in counted.items()
        }
        mode = self.scene.self_contact
        if mode != "off":
            told[f"{mode} mode"] = f"{self.crossings.sum():,} intersecting pairs in {len(self.crossings) - 1:,} frames"
        return told

    def save(self, path: str | os.PathLike[str]) -> list[pathlib.Path]:
        """By its ending: .glb, .usda, .npz, .pc2 (each that bends) or .obj (a sequence); returns what was written."""
        return save_animation(path, self.clips, 1.0 / self.dt)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """The replay: one page that plays without a network."""
        write_replay(path, self.clips, 1.0 / self.dt, title=self._title, facts=self.facts)

    def to_png(self, path: str | os.PathLike[str], frames: int = 6) -> None:
        """A few frames on one picture."""
        contact_sheet(self.clips, 1.0 / self.dt, path, frames=frames, title=self._title)

    @property
    def _title(self) -> str:
        return f"pliant: {self.scene.name}"

    def _repr_html_(self) -> str:
        return iframe_html(replay_html(self.clips, 1.0 / self.dt, title=self._title, facts=self.facts))

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
    """Run `sim` for `frames` frames and keep them; `measure` has the exact referee look at every one.

    `crossings` counts the pairs of triangles that meet; without it only where cloth is kept from itself.
    """
    count = validate.whole("frames", frames, low=1)
    scene = sim.scene
    particles = sum(scene.bodies[b].mesh.welded.n_vertices for b in scene.soft)
    validate.budget(f"{count} frames of {particles} particles", 24.0 * (count + 1) * particles, "keep fewer frames")
    referee = Referee(scene) if measure else None
    counting = scene.self_contact != "off" if crossings is None else crossings
    counter = CrossingCount(scene, sim.state.x) if measure and counting else None
    met = np.zeros((count + 1, 2), np.int64)
    soft = {b: np.empty((count + 1, scene.bodies[b].mesh.welded.n_vertices, 3)) for b in scene.soft}
    bent = {b: np.empty((count + 1, scene.bodies[b].mesh.welded.n_vertices, 3), np.float32) for b in scene.shapes}
    contacts, seconds = np.zeros(count + 1, np.int64), np.zeros(count + 1)
    deepest = np.full(count + 1, np.nan)
    poses = np.empty((count + 1, len(scene.bodies), 3, 4))

    def keep(t: int, x: Floats, pose: Floats) -> None:
        poses[t] = pose
        if not np.abs(x).max() < validate.LARGEST:  # nan too
            raise ValueError(f"the cloth flew apart in frame {t}; use more substeps, a smaller dt or milder forces")
        for b, store in soft.items():
            store[t] = x[scene.rows(b)]
        for b, shape in bent.items():
            shape[t] = x[scene.rows(b)]
        if referee is not None:
            deepest[t] = referee.least_distance(x, pose)
        if counter is not None:
            met[t] = counter.at(x)

    keep(0, sim.state.x, sim.state.pose)
    for t, frame in enumerate(sim.run(count), 1):
        keep(t, frame.x, frame.pose)
        contacts[t], seconds[t] = len(frame.contacts), frame.seconds
        if progress is not None:
            progress(frame)
    forced = sim.guard.forced if sim.guard else 0
    counted = None if counter is None else met
    return Result(scene, sim.dt, soft, poses, contacts, deepest, seconds, counted, forced, bent)


class Referee:
    """Measures, exactly and without any field, how far cloth stays out of bodies."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        rigid = [f for f in scene.fixed if f not in scene.shapes]
        self.pairs = [(b, f, _Watch(scene.bodies[f].mesh)) for b in scene.soft for f in rigid]
        self.bending = {f: Depths(scene.bodies[f].mesh.welded) for f in scene.shapes}
        self.moving = {f for f in scene.moving if f not in scene.shapes}

    def least_distance(self, x: Floats, pose: Floats | None = None) -> float:
        """Of all cloth vertices and edge midpoints at positions `x`, metres, negative inside; inf without bodies.

        `pose` (bodies,3,4) says where bodies that move are at that time: each is judged in its own coordinates.
        """
        if self.moving and pose is None:
            raise ValueError(f"bodies {sorted(self.moving)} move; pass the pose of the frame with its positions")
        least = np.inf
        points = {b: self._points(b, x) for b in self.scene.soft}
        for b, f, body in self.pairs:
            p = points[b] if pose is None or f not in self.moving else brought(points[b], pose[f])
            # a closed body whose box is farther than what was found already cannot change it
            if not body.closed or body.box_gap(p) < least:
                least = min(least, body.least(p))
        for f, depths in self.bending.items():
            depths.update(x[self.scene.rows(f)])
            least = min([least, *(float(depths.query(p)[0].min()) for p in points.values())])
        return least

    def _points(self, b: int, x: Floats) -> Floats:
        mesh, p = self.scene.bodies[b].mesh.welded, x[self.scene.rows(b)]
        # vertices that no face uses are not cloth
        return np.concatenate([p[np.unique(mesh.faces)], p[mesh.topology.edges].mean(1)])


class _Watch:
    """The least distance of moving points from a body, looking only at points that can have it.

    What was d away and moved by s is at least d - s away now. Behind an open body is not inside it: there a point
    counts only once it went through the faces, and not when it went round the border (it was too far to cross, or
    the border is what is nearest).
    """

    def __init__(self, mesh: Mesh) -> None:
        self.exact = ClosestPoints(mesh)
        self.mesh = mesh.welded
        self.closed = mesh.issues.closed
        top = self.mesh.topology
        self.rim = (top.use != 2) | (top.flow != 0)  # edges beyond which the side is not defined
        self.rim_vertex = np.zeros(self.mesh.n_vertices, np.bool_)
        self.rim_vertex[top.edges[self.rim]] = True
        self.seen = np.zeros((0, 3))  # where each point was when it was last measured
        self.distance = np.zeros(0)
        self.face = np.zeros(0, np.int64)
        self.around = np.zeros(0, np.bool_)  # behind the body, but not through it

    def box_gap(self, p: Floats) -> float:
        """How far the boxes of the points and of the body are apart at least, metres."""
        low, high = self.mesh.bounds
        return float(np.maximum(np.maximum(low - p.max(0), p.min(0) - high), 0.0).max())

    def least(self, p: Floats) -> float:
        if len(self.seen) != len(p):
            self.seen = p.copy()
            self.distance, nearest, self.face, _ = self.exact.query(p)
            self.around = (self.distance < 0.0) & self._at_rim(nearest, self.face)
            return float(self.distance[~self.around].min(initial=np.inf))
        away = np.where(self.around, -self.distance, self.distance)
        bound = away - np.linalg.norm(p - self.seen, axis=1)
        first = np.argsort(bound, kind="stable")[:64]
        least = self._measure(p, first)
        rest = bound < least
        rest[first] = False
        return min(least, self._measure(p, np.flatnonzero(rest)))

    def _measure(self, p: Floats, rows: NDArray[np.intp]) -> float:
        if not len(rows):
            return np.inf
        moved, before = np.linalg.norm(p[rows] - self.seen[rows], axis=1), self.distance[rows]
        d, nearest, face, _ = self.exact.query(p[rows], self.face[rows])
        if not self.closed:
            crossed = (np.abs(d) + np.abs(before) <= moved) & ~self._at_rim(nearest, face)
            went = (before >= 0.0) & ~crossed
            self.around[rows] = (d < 0.0) & (self.around[rows] | went)
        self.seen[rows], self.distance[rows], self.face[rows] = p[rows], d, face
        return float(d[~self.around[rows]].min(initial=np.inf))

    def _at_rim(self, q: Floats, face: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether surface points `q` on `face` lie on the border, or on an edge that gives no side."""
        on = np.zeros(len(q), np.bool_)
        if self.closed:
            return on
        x, top, near = self.mesh.vertices, self.mesh.topology, 1e-9 * self.mesh.size
        for k in range(3):
            e, v = top.face_edges[face, k], self.mesh.faces[face, k]
            a, b = x[top.edges[e, 0]], x[top.edges[e, 1]]
            u = b - a
            t = np.clip(((q - a) * u).sum(1) / np.maximum((u * u).sum(1), 1e-300), 0.0, 1.0)
            on |= self.rim[e] & (np.linalg.norm(a + t[:, None] * u - q, axis=1) <= near)
            on |= self.rim_vertex[v] & (np.linalg.norm(x[v] - q, axis=1) <= near)
        return on


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

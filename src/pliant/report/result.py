"""Result: a finished run that can be measured, saved, and shown."""

import dataclasses
import functools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..clip import Clip
from ..detect.surface import ClosestPoints
from ..io import save_animation
from ..mesh import Mesh
from ..scene import Scene
from ..scenes.drape import drape_scene
from ..simulation import Frame, Simulation
from .replay import iframe_html, replay_html, write_replay
from .sheet import contact_sheet

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """The frames of a run, its first state included, and what was measured on the way.

    x: for each soft body the positions (T,n,3) of its welded vertices. deepest: (T,) the least exact distance of any
    cloth vertex or edge midpoint from any fixed body, metres, negative inside; nan where it was not measured.
    """

    scene: Scene
    dt: float
    x: dict[int, Floats]
    contacts: NDArray[np.int64]  # (T,) in the last substep of each frame
    deepest: Floats
    seconds: Floats  # (T,) computing time, measuring left out

    @functools.cached_property
    def clips(self) -> list[Clip]:
        """Every body as it is written to files: the vertices the mesh came with, seams included."""
        found = []
        for b, body in enumerate(self.scene.bodies):
            index = body.mesh.weld_index
            frames = self.x[b][:, index] if b in self.x else body.mesh.vertices[None]
            found.append(Clip(body.mesh, frames.astype(np.float32), body.color or (0.8, 0.8, 0.8)))
        return found

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the run: counts, exact penetration in metres, time per frame, and times faster than real time."""
        steps = self.seconds[1:]
        median = float(np.median(steps)) if len(steps) else 0.0
        measured = not np.isnan(self.deepest).all()
        deepest = float(np.nanmin(self.deepest)) if measured else float("nan")
        last = [float(np.abs(np.diff(x[-2:], axis=0)).max()) / self.dt for x in self.x.values() if len(x) > 1]
        return {
            "scene": self.scene.name,
            "frames": len(steps),
            "simulated_s": len(steps) * self.dt,
            "particles": sum(x.shape[1] for x in self.x.values()),
            "body_triangles": sum(self.scene.bodies[b].mesh.n_faces for b in self.scene.fixed),
            "contacts_most": int(self.contacts.max(initial=0)),
            "least_distance_m": deepest,
            "penetration_m": max(0.0, -deepest) if measured else float("nan"),
            "fastest_at_end_m_per_s": max(last, default=0.0),
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
    def facts(self) -> dict[str, str]:
        """The summary as a person reads it."""
        s = self.summary
        deepest = s["penetration_m"]
        return {
            "frames": f"{s['frames']} ({s['simulated_s']:.2f} s)",
            "particles": f"{s['particles']:,}",
            "body triangles": f"{s['body_triangles']:,}",
            "contacts, at most": f"{s['contacts_most']:,}",
            "deepest penetration": "not measured" if np.isnan(deepest) else f"{1e3 * deepest:.3g} mm (exact)",
            "nearest approach": "" if np.isnan(deepest) else f"{1e3 * s['least_distance_m']:.2f} mm",
            "time per frame": f"{s['ms_per_frame']:.1f} ms",
            "times real time": f"{s['times_real_time']:.1f}x",
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """By its ending: .glb, .pc2, .npz or .obj (a sequence)."""
        save_animation(path, self.clips, 1.0 / self.dt)

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
    sim: Simulation, frames: int, *, measure: bool = True, progress: Callable[[Frame], None] | None = None
) -> Result:
    """Run `sim` for `frames` frames and keep them; `measure` has the exact referee look at every one."""
    count = validate.whole("frames", frames, low=1)
    scene = sim.scene
    particles = sum(scene.bodies[b].mesh.welded.n_vertices for b in scene.soft)
    validate.budget(f"{count} frames of {particles} particles", 24.0 * (count + 1) * particles, "keep fewer frames")
    referee = Referee(scene) if measure else None
    soft = {b: np.empty((count + 1, scene.bodies[b].mesh.welded.n_vertices, 3)) for b in scene.soft}
    contacts, seconds = np.zeros(count + 1, np.int64), np.zeros(count + 1)
    deepest = np.full(count + 1, np.nan)

    def keep(t: int, x: Floats) -> None:
        if not np.abs(x).max() < validate.LARGEST:  # nan too
            raise ValueError(f"the cloth flew apart in frame {t}; use more substeps, a smaller dt or milder forces")
        for b, store in soft.items():
            store[t] = x[scene.rows(b)]
        if referee is not None:
            deepest[t] = referee.least_distance(x)

    keep(0, sim.state.x)
    for t, frame in enumerate(sim.run(count), 1):
        keep(t, frame.x)
        contacts[t], seconds[t] = len(frame.contacts), frame.seconds
        if progress is not None:
            progress(frame)
    return Result(scene, sim.dt, soft, contacts, deepest, seconds)


class Referee:
    """Measures, exactly and without any field, how far cloth stays out of bodies."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.pairs = [(b, _Watch(scene.bodies[f].mesh)) for b in scene.soft for f in scene.fixed]

    def least_distance(self, x: Floats) -> float:
        """Of all cloth vertices and edge midpoints at positions `x`, metres, negative inside; inf without bodies."""
        least = np.inf
        for b, body in self.pairs:
            mesh, p = self.scene.bodies[b].mesh.welded, x[self.scene.rows(b)]
            # vertices that no face uses are not cloth
            least = min(least, body.least(np.concatenate([p[np.unique(mesh.faces)], p[mesh.topology.edges].mean(1)])))
        return least


class _Watch:
    """The least distance of moving points from a body, looking only at points that can have it.

    The signed distance of a closed body is 1-Lipschitz: what was d away and moved by s is at least d - s away now.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.exact = ClosestPoints(mesh)
        self.closed = mesh.issues.closed
        self.seen = np.zeros((0, 3))  # where each point was when it was last measured
        self.distance = np.zeros(0)
        self.face = np.zeros(0, np.int64)

    def least(self, p: Floats) -> float:
        if len(self.seen) != len(p) or not self.closed:
            self.seen = p.copy()
            self.distance, _, self.face, _ = self.exact.query(p)
            return float(self.distance.min())
        bound = self.distance - np.linalg.norm(p - self.seen, axis=1)
        first = np.argsort(bound, kind="stable")[:64]
        least = self._measure(p, first)
        rest = bound < least
        rest[first] = False
        return min(least, self._measure(p, np.flatnonzero(rest)))

    def _measure(self, p: Floats, rows: NDArray[np.intp]) -> float:
        if not len(rows):
            return np.inf
        self.seen[rows] = p[rows]
        self.distance[rows], _, self.face[rows], _ = self.exact.query(p[rows], self.face[rows])
        return float(self.distance[rows].min())


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

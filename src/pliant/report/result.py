"""Result: a finished run with its measurements, as text, files, pages and pictures."""

import dataclasses
import functools
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import renamed
from ..io import save_animation
from ..motion.character import Character
from ..motion.clip import Clip
from ..motion.deforming import Skinned
from ..motion.rigid import Motion
from ..scene import CLOTH_COLOUR, Scene
from .replay import iframe_html, replay_html, write_replay
from .shared import SharedVolume, litres
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


class Meeting(NamedTuple):
    """The number of intersecting triangle pairs of two bodies, given by index.

    Between cloth and a fixed body, touching pairs do not count.
    """

    bodies: tuple[int, int]
    pairs: int


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """The frames of a run, including its initial state, and the measurements taken during it.

    x: per deformable body the positions (T,n,3) of its welded vertices. poses: (T,bodies,3,4) of all bodies. deepest:
    (T,) least exact distance of any cloth vertex or edge midpoint from any fixed body, metres, negative inside; nan
    where not measured. crossings: (T,2) exact numbers of intersecting triangle pairs, cloth with cloth and cloth with
    bodies; None where not counted. failed_substeps: substeps in which safe mode gave up pairs, given_up_pairs: the
    number of these pairs of features (see `Guard`). shapes: per deforming body the positions (T,n,3), single precision,
    of its welded vertices. pinched: (T,2) number and depth (m) of points inside such a body where it intersects itself;
    they are not part of `deepest`. unresolved: (T,) pairs still too close when a response that iterates until
    separation stopped; None without such a response. shared: intersection volumes of the pairs `scene.overlaps`. skins:
    whether files may store skinned bodies with bones, whose clip then begins with the run; otherwise they are stored
    frame by frame. through: intersecting triangle pairs of cloth and bodies in the last frame, which points of the
    cloth alone do not reveal; None: not counted. cuts: (T,2) pairs of cloth and body triangles that cross, and pairs
    near self-intersections of a body, which are not in the first column; None: not counted. start: intersections in the
    initial state.
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

    remained = renamed.attribute("remained", "unresolved")
    forced = renamed.attribute("forced", "failed_substeps")
    unheld = renamed.attribute("unheld", "given_up_pairs")

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
        left = self.unresolved
        unresolved_most = None if left is None else int(left.max())
        frames_with_unresolved = None if left is None else int((left > 0).sum())
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
            "failed_substeps": self.failed_substeps,
            "given_up_pairs": self.given_up_pairs,
            "unresolved_most": unresolved_most,
            "frames_with_unresolved": frames_with_unresolved,
            # the same four under their former names, for one version
            "forced": self.failed_substeps,
            "unheld": self.given_up_pairs,
            "remained_most": unresolved_most,
            "frames_with_remained": frames_with_unresolved,
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


# names that moved to the recording loop
__getattr__ = renamed.module(__name__, dict.fromkeys(("record", "drape", "Referee"), "pliant.simulation.record"))

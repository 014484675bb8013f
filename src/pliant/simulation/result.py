"""Result: the frames of a finished run and its measurements, which it writes as files, pages and pictures."""

import dataclasses
import functools
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import brief, renamed, validate
from ..io import save_animation
from ..motion.character import Character
from ..motion.clip import Clip
from ..motion.deforming import Skinned
from ..motion.rigid import Motion
from ..proxies.proxy import Proxy
from ..report.display import cloth_subdivision, with_displayed_frames
from ..report.facts import intersections_text, run_facts, volume_label
from ..report.intersection_volume import IntersectionVolume
from ..report.replay import iframe_html, replay_html, write_replay
from ..report.sheet import contact_sheet
from ..scene import CLOTH_COLOUR, Scene
from .measure.strain import Strain, edge_strains, largest_strain
from .moving_scenes import character_figures

Floats = NDArray[np.float64]
CLOTH_COLOURS = (
    CLOTH_COLOUR,
    (0.10, 0.22, 0.42),
    (0.68, 0.42, 0.11),
    (0.13, 0.30, 0.19),
    (0.55, 0.50, 0.44),
    (0.31, 0.13, 0.30),
)


class IntersectingBodies(NamedTuple):
    """Two bodies that intersect, or one that intersects itself; between a deformable body and an obstacle only
    crossing pairs count."""

    bodies: tuple[int, int]  # their indices
    pairs: int  # number of intersecting pairs of triangles


class Carried(NamedTuple):
    """How the garments of a run follow from the run of their proxies."""

    run: "Result"  # of the proxies
    proxies: tuple[Proxy, ...]
    projected: NDArray[np.int64]  # (T,) vertices of garments inside of bodies after carrying, which were projected out
    farthest: Floats  # (T,) m, largest displacement by this projection
    # (T,) intersecting pairs of triangles of garments beyond those at the start, without those of shells that intersect
    # at the start (buttons and cloth); None: not counted
    gained: NDArray[np.int64] | None

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the proxies and of the projection."""
        made = [{"vertices": each.mesh.n_vertices, "triangles": each.mesh.n_faces} for each in self.proxies]
        extra = [
            {"thickness_m": each.thickness, "merged_shells": each.merged, "left_out_shells": each.left_out}
            for each in self.proxies
        ]
        return {
            "garments": [one | two for one, two in zip(made, extra)],
            "projected_most": int(self.projected.max()),
            "frames_projected": int((self.projected > 0).sum()),
            "projected_farthest_m": float(self.farthest.max()),
            "gained_intersections_most": None if self.gained is None else int(self.gained.max()),
            "run": self.run.summary,
        }


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """The T frames of a run, including its initial state, and the measurements taken during it.

    In the names of fields and keys "cloth" stands for the deformable bodies and "bodies" for the obstacles.
    Arrays of two columns have the shape (T,2).
    """

    scene: Scene
    dt: float  # s, duration of a frame
    begin: float = 0.0  # s of the motion of bodies at the first frame: after a pre-roll, or of a run that is continued
    substeps: int = 1  # per frame; fast bodies increase it, see `frame_substeps`
    x: dict[int, Floats]  # deformable body -> positions (T,n,3) of its welded vertices, m
    poses: Floats  # (T,bodies,3,4) of all bodies
    deforming_x: dict[int, NDArray[np.float32]] = dataclasses.field(default_factory=dict)  # deforming obstacle -> as x
    # whether files store skinned bodies as bones with one keyframe per frame of the run, instead of vertex positions
    # per frame
    skins: bool = True
    # (T,) s, computing time of each frame without measurements; `pliant.drape` stores the time of set-up and
    # measurements in the first entry
    seconds: Floats
    n_contacts: NDArray[np.int64]  # (T,) number of contacts in the last substep of each frame, self-contact included
    n_obstacle_contacts: NDArray[np.int64] | None = None  # (T,) those with obstacles; None: not counted
    frame_substeps: NDArray[np.int64] | None = None  # (T,) number of substeps of each frame; None: `substeps`
    events: int | None = None  # number of times of impact at which substeps were divided; None: fixed substeps
    # (T,) m: least exact distance of a vertex or edge midpoint of a deformable body from an obstacle, negative inside;
    # nan: not measured
    least_distance: Floats
    # number of such points inside a deforming obstacle where it intersects itself, and their largest depth in m; they
    # are not part of `least_distance`
    pinched: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 2)))
    # pairs of triangles that intersect: among deformables, deformables with obstacles; None: not counted
    intersecting_pairs: NDArray[np.int64] | None = None
    # the same of deformables with obstacles in the last frame, which is counted even if the others are not; None: not
    # counted
    intersecting_pairs_bodies_at_end: int | None = None
    # pairs of triangles of deformables and obstacles that cross: away from self-intersections of the obstacle, and near
    # them (pinched pairs, which the first column does not contain); None: not counted
    crossing_pairs: NDArray[np.int64] | None = None
    initial_intersections: tuple[IntersectingBodies, ...] = ()  # in the initial state
    # (T,) pairs still too near when an iterative response stopped; None without such a response
    unresolved: NDArray[np.int64] | None = None
    failed_substeps: int = 0  # number of substeps in which safe mode gave pairs up (see `Guard`)
    given_up_pairs: int = 0  # pairs of features that it gave up, and vertices released beside cloth without room
    without_room: int = 0  # largest number of cloth vertices without room in a frame, in safe mode (`Frame.no_room`)
    slipped: float = 0.0  # m: largest distance of a vertex attached to skin from its place on it (`Frame.slipped`)
    computed_again: int = 0  # frames computed in more than one way, in safe mode (`Frame.attempts`)
    shared: tuple[IntersectionVolume, ...] = ()  # intersection volumes of the pairs `scene.overlaps`
    carried: Carried | None = None  # if proxies were simulated: the cloths of `scene` are then the garments

    contacts = renamed.attribute("contacts", "n_contacts")
    remained = renamed.attribute("remained", "unresolved")
    forced = renamed.attribute("forced", "failed_substeps")
    unheld = renamed.attribute("unheld", "given_up_pairs")
    deepest = renamed.attribute("deepest", "least_distance")
    crossings = renamed.attribute("crossings", "intersecting_pairs")
    cuts = renamed.attribute("cuts", "crossing_pairs")
    through = renamed.attribute("through", "intersecting_pairs_bodies_at_end")
    start = renamed.attribute("start", "initial_intersections")
    shapes = renamed.attribute("shapes", "deforming_x")
    cut = renamed.attribute("cut", "crosses_bodies")
    tangled = renamed.attribute("tangled", "self_intersects_at_end")
    broken = renamed.attribute("broken", "safe_mode_failed")
    start_words = renamed.attribute("start_words", "initial_intersections_text")

    @functools.cached_property
    def clips(self) -> list[Clip]:
        """Every body as it is written to files: with the unwelded vertices of its mesh."""
        found = []
        for b, body in enumerate(self.scene.bodies):
            index = body.mesh.weld_index
            kept = self.x.get(b, self.deforming_x.get(b))
            frames = body.mesh.vertices[None] if kept is None else kept[:, index]
            poses = self.poses[:, b] if isinstance(body.motion, Motion) else None
            found.append(Clip(body.mesh, frames.astype(np.float32), self._colour(b), poses, self._skin(b)))
        return found

    def displayed_clips(self, subdivide: int | None = None) -> list[Clip]:
        """Every body as pages and pictures show it: cloth after `subdivide` subdivision steps, 0 for none. Default:
        two, fewer for fine cloth, none for garments that were carried by proxies."""
        subdivide = 0 if subdivide is None and self.carried is not None else subdivide
        return [
            dataclasses.replace(clip, subdivision=cloth_subdivision(self.scene, b, clip.mesh, subdivide))
            for b, clip in enumerate(self.clips)
        ]

    def _skin(self, b: int) -> Character | None:
        """The skinned character of a body with one keyframe per frame; None for other bodies and morph targets."""
        motion = self.scene.bodies[b].motion
        if not self.skins or not isinstance(motion, Skinned) or motion.character.morphs:
            return None
        return motion.keyed(self.begin + self.dt * np.arange(len(self.seconds)))

    def _colour(self, b: int) -> tuple[float, float, float]:
        """The colour of a body; cloths without one get distinct colours."""
        body, deformable = self.scene.bodies[b], self.scene.deformable
        if b in deformable and body.color == CLOTH_COLOUR:
            return CLOTH_COLOURS[deformable.index(b) % len(CLOTH_COLOURS)]
        return body.color or (0.8, 0.8, 0.8)

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the run: counts, exact penetration in metres, time per frame, and speed relative to real time."""
        steps = self.seconds[1:]
        median = float(np.median(steps)) if len(steps) else 0.0
        measured = not np.isnan(self.least_distance).all()
        least = float(np.nanmin(self.least_distance)) if measured else float("nan")
        ends = [x[-1] - x[-2] for x in self.x.values() if len(x) > 1]
        return {
            "scene": self.scene.name,
            "frames": len(steps),
            "simulated_s": len(steps) * self.dt,
            "particles": sum(x.shape[1] for x in self.x.values()),
            "body_triangles": sum(self.scene.bodies[b].mesh.n_faces for b in self.scene.obstacles),
            "contacts_most": int(self.n_contacts.max(initial=0)),
            "least_distance_m": least,
            "penetration_m": max(0.0, -least) if measured else float("nan"),
            "pinched_most": int(self.pinched[:, 0].max(initial=0.0)),
            "pinched_depth_m": float(self.pinched[:, 1].max(initial=0.0)),
            "strain_95_percent": None if self.strain is None else self.strain.percentile_95,
            "strain_most": None if self.strain is None else self.strain.most,
            "self_contact": self.scene.self_contact,
            "thickness_m": self.scene.thickness,
            **self._pair_figures(measured),
            "failed_substeps": self.failed_substeps,
            "events": self.events,
            "given_up_pairs": self.given_up_pairs,
            "without_room_most": self.without_room,
            "slipped_m": self.slipped,
            "frames_computed_again": self.computed_again,
            "unresolved_most": None if self.unresolved is None else int(self.unresolved.max()),
            "frames_with_unresolved": None if self.unresolved is None else int((self.unresolved > 0).sum()),
            "fastest_at_end_m_per_s": max((float(np.linalg.norm(e, axis=1).max()) for e in ends), default=0.0)
            / self.dt,
            "ms_per_frame": 1e3 * median,
            "times_real_time": self.dt / median if median > 0.0 else float("nan"),
            "compute_s": float(steps.sum()),
            **({"shared": [s.summary for s in self.shared]} if self.shared else {}),
            **self._carried_figures(),
            **character_figures(self.scene, self.begin),
        }

    def _carried_figures(self) -> dict[str, Any]:
        """The figures of a run on proxies, with the strain of the garments as written."""
        if self.carried is None:
            return {}
        strain = np.abs(self.edge_strain())
        figures = {
            "strain_at_end_99_percent": float(np.percentile(strain, 99)),
            "strain_at_end_most": float(strain.max()),
        }
        return {"proxy": self.carried.summary | figures}

    def edge_strain(self, frame: int = -1) -> Floats:
        """(k,) relative elongation of all edges of the deformable bodies in a frame; edges without length are left
        out."""
        time, bodies = self.begin + frame % len(self.seconds) * self.dt, self.scene.bodies
        found = [edge_strains(bodies[b], x[frame], time, self.scene.closing) for b, x in self.x.items()]
        return np.concatenate([np.zeros(0), *found])

    @functools.cached_property
    def strain(self) -> Strain | None:
        """The strain of the edges of all cloths in the worst frame; None without cloth."""
        return largest_strain(self.scene, self.x, self.dt, self.begin)

    def _pair_figures(self, measured: bool) -> dict[str, Any]:
        """The numbers of intersecting and of crossing pairs of triangles, None where they were not counted."""
        every, crossing = self.intersecting_pairs, self.crossing_pairs
        own, bodies = (None, None) if every is None else every.T
        counted = measured or every is not None
        return {
            "intersecting_pairs_cloth_most": None if own is None else int(own.max()),
            "intersecting_pairs_cloth_total": None if own is None else int(own.sum()),
            "intersecting_pairs_bodies_most": None if bodies is None else int(bodies.max()),
            "intersecting_pairs_bodies_total": None if bodies is None else int(bodies.sum()),
            "frames_with_intersecting_pairs": None if every is None else int(every.any(1).sum()),
            "intersecting_pairs_bodies_at_end": self.intersecting_pairs_bodies_at_end,
            "crossing_pairs_bodies_most": None if crossing is None else int(crossing[:, 0].max()),
            "crossing_pairs_bodies_total": None if crossing is None else int(crossing[:, 0].sum()),
            "frames_with_crossing_pairs": None if crossing is None else int((crossing[:, 0] > 0).sum()),
            "pinched_pairs_most": None if crossing is None else int(crossing[:, 1].max()),
            "initial_intersecting_pairs": sum(each.pairs for each in self.initial_intersections) if counted else None,
            "initial_intersections": [
                {"bodies": list(self.names(each)), "pairs": each.pairs} for each in self.initial_intersections
            ],
        }

    @property
    def penetrates(self) -> bool:
        """True if a measured point was inside a body by more than a millionth of the size of the largest obstacle."""
        size = max((self.scene.bodies[b].mesh.size for b in self.scene.obstacles), default=0.0)
        return bool(self.summary["penetration_m"] > 1e-6 * size)

    @property
    def crosses_bodies(self) -> bool:
        """True if triangles of cloth and bodies crossed in a measured frame, pinched places excluded."""
        return self.crossing_pairs is not None and bool(self.crossing_pairs[:, 0].any())

    @property
    def self_intersects_at_end(self) -> bool:
        """True if cloth intersects cloth at the end of a run in push mode."""
        counted = self.intersecting_pairs
        return self.scene.self_contact == "push" and counted is not None and bool(counted[-1, 0])

    @property
    def safe_mode_failed(self) -> bool:
        """True if safe mode allowed an intersection in a counted frame, or gave up a pair."""
        intersected = self.intersecting_pairs is not None and bool(self.intersecting_pairs.any())
        return self.scene.self_contact == "safe" and (intersected or self.failed_substeps > 0)

    @property
    def gained_intersections(self) -> int:
        """Most intersecting pairs of triangles of garments in a frame that carrying them added (`Carried.gained`); 0
        without proxies."""
        return 0 if self.carried is None or self.carried.gained is None else int(self.carried.gained.max())

    def names(self, pair: IntersectingBodies) -> tuple[str, str]:
        """The labels of the two bodies."""
        a, b = (self.scene.bodies[k].label for k in pair.bodies)
        return a, b

    @property
    def facts(self) -> dict[str, str]:
        """The summary as readable text, by row heading."""
        return run_facts(self)

    @property
    def initial_intersections_text(self) -> str:
        """The intersections in the initial state as text; empty where there are none."""
        return intersections_text(self)

    def save(self, path: str | os.PathLike[str], subdivide: int = 0) -> list[pathlib.Path]:
        """Save as .glb, .usda, .usdc, .usd, .npz, .pc2 or .mdd (a file per deforming mesh), .vat.exr or .vat.png
        (vertex animation textures) or .obj (a sequence); return the written paths. Cloth is written as simulated, or
        after `subdivide` subdivision steps."""
        clips = self.clips
        if subdivide:
            n = sum(4.0**subdivide * x.shape[0] * x.shape[1] for x in self.x.values())
            validate.budget(f"{len(self.seconds)} frames of subdivided cloth", 24.0 * n, "subdivide less")
            clips = [with_displayed_frames(clip) for clip in self.displayed_clips(subdivide)]
        return save_animation(path, clips, 1.0 / self.dt)

    def to_html(self, path: str | os.PathLike[str], subdivide: int | None = None) -> None:
        """Write the replay, a self-contained HTML page; `subdivide` as in `displayed_clips`."""
        clips = self.displayed_clips(subdivide)
        write_replay(path, clips, 1.0 / self.dt, title=self._title, facts=self.facts, **self._drawn)

    def to_png(self, path: str | os.PathLike[str], frames: int = 6, subdivide: int | None = None) -> None:
        """Write a contact sheet of a few frames; `subdivide` as in `displayed_clips`."""
        overlays, notes = self._drawn["overlays"], self.shared[0].readings if len(self.shared) == 1 else ()
        clips = self.displayed_clips(subdivide)
        contact_sheet(clips, 1.0 / self.dt, path, frames=frames, title=self._title, overlays=overlays, notes=notes)

    @property
    def _drawn(self) -> dict[str, Any]:
        """The overlays of the run, and its per-frame readings."""
        readings = {f"{volume_label(self, s)} now": s.readings for s in self.shared}
        return {"overlays": [s.overlay for s in self.shared], "readings": readings}

    @property
    def _title(self) -> str:
        return f"pliant: {self.scene.name}"

    def _repr_html_(self) -> str:
        clips = self.displayed_clips()
        return iframe_html(replay_html(clips, 1.0 / self.dt, title=self._title, facts=self.facts, **self._drawn))

    def __repr__(self) -> str:
        return brief.facts(self, self.scene.name)

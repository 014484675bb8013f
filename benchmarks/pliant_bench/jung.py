"""A ribbon piles up: spherical implicit surfaces and the cubic CCD equation on the same pairs (Jung et al. 2005)."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.contacts import EDGE_EDGE, KINDS, VERTEX_FACE, Contacts
from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.detectors.sphere_surface import SphereSurfaceDetector
from pliant.detect.queries.collisions import Moving
from pliant.kernels.geometry import impact_cubic as _plain
from pliant.kernels.geometry.impact import EDGES, FACE
from pliant.kernels.kinds import EDGE_TO_EDGE
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.charts import timeline_svg
from pliant.report.picture import render
from pliant.report.tables import Chart, Column, Table
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.state import State

from .kernels import cubic_batches as _cubic
from .papers import JUNG_CUBIC, JUNG_SAID, JUNG_SPHERES
from .timing import alternate, threads

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Progress = Callable[[str], None]
WITHIN = 0.006  # m: twice the thickness of the ribbon
LEVELS = (0, 1, 2, 3)
SPHERES, CUBIC, TOUCH, PLAIN = "spheres, level 0", "cubic", "cubic, touch alone", "cubic, no filters"
NEAR, FAR = 1.2, 25.0  # distance of the camera from the pile, m
ANGLE = 0.0006  # tolerance per metre of distance: half a pixel of a picture of 420 lines
HIGH = 420  # lines of the picture
VISIBLE = 8  # of 255


@dataclasses.dataclass(frozen=True, eq=False)
class Moment:
    """A substep of the fall: positions of the ribbon at its start and end."""

    frame: int
    x_start: Floats
    x: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Fall:
    """The ribbon, the last substep of every n-th frame, and the final state."""

    resolution: int
    mesh: Mesh
    moments: list[Moment]
    end: State


def fall(resolution: int, frames: int, every: int, progress: Progress) -> Fall:
    """Simulate the scene and record these substeps."""
    sim = Simulation(SCENES["ribbon"](resolution=resolution))
    mesh, moments = sim.scene.bodies[0].mesh, []
    for k in range(frames):
        if k % 20 == 0:
            progress(f"the ribbon falls: frame {k} of {frames}")
        sim.step()
        if (k + 1) % every == 0:
            rows = slice(0, mesh.n_vertices)
            moments.append(Moment(k + 1, sim.state.x_start[rows].copy(), sim.state.x[rows].copy()))
    return Fall(resolution, mesh, moments, sim.state)


def _second(make: Callable[[], tuple[Any, ...]], work: Callable[..., None]) -> float:
    """CPU time in seconds of the second call of `work`, when its arrays are in the cache, as in a loop."""
    seconds = 0.0
    for _ in range(2):
        arrays = make()
        start = time.process_time()
        work(*arrays)
        seconds = time.process_time() - start
    return seconds


class Narrow:
    """Both narrow phases on the candidates of one detector."""

    def __init__(self, mesh: Mesh, levels: int = 0) -> None:
        self.detector = SphereSurfaceDetector(Side(mesh), within=WITHIN, levels=levels)
        self._moving = Moving(self.detector.near.a)

    def move(self, moment: Moment) -> None:
        self.detector.update(State.at(moment.x))
        self.found, self.counts = self.detector.candidates()
        self._moving.move(moment.x_start, moment.x)
        at, spheres = self._moving.at, self.detector.spheres
        boxes = np.concatenate([at.vertex_boxes, at.boxes, at.edge_boxes])
        self._motions = _cubic.Motions(boxes, at.vertices, at.faces, at.edges, spheres.shift, spheres.starts)

    def spheres(self) -> float:
        """CPU time in seconds."""
        return _second(lambda: (self.found.copy(), self.counts.copy()), self.detector.narrow)

    def cubic(self, within: float) -> float:
        def ask(found: Rows, times: Floats, counts: Any) -> None:
            if counts.any():
                _cubic.touch(self._motions, within, found, times, counts)

        return _second(lambda: (self.found.copy(), np.empty(self.found.shape[:2]), self.counts.copy()), ask)

    def plain(self) -> float:
        """The cubic of `pliant.kernels.geometry.impact_cubic`, pair by pair; points are gathered before timing."""
        seconds = 0.0
        for face, (p_0, p_1) in zip((FACE, EDGES), self._gathered()):
            hit, when = np.empty(len(p_0), np.bool_), np.empty(len(p_0))
            start = time.process_time()
            _plain.cubic_impacts(p_0, p_1, face, 1e-6, hit, when)
            seconds += time.process_time() - start
        return seconds

    def _gathered(self) -> list[tuple[Floats, Floats]]:
        """Points (n,4,3) at the start and at the end, of vertex-face and of edge-edge pairs."""
        pairs = np.concatenate([part[:count] for part, count in zip(self.found, self.counts)])
        at, out = self._moving.at, []
        edges = pairs[:, 0] == EDGE_TO_EDGE
        for k in range(2):
            points, faces = at.vertices[:, 3 * k : 3 * k + 3], at.faces[:, 9 * k : 9 * k + 9]
            lines = at.edges[:, 6 * k : 6 * k + 6]
            # in self-contact, both kinds store the vertex first and then the face
            one = np.concatenate([points[pairs[~edges, 1]], faces[pairs[~edges, 2]]], 1)
            two = np.concatenate([lines[pairs[edges, 1]], lines[pairs[edges, 2]]], 1)
            out.append([np.ascontiguousarray(part.reshape(-1, 4, 3)) for part in (one, two)])
        return [(out[0][0], out[1][0]), (out[0][1], out[1][1])]


def fall_table(mesh: Mesh, moments: Sequence[Moment], *, repeats: int, progress: Progress) -> Table:
    """Microseconds of both narrow phases at each recorded substep."""
    narrow, truth, rows = Narrow(mesh), BruteForceDetector(Side(mesh), within=WITHIN), []
    for moment in moments:
        progress(f"both tests at frame {moment.frame}")
        narrow.move(moment)
        count = int(narrow.counts.sum())
        row: dict[str, Any] = {"frame": moment.frame, "candidates": count}
        if count:
            runs = {
                SPHERES: narrow.spheres,
                CUBIC: lambda: narrow.cubic(WITHIN),
                TOUCH: lambda: narrow.cubic(0.0),
                PLAIN: narrow.plain,
            }
            with threads(1):
                took = {who: 1e6 * times.best for who, times in alternate(runs, repeats).items()}
            row["contacts"] = len(truth.find(State.at(moment.x)))
            row |= {f"{key}_us": took[who] for key, who in _KEYS.items()}
            row |= {f"{key}_ratio": took[who] / took[SPHERES] for key, who in _KEYS.items() if who != SPHERES}
        rows.append(row)
    columns = (
        Column("frame", show="{:d}"),
        Column("candidates", show="{:,}"),
        Column("contacts", show="{:,}"),
        Column("spheres_us", "spheres-us", "{:.0f}"),
        Column("cubic_us", "cubic-us", "{:.0f}"),
        Column("cubic_ratio", "ratio", "{:.1f}x"),
        Column("touch_us", "touch-us", "{:.0f}", detail=True),
        Column("touch_ratio", "touch-alone", "{:.1f}x"),
        Column("plain_us", "no-filters-us", "{:.0f}", detail=True),
        Column("plain_ratio", "no-filters", "{:.1f}x"),
    )
    title = f"A ribbon of {mesh.n_vertices:,} particles piles up: the narrow phase of one substep"
    return Table("jung-fall", title, columns, rows)


_KEYS = {"spheres": SPHERES, "cubic": CUBIC, "touch": TOUCH, "plain": PLAIN}


def levels_table(mesh: Mesh, moments: Sequence[Moment], *, repeats: int, progress: Progress) -> Table:
    """Recall, error and time at each level, over all recorded substeps; ground truth by brute force."""
    exact = BruteForceDetector(Side(mesh), within=WITHIN)
    truth = [exact.find(State.at(moment.x)) for moment in moments]
    runs = [Narrow(mesh, level) for level in LEVELS]
    found: dict[int, list[Contacts]] = {level: [] for level in LEVELS}
    bounds, seconds = {level: [0.0, 0.0] for level in LEVELS}, dict.fromkeys(LEVELS, 0.0)
    count = 0
    for moment in moments:
        progress(f"levels at frame {moment.frame}")
        for level, run in zip(LEVELS, runs):
            run.move(moment)
            found[level].append(run.detector.find(State.at(moment.x)))
            bounds[level] = [max(*pair) for pair in zip(bounds[level], run.detector.bounds)]
        with threads(1):
            took = alternate({str(level): run.spheres for level, run in zip(LEVELS, runs)}, repeats)
        for level in LEVELS:
            seconds[level] += took[str(level)].best
        count += int(runs[0].counts.sum())
    rows = []
    for level in LEVELS:
        for kind in (VERTEX_FACE, EDGE_EDGE):
            bound = bounds[level][kind]
            row = {"level": level, "kind": KINDS[kind], "bound_mm": 1e3 * bound}
            rows.append(row | _judged(kind, bound, found[level], truth) | {"ns": 1e9 * seconds[level] / max(count, 1)})
    columns = (
        Column("level", show="{:d}"),
        Column("kind"),
        Column("bound_mm", "bound-mm", "{:.2f}"),
        Column("sure", show="{:,}"),
        Column("sure_recall_percent", "recall-sure%", "{:.2f}"),
        Column("pairs", show="{:,}"),
        Column("recall_percent", "recall%", "{:.1f}"),
        Column("extra", show="{:d}"),
        Column("error_mean_mm", "error-mm", "{:.3f}"),
        Column("error_max_mm", "largest-mm", "{:.3f}"),
        Column("error_share_percent", "of-bound%", "{:.0f}"),
        Column("ns", "ns/candidate", "{:.1f}"),
    )
    return Table("jung-levels", f"Levels: {len(moments)} moments, threshold {1e3 * WITHIN:g} mm", columns, rows)


def _judged(kind: int, bound: float, found: Sequence[Contacts], truth: Sequence[Contacts]) -> dict[str, Any]:
    """Recall and errors over the recorded substeps."""
    sure = sure_found = pairs = pairs_found = extra = 0
    errors: list[Floats] = []
    for hits, all_there in zip(found, truth):
        told, true = (each[each["kind"] == kind] for each in (hits, all_there))
        keys, true_keys = (e["elements"].astype(np.int64) @ np.array([1 << 32, 1]) for e in (told, true))
        seen, safe = np.isin(true_keys, keys), true["distance"] <= WITHIN - bound
        sure, sure_found = sure + int(safe.sum()), sure_found + int((safe & seen).sum())
        pairs, pairs_found = pairs + len(true), pairs_found + int(seen.sum())
        extra += int((~np.isin(keys, true_keys)).sum())
        # both are in the canonical order
        errors.append(told["distance"][np.isin(keys, true_keys)] - true["distance"][seen])
    error = np.concatenate(errors)
    out: dict[str, Any] = {"sure": sure, "pairs": pairs, "extra": extra}
    if sure:
        out["sure_recall_percent"] = 100.0 * sure_found / sure
    if pairs:
        out["recall_percent"] = 100.0 * pairs_found / pairs
    if len(error):
        out |= {"error_mean_mm": 1e3 * float(error.mean()), "error_max_mm": 1e3 * float(error.max())}
        out["error_share_percent"] = 100.0 * float(error.max()) / bound
    return out


def view_table(
    fallen: Fall, *, frames: int, repeats: int, lines: int = HIGH, progress: Progress
) -> tuple[Table, dict[str, float]]:
    """A near and a far camera: time of a detection pass, and the visible difference in the picture of the far one.

    The pile at the end is simulated on for some frames, its self-contact found for each of the two cameras.
    """
    mesh, moment = fallen.mesh, fallen.moments[-1]
    middle, towards = moment.x.mean(0), np.array([0.5, 0.4, 0.77])
    rows, states, detectors = [], [], {}
    for who, away in (("near", NEAR), ("far", FAR)):
        eye = middle + away * towards / np.linalg.norm(towards)
        options: dict[str, Any] = {"tolerance": ANGLE, "camera": tuple(eye.tolist())}
        detector = detectors[who] = SphereSurfaceDetector(Side(mesh), within=WITHIN, **options)
        progress(f"the pile, seen from {away:g} m")
        scene = SCENES["ribbon"](resolution=fallen.resolution)
        sim = Simulation(scene, self_method=detector.name, self_options=options, state=fallen.end)
        for _ in range(frames):
            sim.step()
        states.append(sim.state.x[: mesh.n_vertices].copy())
        state = State.at(moment.x)
        row: dict[str, Any] = {"camera": who, "away_m": away, "tolerance_mm": 1e3 * ANGLE * away}
        row["contacts"] = len(detector.update(state).find(state))
        levels = detector.spheres.face_level, detector.spheres.edge_level
        rows.append(row | {"face_level": int(levels[0].max()), "edge_level": int(levels[1].max())})
    with threads(1):
        narrow = alternate({who: _narrowing(detector, moment) for who, detector in detectors.items()}, repeats)
        whole = alternate({who: _detecting(detector, moment) for who, detector in detectors.items()}, repeats)
    for row, who in zip(rows, detectors):
        row |= {"narrow_us": 1e6 * narrow[who].best, "detect_us": 1e6 * whole[who].best}
        row["ratio"] = row["narrow_us"] / rows[0]["narrow_us"]
    progress("pictures")
    camera = Camera(tuple(eye.tolist()), tuple(middle.tolist()))  # the far camera
    shots = [render([Clip(mesh, x[None])], 0, lines * 4 // 3, lines, camera).astype(int) for x in states]
    off = np.abs(shots[0] - shots[1]).max(2)
    seen = {"largest": float(off.max()), "pixels": float((off > VISIBLE).sum()), "frames": float(frames)}
    seen["apart_mm"] = 1e3 * float(np.linalg.norm(states[0] - states[1], axis=1).max())
    columns = (
        Column("camera"),
        Column("away_m", "away-m", "{:g}"),
        Column("tolerance_mm", "tolerance-mm", "{:.2f}"),
        Column("face_level", "faces", "{:d}"),
        Column("edge_level", "edges", "{:d}"),
        Column("contacts", show="{:,}"),
        Column("narrow_us", "narrow-us", "{:.0f}"),
        Column("ratio", show="{:.2f}"),
        Column("detect_us", "all-us", "{:.0f}"),
    )
    title = f"The same pile (frame {moment.frame}) for a camera near and far"
    return Table("jung-view", title, columns, rows), seen


def _narrowing(detector: SphereSurfaceDetector, moment: Moment) -> Callable[[], float]:
    detector.update(State.at(moment.x))
    kept, sizes = detector.candidates()

    return lambda: _second(lambda: (kept.copy(), sizes.copy()), detector.narrow)


def _detecting(detector: SphereSurfaceDetector, moment: Moment) -> Callable[[], float]:
    state = State.at(moment.x)

    def run() -> float:
        start = time.process_time()
        detector.update(state).find(state)
        return time.process_time() - start

    return run


def many(table: Table) -> list[dict[str, Any]]:
    """Rows with at least half of the maximum number of contacts."""
    most = max((row.get("contacts", 0) for row in table.rows), default=0)
    return [row for row in table.rows if row.get("contacts", 0) >= max(0.5 * most, 1)]


def findings(fallen: Table, levels: Table, view: Table, seen: dict[str, float]) -> list[str]:
    said = []
    crowded, asked = many(fallen), [row for row in fallen.rows if row["candidates"]]
    for rows, where in ((crowded, "where contacts are many"), (asked, "at any moment with candidates")):
        if rows:
            ratio = [row["cubic_ratio"] for row in rows]
            said.append(
                f"{where} ({len(rows)} substeps): spheres at level 0 {min(ratio):.1f} to {max(ratio):.1f} times "
                f"faster than the cubic with filters on the same pairs, median {np.median(ratio):.1f}; than the "
                f"cubic without a thickness at least {min(row['touch_ratio'] for row in rows):.1f}, than the "
                f"one without filters at least {min(row['plain_ratio'] for row in rows):.1f}"
            )
    least, most = JUNG_CUBIC[1] / JUNG_SPHERES[1], JUNG_CUBIC[0] / JUNG_SPHERES[0]
    said.append(
        f"the paper states {JUNG_SAID[0]} to {JUNG_SAID[1]} times; its printed ranges, {JUNG_CUBIC[0]:g} to "
        f"{JUNG_CUBIC[1]:g} s against {JUNG_SPHERES[0]:g} to {JUNG_SPHERES[1]:g} s, give {least:.1f} to {most:.0f} "
        "at corresponding times"
    )
    sure = [row["sure_recall_percent"] for row in levels.rows if row["sure"]]
    share = max((row.get("error_share_percent", 0.0) for row in levels.rows), default=0.0)
    if sure:
        said.append(
            f"recall of pairs nearer than the threshold less the bound: at least {min(sure):g} % at every level"
        )
    said.append(f"no distance more than {share:.0f} % of the bound too large")
    near, far = view.rows
    said.append(
        f"seen from {far['away_m']:g} m instead of {near['away_m']:g} m the narrow phase takes {far['ratio']:.2f} of "
        f"the time; after {seen['frames']:.0f} frames of both, at most {seen['apart_mm']:.1f} mm apart, "
        f"{seen['pixels']:.0f} pixels of the picture of the far camera differ by more than {VISIBLE} of 255, at most "
        f"by {seen['largest']:.0f}"
    )
    return said


NOTES = (
    "The candidates are those of the broad phase of the spheres, a BVH of AABBs: feature pairs of triangles whose "
    f"AABBs are at most the threshold of {1e3 * WITHIN:g} mm apart, without mesh neighbours. spheres: the positions at "
    "the end of the substep. cubic: the motion during the substep; AABBs of the motions inflated by the threshold, "
    "signs of Bernstein coefficients in batches, then roots by Newton's method; a root counts if the features are "
    "within the threshold at that time (pliant_bench/kernels/cubic_batches.py). touch-alone: the same without a "
    "thickness, so that the AABBs cull nearly all pairs; it does not find near pairs. no-filters: the cubic of "
    "pliant.kernels.geometry.impact_cubic, pair by pair. CPU time of one thread, best of several alternating runs; "
    "contacts by brute force.",
    "sure: pairs whose true distance is at most the threshold less the error bound of the level, of which none may be "
    "missed; empty if the bound exceeds the threshold. recall: of all pairs within the threshold. extra: reported "
    "pairs beyond the threshold. error: reported minus true distance of the pairs that were found.",
    f"camera: tolerance of {1e3 * ANGLE:g} mm per metre. all-us: update and find, including the traversal of the BVH. "
    "The simulation of the pile continues with the self-contact of each camera; the picture is that of the far one.",
)


def chart(table: Table) -> Chart:
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        for key, who in _KEYS.items():
            if row["candidates"] and who != TOUCH:
                curves.setdefault(who, []).append((row["frame"], row[f"{key}_us"]))
    label = "Microseconds of the narrow phase in one substep during the fall"
    svg = timeline_svg(curves or {SPHERES: [(0.0, 1.0)]}, ("frame (1/100 s)", "microseconds"), label)
    return Chart("jung-fall", f"{label}, as in figure 5 of the paper; logarithmic y axis.", svg)

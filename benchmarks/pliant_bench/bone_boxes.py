"""Figures of Pelechano, Bull and Slater and of pliant: triangles culled, and the frame rate that remains."""

import dataclasses
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.contacts import Contacts, empty
from pliant.detect.base import BaseDetector
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.kernels.detectors.bone_boxes import lookup as _kernels
from pliant.mesh import Mesh
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.motion.character import Character
from pliant.report.charts import bars_svg
from pliant.report.tables import Chart, Column, Table
from pliant.scenes.dressing import dress_scene
from pliant.shapes import skirt, walking_mannequin
from pliant.shapes.sheets import lattice_faces
from pliant.simulation import Simulation
from pliant.state import State

from . import models
from .coarse import coarsened
from .papers import PELECHANO_CULLED, PELECHANO_KEPT, PELECHANO_SIZE
from .timing import threads

PAPER = "the paper"
# participant -> options of the detector
WAYS: dict[str, dict[str, Any]] = {
    "vertices, down to the offset": {"midpoints": False, "deep": False},
    "vertices, at any depth": {"midpoints": False},
    "and edge midpoints": {},
}
COLUMNS = (
    Column("body"),
    Column("triangles", show="{:,}"),
    Column("vertices", show="{:,}"),
    Column("who"),
    Column("substeps", show="{:d}"),
    Column("culled_percent", "culled%", "{:.2f}"),
    Column("detection_percent", "detection%", "{:.1f}"),
    Column("response_percent", "response%", "{:.1f}"),
    Column("brute_percent", "brute%", "{:.2f}"),
    Column("detect_ms", "ms/1000", "{:.3f}"),
    Column("step_ms", "step-ms", "{:.3f}"),
    Column("contacts", show="{:.0f}"),
    Column("recall_percent", "recall%", "{:.1f}"),
    Column("widened", show="{:d}"),
)
NOTES = (
    "culled%: share of the triangles that a vertex is not tested against, neither in the lists of its boxes nor in a "
    "search; mean over vertices and substeps. detection%, response%: frame rate that remains with detection, and with "
    "detection and the response surface-tag; brute%: with exact tests of all vertices against all triangles. A frame "
    "of 10 ms consists of cloth and skinning, in as many substeps as the solver needs, with one detection pass each, "
    "without self-contact, which the paper leaves to future work; in the paper a frame included rendering. Frames "
    "with and without detection alternate.",
    "ms/1000: update and find for 1000 vertices of cloth in one substep; step-ms: one substep of cloth and skinning "
    "without contacts. CPU time of one thread, medians over the frames. recall%: share of the contacts within the "
    "offset that the paper's projection onto a principal plane finds. widened: number of vertices that left their box.",
    "The avatar of the paper is not at hand; a mannequin with as many vertices and triangles replaces it. The body "
    "of the paper was static; its machine had 800 MHz.",
)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    cloth: Mesh
    character: Character
    clip: str | None


def cases(quick: bool, folder: pathlib.Path | None) -> Iterator[Case]:
    """Meshes of the sizes of the paper, static as in the paper and walking; the human where its folder is available."""
    character, cloth = paper_avatar(), paper_skirt()
    standing = dataclasses.replace(character, clips={})
    yield Case("mannequin, standing", cloth, standing, None)
    if quick:
        return
    yield Case("mannequin, walking", cloth, character, "walk")
    found = human_case(models.data_folder(folder) / "human")
    if found is not None:
        yield found


def paper_avatar() -> Character:
    """The mannequin with the paper's 1290 vertices and 2576 triangles."""
    whole = walking_mannequin(0.7)
    mesh, rows = coarsened(whole.mesh, PELECHANO_SIZE["avatar vertices"])
    return dataclasses.replace(whole, mesh=mesh, joints=whole.joints[rows], weights=whole.weights[rows])


def paper_skirt() -> Mesh:
    """A skirt of the paper's 264 vertices: 11 rings of 24, every second one of a finer skirt."""
    fine = skirt(0.46, 0.1, spacing=0.023)
    around = fine.n_vertices // 21
    x = fine.vertices.reshape(21, around, 3)[::2, ::2]
    rings, count = x.shape[:2]
    lattice = lattice_faces(count + 1, rings)
    faces = lattice // (count + 1) * count + lattice % (count + 1) % count
    return Mesh(x.reshape(-1, 3), faces.astype(np.int32), name="skirt")


def bone_boxes_table(
    folder: pathlib.Path | None,
    *,
    quick: bool = False,
    repeats: int = 3,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    paper = {"body": "avatar, standing", "triangles": PELECHANO_SIZE["triangles"], "who": PAPER}
    paper |= {"vertices": PELECHANO_SIZE["cloth vertices"], "culled_percent": 100.0 * PELECHANO_CULLED}
    rows: list[dict[str, Any]] = [paper | {f"{k}_percent": 100.0 * v for k, v in PELECHANO_KEPT.items()}]
    # the lead-in, from the rest pose to the first pose of the clip
    warm, frames = (2, 3) if quick else (52, 10 * repeats)
    for case in cases(quick, folder):
        progress(case.name)
        with threads(1):
            for solver in ("implicit",) if quick else ("implicit", "xpbd"):
                rows += _rows(case, solver, warm, frames, progress)
    return Table("pelechano", "Boxes that ride on bones: the paper's figures, and the same here", COLUMNS, rows)


class _Blind(BaseDetector):
    """Finds nothing: a simulation without detection, for comparison."""

    name = "blind"
    obstacle_may_deform = False

    def __init__(self) -> None:
        pass

    def find(self, state: State) -> Contacts:
        return empty()


def _rows(case: Case, solver: str, warm: int, frames: int, progress: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    scene = dress_scene([case.cloth], case.character, clip=case.clip, lead_in=0.5, self_contact="off")
    recall = None
    for who, options in WAYS.items() if solver == "implicit" else [next(iter(WAYS.items()))]:
        progress(f"{case.name}: {who}, {solver}")
        bare = Simulation(scene, detectors=[_Blind()], solver=solver)
        sim = Simulation(scene, method="bone-boxes", options=options, response="surface-tag", solver=solver)
        (detector,) = sim.detectors
        assert isinstance(detector, BoneBoxesDetector)
        watched = _Watched(detector)
        sim.detectors[:] = [watched]  # type: ignore[list-item]
        projection = BoneBoxesDetector(
            detector.deformable, detector.body, within=scene.eps, midpoints=False, exact=False
        )
        spent: list[dict[str, float]] = []
        without: list[dict[str, float]] = []
        spared, found, projected = np.zeros(frames), np.zeros(frames), np.zeros(frames)
        for _ in range(warm):
            sim.step()
            bare.step()
        for k in range(frames):
            if k % 2:  # the first one finds a cache that the rest of this loop has filled
                without.append(_spent(bare))
            spent.append(_spent(sim, watched))
            if not k % 2:
                without.append(_spent(bare))
            spared[k] = detector.spared
            found[k] = len(detector.find(sim.state))
            projected[k] = len(projection.update(sim.state).find(sim.state))
        alone, brute = _median(without, "all"), _brute_seconds(bare) * bare.substeps
        detect, whole = _median(spent, "detect"), _median(spent, "all")
        if recall is None and found.any():  # the first variant includes all that the projection can find
            recall = 100.0 * float(projected.sum() / found.sum())
        yield {
            "body": case.name,
            "triangles": case.character.mesh.n_faces,
            "vertices": case.cloth.n_vertices,
            "who": who if solver == "implicit" else f"{who}, {solver}",
            "substeps": sim.substeps,
            "culled_percent": 100.0 * float(spared.mean()),
            "detection_percent": 100.0 * alone / (alone + detect),
            "response_percent": 100.0 * alone / max(whole, alone),
            "brute_percent": 100.0 * alone / (alone + brute),
            "detect_ms": 1e6 * detect / sim.substeps / case.cloth.n_vertices,
            "step_ms": 1e3 * alone / sim.substeps,
            "contacts": float(found.mean()),
            "recall_percent": recall,
            "widened": detector.boxes.widened,
        }


class _Watched:
    """A detector that records its CPU time."""

    def __init__(self, detector: BoneBoxesDetector) -> None:
        self.detector, self.seconds, self.obstacle_may_deform = detector, 0.0, True

    def update(self, state: State) -> "_Watched":
        start = time.process_time()
        self.detector.update(state)
        self.seconds += time.process_time() - start
        return self

    def find(self, state: State) -> Contacts:
        start = time.process_time()
        found = self.detector.find(state)
        self.seconds += time.process_time() - start
        return found


def _spent(sim: Simulation, watched: _Watched | None = None) -> dict[str, float]:
    """CPU time of one frame, and of its detection, in seconds."""
    before = watched.seconds if watched else 0.0
    start = time.process_time()
    sim.step()
    took = time.process_time() - start
    return {"all": took, "detect": watched.seconds - before if watched else 0.0}


def _median(spent: list[dict[str, float]], what: str) -> float:
    return float(np.median([one[what] for one in spent]))


def _brute_seconds(sim: Simulation) -> float:
    """CPU time of all vertices of the cloth against all triangles of the skin."""
    x, faces = sim.state.x, sim.scene.bodies[1].mesh.welded.faces
    skin, points = (np.ascontiguousarray(x[sim.scene.rows(b)]) for b in (1, 0))
    found, distance = np.empty(len(points), np.int64), np.empty(len(points))
    _kernels.nearest_brute_force(skin, faces, points[:1], found, distance)
    start = time.process_time()
    _kernels.nearest_brute_force(skin, faces, points, found, distance)
    return time.process_time() - start


def human_case(folder: pathlib.Path) -> Case | None:
    """The walking human with her skirt, from the files of the shared data."""
    if not (folder / "body.npz").is_file():
        return None
    cloth = np.load(folder / "skirt.npz")
    return Case("human, walking", Mesh(cloth["V_rest"], cloth["F"], name="skirt"), human_character(folder), "walk")


def human_character(folder: pathlib.Path) -> Character:
    """The character of the stored frames: 163 bones, 48 frames at 48 Hz."""
    body, rig = np.load(folder / "body.npz"), np.load(folder / "skeleton_walk.npz")
    parents, heads, moves = rig["parent"], rig["head"], rig["bone_transforms"].astype(np.float64)
    times, skeleton = np.arange(len(moves)) / float(rig["fps"]), Skeleton.of_heads(parents, heads)
    tracks = []
    for k, parent in enumerate(parents.tolist()):
        turn = moves[:, k, :3, :3] if parent < 0 else np.linalg.inv(moves[:, parent, :3, :3]) @ moves[:, k, :3, :3]
        quaternions = Rotation.from_matrix(turn).as_quat()
        tracks.append(Track(skeleton.column(k, "rotation"), times, quaternions, rotation=True))
        if parent < 0:
            at = moves[:, k, :3, :3] @ heads[k] + moves[:, k, :3, 3]
            tracks.append(Track(skeleton.column(k, "translation"), times, at))
    inverse = np.tile(np.eye(3, 4), (len(heads), 1, 1))
    inverse[:, :, 3] = -heads
    weights = body["skin_weights"].astype(np.float64)
    return Character(
        Mesh(body["V_rest"], body["F"], name="human"),
        tuple(map(str, rig["bone_names"])),
        parents,
        body["skin_bones"],
        weights / weights.sum(1)[:, None],
        {"walk": Animation(tuple(tracks))},
        skeleton,
        np.arange(len(heads), dtype=np.int32),
        inverse,
    )


def findings(table: Table) -> list[str]:
    first = next(iter(WAYS))
    return [
        f"{row['body']}: {row['culled_percent']:.2f} % of the triangles culled (the paper: 98), frame rate kept "
        f"{row['detection_percent']:.0f} % with detection (63), {row['response_percent']:.0f} % with response (35), "
        f"{row['brute_percent']:.2f} % by brute force (0.2)"
        for row in table.rows
        if row["who"] == first
    ]


def chart(table: Table) -> Chart:
    """Remaining frame rates by body."""
    names = {"detection_percent": "detection", "response_percent": "and response", "brute_percent": "brute force"}
    first = next(iter(WAYS))
    rows = [row for row in table.rows if row["who"] in (PAPER, first)]
    groups = {row["body"]: {name: float(row[key]) for key, name in names.items()} for row in rows}
    svg = bars_svg(groups, "%", "Frame rate kept with collision detection")
    return Chart("pelechano", "Share of the frame rate that is kept, logarithmic.", svg)

"""Contacts with a skinned character by three methods: bone-attached boxes, bone-attached fields, and the BVH."""

import dataclasses
import pathlib
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pliant.contacts import VERTEX_FACE, VERTEX_FIELD, Contacts
from pliant.detect.base import Side
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.detect.detectors.bone_fields import BoneFieldsDetector
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.detectors.bvh import BvhDetector
from pliant.detect.fields.bones import SHARE
from pliant.detect.queries.penetration import DeformingClosestPoints
from pliant.motion.deforming import Skinned
from pliant.report.tables import Column, Table
from pliant.scene import Scene
from pliant.scenes.dressing import dress_scene
from pliant.shapes import skirt, walking_mannequin
from pliant.simulation import Simulation
from pliant.state import State

from . import models
from .bone_boxes import Case, human_case
from .timing import alternate, threads

Floats = NDArray[np.float64]
WAYS: dict[str, Callable[[Side, Side, float], Any]] = {
    "bone-boxes": lambda cloth, skin, eps: BoneBoxesDetector(cloth, skin, within=eps),
    "distance-field": lambda cloth, skin, eps: BoneFieldsDetector(cloth, skin, within=eps, cache=False),
    "bvh": lambda cloth, skin, eps: BvhDetector(cloth, skin, within=eps),
}
SHARES = (0.2, SHARE, 0.5)
COLUMNS = (
    Column("body"),
    Column("triangles", show="{:,}"),
    Column("vertices", show="{:,}"),
    Column("who"),
    Column("guarantee"),
    Column("cpu_ms", "cpu-ms", "{:.1f}"),
    Column("wall_ms", "wall-ms", "{:.1f}"),
    Column("contacts", show="{:.0f}"),
    Column("found", show="{:d}"),
    Column("missed", show="{:d}"),
    Column("extra", show="{:d}"),
    Column("error_mm", "error-mm", "{:.3f}"),
    Column("mean_mm", "mean-mm", "{:.4f}"),
    Column("megabytes", "MB", "{:.1f}"),
    Column("build_s", "build-s", "{:.2f}"),
)
LOSS_COLUMNS = (
    Column("body"),
    Column("parts", show="{:d}"),
    Column("share", show="{:.2f}"),
    Column("mean_mm", "mean-mm", "{:.2f}"),
    Column("p99_mm", "p99-mm", "{:.1f}"),
    Column("under_mm", "under-mm", "{:.1f}"),
    Column("above_mm", "above-mm", "{:.1f}"),
)
NOTES = (
    "cpu-ms, wall-ms: update and find in the 16 substeps of a frame of 1/30 s; CPU time on one thread, and wall-clock "
    "time on all; the best of several runs over the same substeps. contacts: mean number of records; the BVH also "
    "reports edges, and vertices of the skin. found, missed, extra: vertices of the cloth nearer than eps or inside, "
    "against brute force, at the end of all frames. error-mm, mean-mm: maximum and mean error of the distance at those "
    "vertices, with eps for unreported ones. MB: memory after the build; build-s: CPU time of one thread.",
    "Error of rigid parts: their distance minus the exact one, at points eps above the vertices of the skin that are "
    "not inside other skin, in 12 poses of the clip. under-mm: largest distance of the parts below the skin, above-mm: "
    "above it. share: weight of a bone in a triangle from which on the triangle belongs to its part.",
)


def cases(quick: bool, folder: pathlib.Path | None) -> Iterator[Case]:
    detail, spacing = (0.7, 0.04) if quick else (1.0, 0.55 / 24)
    yield Case("mannequin", skirt(0.55, 0.1, spacing=spacing), walking_mannequin(detail), "walk")
    found = None if quick else human_case(models.data_folder(folder) / "human")
    if found is not None:
        yield dataclasses.replace(found, name="human")


def skins_tables(
    folder: pathlib.Path | None,
    *,
    quick: bool = False,
    repeats: int = 3,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Table]:
    rows: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    for case in cases(quick, folder):
        progress(case.name)
        scene = dress_scene([case.cloth], case.character, clip=case.clip, lead_in=0.3)
        states = recorded(scene, *((9, 2) if quick else (15, 12)))
        rows += _rows(case.name, scene, states, repeats, progress)
        for share in SHARES[1:2] if quick else SHARES:
            progress(f"{case.name}: parts by a share of {share:.2f}")
            lost.append({"body": case.name, "share": share} | loss(scene, share))
    title = "A skinned character: three detectors on the same substeps"
    return [Table("skins", title, COLUMNS, rows), Table("skin-parts", "Error of rigid parts", LOSS_COLUMNS, lost)]


def recorded(scene: Scene, before: int, frames: int) -> list[State]:
    """States of all substeps of some frames after a lead-in; the first method finds their contacts."""
    sim = Simulation(scene, 1.0 / 30.0, method=next(iter(WAYS)))
    found: list[State] = []
    detector = sim.detectors[0]
    update = detector.update

    def watched(state: State) -> Any:
        found.append(state.copy())
        return update(state)

    detector.update = watched  # type: ignore[method-assign]
    for _ in sim.run(before + frames):
        del found[: -frames * sim.substeps]
    return found


def sides(scene: Scene) -> tuple[Side, Side]:
    """The two sides: cloth and skin."""
    cloth, skin = (scene.bodies[b].mesh.welded for b in (0, 1))
    return Side(cloth, 0, 0), Side(skin, int(scene.first[1]), 1, scene.deforming_motions[1])


def _rows(
    name: str, scene: Scene, states: list[State], repeats: int, progress: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    cloth, skin = sides(scene)
    made: dict[str, Any] = {}
    built: dict[str, tuple[float, int]] = {}
    with threads(1):
        for who, make in WAYS.items():
            progress(f"{name}: building {who}")
            tracemalloc.start()
            make(cloth, skin, scene.eps)  # a first run compiles kernels and fills the caches of the meshes
            kept = make(cloth, skin, scene.eps)
            before = tracemalloc.get_traced_memory()[0]
            del kept
            taken = before - tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            start = time.process_time()
            made[who] = make(cloth, skin, scene.eps)
            built[who] = (time.process_time() - start, taken)
        progress(f"{name}: on one thread")
        runs = {who: _replay(detector, states, time.process_time) for who, detector in made.items()}
        busy = alternate(runs, repeats)
    progress(f"{name}: on all threads")
    runs = {who: _replay(detector, states, time.perf_counter) for who, detector in made.items()}
    waited = alternate(runs, repeats)
    progress(f"{name}: brute force")
    small = Simulation(scene).substeps
    last = states[small - 1 :: small]
    referee = BruteForceDetector(cloth, skin, within=scene.eps)
    truth = np.stack([distances(referee.find(state), cloth, scene.eps) for state in last])
    for who, detector in made.items():
        records = [cast("Contacts", np.array(detector.update(state).find(state))) for state in last]
        d = np.stack([distances(found, cloth, scene.eps) for found in records])
        near, told = truth < scene.eps, d < scene.eps
        error = 1e3 * np.abs(d - truth)[near | told]
        yield {
            "body": name,
            "triangles": skin.mesh.n_faces,
            "vertices": cloth.mesh.n_vertices,
            "who": who,
            "guarantee": detector.guarantee,
            "cpu_ms": 1e3 * busy[who].best / len(last),
            "wall_ms": 1e3 * waited[who].best / len(last),
            "contacts": float(np.mean([len(found) for found in records])),
            "found": int((near & told).sum()),
            "missed": int((near & ~told).sum()),
            "extra": int((told & ~near).sum()),
            "error_mm": float(error.max(initial=0.0)),
            "mean_mm": float(error.mean()) if len(error) else 0.0,
            "megabytes": built[who][1] / 2**20,
            "build_s": built[who][0],
        }


def _replay(detector: Any, states: list[State], clock: Callable[[], float]) -> Callable[[], float]:
    def run() -> float:
        start = clock()
        for state in states:
            detector.update(state).find(state)
        return clock() - start

    return run


def distances(found: Contacts, cloth: Side, most: float) -> Floats:
    """Signed distance (n,) of each vertex of the cloth by its nearest contact, or `most` without contacts."""
    vertex = found["vertices"][:, 0] - cloth.first
    own = np.isin(found["kind"], (VERTEX_FACE, VERTEX_FIELD)) & (vertex >= 0) & (vertex < cloth.mesh.n_vertices)
    vertex, distance = vertex[own], found["distance"][own]
    order = np.argsort(-np.abs(distance), kind="stable")
    out = np.full(cloth.mesh.n_vertices, most)
    out[vertex[order]] = np.minimum(distance[order], most)
    return out


def loss(scene: Scene, share: float, poses: int = 12) -> dict[str, Any]:
    """Distance of the rigid parts from the skin over the clip, in mm."""
    cloth, skin = sides(scene)
    motion = skin.motion
    assert isinstance(motion, Skinned)
    detector = BoneFieldsDetector(cloth, skin, within=scene.eps, share=share)
    depths, parts = DeformingClosestPoints(skin.mesh), []
    for sample in motion.sample(np.linspace(motion.lead_in, motion.duration, poses)):
        x = motion.shape(sample)
        depths.update(x)
        points = x + scene.eps * skin.mesh.moved(x).vertex_normals
        exact = depths.query(points)[0]
        outside = exact > 0.5 * scene.eps
        state = State.at(np.zeros((0, 3)))
        state.bones = {skin.body: sample}
        parts.append(detector.update(state).distance(points[outside]) - exact[outside])
    error = 1e3 * np.concatenate(parts)
    error = error[np.isfinite(error)]
    return {
        "parts": len(detector.fields),
        "mean_mm": float(np.abs(error).mean()),
        "p99_mm": float(np.percentile(np.abs(error), 99.0)),
        "under_mm": max(0.0, float(error.max())),
        "above_mm": max(0.0, -float(error.min())),
    }


def findings(tables: list[Table]) -> list[str]:
    said = []
    for row in tables[0].rows:
        checked = f"{row['found']} vertices found, {row['missed']} missed, {row['extra']} extra"
        said.append(
            f"{row['body']}, {row['who']}: {row['cpu_ms']:.1f} ms per frame, {checked}, error {row['error_mm']:.2g} mm"
        )
    return said

"""The work of bone-attached bounding boxes against the number of triangles of the skin: the same cloth on the same
surface, divided finer and finer (Pelechano et al., section 5: "scalable")."""

import dataclasses
import time
from typing import Any

import numpy as np

from pliant.detect.base import Side
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.mesh import Mesh
from pliant.motion.character import Character
from pliant.motion.deforming import Skinned
from pliant.report.tables import Column, Table
from pliant.scenes.dressing import dress_scene
from pliant.simulation import Simulation
from pliant.state import State

from .coarse import coarsened
from .timing import threads

SMALLEST = 2502  # vertices of the coarsest skin, 5 000 triangles
COLUMNS = (
    Column("triangles", show="{:,}"),
    Column("vertices", "cloth", "{:,}"),
    Column("checked", "skin vertices checked", "{:.1f}"),
    Column("visited", "triangles visited", "{:.1f}"),
    Column("measured", "distances", "{:.1f}"),
    Column("cpu_us", "us", "{:.0f}"),
    Column("before_us", "us, vertex by vertex", "{:.0f}"),
    Column("contacts", show="{:.1f}"),
)
NOTES = (
    "Skin sizes: mean over all substeps, vertices down to the offset; the same positions of a skirt on a walking "
    "mannequin whose triangles are divided into four, again and again. skin vertices checked: compared with their "
    "ranges because no pose of the clip proves that they are within them. us: CPU time of update and find, the "
    "least of all rounds; vertex by vertex: where positions are not known to follow from the bones, as for bodies that "
    "yield.",
)


def divided(character: Character) -> Character:
    """The character with each triangle divided into four; midpoints have the mean of the weights."""
    mesh = character.mesh
    ends, n = mesh.topology.edges, mesh.n_vertices
    dense = np.zeros((n + len(ends), len(character.names)))
    np.add.at(
        dense, (np.repeat(np.arange(n), character.joints.shape[1]), character.joints.ravel()), character.weights.ravel()
    )
    dense[n:] = dense[ends].mean(1)
    width = int((dense > 0.0).sum(1).max())
    joints = np.argsort(-dense, 1, kind="stable")[:, :width].astype(np.int32)
    x = np.concatenate([mesh.vertices, mesh.vertices[ends].mean(1)])
    (a, b, c), (d, e, f) = mesh.faces.T, (mesh.topology.face_edges + n).T
    faces = np.concatenate([np.stack(each, 1) for each in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))])
    weights = np.take_along_axis(dense, joints, 1)
    return dataclasses.replace(character, mesh=Mesh(x, faces, name=mesh.name), joints=joints, weights=weights)


def skins(character: Character, count: int) -> list[Character]:
    """The character with 5 000 triangles, and `count` - 1 times four times as many."""
    mesh, rows = coarsened(character.mesh, SMALLEST)
    out = [dataclasses.replace(character, mesh=mesh, joints=character.joints[rows], weights=character.weights[rows])]
    while len(out) < count:
        out.append(divided(out[-1]))
    return out


def skin_sizes_table(character: Character, cloth: Mesh, *, quick: bool, repeats: int) -> Table:
    """Record a walk on the coarsest skin, and play its cloth on all of them."""
    bodies = skins(character, 2 if quick else 3)
    warm, frames = (2, 2) if quick else (52, 10)
    scene = dress_scene([cloth], bodies[0], clip="walk", lead_in=0.5, self_contact="off")
    with threads(1):
        sim = Simulation(scene, method="bone-boxes", options={"midpoints": False, "deep": False})
        for _ in range(warm):
            sim.step()
        walk: list[tuple[np.ndarray, float]] = []
        (own,) = sim.detectors
        update = own.update

        def recorded(state: State) -> Any:
            walk.append((state.x[: cloth.n_vertices].copy(), state.time))
            return update(state)

        own.update = recorded  # type: ignore[method-assign]
        for _ in range(frames):
            sim.step()
        played = scene.bodies[1].motion
        assert isinstance(played, Skinned)
        tests = [_Test(body, dataclasses.replace(played, character=body), cloth, scene.eps, walk) for body in bodies]
        for _ in range(max(repeats, 2)):
            for test in tests:
                test.play()
    return Table("pelechano-skins", "The same cloth on finer and finer skins", COLUMNS, [test.row() for test in tests])


class _Test:
    """A detector on one skin, and the states of the walk on it."""

    def __init__(self, body: Character, motion: Skinned, cloth: Mesh, eps: float, walk: list[Any]) -> None:
        self.cloth, self.body = cloth, body
        sides = Side(cloth, 0, 0), Side(body.mesh, cloth.n_vertices, 1, motion)
        self.detectors = [BoneBoxesDetector(*sides, within=eps, midpoints=False, deep=False) for _ in range(2)]
        samples = motion.sample(np.array([time for _, time in walk]))
        self.states = []
        for (x, _), sample in zip(walk, samples, strict=True):
            state = State.at(np.concatenate([x, motion.shape(sample)]))
            state.bones = {1: sample}
            self.states.append(state)
        self.took = np.full((2, len(walk)), np.inf)
        self.counts = np.zeros((len(walk), 4))

    def play(self) -> None:
        for k, detector in enumerate(self.detectors):
            for s, state in enumerate(self.states):
                state.posed = frozenset([1]) if k == 0 else frozenset()
                start = time.process_time()
                found = detector.update(state).find(state)
                self.took[k, s] = min(self.took[k, s], time.process_time() - start)
                if k == 0:
                    self.counts[s] = detector.boxes.checked, detector.visited, detector.measured, len(found)

    def row(self) -> dict[str, Any]:
        checked, visited, measured, contacts = self.counts[1:].mean(0).tolist()
        known, slow = (1e6 * self.took[:, 1:].mean(1)).tolist()
        sizes = {"triangles": self.body.mesh.n_faces, "vertices": self.cloth.n_vertices}
        counts = {"checked": checked, "visited": visited, "measured": measured, "contacts": contacts}
        return {**sizes, **counts, "cpu_us": known, "before_us": slow}


def findings(table: Table) -> list[str]:
    first, last = table.rows[0], table.rows[-1]
    times = last["triangles"] / first["triangles"]
    return [
        f"{times:.0f} times as many triangles of the skin: {last['cpu_us'] / first['cpu_us']:.2f} times the CPU time, "
        f"{last['visited'] / first['visited']:.2f} times the triangles visited, {last['checked']:.1f} of its vertices "
        f"checked per substep; vertex by vertex {last['before_us'] / first['before_us']:.1f} times the CPU time"
    ]

"""Creatures in a bowl: many soft bodies at once, and none of their vertices is ever inside another or the bowl."""

import numpy as np
import pytest

from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.tet_hash import TetHash
from pliant.kernels import jit
from pliant.scene import Scene
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from scenes.test_self_contact import digest

pytestmark = pytest.mark.compiled
HASHED = {"self_method": "spatial-hash", "self_response": "separate"}


def small(**options: object) -> Simulation:
    """Five of them, coarse, which meet from the first frames on."""
    scene = SCENES["creatures"](resolution=6, count=5)
    sim = Simulation(scene, substeps=8, method="bone-boxes", **options)
    for b in scene.deformable:
        sim.state.x[scene.rows(b), 1] -= 0.12 if b < 4 else 0.23
        sim.state.v[scene.rows(b), 1] = -1.0 if b < 4 else -3.0
    return sim


class Judge:
    """Who is inside whom, exactly: vertices in tets of another, vertices in the bowl, and triangles that meet.

    Vertices of the surface, which is what can be touched: in a leg that is squeezed flat one from within may stick out.
    """

    def __init__(self, scene: Scene, x: np.ndarray) -> None:
        self.scene = scene
        tets = [scene.bodies[b].mesh.welded.tets + np.int32(scene.first[b]) for b in scene.deformable]
        self.table = TetHash(x, np.concatenate(tets))
        skins = [scene.first[b] + np.unique(scene.bodies[b].mesh.welded.faces) for b in scene.deformable]
        self.skin = np.zeros(len(x), np.bool_)
        self.skin[np.concatenate(skins)] = True
        self.body = np.repeat(np.arange(len(scene.bodies)), np.diff(scene.first))
        self.bowl = ClosestPoints(scene.bodies[scene.obstacles[0]].mesh)
        self.meet = IntersectionStatistics(scene, x)

    def at(self, x: np.ndarray) -> tuple[int, int, int]:
        in_bowl = int((self.bowl.query(x[self.skin])[0] < 0.0).sum())
        vertex, tet = self.table.update(x).pairs().T
        other = self.body[vertex] != self.body[self.table.tets[tet, 0]]
        in_other = int((other & self.skin[vertex]).sum())
        return in_other, in_bowl, sum(self.meet.at(x))


@pytest.mark.parametrize("options", [{}, HASHED], ids=["guard", "spatial-hash"])
def test_no_vertex_is_ever_inside_another_body_or_the_bowl(options):
    sim = small(**options)
    judge = Judge(sim.scene, sim.state.x)
    assert judge.at(sim.state.x) == (0, 0, 0)
    for frame in sim.run(16):
        assert judge.at(frame.x) == (0, 0, 0), frame.index
    assert sim.self_contact.failed_substeps == 0


def test_without_contact_they_fall_through_each_other():
    scene = SCENES["creatures"](resolution=6, count=5, self_contact="off")
    sim = Simulation(scene, state=small().state, substeps=8, method="bone-boxes")
    judge = Judge(scene, sim.state.x)
    assert max(judge.at(frame.x)[0] for frame in sim.run(16)) > 20


def test_one_and_two_threads_give_the_same_bits():
    before, found = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            found.append(digest(small(**HASHED), 6))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, HASHED], ids=["guard", "spatial-hash"])
def test_600_frames_at_full_size_leave_no_vertex_inside_and_they_come_to_rest(options):
    scene = SCENES["creatures"]()
    sim = Simulation(scene, **options)
    judge = Judge(scene, sim.state.x)
    for frame in sim.run(600):
        assert judge.at(frame.x) == (0, 0, 0), frame.index
    assert sim.self_contact.failed_substeps == 0
    x, rest = frame.x[scene.deformable_rows], scene.bodies[-1].mesh.bounds
    assert x[:, 1].min() > 0.0
    assert ((x.min(0) > rest[0]) & (x.max(0)[[0, 1, 2]] < rest[1] + (0.0, 0.1, 0.0))).all(), "they stay in the bowl"
    for b in scene.deformable:
        mesh = scene.bodies[b].mesh.welded
        assert mesh.moved(frame.x[scene.rows(b)]).tet_volumes.sum() > 0.9 * mesh.volume
    assert np.sqrt((sim.state.v[scene.deformable_rows] ** 2).sum(1)).mean() < 0.05

"""A response moves no vertex much farther than the gap it opens, however small its weight in a contact is."""

import numpy as np
import pytest

import pliant
from conftest import cases
from pliant import contacts, shapes
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels.respond.batches import Batches
from pliant.kernels.respond.projection import (
    FARTHEST,
    Friction,
    Restitution,
    Substep,
    apply_restitution,
    mobility,
    project,
)
from pliant.motion.deforming import Attached
from pliant.scene import Grip
from pliant.simulation import Simulation

ALONE = Batches(np.zeros(1, np.int64), np.array([0, 1]), np.zeros(1, np.bool_))  # of a single contact


def near_a_held_end(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A contact of an edge of cloth, one end of it held, with an edge of a body, near the held end; x and w."""
    s = 10.0 ** rng.uniform(-12.0, 0.0)
    found = contacts.empty(1)
    found["kind"] = contacts.EDGE_EDGE
    found["vertices"], found["weights"] = [0, 1, 2, 3], [1.0 - s, s, -0.5, -0.5]
    found["normal"], found["distance"] = [0.0, 1.0, 0.0], -0.001
    x = np.array([[0.0, -0.001, 0.0], [1.0, -0.001, 0.0], [s, 0.0, -1.0], [s, 0.0, 1.0]])
    return found, x, np.array([0.0, 10.0 ** rng.uniform(-3.0, 3.0), 0.0, 0.0])


def test_the_free_end_of_a_held_edge_does_not_fly(rng):
    for _ in range(cases(200)):
        found, x, w = near_a_held_end(rng)
        start, normal_correction, friction_correction = x.copy(), np.zeros(1), np.zeros((1, 3))
        substep = Substep(x, start - [[0.0, 0.0, 0.0]] * 4, w, 0.01)
        project(found, ALONE, substep, 0.005, Friction(0.3, False), 2.0, normal_correction, friction_correction)
        moved = np.linalg.norm(x - start, axis=1)
        assert moved[[0, 2, 3]].max() == 0.0
        assert moved[1] <= FARTHEST * normal_correction[0] * (1.0 + 1e-12)
        v, before = np.zeros((4, 3)), np.zeros((4, 3))
        v[0] = [0.0, 3.0, 0.0]  # the held end is carried
        apply_restitution(found, ALONE, v, before, w, Restitution(0.0, 0.1, False), normal_correction)
        assert np.abs(v).max() <= 3.0 * FARTHEST * (1.0 + 1e-12)


def test_where_all_can_move_the_gap_opens_as_far_as_ever(rng):
    for _ in range(cases(200)):
        found, x, _ = near_a_held_end(rng)
        w, start = np.array([5.0, 5.0, 0.0, 0.0]), x.copy()
        substep = Substep(x, start, w, 0.01)
        project(found, ALONE, substep, 0.005, Friction(0.0, False), 2.0, np.zeros(1), np.zeros((1, 3)))
        assert float(contacts.gap(found, x)[0, 1]) == pytest.approx(0.005, rel=1e-9)
        assert mobility(found[0], w) >= 2.5


def tube(around: int = 16) -> pliant.Mesh:
    angle, k = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False), np.arange(around)
    rings = [(0.31 * np.cos(0.3 - 0.9 * t) + 0.12 * t, 0.1 - 0.3 * t) for t in np.linspace(0.0, 1.0, 7)]
    x = np.concatenate([np.stack([r * np.cos(angle), np.full(around, y), r * np.sin(angle)], 1) for r, y in rings])
    faces = [
        np.stack(corners, 1) + around * ring
        for ring in range(6)
        for corners in (
            (k, around + k, (k + 1) % around),
            ((k + 1) % around, around + k, around + (k + 1) % around),
        )
    ]
    return pliant.Mesh(x, np.concatenate(faces))


def frames_of(kind: str, x: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Recorded frames that a simulation should survive: shaken, turned inside out, gone, doubled, elsewhere."""
    k = np.arange(count)[:, None, None]
    return {
        "shaken": x + rng.normal(0.0, 0.05, (count, *x.shape)),
        "inside out": x * np.where(k % 2, -1.0, 1.0),
        "missing": x * np.where(k == count // 2, 0.0, 1.0),
        "doubled": x * np.where(k > count // 2, 2.0, 1.0),
        "elsewhere": x + np.where(k > count // 2, [0.3, 0.0, 1.0], 0.0),
        "repeated": x + np.where(k % 4 < 2, 0.0, [0.0, 0.05, 0.1]),
    }[kind]


KINDS = ["shaken", "inside out", "missing", "doubled", "elsewhere", "repeated"]


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("kinds", "count", "self_contact"),
    [
        (["inside out"], 4, "off"),
        (["missing"], 4, "safe"),
        (["repeated"], 4, "safe"),
        pytest.param(KINDS, 10, "safe", marks=pytest.mark.long),
    ],
)
def test_a_held_garment_on_a_recorded_body_moves_with_it_and_never_metres_farther(rng, kinds, count, self_contact):
    body, worn = shapes.ball(0.3, 2), tube()
    near = body.faces[ClosestPoints(body).query(worn.vertices[:16])[2]]
    for kind in kinds:
        played = pliant.Recorded(np.arange(count) / 30.0, frames_of(kind, body.vertices, count, rng))
        grip = Grip(np.arange(16), Attached.at(played, body.vertices, near, worn.vertices[:16]))
        bodies = [pliant.Body(worn, grips=[grip]), pliant.Body(body, obstacle=True, motion=played)]
        scene = pliant.Scene(bodies, eps=0.005, self_contact=self_contact)
        sim = Simulation(scene, 1.0 / 30.0, substeps=8, method="tree")
        soft, hard, before = scene.rows(0), scene.rows(1), sim.state.x.copy()
        most, went = 0.0, 0.0
        for frame in sim.run(count - 1):
            moved = np.linalg.norm(frame.x - before, axis=1)
            most, went, before = max(most, moved[soft].max()), max(went, moved[hard].max()), frame.x
        assert np.isfinite(before).all()
        assert most < 3.0 * went + 0.1, kind

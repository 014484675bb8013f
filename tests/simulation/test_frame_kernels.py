"""Kernels that do once per frame what NumPy and calls per time did before: equal to these, bit by bit."""

import numpy as np
import pytest

from pliant import contacts, shapes
from pliant.kernels.kinds import EDGE_EDGE, VERTEX_FACE
from pliant.kernels.simulation import sides as _sides
from pliant.kernels.simulation.final_projection import list_possibly_inside
from pliant.motion.deforming import Attached, Skinned
from pliant.simulation.guard.no_room import faces_around
from pliant.simulation.kinematics import Samples

N = 40  # vertices of cloth, in rows FIRST and following
FIRST = 7


@pytest.fixture(scope="module")
def walker() -> Skinned:
    return Skinned(shapes.walking_mannequin(1.0), "walk")


def test_attached_points_at_many_times_are_those_at_each_time(walker: Skinned) -> None:
    samples = walker.sample(np.array([0.0, 0.013, 0.4, 0.7]))
    x, corners = walker.shape(samples[0]), walker.character.mesh.faces[::97]
    grip = Attached.at(walker, x, corners, x[corners].mean(1) + 0.004)
    assert np.array_equal(grip.shapes(samples), np.stack([grip.shape(at) for at in samples]))


def test_samples_of_a_frame_are_those_of_the_motion_whatever_was_asked_before(walker: Skinned) -> None:
    samples, ends = Samples(), np.array([0.1, 0.11, 0.12])
    samples.begin(ends)
    asked = [np.array([0.11]), ends, np.array([0.105, 0.12])]  # one of them was not announced
    assert all(np.array_equal(samples.at(walker, times), walker.sample(times)) for times in asked)


def _contacts(rng: np.random.Generator, faces: np.ndarray) -> np.ndarray:
    """Contacts of vertices with faces and of edges, with equal, negative and zero distances among them."""
    found = contacts.empty(300)
    found["kind"] = rng.choice([VERTEX_FACE, EDGE_EDGE], len(found), p=[0.8, 0.2])
    face = rng.integers(0, len(faces), len(found))
    found["elements"][:, 1], found["bodies"] = face, rng.integers(0, 2, (len(found), 2))
    found["vertices"][:, 0], found["vertices"][:, 1:] = FIRST + rng.integers(0, N, len(found)), faces[face]
    found["distance"] = rng.integers(-2, 6, len(found)) / 1024.0
    return found


def test_vertices_that_may_be_inside_are_those_that_moved_as_far_as_their_nearest_contact(
    rng: np.random.Generator,
) -> None:
    found = _contacts(rng, shapes.ball(0.2, 1).faces + FIRST + N)
    seen = rng.random((N, 3))
    x, free = seen + rng.integers(0, 4, (N, 1)) / 1024.0 * [0.0, 1.0, 0.0], rng.random(N) < 0.8
    clear = np.full(N, 3.0 / 1024.0)
    for each in found[(found["kind"] == VERTEX_FACE) & (found["bodies"] == [0, 1]).all(1)]:
        i = each["vertices"][0] - FIRST
        clear[i] = min(clear[i], each["distance"])
    expected = np.flatnonzero((np.sqrt(((x - seen) ** 2).sum(1)) >= clear) & free)
    rows = np.empty(N, np.int64)
    count = list_possibly_inside(found, (0, 1, FIRST), 3.0 / 1024.0, x, seen, free, rows)
    assert 0 < count < N
    assert rows[:count].tolist() == expected.tolist()


def test_a_vertex_without_a_side_takes_the_face_of_its_nearest_contact_outside(rng: np.random.Generator) -> None:
    ball = shapes.ball(0.2, 1)
    faces = ball.faces + np.int32(FIRST + N)
    x = np.concatenate([rng.random((FIRST + N, 3)), ball.vertices])
    around, found = faces_around(faces, np.ones(len(faces), np.bool_), len(x)), _contacts(rng, faces)
    before, side = np.full(len(x), len(faces), np.int32), np.empty(len(x), np.int32)  # a file may hold anything
    assert _sides.remember(found, around, x, 0.01, before, side)
    expected = np.full(len(x), -1)
    outside = found[(found["kind"] == VERTEX_FACE) & (found["distance"] > 0.0)]
    for each in outside[np.argsort(outside["distance"], kind="stable")][::-1]:  # the nearest last
        expected[each["vertices"][0]] = each["elements"][1]
    assert side.tolist() == expected.tolist()
    assert (expected >= 0).any()
    assert not _sides.remember(found[found["kind"] == EDGE_EDGE], around, x, 0.01, before, side)

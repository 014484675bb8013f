"""Fields on bones: rigid parts of a skin, where they go, what they tell and what they lose."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import Body, Mesh, Scene, Simulation, shapes
from pliant.contacts import gap
from pliant.detect.base import Side
from pliant.detect.detectors.bone_fields import BoneFieldsDetector
from pliant.detect.fields.bones import RigidParts
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.dynamics.deformable import default_substeps
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.motion.character import Character
from pliant.motion.deforming import Skinned
from pliant.state import State
from pliant_bench import skins

EPS = 0.02


def bar(turn: float = 0.0, rise: float = 0.0, lid: bool = True) -> Character:
    """A bar of two bones along y: in a second the upper one turns by `turn` about z, and all go up by `rise`."""
    mesh = shapes.box((0.2, 1.0, 0.2), (2, 10, 2))
    if not lid:
        mesh = Mesh(mesh.vertices, mesh.faces[mesh.vertices[mesh.faces][:, :, 1].min(1) < 0.499], name="open bar")
    share = np.clip(0.5 + 5.0 * mesh.vertices[:, 1], 0.0, 1.0)
    times, inverse = np.array([0.0, 1.0]), np.tile(np.eye(3, 4), (2, 1, 1))
    inverse[:, 1, 3] = (0.5, 0.0)
    turned = Rotation.from_rotvec([[0, 0, 0], [0, 0, turn]]).as_quat()
    tracks = (
        Track(Skeleton.column(1, "rotation"), times, turned, rotation=True),
        Track(Skeleton.column(0, "translation"), times, np.array([[0.0, -0.5, 0.0], [0.0, rise - 0.5, 0.0]])),
    )
    return Character(
        mesh,
        ("lower", "upper"),
        [-1, 0],
        np.tile([0, 1], (mesh.n_vertices, 1)),
        np.stack([1.0 - share, share], 1),
        {"move": Animation(tracks)},
        Skeleton.of_heads([-1, 0], [(0.0, -0.5, 0.0), (0.0, 0.0, 0.0)]),
        [0, 1],
        inverse,
    )


def cloud(points: np.ndarray) -> Mesh:
    return Mesh(points, np.zeros((0, 3), np.int32), name="cloud")


def asked(character: Character, points: np.ndarray, when: float, before: float = 0.0):
    """A detector for `points` that was at one time of the clip and is at another, and the state."""
    motion = Skinned(character, "move")
    detector = BoneFieldsDetector(
        Side(cloud(points), 0, 0), Side(character.mesh, len(points), 1, motion), within=EPS, midpoints=False
    )
    for time in (before, when):
        sample = motion.sample(np.array([time]))[0]
        state = State.at(np.concatenate([points, motion.shape(sample)]))
        state.bones, state.lapse = {1: sample}, when - before
        detector.update(state)
    return detector, state


def near(mesh: Mesh, rng: np.random.Generator, count: int = 400) -> np.ndarray:
    f = rng.integers(mesh.n_faces, size=count)
    on = np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), count), mesh.vertices[mesh.faces[f]])
    return on + rng.normal(size=(count, 3)) * EPS


def test_parts_are_closed_where_they_were_cut_and_overlap_at_the_joint() -> None:
    parts = RigidParts.of(bar().mesh, Skinned(bar()))
    assert parts.bones.tolist() == [0, 1]
    assert all(part.issues.closed and not part.issues.inward for part in parts.meshes)
    lower, upper = (part.bounds for part in parts.meshes)
    assert (lower[0, 1], upper[1, 1]) == (-0.5, 0.5)
    assert lower[1, 1] > upper[0, 1] + 0.05


def test_borders_of_the_skin_itself_stay_open() -> None:
    character = bar(lid=False)
    lower, upper = RigidParts.of(character.mesh, Skinned(character)).meshes
    assert lower.issues.closed
    assert len(upper.issues.boundary) == len(character.mesh.issues.boundary)


@pytest.mark.parametrize("when", [0.0, 0.7])
def test_where_nothing_bends_the_distance_is_that_of_the_skin(when, rng) -> None:
    """Outside, up to the error of a field; caps inside may be nearer than the skin."""
    character = bar(rise=0.6)
    skin = character.mesh.moved(character.shape("move", when))
    points = near(skin, rng)
    detector, _ = asked(character, points, when)
    exact = ClosestPoints(skin).query(points)[0]
    outside, spacing = exact > 0.0, max(part.field.spacing for part in detector.fields)
    assert np.abs(detector.distance(points) - exact)[outside].max() <= 0.866 * spacing
    assert outside.sum() > 100


def test_contacts_open_their_gap_and_know_how_fast_the_skin_is(rng) -> None:
    character = bar(rise=0.6)
    points = near(character.mesh.moved(character.shape("move", 0.5)), rng)
    detector, state = asked(character, points, 0.5, 0.4)
    found = detector.find(state)
    np.testing.assert_allclose(gap(found, state.x), found["distance"][:, None] * found["normal"], atol=1e-12)
    np.testing.assert_allclose(found["anchor_velocity"], np.tile([0.0, 0.6, 0.0], (len(found), 1)), atol=1e-9)
    assert set(map(tuple, found["bodies"].tolist())) == {(0, 1)}
    assert len(np.unique(found["elements"][:, 0])) == len(found) > 100


def test_a_part_turns_with_its_bone() -> None:
    """A point above the end of the upper half, wherever that has gone."""
    character = bar(turn=1.2)
    tip = np.array([0.0, 0.5 + 0.5 * EPS, 0.0])
    for when in (0.0, 0.5, 1.0):
        point = Rotation.from_rotvec([0, 0, 1.2 * when]).apply(tip)
        detector, state = asked(character, point[None], when)
        found = detector.find(state)
        np.testing.assert_allclose(found["distance"], [0.5 * EPS], atol=1e-6)
        np.testing.assert_allclose(found["normal"][0], point / np.linalg.norm(point), atol=1e-6)


def test_of_a_bone_that_scales_shears_or_mirrors_the_nearest_rotation_is_taken(rng) -> None:
    parts = RigidParts.of(bar().mesh, Skinned(bar()))
    turn = Rotation.from_rotvec(rng.normal(size=(2, 3))).as_matrix()
    matrices = np.zeros((2, 3, 4))
    matrices[:, :, :3] = turn @ np.stack([np.diag([1.5, 0.7, 1.1]), np.diag([1.2, 0.9, -0.4])])
    matrices[:, :, 3] = rng.normal(size=(2, 3))
    poses = parts.poses(matrices)
    expected = turn @ np.stack([np.eye(3), np.eye(3)])
    np.testing.assert_allclose(poses[:, :, :3], expected, atol=1e-12)
    centres = np.stack([(m[:, :3] @ c + m[:, 3]) for m, c in zip(matrices, parts.centres)])
    moved = np.stack([(p[:, :3] @ c + p[:, 3]) for p, c in zip(poses, parts.centres)])
    np.testing.assert_allclose(moved, centres, atol=1e-12)


def scene() -> Scene:
    character = bar(turn=0.5, rise=0.1)
    cloth = shapes.cloth(0.5, 0.5, 14, centre=(0.0, 0.515, 0.0))
    return Scene([Body(cloth), Body(character.mesh, obstacle=True, motion=Skinned(character, "move"))], eps=EPS)


@pytest.mark.compiled
def test_a_run_with_fields_on_bones_goes_on_from_a_checkpoint_with_the_same_bits(tmp_path) -> None:
    straight = Simulation(scene(), substeps=4, method="distance-field")
    for _ in straight.run(10):
        pass
    straight.save(tmp_path / "a.npz")
    resumed = Simulation.load(tmp_path / "a.npz", scene())
    a, b = straight.step(), resumed.step()
    np.testing.assert_array_equal(a.x, b.x)
    assert len(a.contacts)
    assert isinstance(straight.detectors[0], BoneFieldsDetector)


def test_cells_that_the_limit_of_all_parts_makes_larger_than_eps_are_told(monkeypatch, caplog) -> None:
    assert BoneFieldsDetector.cell_size == 0.0
    Simulation(scene(), substeps=4, method="distance-field", options={"cache": False})
    assert "larger than eps" not in caplog.text
    monkeypatch.setattr("pliant.detect.fields.cell_size.MOST_CELLS", 40)
    sim = Simulation(scene(), substeps=4, method="distance-field", options={"cache": False})
    assert sim.detectors[0].cell_size > 1.001 * sim.scene.eps
    assert "larger than eps" in caplog.text


@pytest.mark.compiled
def test_the_exact_ways_miss_nothing_and_the_error_of_fields_is_told() -> None:
    made = scene()
    states = skins.recorded(made, 8, 2)
    assert len(states) == 2 * default_substeps(made, 1.0 / 30.0, "implicit") == 28
    boxes, fields, tree = skins._rows("bar", made, states, 1, lambda _: None)
    for row in (boxes, tree):
        assert (row["missed"], row["extra"]) == (0, 0)
        assert row["error_mm"] < 1e-9
        assert row["found"] > 10
    assert fields["found"] + fields["missed"] == boxes["found"]
    assert 0.0 < fields["error_mm"] < 1e3 * EPS
    lost = skins.loss(made, 0.3, poses=3)
    assert lost["parts"] == 2
    assert lost["mean_mm"] < lost["under_mm"] < 100.0

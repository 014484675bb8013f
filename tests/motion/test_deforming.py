"""Bodies that bend: where their vertices are at which time, and what rides on them."""

import dataclasses

import numpy as np
import pytest

from pliant import Body, Mesh, Scene, Simulation, closest_point, shapes
from pliant.detect.methods import METHODS
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.motion.character import Character
from pliant.motion.deforming import Attached, Recorded, Skinned
from pliant.respond import RESPONSES


@pytest.fixture(scope="module")
def elbow():
    """A bar of two bones along y, whose upper one turns by 90 degrees about z in a second, after half a second."""
    bar = shapes.box((0.1, 1.0, 0.1), (1, 8, 1))
    skeleton = Skeleton.of_heads([-1, 0], [(0.0, -0.5, 0.0), (0.0, 0.0, 0.0)])
    share = np.clip(0.5 + 4.0 * bar.vertices[:, 1], 0.0, 1.0)
    inverse = np.tile(np.eye(3, 4), (2, 1, 1))
    inverse[:, 1, 3] = (0.5, 0.0)
    half = np.sqrt(0.5)
    values = np.array([(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, half, half)])
    turn = Track(Skeleton.column(1, "rotation"), np.array([0.0, 1.0]), values, rotation=True)
    lift = Track(Skeleton.column(0, "translation"), np.array([0.0]), np.array([(0.0, 0.5, 0.0)]))
    return Character(
        bar,
        ("lower", "upper"),
        [-1, 0],
        np.tile([0, 1], (bar.n_vertices, 1)),
        np.stack([1.0 - share, share], 1),
        {"bend": Animation((turn, lift))},
        skeleton,
        [0, 1],
        inverse,
    )


def test_the_lead_in_starts_in_the_rest_pose_and_ends_in_the_clips_first(elbow):
    motion = Skinned(elbow, "bend", lead_in=0.5)
    first, middle, last = (motion.shape(sample) for sample in motion.sample(np.array([0.0, 0.25, 0.5])))
    np.testing.assert_allclose(first, elbow.mesh.vertices, atol=1e-15)
    np.testing.assert_allclose(last, elbow.shape("bend", 0.0), atol=1e-15)
    np.testing.assert_allclose(middle - first, 0.5 * (last - first), atol=1e-15)  # it is lifted, by half half-way
    assert np.ptp(last - first, axis=0).max() < 1e-15


def test_after_the_lead_in_the_clip_plays_once_or_for_ever(elbow):
    once, ever = Skinned(elbow, "bend", lead_in=0.5), Skinned(elbow, "bend", lead_in=0.5, loop=True)
    for time, clip in ((0.9, 0.4), (1.5, 1.0)):
        np.testing.assert_array_equal(once.shape(once.sample(np.array([time]))[0]), elbow.shape("bend", clip))
    late = np.array([1.75])
    np.testing.assert_array_equal(once.shape(once.sample(late)[0]), elbow.shape("bend", 1.0))
    np.testing.assert_array_equal(ever.shape(ever.sample(late)[0]), elbow.shape("bend", 0.25))
    assert once.duration == 1.5


def test_the_same_clip_at_another_speed_is_another_motion(elbow):
    tracks = elbow.clips["bend"].tracks
    slow = Animation(tuple(dataclasses.replace(track, times=2.0 * track.times) for track in tracks))
    keys = [
        Skinned(dataclasses.replace(elbow, clips={"bend": clip}), "bend").key for clip in (elbow.clips["bend"], slow)
    ]
    np.testing.assert_allclose(keys[0][3], keys[1][3], atol=1e-12)  # the same poses at the same shares of it
    assert keys[0][4:] != keys[1][4:]


def test_some_vertices_are_where_they_are_among_all(elbow):
    motion, rows = Skinned(elbow, "bend"), np.array([7, 3, 11])
    sample = motion.sample(np.array([0.6]))[0]
    np.testing.assert_array_equal(motion.taking(rows).shape(sample), motion.shape(sample)[rows])
    np.testing.assert_array_equal(motion.taking(rows).taking([1]).shape(sample), motion.shape(sample)[rows[1:2]])


def test_recorded_frames_are_met_and_joined_by_straight_lines():
    frames = np.random.default_rng(1).normal(size=(3, 5, 3))
    motion = Recorded(np.array([0.0, 0.5, 2.0]), frames)
    for time, expected in ((-1.0, frames[0]), (0.5, frames[1]), (1.25, frames[1:].mean(0)), (9.0, frames[2])):
        np.testing.assert_allclose(motion.shape(motion.sample(np.array([time]))[0]), expected, atol=1e-15)
    step = np.linalg.norm(frames[1] - frames[0], axis=1).max() / 0.5
    assert motion.fastest() >= step - 1e-12


@pytest.mark.parametrize(
    ("times", "frames", "words"),
    [
        ([0.0, 0.0], np.zeros((2, 3, 3)), r"times\[1\] = 0 follows 0; they must increase"),
        ([], np.zeros((0, 3, 3)), "times is empty"),
        ([0.0], np.full((1, 3, 3), np.nan), "frames"),
    ],
)
def test_bad_frames_are_refused_by_name(times, frames, words):
    with pytest.raises(ValueError, match=words):
        Recorded(np.array(times), frames)


def test_an_unknown_clip_is_refused_with_those_there_are(elbow):
    with pytest.raises(ValueError, match=r"unknown clip 'bnd'; .*bend"):
        Skinned(elbow, "bnd")


def test_attached_points_start_where_they_were_and_keep_their_height_over_the_face(elbow):
    rng = np.random.default_rng(0)
    faces, x = elbow.mesh.faces, elbow.mesh.vertices
    corners = faces[rng.integers(0, len(faces), 20)]
    points = x[corners].mean(1) + rng.normal(0.0, 0.02, (20, 3))
    held = Attached.at(Skinned(elbow, "bend", lead_in=0.5), x, corners, points)
    early, late = (held.shape(sample) for sample in held.sample(np.array([0.0, 1.3])))
    np.testing.assert_allclose(early, points, atol=1e-14)
    moved = elbow.shape("bend", 0.8)

    def height(at, where):
        a, b, c = (at[corners[:, k]] for k in range(3))
        n = np.cross(b - a, c - a)
        return ((where - a) * n).sum(1) / np.linalg.norm(n, axis=1)

    np.testing.assert_allclose(height(moved, late), height(x, points), atol=1e-12)


@pytest.mark.parametrize("method", ["bone-boxes", "bvh"])
def test_a_body_that_bends_carries_cloth_and_its_velocity_is_known(elbow, method):
    cloth = shapes.cloth(0.3, 0.3, 7, centre=(0.0, 0.52, 0.0))
    up = np.array([0.0, 0.5, 0.0])
    rising = Recorded(np.array([0.0, 1.0]), np.stack([elbow.mesh.vertices, elbow.mesh.vertices + up]))
    scene = Scene([Body(cloth), Body(elbow.mesh, obstacle=True, motion=rising)], friction=1.0)
    sim = Simulation(scene, method=method)
    for _ in sim.run(20):
        pass
    np.testing.assert_allclose(sim.state.v[scene.rows(1)], np.tile([0.0, 0.5, 0.0], (len(elbow.mesh.vertices), 1)))
    np.testing.assert_allclose(sim.state.x[scene.rows(1)][:, 1], elbow.mesh.vertices[:, 1] + 0.1, atol=1e-12)
    least = closest_point(elbow.mesh.moved(sim.state.x[scene.rows(1)]), sim.state.x[scene.rows(0)])[0].min()
    assert scene.eps - 1e-4 < least < 2.0 * scene.eps


def test_a_method_that_needs_rigid_bodies_says_so(elbow, monkeypatch):
    still = Recorded(np.zeros(1), elbow.mesh.vertices[None])
    scene = Scene([Body(shapes.cloth(0.3, 0.3, 5)), Body(elbow.mesh, obstacle=True, motion=still)])
    monkeypatch.setattr(METHODS["bvh"], "obstacle_may_deform", False)
    with pytest.raises(ValueError, match=r"'bvh' needs rigid bodies.*'box' deforms.*one of"):
        Simulation(scene, method="bvh")


@pytest.mark.compiled
@pytest.mark.parametrize("field", ["bricks", "adaptive"])
def test_a_run_on_a_field_that_is_baked_again_goes_on_from_a_checkpoint_with_the_same_bits(elbow, tmp_path, field):
    cloth, x = shapes.cloth(0.3, 0.3, 6, centre=(0.0, 0.515, 0.0)), elbow.mesh.vertices
    moving = Recorded(np.array([0.0, 0.05]), np.stack([x, x * np.array([1.05, 1.02, 0.95])]))
    scene = Scene([Body(cloth), Body(elbow.mesh, obstacle=True, motion=moving)], eps=0.02)
    options = {"field": field, "cache": False}
    straight = Simulation(scene, substeps=2, method="distance-field", options=options)
    for _ in straight.run(3):
        pass
    straight.save(tmp_path / "a.npz")
    resumed = Simulation.load(tmp_path / "a.npz", scene, options=options)
    a, b = straight.step(), resumed.step()
    assert len(a.contacts)
    np.testing.assert_array_equal(a.x, b.x)


@pytest.mark.parametrize("response", [name for name, made in RESPONSES.items() if not made.needs_closed])
def test_a_run_with_a_body_that_bends_goes_on_from_a_checkpoint_with_the_same_bits(elbow, tmp_path, response):
    cloth = shapes.cloth(0.3, 0.3, 6, centre=(0.0, 0.53, 0.0))
    body = Body(elbow.mesh, obstacle=True, motion=Skinned(elbow, "bend", lead_in=0.02))
    scene = Scene([Body(cloth), body])
    straight = Simulation(scene, substeps=4, method="bone-boxes", response=response)
    for _ in straight.run(9):
        pass
    straight.save(tmp_path / "a.npz")
    resumed = Simulation.load(tmp_path / "a.npz", scene)
    for _ in range(3):
        a, b = straight.step(), resumed.step()
    np.testing.assert_array_equal(a.x, b.x)
    other = Scene([Body(cloth), Body(elbow.mesh, obstacle=True, motion=Skinned(elbow, "bend", lead_in=0.03))])
    with pytest.raises(Exception, match="another scene"):
        Simulation.load(tmp_path / "a.npz", other)


def test_vertices_that_two_seams_share_bend_together(elbow):
    """A body whose file splits vertices at seams is one surface for the simulation."""
    mesh = elbow.mesh
    split = Mesh(mesh.vertices[mesh.faces.ravel()], np.arange(3 * mesh.n_faces).reshape(-1, 3))
    frames = np.stack([mesh.vertices, mesh.vertices * 1.5])[:, mesh.faces.ravel()]
    scene = Scene(
        [Body(shapes.cloth(0.2, 0.2, 4)), Body(split, obstacle=True, motion=Recorded(np.array([0.0, 1.0]), frames))]
    )
    x = scene.start().x.copy()
    scene.place(x, scene.poses(1.0), scene.bones(1.0))
    np.testing.assert_allclose(x[scene.rows(1)], 1.5 * split.welded.vertices)

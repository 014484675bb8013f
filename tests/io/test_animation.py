"""Animations from every kind of file, and one clear error where a file is not one."""

import struct

import numpy as np
import pytest

import pliant
from characters import made_character, post
from pliant import Mesh, shapes
from pliant.errors import MeshFileError
from pliant.io.animation import load_clip
from pliant.motion.clip import Clip

BALL = shapes.ball(0.3, 1)


def swelling(count: int = 12) -> Clip:
    frames = np.stack([BALL.vertices * (1.0 + 0.05 * t) for t in range(count)])
    return Clip(BALL, frames)


def pc2(path, frames, version=1, count=None, samples=None, cut=0):
    frames = np.asarray(frames, "<f4")
    count, samples = count or frames.shape[1], samples or len(frames)
    data = struct.pack("<12siiffi", b"POINTCACHE2\0", version, count, 0.0, 1.0, samples) + frames.tobytes()
    path.write_bytes(data[: len(data) - cut])
    return path


def test_a_mesh_file_is_one_frame(tmp_path):
    pliant.save(tmp_path / "ball.obj", BALL)
    clip, fps = load_clip(tmp_path / "ball.obj")
    assert clip.still
    assert fps == 30.0
    assert np.allclose(clip.at(0), BALL.vertices, atol=1e-7)


def test_npz_comes_back_as_it_was_written(tmp_path):
    moving = swelling()
    pliant.save_animation(tmp_path / "run.npz", [moving], 25.0)
    clip, fps = load_clip(tmp_path / "run.npz")
    assert fps == 25.0
    assert np.array_equal(clip.mesh.faces, BALL.faces)
    assert np.allclose(clip.frames, moving.frames, atol=1e-6)
    assert load_clip(tmp_path / "run.npz", fps=60.0)[1] == 60.0


def test_a_clip_of_several_in_an_npz_is_chosen_by_its_name_or_number(tmp_path, caplog):
    coat = Mesh(BALL.vertices, BALL.faces, name="coat")
    again = Mesh(BALL.vertices, BALL.faces, name="coat")
    clips = [swelling(3), *(Clip(mesh, k * swelling(3).frames) for k, mesh in ((2.0, coat), (3.0, again)))]
    path = tmp_path / "run.npz"
    pliant.save_animation(path, clips, 25.0)
    sizes = [np.abs(load_clip(path, clip=name)[0].frames).max() for name in ("ball", "coat", "2")]
    assert np.array(sizes) / sizes[0] == pytest.approx([1.0, 2.0, 3.0])
    assert caplog.text == ""
    assert len(load_clip(path)[0]) == 3
    assert "holds clips ball, coat, 2; the first is used" in caplog.text
    with pytest.raises(MeshFileError, match=r"run\.npz.*has no clip 'skirt'; one of: ball, coat, 2"):
        load_clip(path, clip="skirt")


def test_clips_of_an_npz_are_all_there_whatever_their_names_are(tmp_path):
    arrays = {f"frames_{k}": swelling(k + 1).frames for k in range(4)} | {f"faces_{k}": BALL.faces for k in range(4)}
    np.savez(tmp_path / "run.npz", **arrays, name_0="1", name_2=np.array(b"coat"), name_3="2")
    found = [len(load_clip(tmp_path / "run.npz", clip=name)[0]) for name in ("1", "3", "4", "2")]
    assert found == [1, 2, 3, 4]


def test_an_npz_of_frames_and_faces_needs_no_more(tmp_path):
    np.savez(tmp_path / "plain.npz", frames=swelling(3).frames.astype(np.float32), faces=BALL.faces)
    clip, fps = load_clip(tmp_path / "plain.npz")
    assert (len(clip), fps) == (3, 30.0)


def test_pc2_moves_the_mesh_it_belongs_to(tmp_path):
    moving = swelling()
    pliant.save(tmp_path / "ball.obj", BALL)
    written = pliant.save_animation(tmp_path / "run.pc2", [moving], 24.0)
    clip, _ = load_clip(tmp_path / "ball.obj", points=written[0], fps=24.0)
    assert np.allclose(clip.frames, moving.frames, atol=1e-7)
    assert np.array_equal(clip.mesh.faces, BALL.faces)


def test_a_sequence_is_ordered_by_its_numbers_and_10_comes_after_9(tmp_path):
    moving = swelling()
    for t in range(12):
        pliant.save(tmp_path / f"take2_{t}.obj", BALL.moved(moving.at(t)))
    (tmp_path / "notes.txt").write_text("not a mesh")
    for path in (tmp_path, tmp_path / "take2_*.obj"):
        clip, _ = load_clip(path)
        assert np.allclose(clip.frames, moving.frames, atol=1e-7)


def test_save_animation_as_obj_is_read_back_as_a_sequence(tmp_path):
    moving = swelling(11)
    pliant.save_animation(tmp_path / "run.obj", [moving], 30.0)
    clip, _ = load_clip(tmp_path / "run_*.obj")
    assert np.allclose(clip.frames, moving.frames, atol=1e-6)


@pytest.mark.parametrize("kind", ["bones", "morphs"])
def test_frames_of_a_character_are_its_shapes(tmp_path, rng, kind):
    if kind == "bones":
        path = tmp_path / "post.glb"
        pliant.save_character(path, post())
    else:
        path = made_character(rng, morphs=(1, 2, 2)).save(tmp_path / "made.gltf")
    character = pliant.load_character(path)
    name = list(character.clips)[-1]
    clip, fps = load_clip(path, clip=name, fps=20.0)
    assert fps == 20.0
    assert len(clip) == int(np.floor(character.clips[name].duration * 20.0 + 1e-6)) + 1
    for t in (0, len(clip) // 2, len(clip) - 1):
        assert np.array_equal(clip.at(t), character.shape(name, t / 20.0))


@pytest.mark.parametrize("file", ["CesiumMan.glb", "AnimatedMorphCube.glb"])
def test_real_characters_play_their_first_clip_as_often_as_they_have_keys(data, file):
    path = data / "rigged" / file
    character = pliant.load_character(path)
    clip, fps = load_clip(path)
    name = next(iter(character.clips))
    t = len(clip) // 3
    assert len(clip) > 10
    assert np.array_equal(clip.at(t), character.shape(name, t / fps))


def test_units_and_the_axis_that_is_up_hold_for_every_frame(tmp_path):
    moving = swelling(3)
    pliant.save(tmp_path / "ball.obj", BALL)
    np.savez(tmp_path / "plain.npz", frames=moving.frames, faces=BALL.faces)
    pc2(tmp_path / "run.pc2", moving.frames)
    one = load_clip(tmp_path / "plain.npz", units="cm", up="z")[0]
    two = load_clip(tmp_path / "ball.obj", points=tmp_path / "run.pc2", units="cm", up="z")[0]
    expected = 0.01 * moving.frames[..., [0, 2, 1]] * (1.0, 1.0, -1.0)
    assert np.allclose(one.frames, expected, atol=1e-9)
    assert np.allclose(two.frames, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"version": 3}, "version 3"),
        ({"count": 7}, "7 points, but mesh 'ball' has 42 vertices"),
        ({"samples": 9}, "9 samples of 42 points need"),
        ({"cut": 5}, "the file has"),
    ],
)
def test_a_broken_point_cache_is_named_with_what_is_wrong(tmp_path, options, words):
    pliant.save(tmp_path / "ball.obj", BALL)
    path = pc2(tmp_path / "run.pc2", swelling(3).frames, **options)
    with pytest.raises(MeshFileError, match=words) as error:
        load_clip(tmp_path / "ball.obj", points=path)
    assert "run.pc2" in str(error.value)


def mdd(path, frames, times, samples=None, cut=0):
    """An MDD written here, independently of the product's writer."""
    head = np.array([len(frames) if samples is None else samples, frames.shape[1]], ">i4").tobytes()
    data = head + np.asarray(times, ">f4").tobytes() + frames.astype(">f4").tobytes()
    path.write_bytes(data[: len(data) - cut])
    return path


def test_mdd_has_positions_and_the_rate_of_its_times(tmp_path):
    moving = swelling(4)
    pliant.save(tmp_path / "ball.obj", BALL)
    path = mdd(tmp_path / "run.mdd", moving.frames, 2.0 + np.arange(4) / 24.0)
    found, fps = load_clip(tmp_path / "ball.obj", points=path)
    assert fps == 24.0
    assert np.array_equal(found.frames, moving.frames.astype("f4"))
    assert load_clip(tmp_path / "ball.obj", points=path, fps=10.0)[1] == 10.0
    (written,) = pliant.save_animation(tmp_path / "own.mdd", [moving], 24.0)
    assert written.read_bytes() == mdd(tmp_path / "again.mdd", moving.frames, np.arange(4) / 24.0).read_bytes()


@pytest.mark.parametrize(
    ("times", "options", "words"),
    [
        ([0.0, 0.1, 0.2], {"samples": 9}, "9 samples of 42 points need"),
        ([0.0, 0.1, 0.2], {"samples": -1}, "-1 samples; expected"),
        ([0.0, 0.1, 0.2], {"cut": 5}, "the file has"),
        ([0.0, 0.2, 0.1], {}, "not ascending"),
        ([0.0, np.nan, 0.1], {}, "not finite"),
        ([0.0, 0.1, 0.4, 0.5, 0.6], {}, "samples 1 and 2 are 0.3 s apart, others 0.1 s"),
    ],
)
def test_a_broken_mdd_is_named_with_what_is_wrong(tmp_path, times, options, words):
    pliant.save(tmp_path / "ball.obj", BALL)
    path = mdd(tmp_path / "run.mdd", swelling(len(times)).frames, times, **options)
    with pytest.raises(MeshFileError, match=words) as error:
        load_clip(tmp_path / "ball.obj", points=path)
    assert "run.mdd" in str(error.value)


def test_a_point_cache_of_another_kind_names_those_that_are_read(tmp_path):
    pliant.save(tmp_path / "ball.obj", BALL)
    with pytest.raises(MeshFileError, match=r"'\.abc' of a point cache; \.pc2 or \.mdd"):
        load_clip(tmp_path / "ball.obj", points=tmp_path / "run.abc")


def test_what_is_not_finite_is_named_with_its_frame_and_vertex(tmp_path):
    frames = swelling(4).frames.copy()
    frames[2, 5, 1] = np.nan
    pliant.save(tmp_path / "ball.obj", BALL)
    pc2(tmp_path / "run.pc2", frames)
    np.savez(tmp_path / "run.npz", frames=frames, faces=BALL.faces)
    with pytest.raises(MeshFileError, match=r"run\.pc2.*sample 2.*vertex 5"):
        load_clip(tmp_path / "ball.obj", points=tmp_path / "run.pc2")
    with pytest.raises(MeshFileError, match=r"run\.npz.*frame 2.*vertex 5"):
        load_clip(tmp_path / "run.npz")


def not_a_cache(folder):
    (folder / "run.pc2").write_bytes(b"POINTCACHE1\0" + bytes(40))
    pliant.save(folder / "ball.obj", BALL)
    return folder / "ball.obj", {"points": folder / "run.pc2"}


def a_cache_alone(folder):
    return pc2(folder / "run.pc2", swelling(2).frames), {}


def nothing_there(folder):
    return folder / "none_*.obj", {}


def an_empty_folder(folder):
    (folder / "empty").mkdir()
    return folder / "empty", {}


def two_kinds(folder):
    for name in ("a_1.obj", "a_2.ply"):
        pliant.save(folder / name, BALL)
    return folder, {}


def another_mesh(folder):
    pliant.save(folder / "a_1.obj", BALL)
    pliant.save(folder / "a_2.obj", shapes.ball(0.3, 2))
    return folder, {}


def other_faces(folder):
    pliant.save(folder / "a_1.obj", BALL)
    pliant.save(folder / "a_2.obj", Mesh(BALL.vertices, BALL.faces[::-1]))
    return folder, {}


def no_such_clip(folder):
    pliant.save_character(folder / "post.glb", post())
    return folder / "post.glb", {"clip": "dance"}


def a_clip_of_an_obj(folder):
    pliant.save(folder / "ball.obj", BALL)
    return folder / "ball.obj", {"clip": "dance"}


def no_faces(folder):
    np.savez(folder / "run.npz", frames=swelling(2).frames)
    return folder / "run.npz", {}


def faces_out_of_range(folder):
    np.savez(folder / "run.npz", frames=swelling(2).frames, faces=BALL.faces + 9)
    return folder / "run.npz", {}


def half_a_zip(folder):
    np.savez(folder / "whole.npz", frames=swelling(2).frames, faces=BALL.faces)
    data = (folder / "whole.npz").read_bytes()
    (folder / "run.npz").write_bytes(data[: len(data) // 2])
    return folder / "run.npz", {}


BROKEN = {
    not_a_cache: "not a PC2 point cache",
    a_cache_alone: "give its mesh",
    nothing_there: "no mesh files there",
    an_empty_folder: "no mesh files there",
    two_kinds: "several kinds",
    another_mesh: "not one animation",
    other_faces: "not one animation",
    no_such_clip: "has no clip 'dance'; one of: sway, still",
    a_clip_of_an_obj: "has no clips",
    no_faces: "no arrays",
    faces_out_of_range: "faces",
    half_a_zip: "npz",
}


@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
def test_one_clear_error_names_the_file(tmp_path, make):
    path, options = make(tmp_path)
    with pytest.raises(MeshFileError) as error:
        load_clip(path, **options)
    assert BROKEN[make] in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_frames_a_second_are_checked():
    with pytest.raises(ValueError, match="fps"):
        load_clip("any.obj", fps=0.0)


def test_hours_between_a_few_keys_are_told_and_not_sampled(tmp_path):
    mesh = shapes.cloth(0.1, 0.1, 2)
    clip = pliant.Clip(mesh, np.stack([mesh.vertices, mesh.vertices + 1.0]))
    pliant.save_animation(tmp_path / "slow.glb", [clip], 1 / 5000)
    too_slow = "lasts 5000 s with 2 keyframes, 150001 frames at 30 fps; choose the frame rate"
    with pytest.raises(MeshFileError, match=too_slow):
        load_clip(tmp_path / "slow.glb")
    found, rate = load_clip(tmp_path / "slow.glb", fps=0.001)
    assert (len(found), rate) == (6, 0.001)


def test_frames_under_the_name_of_vertices_are_told_where_they_belong(tmp_path):
    ball = pliant.shapes.ball(0.1, 1)
    np.savez(tmp_path / "body.npz", vertices=np.stack([ball.vertices] * 3), faces=ball.faces)
    with pytest.raises(
        pliant.MeshFileError, match=r"expected \(n, 3\) of .*frames of an animation are an array 'frames'"
    ):
        pliant.load(tmp_path / "body.npz")

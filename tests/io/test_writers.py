"""Writers: what is read back is what was written, to the bit where the format can."""

import errno
import io
import locale
import pathlib
from typing import Any

import numpy as np
import pytest

from motion.test_rigid import random_poses
from pliant.io import load, pc2, save, save_animation
from pliant.mesh import Mesh
from pliant.motion.clip import Clip


def ball(rng: np.random.Generator, n: int = 40) -> Mesh:
    """A closed mesh with awkward numbers."""
    from scipy.spatial import ConvexHull

    x = rng.normal(size=(n, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return Mesh(x * np.pi, ConvexHull(x).simplices, name="ball")


@pytest.mark.parametrize("kind", [".obj", ".ply", ".off", ".npz"])
def test_float64_positions_come_back_to_the_bit(tmp_path: pathlib.Path, rng: np.random.Generator, kind: str) -> None:
    mesh = ball(rng)
    x = mesh.vertices.copy()
    x[0] = [5e-324, -1e-300, 0.1]
    x[1] = [1e12, 1 / 3, -2 / 3]
    save(tmp_path / f"a{kind}", mesh.moved(x))
    back = load(tmp_path / f"a{kind}")
    assert back.vertices.tobytes() == x.tobytes()
    assert np.array_equal(back.faces, mesh.faces)


@pytest.mark.parametrize("kind", [".glb", ".stl"])
def test_float32_positions_come_back_to_the_bit(tmp_path: pathlib.Path, rng: np.random.Generator, kind: str) -> None:
    mesh = ball(rng)
    save(tmp_path / f"a{kind}", mesh)
    back = load(tmp_path / f"a{kind}")
    single = mesh.vertices.astype(np.float32).astype(np.float64)
    assert back.vertices[back.faces].tobytes() == single[mesh.faces].tobytes()


@pytest.mark.parametrize("kind", [".obj", ".ply", ".glb", ".npz"])
def test_texture_coordinates_and_materials_survive(tmp_path: pathlib.Path, rng: np.random.Generator, kind: str) -> None:
    plain = ball(rng)
    uv = rng.integers(0, 256, (plain.n_faces, 3, 2)) / 256.0  # exact in float32, and 1 - v is too
    looks = ({"name": "red", "color": [1.0, 0.0, 0.25]}, {"name": "blue", "color": [0.0, 0.5, 1.0]})
    material = rng.integers(0, 2, plain.n_faces)
    mesh = Mesh(plain.vertices, plain.faces, uv=uv, material=material, materials=looks)
    save(tmp_path / f"a{kind}", mesh)
    back = load(tmp_path / f"a{kind}")
    order = np.argsort(material, kind="stable") if kind == ".glb" else np.arange(plain.n_faces)
    assert back.uv is not None
    assert np.array_equal(back.uv, uv[order])
    if kind in (".obj", ".glb"):
        assert back.material is not None
        found = [back.materials[k]["color"] for k in back.material]
        assert found == [looks[k]["color"] for k in material[order]]


def test_a_glb_keeps_the_vertices_in_order_and_puts_the_seams_behind(
    tmp_path: pathlib.Path, rng: np.random.Generator
) -> None:
    plain = ball(rng)
    mesh = Mesh(plain.vertices, plain.faces, uv=rng.random((plain.n_faces, 3, 2)))
    save(tmp_path / "a.glb", mesh)
    back = load(tmp_path / "a.glb")
    assert back.n_vertices == 3 * mesh.n_faces  # no two corners share a texture coordinate here
    assert np.array_equal(back.vertices[: mesh.n_vertices], mesh.vertices.astype(np.float32))
    assert back.welded.n_vertices == mesh.n_vertices


OBJ = b"""# a quad with a seam
mtllib a.mtl
o cloth
g front f 1
v 0 0 0 1.0 0.5 0.25
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vn 0 0 1
usemtl red
s 1
f 1/1/1 2/2/1 3/3/1 4/1/1
"""


def test_an_obj_goes_back_into_its_own_lines(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.obj").write_bytes(OBJ)
    (tmp_path / "a.mtl").write_text("newmtl red\nKd 1 0 0\n")
    mesh = load(tmp_path / "a.obj")
    save(tmp_path / "out" / "same.obj", mesh)
    save(tmp_path / "out" / "moved.obj", mesh.moved(mesh.vertices + np.array([0.0, 0.0, 2.5])))
    # written again unmoved, only the spelling of the numbers changes
    expected = OBJ.replace(b"v 0 0 0 1.0", b"v 0.0 0.0 0.0 1.0").replace(b"v 1 0 0\n", b"v 1.0 0.0 0.0\n")
    expected = expected.replace(b"v 1 1 0", b"v 1.0 1.0 0.0").replace(b"v 0 1 0\n", b"v 0.0 1.0 0.0\n")
    assert (tmp_path / "out" / "same.obj").read_bytes() == expected
    # moved, the normals are stale and go
    moved = expected.replace(b"0.0\n", b"2.5\n").replace(b"0.0 1.0 0.5 0.25", b"2.5 1.0 0.5 0.25")
    moved = moved.replace(b"vn 0 0 1\n", b"").replace(b"f 1/1/1 2/2/1 3/3/1 4/1/1", b"f 1/1 2/2 3/3 4/1")
    assert (tmp_path / "out" / "moved.obj").read_bytes() == moved
    assert load(tmp_path / "out" / "moved.obj").materials == mesh.materials


def test_an_obj_with_continued_lines_and_comments_goes_back_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.obj").write_bytes(b"v 0 0 \\\n0\nv 1 0 0 # here\nv 0 1 0\nf 1 \\\n 2 \\\n 3\n")
    mesh = load(tmp_path / "a.obj")
    save(tmp_path / "b.obj", mesh.moved(mesh.vertices * 3.0))
    back = load(tmp_path / "b.obj")
    assert np.array_equal(back.vertices, mesh.vertices * 3.0)
    assert np.array_equal(back.faces, mesh.faces)


def test_a_mesh_with_other_faces_than_its_file_is_written_anew(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.obj").write_bytes(OBJ)
    import dataclasses

    mesh = load(tmp_path / "a.obj")
    fewer = dataclasses.replace(mesh, faces=mesh.faces[:1], uv=None, material=None)
    save(tmp_path / "b.obj", fewer)
    assert load(tmp_path / "b.obj").n_faces == 1


def test_numbers_are_written_the_same_in_every_locale(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "German_Germany.1252"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma is installed")
    mesh = ball(rng)
    try:
        save(tmp_path / "a.obj", mesh)
        assert np.array_equal(load(tmp_path / "a.obj").vertices, mesh.vertices)
    finally:
        locale.setlocale(locale.LC_ALL, before)


@pytest.fixture
def clip(rng: np.random.Generator) -> Clip:
    mesh = ball(rng)
    return Clip(mesh, mesh.vertices + rng.normal(size=(5, 1, 3)), (1.0, 0.0, 0.0))


def test_a_point_cache_has_its_header_and_every_frame(tmp_path: pathlib.Path, clip: Clip) -> None:
    still = Clip(clip.mesh, clip.frames[:1])
    save_animation(tmp_path / "a.pc2", [still, clip], 25.0)
    data = (tmp_path / "a.pc2").read_bytes()
    assert data[:12] == b"POINTCACHE2\0"
    assert np.frombuffer(data, "<i4", 2, 12).tolist() == [1, clip.mesh.n_vertices]
    assert np.frombuffer(data, "<f4", 2, 20).tolist() == [0.0, 1.0]
    assert np.frombuffer(data, "<i4", 1, 28).tolist() == [5]
    assert np.array_equal(np.frombuffer(data, "<f4", offset=32).reshape(clip.frames.shape), clip.frames.astype("f4"))


def test_two_clips_that_bend_are_two_point_caches_by_their_names(tmp_path: pathlib.Path, clip: Clip) -> None:
    later = Clip(clip.mesh, clip.frames + 1.0)
    written = save_animation(tmp_path / "a.pc2", [clip, Clip(clip.mesh, clip.frames[:1]), later], 25.0)
    assert written == [tmp_path / "a-ball.pc2", tmp_path / "a-ball2.pc2"]
    for path, one in zip(written, (clip, later)):
        found = np.fromfile(path, "<f4", offset=32).reshape(one.frames.shape)
        assert np.array_equal(found, one.frames.astype("f4"))


def test_an_npz_animation_has_frames_faces_and_rate_without_pickles(tmp_path: pathlib.Path, clip: Clip) -> None:
    save_animation(tmp_path / "a.npz", [clip, Clip(clip.mesh, clip.frames[:1])], 24.0)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert found["fps"] == 24.0
        assert str(found["name_0"]) == "ball"
        assert found["frames_0"].tobytes() == clip.frames.tobytes()
        assert np.array_equal(found["faces_1"], clip.mesh.faces)


def test_an_obj_sequence_is_numbered_and_what_stands_still_is_written_once(tmp_path: pathlib.Path, clip: Clip) -> None:
    save_animation(tmp_path / "run.obj", [clip, Clip(clip.mesh, clip.frames[:1])], 24.0)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["run.obj", *[f"run_{t:04d}.obj" for t in range(5)]]
    assert np.array_equal(load(tmp_path / "run_0003.obj").vertices, clip.frames[3])


@pytest.fixture
def posed(rng: np.random.Generator) -> Clip:
    mesh = ball(rng)
    return Clip(mesh, mesh.vertices[None], poses=random_poses(rng, 5))


def test_what_moves_as_a_whole_is_unrolled_where_a_format_has_only_positions(
    tmp_path: pathlib.Path, clip: Clip, posed: Clip
) -> None:
    save_animation(tmp_path / "a.npz", [posed], 24.0)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert all((found["frames_0"][t] == posed.at(t)).all() for t in range(5))
    save_animation(tmp_path / "a.obj", [posed], 24.0)
    assert np.array_equal(load(tmp_path / "a_0003.obj").vertices, posed.at(3))
    save_animation(tmp_path / "cloth.pc2", [posed, clip], 24.0)  # a point cache is for what bends
    data = (tmp_path / "cloth.pc2").read_bytes()
    assert np.array_equal(np.frombuffer(data, "<f4", offset=32).reshape(clip.frames.shape), clip.frames.astype("f4"))
    save_animation(tmp_path / "alone.pc2", [posed], 24.0)
    assert (tmp_path / "alone.pc2").stat().st_size == 32 + 12 * 5 * posed.mesh.n_vertices


def test_a_clip_has_either_frames_or_poses(clip: Clip, posed: Clip) -> None:
    assert (len(clip), len(posed), clip.bends, posed.bends, posed.still) == (5, 5, True, False, False)
    with pytest.raises(ValueError, match="a clip with 5 poses has 5 frames; expected one"):
        Clip(clip.mesh, clip.frames, poses=posed.poses)
    with pytest.raises(ValueError, match=r"poses\[2\] is not a rigid transform"):
        Clip(posed.mesh, posed.frames, poses=posed.poses * np.array([1, 1, 2, 1, 1])[:, None, None])


def test_two_moving_clips_make_two_obj_sequences(tmp_path: pathlib.Path, clip: Clip) -> None:
    save_animation(tmp_path / "run.obj", [clip, clip], 24.0)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"run-ball{k}_{t:04d}.obj" for k in ("", "2") for t in range(5)}


@pytest.mark.parametrize(
    ("name", "why"),
    [("a.xyz", "one of: .obj, .ply, .stl, .off, .glb, .npz"), ("a.gltf", "one of: .obj"), ("a", "one of")],
)
def test_an_extension_that_cannot_be_written_is_refused(
    tmp_path: pathlib.Path, rng: np.random.Generator, name: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        save(tmp_path / name, ball(rng))
    assert not list(tmp_path.iterdir())


def test_bad_animations_are_refused_with_a_reason(tmp_path: pathlib.Path, clip: Clip) -> None:
    with pytest.raises(ValueError, match="4 and 5 frames"):
        save_animation(tmp_path / "a.glb", [clip, Clip(clip.mesh, clip.frames[:4])], 30.0)
    with pytest.raises(ValueError, match="fps = 0"):
        save_animation(tmp_path / "a.glb", [clip], 0.0)
    with pytest.raises(ValueError, match="clips is empty"):
        save_animation(tmp_path / "a.glb", [], 30.0)


class SmallDisk(io.FileIO):
    """A file without a buffer on a disk with room for 500 bytes: writes are short, then refused."""

    def write(self, data: Any) -> int:
        room = 500 - self.tell()
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(bytes(data)[: min(room, 100)])


def test_a_growing_cache_counts_only_whole_frames_where_the_disk_is_full(
    tmp_path: pathlib.Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pc2, "open", lambda path, mode, buffering: SmallDisk(path, "w+"), raising=False)
    frames, path = rng.normal(size=(4, 15, 3)).astype(np.float32), tmp_path / "live.pc2"
    cache = pc2.GrowingCache(path, 15)
    cache.add(frames[0])
    cache.add(frames[1])
    with pytest.raises(OSError, match=r"cannot write .*live\.pc2: No space left on device"):
        cache.add(frames[2])
    cache.close()
    data = path.read_bytes()
    assert int(np.frombuffer(data[28:32], "<i4")[0]) == 2
    assert data[32 : 32 + frames[:2].nbytes] == frames[:2].tobytes()

"""GLB out: valid by the Khronos validator and by our own checks, every frame where it belongs, documents kept."""

import dataclasses
import json
import pathlib
import struct
from typing import Any

import numpy as np
import pytest

from characters import small_character
from conftest import DATA
from khronos import faults, needs_validator
from motion.test_rigid import random_poses
from pliant.io import gltf_write, load, load_character, save, save_animation, save_character
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from pliant.motion.rigid import rotations

RIGGED = ["CesiumMan.glb", "KayKit_Knight.glb", "Fox.glb", "RobotExpressive.glb", "MorphStressTest.glb",
          "SimpleSkin.gltf", "RiggedFigure.glb", "RiggedSimple.glb", "AnimatedMorphCube.glb"]  # fmt: skip


def grid(n: int = 4) -> Mesh:
    """A square cloth with a texture seam down the middle and two materials."""
    u, v = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    x = np.stack([u.ravel(), np.zeros(n * n), v.ravel()], 1)
    a = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate([np.stack([a, a + n, a + 1], 1), np.stack([a + 1, a + n, a + n + 1], 1)])
    uv = x[faces][:, :, [0, 2]].copy()
    uv[x[faces][:, :, 0].mean(1) > 0.5] += 2.0
    looks = ({"name": "red", "color": [1.0, 0.0, 0.0]}, {"name": "plain"})
    return Mesh(x, faces, name="cloth", uv=uv, material=np.arange(len(faces)) % 2, materials=looks)


def wave(mesh: Mesh, count: int) -> Clip:
    """Every frame differs from every other."""
    t = np.arange(count)[:, None, None]
    x = mesh.vertices
    return Clip(mesh, x + 0.05 * mesh.size * np.sin(0.7 * t + 3.0 * x[:, :1] / mesh.size) * np.array([0.2, 1.0, 0.1]))


def parse(path: pathlib.Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    magic, version, total, size, kind = struct.unpack_from("<4sIIII", data)
    assert (magic, version, total, kind) == (b"glTF", 2, len(data), 0x4E4F534A)
    body_size, body_kind = struct.unpack_from("<II", data, 20 + size)
    assert (body_kind, 28 + size + body_size) == (0x004E4942, total)
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def values(doc: dict[str, Any], body: bytes, index: int) -> np.ndarray:
    """An accessor of floats or unsigned integers, by a second reading of the specification."""
    accessor = doc["accessors"][index]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[accessor["type"]]
    kind = {5126: "<f4", 5125: "<u4", 5123: "<u2", 5121: "u1"}[accessor["componentType"]]
    if "bufferView" not in accessor:
        return np.zeros((accessor["count"], width), kind)
    view = doc["bufferViews"][accessor["bufferView"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    step = view.get("byteStride", width * np.dtype(kind).itemsize)
    size = np.dtype(kind).itemsize
    assert start % size == 0
    assert step * (accessor["count"] - 1) + width * size + accessor.get("byteOffset", 0) <= view["byteLength"]
    return np.ndarray((accessor["count"], width), kind, body, start, (step, size))


def assert_sound(path: pathlib.Path) -> None:
    """The rules of the format that a writer can get wrong."""
    doc, body = parse(path)
    assert doc["buffers"][0]["byteLength"] <= len(body) < doc["buffers"][0]["byteLength"] + 4
    for view in doc["bufferViews"]:
        assert view["byteOffset"] + view["byteLength"] <= doc["buffers"][0]["byteLength"]
        assert view["byteOffset"] % 4 == 0
    for mesh in doc["meshes"]:
        targets = {len(primitive.get("targets", [])) for primitive in mesh["primitives"]}
        assert targets == {len(mesh.get("weights", []))} or not mesh.get("weights")
        for primitive in mesh["primitives"]:
            for holder in (primitive["attributes"], *primitive.get("targets", [])):
                x = values(doc, body, holder["POSITION"])
                bounds = doc["accessors"][holder["POSITION"]]
                assert np.array_equal(x.min(0), np.array(bounds["min"], "f4"))
                assert np.array_equal(x.max(0), np.array(bounds["max"], "f4"))
            count = doc["accessors"][primitive["attributes"]["POSITION"]]["count"]
            assert {doc["accessors"][k]["count"] for k in primitive["attributes"].values()} == {count}
            if "indices" in primitive:
                assert values(doc, body, primitive["indices"]).max() < count
            if "NORMAL" in primitive["attributes"]:
                length = np.linalg.norm(values(doc, body, primitive["attributes"]["NORMAL"]), axis=1)
                assert np.abs(length - 1).max() < 1e-3
    parents = [c for node in doc["nodes"] for c in node.get("children", [])] + doc["scenes"][0]["nodes"]
    assert len(parents) == len(set(parents))
    for animation in doc.get("animations", []):
        for sampler in animation["samplers"]:
            times = values(doc, body, sampler["input"]).ravel()
            assert (np.diff(times) > 0).all()


def show(path: pathlib.Path, time: float, out: pathlib.Path) -> Mesh:
    """What a viewer shows at `time`: animated weights and scales put into the nodes, then loaded as a still."""
    doc, body = parse(path)
    for animation in doc["animations"]:
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            times = values(doc, body, sampler["input"]).ravel()
            keys = values(doc, body, sampler["output"]).reshape(len(times), -1)
            if sampler["interpolation"] == "STEP":
                value = keys[max(int(np.searchsorted(times, np.float32(time), side="right")) - 1, 0)]
            else:
                value = np.array([np.interp(time, times, column) for column in keys.T])
            doc["nodes"][channel["target"]["node"]][channel["target"]["path"]] = value.tolist()
    del doc["animations"]
    text = json.dumps(doc).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(body), b"BIN\0") + body
    out.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
    return load(out)


def test_every_frame_is_shown_at_its_time(tmp_path: pathlib.Path) -> None:
    clip = wave(grid(), 7)
    save_animation(tmp_path / "a.glb", [clip], 30.0)
    assert_sound(tmp_path / "a.glb")
    n = clip.mesh.n_vertices
    for t in range(7):
        x = show(tmp_path / "a.glb", t / 30.0, tmp_path / "b.glb").vertices[:n]
        assert np.abs(x - clip.frames[t]).max() < 1e-6
    between = show(tmp_path / "a.glb", 2.5 / 30.0, tmp_path / "b.glb").vertices[:n]
    assert np.abs(between - (clip.frames[2] + clip.frames[3]) / 2).max() < 1e-6


def test_a_clip_with_more_frames_than_targets_goes_on_in_the_next_node(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gltf_write, "MOST_TARGETS", 4)
    clip = wave(Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 2, 1]]), 12)
    save_animation(tmp_path / "a.glb", [clip], 10.0)
    assert_sound(tmp_path / "a.glb")
    for time in np.arange(0, 11.01, 0.25) / 10.0:
        shown = show(tmp_path / "a.glb", float(time), tmp_path / "b.glb")
        visible = shown.vertices.reshape(-1, 3, 3)[shown.face_areas > 0]
        frame = min(int(time * 10 + 1e-6), 10)
        part = time * 10 - frame
        expected = (1 - part) * clip.frames[frame] + part * clip.frames[frame + 1]
        assert len(visible) == 1
        assert np.abs(visible[0] - expected).max() < 1e-6


def test_moving_normals_follow_the_surface(tmp_path: pathlib.Path) -> None:
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 2, 1]])
    turned = mesh.vertices[:, [1, 0, 2]] * np.array([-1, 1, 1])  # a quarter about z: up becomes left
    save_animation(tmp_path / "a.glb", [Clip(mesh, np.stack([mesh.vertices, turned]))], 1.0)
    doc, body = parse(tmp_path / "a.glb")
    primitive = doc["meshes"][0]["primitives"][0]
    start = values(doc, body, primitive["attributes"]["NORMAL"])
    end = start + values(doc, body, primitive["targets"][0]["NORMAL"])
    assert np.allclose(start, [0, 1, 0])
    assert np.allclose(end, [-1, 0, 0])


def test_a_clip_without_materials_has_its_colour(tmp_path: pathlib.Path) -> None:
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 2, 1]])
    save_animation(tmp_path / "a.glb", [Clip(mesh, mesh.vertices[None], (0.25, 0.5, 0.75))], 30.0)
    doc, _ = parse(tmp_path / "a.glb")
    assert doc["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [0.25, 0.5, 0.75, 1.0]
    assert doc["materials"][0]["doubleSided"] is True
    assert "animations" not in doc


def test_what_moves_as_a_whole_is_a_node_that_moves(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    mesh, poses = grid(), random_poses(rng, 6)
    clip = Clip(mesh, mesh.vertices[None], poses=poses)
    save_animation(tmp_path / "a.glb", [clip, wave(grid(), 6)], 30.0)
    assert_sound(tmp_path / "a.glb")
    doc, _ = parse(tmp_path / "a.glb")
    assert "targets" not in doc["meshes"][0]["primitives"][0]
    for t in range(6):
        x = show(tmp_path / "a.glb", t / 30.0, tmp_path / "b.glb").vertices[: mesh.n_vertices]
        assert np.abs(x - clip.at(t)).max() < 2e-6


def test_quaternions_turn_as_their_matrices_do_and_never_jump_to_the_other_side(rng: np.random.Generator) -> None:
    angle = np.linspace(0.0, 4.0 * np.pi, 60)
    for axis in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.48, 0.6, 0.64]):
        r = rotations(np.array(axis), angle)
        q = gltf_write.quaternions(r)
        half = np.concatenate([np.outer(np.sin(angle / 2), axis), np.cos(angle / 2)[:, None]], 1)
        assert np.abs(q * np.sign(q[0] @ half[0]) - half).max() < 1e-12


def test_a_posed_mesh_goes_back_into_its_own_document(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    mesh = load(data / "rigged" / "RiggedSimple.glb")
    clip = Clip(mesh, mesh.vertices[None], poses=random_poses(np.random.default_rng(3), 3))
    save_animation(tmp_path / "a.glb", [clip], 30.0)
    for t in range(3):
        x = show(tmp_path / "a.glb", t / 30.0, tmp_path / "b.glb").vertices
        assert np.abs(x - clip.at(t)).max() < 1e-5 * mesh.size


@pytest.mark.parametrize("name", RIGGED)
def test_a_document_is_kept_and_only_the_positions_change(
    data: pathlib.Path, tmp_path: pathlib.Path, name: str
) -> None:
    mesh = load(data / "rigged" / name)
    moved = mesh.moved(1.1 * mesh.vertices + 0.1)
    save(tmp_path / "a.glb", moved)
    assert_sound(tmp_path / "a.glb")
    back = load(tmp_path / "a.glb")
    assert np.abs(back.vertices - moved.vertices).max() < 1e-6 * mesh.size
    assert np.array_equal(back.faces, mesh.faces)
    assert back.materials == mesh.materials
    assert (back.uv is None and mesh.uv is None) or np.array_equal(back.uv, mesh.uv)  # type: ignore[arg-type]
    doc, _ = parse(tmp_path / "a.glb")
    before = mesh.source.document.json
    for kind in ("images", "textures", "materials", "skins", "animations"):
        assert len(doc.get(kind, [])) == len(before.get(kind, []))
    attributes = [[sorted(set(p["attributes"]) - {"TANGENT"}) for p in m["primitives"]] for m in before["meshes"]]
    kept = [[sorted(p["attributes"]) for p in m["primitives"]] for m in doc["meshes"]]
    assert kept == attributes


def test_pictures_skin_weights_and_bones_are_the_same_bytes(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    mesh = load(data / "rigged" / "CesiumMan.glb")
    save(tmp_path / "a.glb", mesh.moved(mesh.vertices + 0.01))
    found = []
    for path in (data / "rigged" / "CesiumMan.glb", tmp_path / "a.glb"):
        doc, body = parse(path)
        view = doc["bufferViews"][doc["images"][0]["bufferView"]]
        picture = body[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        attributes = doc["meshes"][0]["primitives"][0]["attributes"]
        skin = [values(doc, body, attributes[k]).tobytes() for k in ("JOINTS_0", "WEIGHTS_0", "TEXCOORD_0")]
        bones = values(doc, body, doc["skins"][0]["inverseBindMatrices"]).tobytes()
        found.append((picture, skin, bones))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", RIGGED)
def test_frames_of_a_document_are_shown_at_their_time(data: pathlib.Path, tmp_path: pathlib.Path, name: str) -> None:
    clip = wave(load(data / "rigged" / name), 3)
    save_animation(tmp_path / "a.glb", [clip], 30.0)
    assert_sound(tmp_path / "a.glb")
    for t in range(3):
        x = show(tmp_path / "a.glb", t / 30.0, tmp_path / "b.glb").vertices
        assert np.abs(x - clip.frames[t]).max() < 2e-6 * clip.mesh.size


def test_units_and_axes_become_a_node_above_the_document(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    mesh = load(data / "rigged" / "Fox.glb", units="cm", up="z")
    save(tmp_path / "a.glb", mesh.moved(mesh.vertices + 0.5))
    assert np.abs(load(tmp_path / "a.glb").vertices - mesh.vertices - 0.5).max() < 1e-6 * mesh.size


def test_clips_of_several_documents_share_one_file(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    names = ["CesiumMan.glb", "Fox.glb", "SimpleSkin.gltf"]
    clips = [wave(load(data / "rigged" / name), 3) for name in names] + [wave(grid(), 3)]
    clips[1] = Clip(clips[1].mesh, clips[1].frames[:1])
    save_animation(tmp_path / "a.glb", clips, 30.0)
    assert_sound(tmp_path / "a.glb")
    doc, _ = parse(tmp_path / "a.glb")
    assert len(doc["animations"]) == 1
    assert len(doc["images"]) == 2
    shown = show(tmp_path / "a.glb", 2 / 30.0, tmp_path / "b.glb").vertices
    at = 0
    for clip in clips:  # the cloth comes last: its seam copies stand behind its own vertices
        assert np.abs(shown[at : at + clip.mesh.n_vertices] - clip.at(2)).max() < 2e-6 * clip.mesh.size
        at += clip.mesh.n_vertices


def test_instances_of_one_mesh_move_apart(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "one.glb", Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 2, 1]]))
    doc, body = parse(tmp_path / "one.glb")
    doc["nodes"].append({"mesh": 0, "translation": [5, 0, 0]})
    doc["scenes"][0]["nodes"].append(1)
    text = json.dumps(doc).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(body), b"BIN\0") + body
    (tmp_path / "two.glb").write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
    mesh = load(tmp_path / "two.glb")
    x = mesh.vertices.copy()
    x[3:] += 1.0
    save(tmp_path / "moved.glb", mesh.moved(x))
    assert np.array_equal(load(tmp_path / "moved.glb").vertices, x)


def textured(folder: pathlib.Path, image: str) -> pathlib.Path:
    """A .gltf with its buffer and a picture beside it."""
    save(folder / "one.glb", grid())
    doc, body = parse(folder / "one.glb")
    (folder / "a.bin").write_bytes(body)
    doc["buffers"][0]["uri"] = "a.bin"
    doc["images"], doc["textures"] = [{"uri": image}], [{"source": 0}]
    doc["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"] = {"index": 0}
    (folder / "a.gltf").write_text(json.dumps(doc))
    return folder / "a.gltf"


def test_a_picture_beside_the_document_is_taken_into_the_file(tmp_path: pathlib.Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n and so on"
    (tmp_path / "my picture.png").write_bytes(picture)
    save(tmp_path / "out.glb", load(textured(tmp_path, "my%20picture.png")))
    doc, body = parse(tmp_path / "out.glb")
    view = doc["bufferViews"][doc["images"][0]["bufferView"]]
    assert body[view["byteOffset"] : view["byteOffset"] + view["byteLength"]] == picture
    assert doc["images"][0]["mimeType"] == "image/png"


@pytest.mark.parametrize("image", ["gone.png", "../secret.png", "http://localhost/a.png"])
def test_a_picture_that_is_elsewhere_is_neither_read_nor_missed(tmp_path: pathlib.Path, image: str) -> None:
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    (tmp_path / "models").mkdir()
    save(tmp_path / "out.glb", load(textured(tmp_path / "models", image)))
    doc, _ = parse(tmp_path / "out.glb")
    assert doc["images"] == [{"uri": image}]
    assert b"secret" not in (tmp_path / "out.glb").read_bytes().replace(b"../secret.png", b"")


def test_a_mesh_from_a_damaged_document_is_written_alone_with_a_warning(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = textured(tmp_path, "a.png")
    path.write_text(path.read_text().replace('"source": 0', '"source": 7'))
    mesh = load(path)
    save(tmp_path / "out.glb", mesh)
    assert "written alone" in caplog.text
    assert np.array_equal(load(tmp_path / "out.glb").welded.vertices, mesh.welded.vertices)


@needs_validator
def test_the_khronos_validator_finds_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "still.glb", grid())
    save_animation(tmp_path / "moving.glb", [wave(grid(), 40)], 30.0)
    save_animation(tmp_path / "two.glb", [wave(grid(), 5), Clip(grid(), grid().vertices[None] + 1.0)], 30.0)
    posed = Clip(grid(), grid().vertices[None], poses=random_poses(np.random.default_rng(3), 5))
    save_animation(tmp_path / "posed.glb", [wave(grid(), 5), posed], 30.0)
    with monkeypatch.context() as few:
        few.setattr(gltf_write, "MOST_TARGETS", 4)
        save_animation(tmp_path / "long.glb", [wave(grid(), 12)], 30.0)
    small = load_character(small_character().save(tmp_path / "small.gltf"))
    alone = dataclasses.replace(small.mesh, source=None)  # its own file has faults
    save_character(tmp_path / "skinned.glb", dataclasses.replace(small, mesh=alone))
    if DATA.is_dir():
        meshes = [load(DATA / "rigged" / name) for name in RIGGED]
        for name, mesh in zip(RIGGED, meshes):
            save(tmp_path / f"same-{name[:8]}.glb", mesh)
            save(tmp_path / f"moved-{name[:8]}.glb", mesh.moved(mesh.vertices * 1.1))
            save_animation(tmp_path / f"frames-{name[:8]}.glb", [wave(mesh, 3)], 30.0)
        save_animation(tmp_path / "all.glb", [wave(mesh, 3) for mesh in meshes], 30.0)
        save(tmp_path / "spot.glb", load(DATA / "meshes" / "spot_1654.obj"))
    assert faults(tmp_path.glob("*.glb")) == []

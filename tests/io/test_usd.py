"""USD out: every frame at its time, by a reading of the text, and by Pixar's own library where it is there."""

import re

import numpy as np
import pytest

from pliant import shapes
from pliant.io import check_libraries, save, save_animation, usd
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from usd_checks import faults

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def wave(mesh: Mesh, count: int) -> Clip:
    x = np.stack([mesh.vertices + 0.1 * np.sin(t + 3.0 * mesh.vertices[:, [1, 2, 0]]) for t in range(count)])
    return Clip(mesh, x.astype(np.float32), (0.25, 0.5, 0.75))


def turning(mesh: Mesh, count: int) -> Clip:
    poses = np.tile(np.eye(3, 4), (count, 1, 1))
    for t, pose in enumerate(poses):
        c, s = np.cos(0.3 * t), np.sin(0.3 * t)
        pose[:] = [[c, -s, 0.0, 0.1 * t], [s, c, 0.0, -0.2 * t], [0.0, 0.0, 1.0, 0.5]]
    return Clip(mesh, mesh.vertices[None], poses=poses)


@pytest.fixture
def clips() -> list[Clip]:
    ball = shapes.ball(0.5, 1)
    return [wave(shapes.cloth(1.0, 1.0, 4), 5), turning(shapes.box(1.0), 5), Clip(ball, ball.vertices[None])]


def samples(text: str, attribute: str) -> list[np.ndarray]:
    """The numbers of an attribute at each of its times."""
    block = re.search(re.escape(attribute) + r"\.timeSamples = \{\n(.*?)\n\s*\}", text, re.S)
    assert block is not None
    rows = [line.strip().rstrip(",").split(": ", 1) for line in block[1].splitlines()]
    assert [int(t) for t, _ in rows] == list(range(len(rows)))
    return [np.array(re.findall(r"[-\d.e+]+", value), np.float64) for _, value in rows]


def body(text: str, name: str) -> str:
    return text.split(f'def Xform "{name}"')[1].split("\n    }\n")[0]


def test_what_bends_has_its_points_at_every_time_code(tmp_path, clips):
    save_animation(tmp_path / "a.usda", clips, 30.0)
    text = (tmp_path / "a.usda").read_text("utf-8")
    for line in ("endTimeCode = 4", "timeCodesPerSecond = 30.0", "metersPerUnit = 1", 'upAxis = "Y"'):
        assert line in text
    cloth = body(text, "cloth")
    for found, frame in zip(samples(cloth, "point3f[] points"), clips[0].frames, strict=True):
        assert np.array_equal(found.astype(np.float32).reshape(-1, 3), frame)
    for found, frame in zip(samples(cloth, "float3[] extent"), clips[0].frames, strict=True):
        assert np.array_equal(found.astype(np.float32), np.concatenate([frame.min(0), frame.max(0)]))
    corners = re.search(r"faceVertexIndices = \[(.*?)\]", cloth)
    assert corners is not None
    assert np.array_equal(np.array(corners[1].split(","), int), clips[0].mesh.faces.ravel())
    assert "timeSamples" not in body(text, "ball")


def test_what_moves_as_a_whole_has_a_transform_at_every_time_code(tmp_path, clips):
    save_animation(tmp_path / "a.usda", clips, 30.0)
    box = body((tmp_path / "a.usda").read_text("utf-8"), "box")
    x = np.column_stack([clips[1].frames[0], np.ones(clips[1].mesh.n_vertices)])
    for t, found in enumerate(samples(box, "matrix4d xformOp:transform")):
        assert np.abs((x @ found.reshape(4, 4))[:, :3] - clips[1].at(t)).max() < 1e-15
    assert "points.timeSamples" not in box


@pytest.mark.parametrize("name", ["2 skirts", "skirt", "Rock, größe 'M'", 'a"b\\c\n', ""])
def test_any_name_becomes_one_that_usd_allows_and_no_two_are_the_same(tmp_path, name):
    clip = Clip(Mesh(TRIANGLE, [[0, 2, 1]], name=name), TRIANGLE[None])
    save_animation(tmp_path / "a.usda", [clip, clip], 30.0)
    text = (tmp_path / "a.usda").read_text("utf-8")
    names = re.findall(r'    def Xform "(.*?)" \(', text)
    assert len(set(names)) == 2
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", one) for one in names)
    assert len(re.findall(r'displayName = "(?:[^"\\\n]|\\["\\])*"\n', text)) == 3  # and of the material


def test_materials_colour_their_faces_and_seams_keep_their_texture(tmp_path):
    uv = np.arange(12.0).reshape(2, 3, 2) / 12
    looks = [{"color": (1.0, 0.0, 0.0)}, {"color": (0.0, 0.0, 1.0)}]
    x = np.concatenate([TRIANGLE, TRIANGLE + 1.0])
    mesh = Mesh(x, [[0, 2, 1], [3, 5, 4]], uv=uv, material=[1, 0], materials=looks)
    save(tmp_path / "a.usda", mesh)
    text = (tmp_path / "a.usda").read_text("utf-8")
    assert "displayColor = [(0, 0, 1), (1, 0, 0)] (" in text
    found = re.search(r"primvars:st = \[(.*?)\] \(\n\s*interpolation = \"faceVarying\"", text)
    assert found is not None
    assert np.allclose(np.array(re.findall(r"[-\d.e]+", found[1]), float), uv.ravel())


def test_an_old_file_stands_until_the_new_one_does(tmp_path, clips, monkeypatch):
    (tmp_path / "a.usda").write_text("old")

    def broken(clip):
        raise KeyboardInterrupt

    monkeypatch.setattr(usd, "_colours", broken)
    with pytest.raises(KeyboardInterrupt):
        save_animation(tmp_path / "a.usda", clips, 30.0)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.usda", "old")]


@pytest.mark.parametrize("ending", [".usdc", ".usd"])
def test_without_usd_core_binary_files_say_what_to_install(tmp_path, clips, monkeypatch, ending):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for write in (lambda path: save_animation(path, clips, 30.0), check_libraries):
        with pytest.raises(ValueError, match=r"needs usd-core: pip install 'pliant\[usd\]'; or write .usda"):
            write(tmp_path / f"a{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".usda", ".usdc", ".usd"])
def test_pixars_library_sees_every_frame_and_finds_no_fault(tmp_path, clips, ending):
    pytest.importorskip("pxr", reason="no usd-core (pip install 'pliant[usd]')")
    from pxr import Usd, UsdGeom

    path = tmp_path / f"a{ending}"
    assert save_animation(path, clips, 25.0) == [path]
    stage = Usd.Stage.Open(str(path))
    assert faults(stage, path) == []
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0.0, 4.0, 25.0)
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    for mesh, clip in zip(meshes, clips, strict=True):
        assert np.array_equal(np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3), clip.mesh.faces)
        assert UsdGeom.Mesh.ValidateTopology(
            mesh.GetFaceVertexIndicesAttr().Get(), mesh.GetFaceVertexCountsAttr().Get(), clip.mesh.n_vertices
        )[0]
        for t in range(5):
            x = np.array(mesh.GetPointsAttr().Get(t), np.float64)
            to_world = np.array(UsdGeom.XformCache(t).GetLocalToWorldTransform(mesh.GetPrim()))
            assert np.abs(x @ to_world[:3, :3] + to_world[3, :3] - clip.at(t)).max() < 1e-7
            low, high = np.array(mesh.GetExtentAttr().Get(t))
            assert np.array_equal(np.array([low, high]), np.array([x.min(0), x.max(0)]))

"""USD in, and out as a layer that overrides points: stages made with usd-core, and usd-core's reading of the layers."""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import pliant
from pliant import cli, shapes
from pliant.errors import MeshFileError
from pliant.motion.clip import Clip
from usd_checks import faults

Usd = pytest.importorskip("pxr.Usd")
from pxr import Gf, Sdf, UsdGeom, UsdShade, UsdSkel, Vt  # noqa: E402

import usd_stages  # noqa: E402
from usd_stages import SQUARE, mesh_at, new_stage, skinned  # noqa: E402


def world_points(path: pathlib.Path, prim: str, time: float) -> np.ndarray:
    """What usd-core itself sees, skinned where the prim is; metres, y up."""
    stage = Usd.Stage.Open(str(path))
    for root in [p for p in stage.Traverse() if p.IsA(UsdSkel.Root)]:
        UsdSkel.BakeSkinning(UsdSkel.Root(root), Gf.Interval(time, time))
    at = stage.GetPrimAtPath(prim)
    m = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(at))
    x = np.array(UsdGeom.Mesh(at).GetPointsAttr().Get(time), np.float64) @ m[:3, :3] + m[3, :3]
    scale = UsdGeom.GetStageMetersPerUnit(stage)
    return scale * (np.stack([x[:, 0], x[:, 2], -x[:, 1]], 1) if UsdGeom.GetStageUpAxis(stage) == "Z" else x)


@pytest.fixture
def shot(tmp_path: pathlib.Path) -> pathlib.Path:
    return usd_stages.shot(tmp_path)


def properties(path: pathlib.Path) -> dict[str, object]:
    """Every authored value, relationship and metadata of the composed stage."""
    stage = Usd.Stage.Open(str(path))
    found: dict[str, object] = {}
    for prim in stage.Traverse():
        found[str(prim.GetPath())] = (
            prim.GetTypeName(),
            prim.GetAppliedSchemas(),
            prim.GetVariantSets().GetAllVariantSelections(),
        )
        for each in prim.GetAuthoredProperties():
            times = each.GetTimeSamples() if isinstance(each, Usd.Attribute) else []
            values = (
                [each.Get(t) for t in times]
                if times
                else each.Get()
                if isinstance(each, Usd.Attribute)
                else each.GetTargets()
            )
            found[str(each.GetPath())] = (times, values, each.GetMetadata("interpolation"))
    for key in ("upAxis", "metersPerUnit", "timeCodesPerSecond", "startTimeCode", "endTimeCode", "defaultPrim"):
        found[key] = stage.GetMetadata(key)
    return found


def test_a_shot_is_read_with_its_references_variants_transforms_units_and_times(shot):
    skirt, fps = pliant.load_clip(shot, part="Skirt")
    body, _ = pliant.load_clip(shot, part="Body")
    assert fps == 25.0
    assert (len(skirt), skirt.mesh.n_vertices, skirt.mesh.n_faces) == (4, 169, 288)
    assert (len(body), body.mesh.n_vertices) == (4, shapes.ball(0.1, 3).n_vertices)
    for k in range(4):
        for clip, prim in ((skirt, "/World/Garment/Skirt"), (body, "/World/Body")):
            assert np.abs(clip.frames[k] - world_points(shot, prim, 101 + k)).max() < 1e-9
    assert skirt.mesh.materials == ({"name": "Tartan", "color": (0.5, 0.25, 0.125)},)
    assert np.abs(skirt.mesh.uv - skirt.frames[0][skirt.mesh.faces][..., [0, 2]] * 3).max() < 1e-6
    assert pliant.load(shot).n_vertices == 169 + body.mesh.n_vertices
    assert len(pliant.load_clip(shot, part="/World/Garment", fps=50.0)[0]) == 7
    assert np.abs(pliant.load(shot, part="Body").bounds - body.frames[0][[0]] * 0).max() < 0.11


def test_fix_writes_a_layer_that_overrides_only_points(shot, capsys):
    """The shot stays as it is; in the layer, only points and what follows from them differ from it."""
    before = shot.read_bytes()
    out = shot.with_name("fixed.usda")
    assert cli.run(["fix", str(shot), "--part", "Skirt", "--body-part", "Body", "-o", str(out)]) == 0
    assert shot.read_bytes() == before
    one, other = properties(shot), properties(out)
    changed = {name for name in one | other if one.get(name) != other.get(name)}
    assert changed == {f"/World/Garment/Skirt.{name}" for name in ("points", "extent", "normals")}
    layer = Sdf.Layer.FindOrOpen(str(out))
    assert list(layer.subLayerPaths) == ["./shot.usda"]
    assert {layer.GetPrimAtPath(p).specifier for p in ("/World", "/World/Garment", "/World/Garment/Skirt")} == {
        Sdf.SpecifierOver
    }
    assert "fixed.usda" in "".join(capsys.readouterr().out.split())  # the table may break it
    assert cli.run(["check", str(out), "--part", "Skirt", "--body-part", "Body", "--max-depth", "0.01mm"]) == 0
    assert cli.run(["check", str(shot), "--part", "Skirt", "--body-part", "Body", "--max-depth", "0.01mm"]) == 1


def test_the_layer_passes_the_checks_of_usd(shot):
    skirt, fps = pliant.load_clip(shot, part="Skirt")
    moved = Clip(skirt.mesh, skirt.frames + 0.01 * np.sin(20 * skirt.frames[..., [1, 2, 0]]), skirt.color)
    for name in ("layer.usda", "layer.usdc", "layer.usd"):
        (written,) = pliant.save_animation(shot.with_name(name), [moved], fps)
        assert faults(Usd.Stage.Open(str(written)), written) == faults(Usd.Stage.Open(str(shot)), shot) == []
        again, rate = pliant.load_clip(written, part="Skirt")
        assert rate == fps
        assert np.abs(again.frames - moved.frames).max() < 3e-8
    stage = Usd.Stage.Open(str(written))
    normals = UsdGeom.Mesh(stage.GetPrimAtPath("/World/Garment/Skirt")).GetNormalsAttr()
    assert len(normals.GetTimeSamples()) == 4
    assert np.abs(np.linalg.norm(np.array(normals.Get(102)), axis=1) - 1.0).max() < 1e-6


def test_a_run_longer_than_the_shot_lengthens_it_and_keeps_its_rate(shot):
    skirt, _ = pliant.load_clip(shot, part="Skirt")
    long = Clip(skirt.mesh, np.concatenate([skirt.frames, skirt.frames]))
    body = Clip(shapes.ball(0.1, 1), shapes.ball(0.1, 1).vertices[None])
    (written,) = pliant.save_animation(shot.with_name("long.usdc"), [long, body], 50.0)
    stage = Usd.Stage.Open(str(written))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (101, 104.5, 25)
    again, _ = pliant.load_clip(written, part="Skirt", fps=50.0)
    assert np.abs(again.frames - long.frames).max() < 3e-8


def test_the_stage_itself_is_not_overwritten(shot):
    mesh = pliant.load(shot, part="Skirt")
    with pytest.raises(ValueError, match="stays as it is"):
        pliant.save(shot, mesh.moved(mesh.vertices + 1.0))


def test_skeletons_and_blend_shapes_deform_as_usd_core_bakes_them(tmp_path):
    path = skinned(tmp_path / "hero.usda")
    clip, _ = pliant.load_clip(path)
    assert len(clip) == 3
    for t in range(3):
        assert np.abs(clip.frames[t] - world_points(path, "/World/Hero/Bar", t)).max() < 1e-6
    assert np.abs(clip.frames[2] - clip.frames[0]).max() > 0.3


def test_the_points_of_a_skinned_garment_are_not_skinned_again(tmp_path):
    path = skinned(tmp_path / "hero.usda")
    clip, fps = pliant.load_clip(path)
    moved = Clip(clip.mesh, clip.frames + 0.01)
    (written,) = pliant.save_animation(tmp_path / "layer.usda", [moved], fps)
    again, _ = pliant.load_clip(written)
    assert np.abs(again.frames - moved.frames).max() < 3e-7
    for t in range(3):
        assert np.abs(moved.frames[t] - world_points(written, "/World/Hero/Bar", t)).max() < 1e-6


def test_an_instance_is_read_where_it_stands_and_overridden_alone(tmp_path):
    asset = new_stage(tmp_path / "leaf.usda", "Y", 1.0)
    mesh_at(asset, "/World/Leaf", SQUARE, [[0, 3, 2, 1]])
    asset.GetRootLayer().Save()
    stage = new_stage(tmp_path / "tree.usda", "Y", 1.0)
    for k in range(2):
        prim = UsdGeom.Xform.Define(stage, f"/World/L{k}").GetPrim()
        prim.GetReferences().AddReference("./leaf.usda")
        prim.SetInstanceable(True)
        UsdGeom.Xformable(prim).AddTranslateOp().Set(Gf.Vec3d(0, 2.0 * k, 0))
    stage.GetRootLayer().Save()
    both = pliant.load(tmp_path / "tree.usda")
    assert both.vertices[:, 1].tolist() == [0.0] * 4 + [2.0] * 4
    one = pliant.load(tmp_path / "tree.usda", part="L1")
    pliant.save(tmp_path / "moved.usda", one.moved(one.vertices + np.array([0.0, 0.5, 0.0])))
    again = pliant.load(tmp_path / "moved.usda")
    assert again.vertices[:, 1].tolist() == [0.0] * 4 + [2.5] * 4
    layer = Usd.Stage.Open(str(tmp_path / "moved.usda"))
    assert layer.GetPrimAtPath("/World/L0").IsInstance()


def test_faces_that_are_left_handed_mirrored_or_holes_are_read_as_they_are_seen(tmp_path):
    stage = new_stage(tmp_path / "a.usda", "Y", 1.0)
    left = mesh_at(stage, "/World/left", SQUARE, [[0, 1, 2, 3]])
    left.CreateOrientationAttr("leftHanded")
    UsdGeom.Xformable(mesh_at(stage, "/World/mirrored", SQUARE, [[0, 1, 2, 3]])).AddScaleOp().Set(Gf.Vec3f(1, -1, 1))
    mesh_at(stage, "/World/holed", SQUARE, [[0, 3, 2, 1], [0, 1, 2]]).CreateHoleIndicesAttr([1])
    hidden = mesh_at(stage, "/World/hidden", SQUARE, [[0, 1, 2]])
    UsdGeom.Imageable(hidden).MakeInvisible()
    mesh_at(stage, "/World/guide", SQUARE, [[0, 1, 2]]).CreatePurposeAttr("guide")
    stage.GetRootLayer().Save()
    mesh = pliant.load(tmp_path / "a.usda")
    assert mesh.n_faces == 6
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 1] > 0.0).all()


def test_files_that_are_no_stage_or_change_their_topology_are_one_clear_error(tmp_path):
    stage = new_stage(tmp_path / "a.usda", "Y", 1.0)
    mesh = mesh_at(stage, "/World/m", SQUARE, [[0, 1, 2]])
    points = mesh.GetPointsAttr()
    points.Set(Vt.Vec3fArray.FromNumpy(SQUARE.astype(np.float32)), 0)
    points.Set(Vt.Vec3fArray.FromNumpy(SQUARE[:3].astype(np.float32)), 1)
    stage.GetRootLayer().Save()
    with pytest.raises(MeshFileError, match="3 points, and 4 before"):
        pliant.load_clip(tmp_path / "a.usda")
    with pytest.raises(MeshFileError, match="no part 'x'; one of: m"):
        pliant.load(tmp_path / "a.usda", part="x")
    for name, content in (("b.usdc", b"PXR-USDC" + bytes(80)), ("c.usda", b"#usda 1.0\ndef {"), ("d.usdz", b"PK\3\4")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MeshFileError, match=name) as told:
            pliant.load(tmp_path / name)
        assert "Error in" not in str(told.value)  # no line of the sources of usd-core
    (tmp_path / "line.usda").write_text('#usda 1.0\n\ndef Mesh "m" {\n  point3f[] points = [\n')
    with pytest.raises(MeshFileError, match=r"line.usda \(line 5\): usd-core cannot read it: "):
        pliant.load(tmp_path / "line.usda")
    lists = "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 9]\n"
    lists += "point3f[] points = [(0,0,0),(1,0,0),(0,1,0)]"
    (tmp_path / "e.usda").write_text(f'#usda 1.0\ndef Mesh "m" {{\n{lists}\n}}\n')
    with pytest.raises(MeshFileError, match="outside of its 3 points"):
        pliant.load(tmp_path / "e.usda")


def test_a_reference_that_is_missing_is_said(shot, caplog):
    shot.with_name("skirt.usda").unlink()
    assert pliant.load(shot).n_vertices == shapes.ball(0.1, 3).n_vertices
    assert [line for line in caplog.messages if "without what usd-core cannot compose" in line and "skirt.usda" in line]


def test_a_crash_of_usd_core_is_one_clear_error(shot, monkeypatch):
    ended = argparse.Namespace(returncode=-11, stderr=b"")
    monkeypatch.setattr("pliant.io.converted.subprocess.run", lambda *_, **__: ended)
    with pytest.raises(MeshFileError, match=r"usd-core cannot read it \(it crashed with SIGSEGV\)"):
        pliant.load(shot)


def test_mutants_are_frames_or_one_clear_line():
    """A short run of the fuzzer, which reads 20 000 of them in `make fuzz`."""
    program = pathlib.Path(__file__).with_name("fuzz_usd.py")
    ran = subprocess.run([sys.executable, program, "--cases", "60"], capture_output=True, text=True, timeout=300)
    told = json.loads(ran.stdout)
    assert (ran.returncode, told["cases"], told["bad"]) == (0, 60, 0), told["complaints"]


CORPUS = sorted((pathlib.Path(__file__).parents[1] / "corpus_usd").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_stages_that_once_broke_the_reader_are_frames_or_one_clear_line(path):
    try:
        clip, _ = pliant.load_clip(path, max_bytes=1 << 24)
        said = "" if np.isfinite(clip.frames).all() else "Error"
    except MeshFileError as error:
        said = str(error)
    assert "\n" not in said
    assert "Error" not in said  # the name of an exception


def test_without_usd_core_reading_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.usda").write_text("#usda 1.0\n")
    monkeypatch.setattr("pliant.io.usd_read.installed", lambda: False)
    with pytest.raises(MeshFileError, match=r"pliant\[usd\]"):
        pliant.load(tmp_path / "a.usda")


def test_colour_textures_of_a_stage_reach_other_formats(tmp_path):
    PIL = pytest.importorskip("PIL.Image")
    PIL.fromarray(np.full((2, 2, 3), 99, np.uint8)).save(tmp_path / "plaid.png")
    stage = new_stage(tmp_path / "a.usda", "Y", 1.0)
    mesh = mesh_at(stage, "/World/m", SQUARE, [[0, 3, 2, 1]])
    st = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "vertex")
    st.Set([(0, 0), (1, 0), (1, 1), (0, 1)])
    material = UsdShade.Material.Define(stage, "/World/Plaid")
    surface = UsdShade.Shader.Define(stage, "/World/Plaid/S")
    surface.CreateIdAttr("UsdPreviewSurface")
    texture = UsdShade.Shader.Define(stage, "/World/Plaid/T")
    texture.CreateIdAttr("UsdUVTexture")
    texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set("./plaid.png")
    texture.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
    surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).ConnectToSource(texture.ConnectableAPI(), "rgb")
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)
    stage.GetRootLayer().Save()
    pliant.save(tmp_path / "a.glb", pliant.load(tmp_path / "a.usda"))
    assert (tmp_path / "plaid.png").read_bytes() in (tmp_path / "a.glb").read_bytes()


def test_drape_of_a_garment_of_a_shot_is_a_layer_above_it(shot):
    """The body is static at the first frame, and the stage keeps its own."""
    ball = shapes.ball(0.1, 3)
    pliant.save(shot.with_name("ball.ply"), ball)
    skirt = pliant.load(shot, part="Skirt")
    pliant.save(shot.with_name("above.usda"), skirt.moved(skirt.vertices + np.array([0.0, 0.02, 0.0])))
    cloth = pliant.load(shot.with_name("above.usda"), part="Skirt")
    result = pliant.drape(cloth, ball, frames=3, dt=0.04, place="as-is")
    (written,) = result.save(shot.with_name("run.usda"))
    again, _ = pliant.load_clip(written, part="Skirt")
    assert np.abs(again.frames[:4] - result.clips[0].frames).max() < 3e-8
    layer = Sdf.Layer.FindOrOpen(str(written))
    assert list(layer.subLayerPaths) == ["./above.usda"]

"""Alembic and FBX, in and out by Blender: positions, texture coordinates and materials come back."""

import json
import subprocess

import numpy as np
import pytest
from scipy.spatial import cKDTree

import pliant
from blender import opened as blender
from coat import COLORS, IMAGES, saved_coat
from pliant import cli, shapes
from pliant.errors import MeshFileError
from pliant.motion.clip import Clip

pytestmark = blender.needs_blender


@pytest.fixture(autouse=True)
def _blender(monkeypatch):
    monkeypatch.setenv("PLIANT_BLENDER", str(blender.PYTHON))


def wave(frames: int = 4) -> Clip:
    cloth = shapes.cloth(1.0, 1.0, 5)
    halves = (cloth.vertices[cloth.faces, 0].mean(1) > 0.0).astype(np.int32)
    materials = ({"name": "tartan", "color": (0.5, 0.25, 0.125)}, {"name": "band", "color": (0.1, 0.2, 0.3)})
    mesh = pliant.Mesh(cloth.vertices, cloth.faces, name="skirt", uv=cloth.uv, material=halves, materials=materials)
    x = np.stack([mesh.vertices + 0.1 * np.sin(t + 3.0 * mesh.vertices[:, [1, 2, 0]]) for t in range(frames)])
    return Clip(mesh, x)


def corners(clip: Clip) -> np.ndarray:
    """Positions at the corners of all faces (T,m,3,3), in an order that no numbering of the vertices changes."""
    found = clip.frames[:, clip.mesh.faces]
    return found[:, np.lexsort(np.round(found[0].mean(1), 5).T)]


@pytest.mark.parametrize("ending", [".abc", ".fbx"])
def test_every_frame_comes_back_in_single_precision(tmp_path, ending):
    clip = wave()
    (written,) = pliant.save_animation(tmp_path / f"a{ending}", [clip], 24.0)
    again, fps = pliant.load_clip(written)
    assert (fps, len(again), again.mesh.n_faces) == (24.0, 4, clip.mesh.n_faces)
    blender.assert_equal(corners(again), corners(clip))
    assert np.abs(np.sort(again.mesh.uv.ravel()) - np.sort(clip.mesh.uv.ravel())).max() < 1e-6
    part, _ = pliant.load_clip(written, part="skirt", fps=24.0)
    assert np.array_equal(part.frames, again.frames)
    with pytest.raises(MeshFileError, match="no part 'coat'"):
        pliant.load(written, part="coat")
    if ending == ".fbx":  # Alembic has no materials
        found = {m["name"]: m["color"] for m in again.mesh.materials}
        assert set(found) == {"tartan", "band"}
        assert np.abs(np.array(found["tartan"]) - (0.5, 0.25, 0.125)).max() < 1e-5


LOOK = """
import json, pathlib, sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
fbx = sys.argv[1].endswith(".fbx")
(bpy.ops.import_scene.fbx if fbx else bpy.ops.wm.alembic_import)(filepath=sys.argv[1])
mesh = next(o for o in bpy.data.objects if o.type == "MESH").data
colors = mesh.color_attributes[0]
seen = {"colors": {}, "slots": [m.name for m in mesh.materials if m], "materials": {}}
for loop in mesh.loops:
    x = mesh.vertices[loop.vertex_index].co
    seen["colors"][f"{x[0]:.0f} {x[1]:.0f} {x[2]:.0f}"] = list(colors.data[loop.index].color)
for m in mesh.materials if fbx else []:
    nodes = m.node_tree.nodes
    base = next(n for n in nodes if n.type == "BSDF_PRINCIPLED").inputs
    images = {n.outputs[0].links[0].to_node.type: n.image for n in nodes if n.type == "TEX_IMAGE"}
    data = {key: bytes(image.packed_file.data).hex() for key, image in images.items()}
    numbers = [base["Roughness"].default_value, base["Metallic"].default_value, *base["Emission Color"].default_value]
    seen["materials"][m.name] = [[round(n, 4) for n in numbers], data]
print("LOOK " + json.dumps(seen))
"""


@pytest.mark.parametrize("ending", [".abc", ".fbx"])
def test_the_look_of_a_character_is_kept_as_far_as_the_format_has_it(tmp_path, ending):
    mesh = pliant.load(saved_coat(tmp_path))
    clip = Clip(mesh, np.stack([mesh.vertices, mesh.vertices + 0.25]))
    (written,) = pliant.save_animation(tmp_path / f"a{ending}", [clip], 24.0)
    (tmp_path / "given" / "outside.png").unlink()  # embedded
    command = [str(blender.PYTHON), "-c", LOOK, str(written)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    seen = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("LOOK "))[5:])
    assert set(seen["slots"]) == {"coat", "hem"}
    assert sorted(seen["colors"].values()) == sorted((COLORS / 255.0).tolist())
    if ending == ".abc":  # names only
        return
    coat, hem = (seen["materials"][name] for name in ("coat", "hem"))
    assert coat[0][:2] == [0.25, 1.0]
    assert hem[0][:5] == [1.0, 1.0, 0.0, 1.0, 0.0]
    assert coat[1] == {"BSDF_PRINCIPLED": IMAGES["woven"].hex(), "NORMAL_MAP": IMAGES["bumps"].hex()}
    assert hem[1] == {"BSDF_PRINCIPLED": IMAGES["outside"].hex()}


@pytest.mark.parametrize("ending", [".abc", ".fbx"])
def test_a_static_mesh_comes_back(tmp_path, ending):
    ball = shapes.ball(0.3, 2)
    pliant.save(tmp_path / f"ball{ending}", ball)
    again = pliant.load(tmp_path / f"ball{ending}")
    assert again.n_faces == ball.n_faces
    assert abs(again.volume - ball.volume) < 1e-5 * ball.volume
    assert np.abs(again.bounds - ball.bounds).max() < 1e-6


def test_a_character_in_fbx_is_checked_and_fixed(tmp_path, capsys):
    """A walking mannequin, written by Blender as FBX, moves as pliant's own."""
    walker = shapes.walking_mannequin(0.7)
    pliant.save_character(tmp_path / "walker.glb", walker)
    body, fps = pliant.load_clip(tmp_path / "walker.glb", fps=24.0)
    pliant.save_animation(tmp_path / "walker.fbx", [Clip(body.mesh, body.frames[:5])], fps)
    again, _ = pliant.load_clip(tmp_path / "walker.fbx")
    one, other = (x.transpose(1, 0, 2).reshape(x.shape[1], -1) for x in (again.frames, body.frames[:5]))
    for a, b in ((one, other), (other, one)):  # each vertex has one that moves as it does
        assert cKDTree(a).query(b)[0].max() < blender.TOLERANCE * np.abs(b).max()
    assert cli.run(["check", str(tmp_path / "walker.fbx"), "--max-self", "9999", "--json"]) == 0
    assert '"frames"' in capsys.readouterr().out


@pytest.mark.parametrize("ending", [".abc", ".fbx"])
def test_damaged_files_are_one_clear_error(tmp_path, ending):
    (written,) = pliant.save_animation(tmp_path / f"a{ending}", [wave(2)], 24.0)
    data = written.read_bytes()
    for k, bad in enumerate((b"nothing", data[: len(data) // 2], data[:40] + bytes(60) + data[100:])):
        path = tmp_path / f"bad{k}{ending}"
        path.write_bytes(bad)
        try:
            clip, _ = pliant.load_clip(path)
        except MeshFileError as error:
            said = str(error)
        else:
            said = str(path) if np.isfinite(clip.frames).all() else ""
        assert str(path) in said


def test_without_blender_one_line_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PLIANT_BLENDER", str(tmp_path / "none"))
    (tmp_path / "a.fbx").write_bytes(b"Kaydara FBX Binary")
    with pytest.raises(MeshFileError, match="PLIANT_BLENDER"):
        pliant.load(tmp_path / "a.fbx")
    pliant.save(tmp_path / "a.obj", shapes.ball(0.1, 1))
    assert cli.run(["fix", str(tmp_path / "a.obj"), "-o", str(tmp_path / "b.abc")]) == 2
    assert "PLIANT_BLENDER" in capsys.readouterr().err

"""Vertex animation textures: a reader of the test finds every position and normal by what the description says."""

import dataclasses
import json

import numpy as np
import OpenEXR
import png
import pytest

from khronos import faults, needs_validator
from pliant import Clip, Mesh, cli, load, save, save_animation, shapes
from pliant.io import vat
from pliant.io.gltf_shape import Normals


def pixels(path):
    if path.suffix == ".exr":
        with OpenEXR.File(str(path)) as file:
            return np.asarray(file.channels()["RGB"].pixels, np.float64)
    width, height, rows, info = png.Reader(str(path)).read()
    assert (info["bitdepth"], info["planes"]) == (16, 3)
    return np.array([np.array(row) for row in rows], np.float64).reshape(height, width, 3) / 65535.0


def second_uv(path):
    """(POSITION, TEXCOORD_1) of the mesh of a GLB, straight from its bytes."""
    data = path.read_bytes()
    size = int.from_bytes(data[12:16], "little")
    document, binary = json.loads(data[20 : 20 + size]), data[28 + size :]
    found = []
    for name, width in (("POSITION", 3), ("TEXCOORD_1", 2)):
        accessor = document["accessors"][document["meshes"][0]["primitives"][0]["attributes"][name]]
        view = document["bufferViews"][accessor["bufferView"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        found.append(np.frombuffer(binary, "<f4", accessor["count"] * width, start).reshape(-1, width))
    return found


def decoded(folder, stem, kind):
    """Positions and normals (T,N,3) of the vertices of the GLB, as the formula of the description says."""
    about = json.loads((folder / f"{stem}.vat.json").read_text())
    rest, uv = second_uv(folder / about["mesh"])
    out = []
    for key, name in (("positions", "offset"), ("normals", "normal")):
        image = pixels(folder / about[key])
        assert image.shape == (about["height"], about["width"], 3)
        low, high = (np.array(about[f"{name}_{end}"]) for end in ("min", "max"))
        frames = []
        for frame in range(about["frames"]):
            v = uv[:, 1] + frame * about["v_per_frame"]
            at = np.floor(v * about["height"]).astype(int), np.floor(uv[:, 0] * about["width"]).astype(int)
            frames.append(low + (high - low) * image[at])
        out.append(np.stack(frames))
    return rest + out[0], out[1], about


def waving(n=9, frames=7, *, uv=True):
    """A sheet with seams and two materials that waves."""
    sheet = shapes.cloth(1.0, 1.0, n)
    flip = np.where(np.arange(sheet.n_faces)[:, None, None] % 4 == 0, 0.3, 0.0)
    sheet = Mesh(
        sheet.vertices,
        sheet.faces,
        name="sheet",
        uv=sheet.vertices[sheet.faces][:, :, [0, 2]] + flip if uv else None,
        material=np.arange(sheet.n_faces) % 2,
        materials=({"name": "a", "color": (1.0, 0.0, 0.0)}, {"name": "b"}),
    )
    x = np.stack([sheet.vertices + [0.0, 0.2, 0.0] * np.sin(5.0 * sheet.vertices[:, :1] + t) for t in range(frames)])
    return Clip(sheet, x)


def glb_vertices(mesh, path):
    """The vertex of the mesh at each vertex of the GLB, whose first frame has different positions."""
    rest, _ = second_uv(path)
    nearest = np.linalg.norm(rest[:, None] - mesh[None].astype(np.float32), axis=2)
    assert nearest.min(1).max() == 0.0
    return nearest.argmin(1)


@pytest.mark.parametrize("kind", ["exr", "png"])
@pytest.mark.parametrize("uv", [True, False])
@pytest.mark.parametrize("widest", [8192, 45])
def test_every_position_and_normal_is_found_by_the_formula(tmp_path, monkeypatch, kind, uv, widest):
    monkeypatch.setattr(vat, "WIDEST", widest)
    clip = waving(uv=uv)
    paths = save_animation(tmp_path / f"run.vat.{kind}", [clip], 24.0)
    assert [p.name for p in paths] == [f"run.vat.{kind}", f"run-normals.vat.{kind}", "run.vat.glb", "run.vat.json"]
    x, n, about = decoded(tmp_path, "run", kind)
    assert about["rows_per_frame"] == (1 if widest > 100 else 2)
    take = glb_vertices(clip.frames[0], tmp_path / "run.vat.glb")
    # half a step of 16 bits, and single precision
    size = np.ptp(clip.frames.astype(np.float64) - clip.frames[0], axis=(0, 1))
    step = (0.5 * size / 65535 if kind == "png" else 0.0) + 1e-7
    assert (np.abs(x - clip.frames[:, take]) <= step).all()
    smooth = Normals(clip.mesh.faces, clip.mesh.weld_index)
    expected = np.stack([smooth(frame) for frame in clip.frames])[:, take]
    assert np.abs(n - expected).max() <= (1.1 / 65535 if kind == "png" else 1e-7)
    assert about["frames_per_second"] == 24.0
    assert np.allclose(about["bounds_min"], clip.frames.min((0, 1)))
    mesh = load(tmp_path / "run.vat.glb")
    assert [m["name"] for m in mesh.materials] == ["a", "b"]


@needs_validator
def test_the_mesh_is_valid(tmp_path):
    save_animation(tmp_path / "a.vat.exr", [waving()], 24.0)
    save_animation(tmp_path / "b.vat.png", [waving(uv=False)], 24.0)
    assert faults(tmp_path.glob("*.glb")) == []


def test_several_meshes_are_several_files_and_what_does_not_fit_is_refused(tmp_path, monkeypatch):
    clips = [waving(), waving(5)]
    paths = save_animation(tmp_path / "run.vat.png", clips, 24.0)
    assert len(paths) == len(set(paths)) == 8
    assert all(path.is_file() for path in paths)
    with pytest.raises(ValueError, match=r"is named run\.vat\.png; use --sheet"):
        save_animation(tmp_path / "run.png", clips, 24.0)
    monkeypatch.setattr(vat, "WIDEST", 40)
    with pytest.raises(ValueError, match="write at most"):
        save_animation(tmp_path / "long.vat.png", [waving(9, 60)], 24.0)
    assert not list(tmp_path.glob("long*"))


def test_a_mesh_that_is_called_as_the_normals_of_another_keeps_its_own_files(tmp_path):
    clips = [
        dataclasses.replace(waving(), mesh=dataclasses.replace(waving().mesh, name=name)) for name in ("a", "a-normals")
    ]
    paths = save_animation(tmp_path / "run.vat.exr", clips, 24.0)
    assert len(set(paths)) == 8
    for stem in ("run-a", "run-a-normals"):
        _, n, _ = decoded(tmp_path, stem, "exr")
        assert np.abs(np.linalg.norm(n, axis=2) - 1.0).max() < 1e-5


def test_fix_writes_the_frames_that_it_writes_as_npz(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ball, sheet = shapes.ball(0.5), shapes.cloth(0.6, 0.6, 6)
    save("ball.obj", ball)
    save("sheet.obj", sheet.moved(sheet.vertices + np.array([0.0, 0.45, 0.0])))
    frames = np.stack([sheet.vertices + np.array([0.0, 0.45 + 0.02 * t, 0.0]) for t in range(3)])
    save_animation("sheet.pc2", [Clip(sheet, frames)], 24.0)
    command = ["fix", "sheet.obj", "--points", "sheet.pc2", "--body", "ball.obj", "-o"]
    for out in ("fixed.npz", "fixed.vat.exr"):
        assert cli.run([*command, out]) in (0, 1)
    with np.load("fixed.npz") as found:
        expected = found["frames_0"]
    x, _, _ = decoded(tmp_path, "fixed", "exr")
    take = glb_vertices(expected[0], tmp_path / "fixed.vat.glb")
    np.testing.assert_allclose(x, expected[:, take], atol=1e-6)
    assert cli.run([*command, "fixed.png"]) == 2

"""Files that hold a body and what it wears, each by its name."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest

import pliant
from pliant import cli, shapes
from pliant.errors import MeshFileError
from pliant.io import save_animation
from pliant.io.animation import load_clip
from pliant.motion.clip import Clip

BALL = dataclasses.replace(shapes.ball(0.2, 2), name="Body")
SHEET = dataclasses.replace(shapes.cloth(0.3, 0.3, 7, centre=(0.0, 0.19, 0.0)), name="Skirt")
ENDINGS = ("glb", "gltf", "obj")


def outfit(folder: pathlib.Path, ending: str, *, frames: int = 1) -> pathlib.Path:
    """A ball and a sheet that cuts into it, in one file; the sheet sinks where there are more frames."""
    path = folder / f"outfit.{ending}"
    if ending == "obj":
        lines = []
        for mesh, first in ((BALL, 1), (SHEET, 1 + BALL.n_vertices)):
            lines += [f"o {mesh.name}", *(f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist())]
            lines += [f"g things all {mesh.name.lower()} side"]
            lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + first).tolist()]
        path.write_text("\n".join(lines) + "\n")
        return path
    sink = np.array([0.0, -0.01, 0.0]) * np.arange(frames)[:, None, None]
    moved = Clip(SHEET, (SHEET.vertices + sink).astype(np.float32))
    save_animation(path.with_suffix(".glb"), [Clip(BALL, BALL.vertices[None].astype(np.float32)), moved], 30.0)
    if ending == "gltf":
        data = path.with_suffix(".glb").read_bytes()
        size = int.from_bytes(data[12:16], "little")
        document = json.loads(data[20 : 20 + size])
        document["buffers"][0]["uri"] = "outfit.bin"
        path.with_suffix(".bin").write_bytes(data[28 + size :])
        path.write_text(json.dumps(document))
        path.with_suffix(".glb").unlink()
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_part_is_what_has_its_name_and_all_is_without_one(tmp_path, ending):
    path = outfit(tmp_path, ending)
    both, worn, body = pliant.load(path), pliant.load(path, part="Skirt"), pliant.load(path, part="Body")
    assert (worn.name, body.name, both.name) == ("Skirt", "Body", "outfit")
    assert both.n_faces == worn.n_faces + body.n_faces
    assert np.array_equal(worn.faces, SHEET.faces)
    assert np.array_equal(body.faces, BALL.faces)
    assert np.abs(worn.vertices - SHEET.vertices).max() < 1e-7
    assert np.abs(body.vertices - BALL.vertices).max() < 1e-7


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_part_that_is_not_there_is_told_with_those_that_are(tmp_path, ending):
    with pytest.raises(MeshFileError, match=r"has no part 'Skrt'; did you mean 'Skirt'\? one of: Body, .*Skirt"):
        pliant.load(outfit(tmp_path, ending), part="Skrt")


def test_files_without_names_have_no_parts(tmp_path):
    for name in ("a.ply", "a.npz", "a.stl"):
        pliant.save(tmp_path / name, BALL)
        with pytest.raises(MeshFileError, match=r"only \.obj, \.glb, \.gltf, .* files have parts"):
            pliant.load(tmp_path / name, part="Body")
        with pytest.raises(MeshFileError, match=r"only \.obj, \.glb, \.gltf, .* files have parts"):
            load_clip(tmp_path / name, part="Body")
    (tmp_path / "plain.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(MeshFileError, match="one of: none"):
        pliant.load(tmp_path / "plain.obj", part="Body")


def test_a_group_of_an_obj_is_a_part_and_vertices_may_be_shared(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\ng left\nf 1 2 3\ng right two words\nf 2 4 3\nf -1 -2 -3\n"
    (tmp_path / "two.obj").write_text(text)
    left, right = (pliant.load(tmp_path / "two.obj", part=name) for name in ("left", "right"))
    assert left.faces.tolist() == [[0, 1, 2]]
    assert right.faces.tolist() == [[0, 2, 1], [2, 1, 0]]
    assert right.vertices.tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert pliant.load(tmp_path / "two.obj", part="right two words").n_faces == 2


@pytest.mark.parametrize("ending", ["glb", "obj"])
@pytest.mark.parametrize("units", ["m", "cm"])
def test_a_part_goes_back_into_its_file_and_the_rest_stays(tmp_path, ending, units):
    path = outfit(tmp_path, ending)
    worn = pliant.load(path, part="Skirt", units=units)
    pliant.save(tmp_path / f"new.{ending}", worn.moved(worn.vertices + np.array([0.0, 0.05, 0.0])))
    again = {name: pliant.load(tmp_path / f"new.{ending}", part=name) for name in ("Skirt", "Body")}
    factor = 1.0 if units == "m" else 0.01
    assert np.abs(again["Skirt"].vertices - (SHEET.vertices * factor + [0.0, 0.05, 0.0])).max() < 1e-7
    assert np.abs(again["Body"].vertices - BALL.vertices * factor).max() < 1e-7
    assert pliant.load(tmp_path / f"new.{ending}").n_faces == BALL.n_faces + SHEET.n_faces


def test_what_shares_a_mesh_with_a_part_does_not_move_with_it(tmp_path):
    path = outfit(tmp_path, "gltf")
    document = json.loads(path.read_text())
    shared = next(node for node in document["nodes"] if node["name"] == "Skirt")["mesh"]
    document["nodes"].append({"name": "Spare", "mesh": shared, "translation": [2.0, 0.0, 0.0]})
    document["scenes"][0]["nodes"].append(len(document["nodes"]) - 1)
    document["meshes"][shared]["name"] = "cut"
    path.write_text(json.dumps(document))
    assert pliant.load(path, part="cut").n_faces == 2 * SHEET.n_faces
    worn = pliant.load(path, part="Skirt")
    pliant.save(tmp_path / "new.glb", worn.moved(worn.vertices + np.array([0.0, 0.5, 0.0])))
    spare, moved = (pliant.load(tmp_path / "new.glb", part=name) for name in ("Spare", "Skirt"))
    assert np.abs(spare.vertices - SHEET.vertices - [2.0, 0.0, 0.0]).max() < 1e-6
    assert np.abs(moved.vertices - SHEET.vertices - [0.0, 0.5, 0.0]).max() < 1e-6


def test_a_part_is_everything_below_a_node_of_its_name(tmp_path):
    path = outfit(tmp_path, "gltf")
    document = json.loads(path.read_text())
    k = next(k for k, node in enumerate(document["nodes"]) if node["name"] == "Skirt")
    document["nodes"].append({"name": "Clothes", "children": [k], "translation": [0.0, 1.0, 0.0]})
    document["scenes"][0]["nodes"] = [j for j in document["scenes"][0]["nodes"] if j != k] + [
        len(document["nodes"]) - 1
    ]
    path.write_text(json.dumps(document))
    worn = pliant.load(path, part="Clothes")
    assert worn.name == "Clothes"
    assert np.abs(worn.vertices - SHEET.vertices - [0.0, 1.0, 0.0]).max() < 1e-6


def test_a_part_that_moves_is_played_and_written_without_the_rest(tmp_path):
    path = outfit(tmp_path, "glb", frames=4)
    worn, fps = load_clip(path, part="Skirt")
    assert (len(worn), fps, worn.mesh.n_faces) == (4, 30.0, SHEET.n_faces)
    assert worn.frames[3, 0, 1] - worn.frames[0, 0, 1] == pytest.approx(-0.03, abs=1e-6)
    save_animation(tmp_path / "new.glb", [worn], fps)
    again, _ = load_clip(tmp_path / "new.glb")
    assert again.mesh.n_faces == SHEET.n_faces  # a body that stood still beside it would be wrong
    assert np.abs(again.frames - worn.frames).max() < 1e-6


def test_an_obj_sequence_of_a_part_is_that_part(tmp_path):
    for k in range(3):
        text = outfit(tmp_path, "obj").read_text()
        (tmp_path / f"run_{k}.obj").write_text(text.replace("o Body\nv 0", f"# {k}\no Body\nv 0"))
    worn, fps = load_clip(tmp_path / "run_*.obj", part="Skirt")
    files = save_animation(tmp_path / "new.obj", [worn], fps)
    assert [pliant.load(file).n_faces for file in files] == [SHEET.n_faces] * 3


def edited(path: pathlib.Path, change) -> pathlib.Path:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_a_node_comes_before_a_mesh_of_the_same_name(tmp_path):
    def cross(document):
        for node in document["nodes"]:
            document["meshes"][node["mesh"]]["name"] = {"Body": "Body.001", "Skirt": "Body"}[node["name"]]

    path = edited(outfit(tmp_path, "gltf"), cross)
    assert pliant.load(path, part="Body").n_faces == BALL.n_faces
    assert pliant.load(path, part="Body.001").n_faces == BALL.n_faces


def test_a_file_without_nodes_keeps_its_other_meshes(tmp_path):
    path = edited(
        outfit(tmp_path, "gltf"), lambda document: [document.pop(key) for key in ("nodes", "scenes", "scene")]
    )
    worn = pliant.load(path, part="Skirt")
    assert worn.n_faces == SHEET.n_faces
    pliant.save(tmp_path / "new.glb", worn.moved(worn.vertices + np.array([0.0, 0.5, 0.0])))
    again = pliant.load(tmp_path / "new.glb")
    assert again.n_faces == BALL.n_faces + SHEET.n_faces
    assert again.bounds[1, 1] == pytest.approx(0.69, abs=1e-6)


def test_normals_of_other_parts_stay(tmp_path):
    text = (
        "o A\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\no B\nv 0 0 1\nv 1 0 1\nv 0 1 1\nf 4//1 5//1 6//1\n"
    )
    (tmp_path / "two.obj").write_text(text)
    part = pliant.load(tmp_path / "two.obj", part="B")
    pliant.save(tmp_path / "new.obj", part.moved(part.vertices + 1.0))
    said = (tmp_path / "new.obj").read_text()
    assert "vn 0 0 1\nf 1//1 2//1 3//1\n" in said
    assert "f 4 5 6" in said
    part = pliant.load(tmp_path / "two.obj", part="B", up="z", units="cm")
    pliant.save(tmp_path / "new.obj", part)
    assert "vn 0.0 1.0 0.0\n" in (tmp_path / "new.obj").read_text()
    whole = pliant.load(tmp_path / "two.obj", up="z", units="cm")
    assert np.allclose(pliant.load(tmp_path / "new.obj").vertices, whole.vertices, atol=1e-12)


def test_with_an_object_its_groups_end(tmp_path):
    (tmp_path / "two.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\no A\ng skin\nf 1 2 3\no B\nf 2 4 3\n")
    assert pliant.load(tmp_path / "two.obj", part="skin").n_faces == 1


@pytest.mark.compiled
@pytest.mark.parametrize("ending", ["glb", "obj"])
def test_a_run_of_parts_of_one_file_holds_each_of_them_once(tmp_path, ending):
    path = outfit(tmp_path, ending)
    body, worn = (pliant.load(path, part=name) for name in ("Body", "Skirt"))
    lifted = worn.moved(worn.vertices + np.array([0.0, 0.1, 0.0]))
    result = pliant.drape(lifted, body, 2, substeps=2, measure=False)
    result.save(tmp_path / "run.glb")
    assert pliant.load(tmp_path / "run.glb").n_faces == BALL.n_faces + SHEET.n_faces
    files = result.save(tmp_path / "run.obj")
    assert sum(pliant.load(file).n_faces for file in files) == BALL.n_faces + 3 * SHEET.n_faces


@pytest.mark.compiled
def test_a_garment_below_its_body_is_an_error(tmp_path, capsys):
    def nest(document):
        body, worn = (
            (k, n) for name in ("Body", "Skirt") for k, n in enumerate(document["nodes"]) if n["name"] == name
        )
        body[1]["children"] = [worn[0]]
        document["scenes"][0]["nodes"] = [body[0]]

    path = edited(outfit(tmp_path, "gltf"), nest)
    for words in (["--part", "Skirt", "--body-part", "Body"], ["--part", "Skirt", "--body", str(path)]):
        assert cli.run(["check", str(path), *words]) == 2
        assert "the garment is part of the body" in capsys.readouterr().err


@pytest.mark.compiled
@pytest.mark.parametrize("ending", ["glb", "obj"])
def test_one_file_is_checked_and_fixed_by_its_parts(tmp_path, ending, capsys, monkeypatch):
    outfit(tmp_path, ending)
    monkeypatch.chdir(tmp_path)
    parts = ["--part", "Skirt", "--body-part", "Body"]
    assert cli.run(["check", f"outfit.{ending}", *parts]) == 1
    assert "Skirt" in capsys.readouterr().out
    assert cli.run(["fix", f"outfit.{ending}", *parts, "-o", f"new.{ending}"]) == 0
    assert cli.run(["check", f"new.{ending}", *parts]) == 0
    assert pliant.load(f"new.{ending}").n_faces == BALL.n_faces + SHEET.n_faces
    capsys.readouterr()
    for words, why in (
        (["--part", "Skirt", "--body-part", "Skirt"], "garment and body are the same part, 'Skirt'"),
        (["--body-part", "Body"], "--body-part names a part of the garment's file; name the garment with --part"),
        (["--part", "Skrt", "--body-part", "Body"], "has no part 'Skrt'; did you mean 'Skirt'? one of: Body, "),
    ):
        assert cli.run(["check", f"outfit.{ending}", *words]) == 2
        assert why in capsys.readouterr().err

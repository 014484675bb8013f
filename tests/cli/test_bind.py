"""`pliant bind`, by the words people type."""

import dataclasses
import json

import numpy as np
import pytest

import pliant
from characters import post, sleeve, small_character
from pliant import cli

pytestmark = pytest.mark.compiled


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a post that sways, and a sleeve for it."""
    monkeypatch.chdir(tmp_path)
    pliant.save_character("post.glb", post())
    pliant.save("sleeve.obj", sleeve(bottom=0.3))
    return tmp_path


def told(capsys, *words):
    code = cli.run(["bind", *words])
    shown = capsys.readouterr()
    return code, shown.out, " ".join(shown.err.split())


def test_a_garment_is_bound_written_and_checked_over_the_clips(here, capsys):
    code, out, talk = told(capsys, "sleeve.obj", "post.glb", "-o", "out.glb", "--check-frames", "6")
    assert code == 0
    for text in ("matched", "inpainted", "rigid", "distance from body", "sway", "still"):
        assert text in out
    assert "fix" not in talk  # nothing to repair
    dressed = pliant.load_character("out.glb")
    assert dressed.mesh.n_vertices == post().mesh.n_vertices + sleeve().n_vertices
    assert list(dressed.clips) == ["sway", "still"]


def test_json_has_the_figures_and_the_advice_repairs_what_was_found(here, capsys):
    inside = sleeve(top=0.09, bottom=0.12)
    pliant.save("tight.obj", inside)
    words = ("tight.obj", "post.glb", "-o", "out.glb", "--json", "--check-frames", "4", "--clip", "sway")
    code, out, talk = told(capsys, *words)
    assert code == 0
    figures = json.loads(out)
    assert figures["vertices"] == inside.n_vertices
    assert figures["matched"] + figures["inpainted"] + figures["rigid"] == inside.n_vertices
    assert [(row["clip"], row["frames"]) for row in figures["clips"]] == [("sway", 4)]
    assert figures["clips"][0]["depth"] > 0.005
    assert "pliant fix out.glb --part sleeve --body post.glb --clip sway -o fixed.glb" in talk
    command = talk[talk.index("pliant fix ") :].split()[1:11]
    assert cli.run([*command, "--fps", "5"]) in (0, 1)
    capsys.readouterr()
    assert cli.run(["check", "fixed.glb", "--body", "post.glb", "--body-clip", "sway", "--fps", "5", "--json"]) in (
        0,
        1,
    )
    assert json.loads(capsys.readouterr().out)["worst_depth_m"] <= 1e-4


def test_the_garment_alone_is_smaller_and_moves_alike(here, capsys):
    assert told(capsys, "sleeve.obj", "post.glb", "-o", "both.glb", "--check-frames", "0")[0] == 0
    code, out, _ = told(capsys, "sleeve.obj", "post.glb", "-o", "a.glb", "--alone", "--check-frames", "0")
    assert code == 0
    assert "clips" not in out
    alone, both = pliant.load_character("a.glb"), pliant.load_character("both.glb", part="sleeve")
    np.testing.assert_allclose(alone.shape("sway", 0.1), both.shape("sway", 0.1), atol=1e-6)


def test_a_garment_that_hardly_touches_the_body_is_bound_with_advice(here, capsys):
    pliant.save("cone.obj", sleeve(0.2, 0.9, bottom=0.8, rings=40))
    words = ("cone.obj", "post.glb", "-o", "out.glb", "--check-frames", "0", "--max-angle", "60")
    code, _, talk = told(capsys, *words, "--max-distance", "2cm")
    assert code == 0
    assert "a larger --max-distance" in talk
    assert "a larger --max-distance" not in told(capsys, *words, "--max-distance", "0.2m")[2]


def test_a_second_garment_is_bound_to_the_body_below_the_first(here, capsys):
    assert told(capsys, "sleeve.obj", "post.glb", "-o", "one.glb", "--check-frames", "0")[0] == 0
    pliant.save("cuff.obj", sleeve(0.1, 0.3, bottom=0.13))
    words = ("cuff.obj", "one.glb", "--body-part", "post", "-o", "two.glb", "--check-frames", "1")
    code, _, _ = told(capsys, *words)
    assert code == 0
    parts = [pliant.load_character("two.glb", part=name).mesh.n_vertices for name in ("post", "sleeve", "cuff")]
    assert parts == [post().mesh.n_vertices, sleeve().n_vertices, sleeve().n_vertices]


def test_a_better_pose_is_recommended(here, capsys):
    body = post()
    rest = body.skeleton.rest.copy()
    rest[10 + 3 : 10 + 7] = [0.0, 0.0, np.sin(0.5), np.cos(0.5)]
    bent = dataclasses.replace(body, skeleton=dataclasses.replace(body.skeleton, rest=rest))
    pliant.save_character("bent.glb", bent)
    there = bent.shape(None, 0.0)
    pliant.save("copy.obj", body.mesh.moved(there))
    figure = pliant.load_character("bent.glb")
    assert np.abs(figure.shape(None, 0.0) - there).max() < 1e-6
    words = ("copy.obj", "bent.glb", "-o", "out.glb", "--check-frames", "0")
    assert "use --pose rest" in told(capsys, *words)[2]
    code, _, talk = told(capsys, *words, "--pose", "rest")
    assert code == 0
    assert "--pose" not in talk


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.obj", "post.glb", "-o", "out.glb"], "no such file"),
        (["sleeve.obj", "post.glb", "-o", "post.glb"], "would overwrite an input file"),
        (["sleeve.obj", "post.glb", "-o", "out.obj"], "unknown extension '.obj'"),
        (["post.glb", "post.glb", "-o", "out.glb"], "the same file"),
        (["sleeve.obj", "sleeve.obj", "-o", "out.glb"], "the same file"),
        (["sleeve.obj", "plain.obj", "-o", "out.glb"], "characters are .glb or .gltf files"),
        (["sleeve.obj", "rigid.gltf", "-o", "out.glb"], "has no skin"),
        (["empty.obj", "post.glb", "-o", "out.glb"], "no faces"),
        (["nan.obj", "post.glb", "-o", "out.glb"], "nan"),
        (["far.obj", "post.glb", "-o", "out.glb"], "does not lie on"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--clip", "run"], "sway"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--pose-clip", "run"], "sway"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--pose-time", "1"], "name the clip with --pose-clip"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--pose", "rest", "--pose-clip", "sway"], "leave one of them out"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--influences", "5"], "--influences"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--max-distance", "5"], "write 5mm, or 5m for metres"),
        (["sleeve.obj", "post.glb", "-o", "out.glb", "--check-frames", "-1"], "--check-frames"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(here, capsys, words, said):
    pliant.save("plain.obj", pliant.shapes.box())
    pliant.save("far.obj", sleeve(3.0, 4.0))
    (here / "empty.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    (here / "nan.obj").write_text("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    small_character(skin=False).save(here / "rigid.gltf")
    code, out, talk = told(capsys, *words)
    assert code == 2
    assert said in talk
    assert not out
    assert not (here / "out.glb").exists()


def test_morph_targets_of_the_body_are_not_transferred_and_a_line_says_so(here, capsys):
    body = pliant.load_character(small_character().save(here / "small.gltf"))
    pliant.save("patch.obj", pliant.Mesh(body.shape(None, 0.0), body.mesh.faces))
    code, _, talk = told(capsys, "patch.obj", "small.gltf", "-o", "out.glb", "--pose", "rest", "--max-distance", "1m")
    assert code == 0
    assert "morph targets of the body are not transferred" in talk


@pytest.mark.parametrize(
    "name",
    ["CesiumMan", "Fox", "RiggedFigure", "RobotExpressive", pytest.param("KayKit_Knight", marks=pytest.mark.long)],
)
def test_characters_of_the_wild_wear_a_layer_of_their_own_skin(data, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    path = data / "rigged" / f"{name}.glb"
    body = pliant.load_character(path)
    middle = body.mesh.vertices[body.mesh.faces].mean(1)[:, 1]
    half = body.mesh.faces[middle > np.median(middle)]
    used, faces = np.unique(half, return_inverse=True)
    x = body.mesh.vertices + 0.003 * body.mesh.size * body.mesh.welded.vertex_normals[body.mesh.weld_index]
    pliant.save("layer.obj", pliant.Mesh(x[used], faces.reshape(-1, 3)))
    code, out, _ = told(capsys, "layer.obj", str(path), "-o", "out.glb", "--check-frames", "1", "--json")
    assert code == 0
    assert json.loads(out)["matched"] > 0.5 * len(used)
    dressed = pliant.load_character("out.glb")
    clip = next(iter(body.clips))
    there = dressed.shape(clip, 0.3)
    np.testing.assert_allclose(there[: body.mesh.n_vertices], body.shape(clip, 0.3), atol=1e-5 * body.mesh.size)
    apart = np.linalg.norm(there[body.mesh.n_vertices :] - body.shape(clip, 0.3)[used], axis=1)
    assert np.median(apart) < 0.006 * body.mesh.size


@pytest.mark.long
def test_a_bound_garment_of_a_walking_man_is_checked_and_fixed(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    man = str(data / "rigged" / "CesiumMan.glb")
    body = pliant.load_character(man)
    x = body.mesh.vertices
    middle = (x[body.mesh.faces].mean(1)[:, 1] - x[:, 1].min()) / np.ptp(x[:, 1])
    used, faces = np.unique(body.mesh.faces[(middle > 0.45) & (middle < 0.75)], return_inverse=True)
    outward = x + 0.004 * body.mesh.welded.vertex_normals[body.mesh.weld_index]
    pliant.save("belt.obj", pliant.Mesh(outward[used], faces.reshape(-1, 3)))
    assert told(capsys, "belt.obj", man, "-o", "out.glb", "--check-frames", "0")[0] == 0
    pair = ["out.glb", "--part", "belt", "--body", man, "--fps", "2", "--json"]
    assert cli.run(["check", *pair]) in (0, 1)
    before = json.loads(capsys.readouterr().out)
    assert cli.run(["fix", *pair, "-o", "fixed.glb", "--no-tangles"]) in (0, 1)
    after = json.loads(capsys.readouterr().out)["after"]
    inside = [sum(f["inside"] for f in report["frames"]) for report in (before, after)]
    assert inside[0] > 0
    assert inside[1] <= inside[0]


def test_the_garment_keeps_the_name_of_its_node(here, capsys):
    pliant.save("export_v3.glb", dataclasses.replace(sleeve(), name="Coat"))
    words = ("export_v3.glb", "post.glb", "-o", "out.glb", "--check-frames", "0")
    assert told(capsys, *words)[0] == 0
    assert pliant.load_character("out.glb", part="Coat").mesh.n_vertices == sleeve().n_vertices
    assert b"export_v3" not in (here / "out.glb").read_bytes()


@pytest.mark.parametrize(
    ("lines", "name"),
    [("o Coat\ng front", "Coat"), ("g default", "export_v3"), ("", "export_v3"), ("o Coat|o Lining", "export_v3")],
)
def test_a_garment_from_obj_keeps_the_name_of_its_object(here, capsys, lines, name):
    pliant.save("plain.obj", sleeve())
    rows = [row for row in (here / "plain.obj").read_text().splitlines() if row[:2] not in ("o ", "g ")]
    first = next(k for k, row in enumerate(rows) if row.startswith("f "))
    one, _, two = lines.partition("|")
    rows = [*rows[:first], *one.splitlines(), *rows[first:-2], *two.splitlines(), *rows[-2:]]
    (here / "export_v3.obj").write_text("\n".join(rows) + "\n")
    assert told(capsys, "export_v3.obj", "post.glb", "-o", "out.glb", "--check-frames", "0")[0] == 0
    assert pliant.load_character("out.glb", part=name).mesh.n_vertices == sleeve().n_vertices


def test_a_file_with_garment_and_body_in_place_of_the_garment_is_noticed(here, capsys):
    """As it stands, the body would be checked against itself, which finds nothing and takes long."""
    assert told(capsys, "sleeve.obj", "post.glb", "-o", "both.glb", "--check-frames", "0")[0] == 0
    for more, noticed in (((), True), (("--part", "sleeve"), False)):
        cli.run(["check", "both.glb", *more, "--body", "post.glb", "--clip", "still", "--json"])
        said = capsys.readouterr().err
        assert (
            "has all vertices of the body at the same places; name the garment in it with --part" in said
        ) == noticed
        assert ("both.glb contains post, sleeve, taken together" in said) == noticed

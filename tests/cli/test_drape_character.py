"""`pliant drape GARMENT CHARACTER.glb`: a post that sways wears a sleeve, by the words people type."""

import collections
import dataclasses
import json
import os
import pathlib
import re

import numpy as np
import pytest

import pliant
from characters import post, sleeve
from khronos import faults, needs_validator
from pliant import cli
from pliant.detect import choose

pytestmark = pytest.mark.compiled
SHORT = ["--frames", "5", "--substeps", "3", "--dt", str(1 / 30)]


@pytest.fixture(scope="module")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wardrobe")
    pliant.save_character(folder / "post.glb", post())
    pliant.save_character(folder / "statue.glb", post(clips=()))
    pliant.save(folder / "sleeve.obj", sleeve())
    pliant.save(folder / "coat.obj", sleeve(0.33, 0.72, top=0.113, bottom=0.22, name="coat"))
    pliant.save(folder / "narrow.obj", sleeve(top=0.09, name="narrow"))
    return folder


@pytest.fixture
def here(wardrobe, tmp_path, monkeypatch) -> pathlib.Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def worn(wardrobe) -> list[str]:
    return ["drape", str(wardrobe / "sleeve.obj"), str(wardrobe / "post.glb"), *SHORT]


def document(path: pathlib.Path) -> dict:
    data = path.read_bytes()
    return json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--ease", "much"], "--ease is 'much'; expected a fraction such as 15% or 0.15"),
        (["--ease", "150%"], "--ease = 1.5"),
        (["--ease", "15%", "--rest-scale", "0.9"], "--ease and --rest-scale both change the rest lengths"),
    ],
)
def test_a_wrong_ease_is_refused_by_name(here, worn, words, error, capsys):
    assert cli.run([*worn, *words, "-o", "a.npz"]) == 2
    assert error in capsys.readouterr().err


def test_ease_makes_a_garment_grow(here, worn, capsys):
    spread = []
    for ease in ("0", "20%"):
        assert cli.run([*worn, "--ease", ease, "--json", "-o", "a.npz"]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert 0.0 <= figures["strain_95_percent"] <= figures["strain_most"] < 0.05
        spread.append(np.load("a.npz")["frames_0"][-1])
    assert np.abs(spread[0] - spread[1]).max() > 1e-4


def test_the_whole_first_clip_is_played_after_half_a_second(here, worn, capsys):
    assert cli.run([*worn[:3], "--substeps", "2", "--json", "-o", "a.npz"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["frames"] == 90  # (0.5 + 0.4) s at 100 a second
    assert {"scene": "sleeve on post", "penetration_m": 0.0, "particles": 128, "body_triangles": 312}.items() <= (
        figures.items()
    )
    body = np.load("a.npz")["frames_1"]
    for t, clip, time in ((0, None, 0.0), (50, "sway", 0.0), (60, "sway", 0.1), (70, "sway", 0.2), (90, "sway", 0.4)):
        assert np.abs(body[t] - post().shape(clip, time)).max() < 1e-6


def test_the_whole_clip_is_played_with_another_frame_time(here, worn, capsys):
    assert cli.run([*worn[:3], "--dt", "0.05", "--substeps", "8", "--json", "-o", "a.npz"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 18  # (0.5 + 0.4) s at 20 a second
    assert np.abs(np.load("a.npz")["frames_1"][-1] - post().shape("sway", 0.4)).max() < 1e-6


def test_the_table_is_the_one_of_every_run_and_nothing_is_complained_about(here, worn, capsys):
    assert cli.run([*worn, "-o", "a.glb"]) == 0
    said, talk = capsys.readouterr()
    for word in ("sleeve on post", "5 (0.17 s)", "128", "312", "0 mm (exact)", "a.glb"):
        assert word in said
    assert "warning" not in talk


def test_the_file_holds_the_skinned_body_and_the_garment_in_one_animation(here, worn):
    assert cli.run([*worn, "--lead-in", "0", "-o", "a.glb"]) == 0
    found, character = document(here / "a.glb"), post()
    (animation,) = found["animations"]
    skinned = [k for k, node in enumerate(found["nodes"]) if "skin" in node]
    assert [found["nodes"][k]["name"] for k in skinned] == ["post"]
    joints = found["skins"][0]["joints"]
    targets = {(c["target"]["node"], c["target"]["path"]) for c in animation["channels"]}
    names = {found["nodes"][k]["name"]: path for k, path in targets if path == "weights"}
    assert names == {"sleeve": "weights"}
    assert {(k, "rotation") for k in joints} & targets
    back = pliant.load_character("a.glb")
    (played,) = back.clips
    body = back.shape(played, 4 / 30)[-character.mesh.n_vertices :]
    assert np.abs(body - character.shape("sway", 4 / 30)).max() < 1e-6


@needs_validator
def test_the_khronos_validator_finds_nothing_in_a_dressed_character(here, worn, wardrobe):
    assert cli.run([*worn, "--layer", str(wardrobe / "coat.obj"), "-o", "a.glb"]) == 0
    assert faults([here / "a.glb"]) == []


def test_point_caches_and_sequences_are_written_for_body_and_garment_and_named(here, worn, capsys):
    assert cli.run([*worn, "-o", "a.pc2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["a-sleeve.pc2", "a-post.pc2"]
    assert [np.fromfile(f"a-{name}.pc2", "<i4", 4, offset=16)[[0, 3]].tolist() for name in ("sleeve", "post")] == [
        [128, 6],
        [158, 6],
    ]
    assert cli.run([*worn, "-o", "b.obj"]) == 0
    said = capsys.readouterr().out
    assert [word in said for word in ("b-sleeve_0000.obj", "... 10 more", "b-post_0005.obj")] == [True] * 3
    assert len(list(here.glob("b-*_000*.obj"))) == 12
    assert [path.name for path in here.glob("*.mtl")] == ["b-post.mtl"]
    last = np.fromfile("a-post.pc2", "<f4", offset=32).reshape(6, -1, 3)[5]
    assert np.abs(pliant.load("b-post_0005.obj").vertices - last).max() < 1e-6


def test_usd_holds_body_and_garment(here, worn, capsys):
    assert cli.run([*worn, "-o", "a.usda"]) == 0
    text = (here / "a.usda").read_text("utf-8")
    assert re.findall(r'    def Xform "(\w+)"', text) == ["sleeve", "post"]
    assert text.count("point3f[] points.timeSamples") == 2
    assert "timeCodesPerSecond = 30.0" in text


def test_binary_usd_without_its_library_is_refused_before_the_run(here, worn, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.run([*worn, "-o", "a.usdc"]) == 2
    assert "pip install 'pliant[usd]'" in capsys.readouterr().err


def test_layers_are_worn_over_the_first_and_push_each_other(here, worn, wardrobe, capsys):
    assert cli.run([*worn, "--layer", str(wardrobe / "coat.obj"), "--json", "-o", "a.npz"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["scene"], figures["particles"], figures["self_contact"]) == ("sleeve and coat on post", 256, "safe")
    assert [str(np.load("a.npz")[f"name_{k}"]) for k in range(3)] == ["sleeve", "coat", "post"]


def test_without_a_lead_in_the_clip_starts_at_once(here, worn):
    assert cli.run([*worn, "--lead-in", "0", "--clip", "sway", "-o", "a.npz"]) == 0
    assert np.abs(np.load("a.npz")["frames_1"][3] - post().shape("sway", 0.1)).max() < 1e-6


def test_a_clip_is_chosen_by_its_name(here, worn):
    assert cli.run([*worn, "--clip", "still", "--lead-in", "0", "-o", "a.npz"]) == 0
    assert np.ptp(np.load("a.npz")["frames_1"], axis=0).max() < 1e-6


def test_what_nothing_holds_falls(here, worn):
    for hold in ("auto", "none"):
        assert cli.run([*worn, "--hold", hold, "-o", f"{hold}.npz"]) == 0
    fallen = {hold: np.load(f"{hold}.npz")["frames_0"][:, -16:, 1] for hold in ("auto", "none")}
    assert np.ptp(fallen["auto"], axis=0).max() < 1e-3
    assert fallen["none"][0] - fallen["none"][-1] == pytest.approx(0.5 * 9.81 * (5 / 30) ** 2, rel=0.1)


def test_a_garment_partly_inside_is_warned_of_and_exit_code_1(here, worn, wardrobe, capsys):
    assert cli.run(["drape", str(wardrobe / "narrow.obj"), *worn[2:], "-o", "a.npz", "--no-fix-start"]) == 1
    talk = capsys.readouterr().err
    assert "garment 'narrow' starts with 16 vertices inside the body" in talk
    assert "it starts there: a garment that fits the rest pose" in talk


def test_a_file_without_clips_is_a_body_that_stands_still(here, wardrobe, capsys):
    words = ["drape", str(wardrobe / "sleeve.obj"), str(wardrobe / "statue.glb"), *SHORT]
    assert cli.run([*words, "--json", "-o", "a.npz"]) == 0
    assert json.loads(capsys.readouterr().out)["simulated_s"] == pytest.approx(5 / 30)
    assert len(np.load("a.npz")["frames_1"]) == 1


@pytest.mark.parametrize("method", ["tree", "distance-field"])
def test_the_body_may_be_looked_at_in_other_ways(here, worn, capsys, method):
    assert cli.run([*worn, "--method", method, "--json", "-o", "a.npz"]) == 0
    assert json.loads(capsys.readouterr().out)["penetration_m"] == 0.0


BAD = [
    (["--clip", "swy"], "unknown clip 'swy'"),
    (["--lead-in", "-1"], "--lead-in = -1"),
    (["--hold", "tight"], "tight"),
    (["--layer", "gone.obj"], "gone.obj"),
    (["--place", "above"], "--place above is for bodies without a clip"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_use_of_a_character_is_one_line_and_leaves_no_file(here, worn, capsys, words, said):
    assert cli.run([*worn, *words]) == 2
    out, talk = capsys.readouterr()
    errors = [line for line in talk.splitlines() if line.startswith("error: ")]
    assert (out, len(errors), list(here.iterdir())) == ("", 1, [])
    assert said in errors[0]


@pytest.mark.parametrize("words", [["--clip", "sway"], ["--layer", "x.obj"], ["--lead-in", "0"], ["--hold", "none"]])
def test_options_of_a_character_are_refused_where_there_is_none(here, wardrobe, capsys, words):
    still = ["drape", str(wardrobe / "sleeve.obj"), str(wardrobe / "statue.glb")]
    (here / "x.obj").touch()
    for before in (["drape", "--scene", "rod"], ["drape", "--body", still[2]], still):
        if before is still and words[0] == "--hold":
            continue  # what stands still is dressed, too
        assert cli.run([*before, *words]) == 2
        assert f"error: {words[0]} is for a garment" in capsys.readouterr().err


@pytest.mark.parametrize("garment", ["sleeve", "narrow"])
@pytest.mark.parametrize("body", ["post.glb", "post.gltf", "statue.glb"])
def test_every_file_is_read_once(here, wardrobe, monkeypatch, capsys, garment, body):
    """With a clip or without; also where the end of the run has a warning with a command for the body."""
    if body == "post.gltf":  # JSON and a buffer in files of their own
        found, data = document(wardrobe / "post.glb"), (wardrobe / "post.glb").read_bytes()
        first = 20 + int.from_bytes(data[12:16], "little") + 8
        found["buffers"][0]["uri"] = "post.bin"
        (here / "post.bin").write_bytes(data[first : first + found["buffers"][0]["byteLength"]])
        (here / body).write_text(json.dumps(found))
    folder, opened = here if body == "post.gltf" else wardrobe, collections.Counter()
    real = open

    def counting(path, *args, **named):
        opened[pathlib.Path(path).name if isinstance(path, (str, os.PathLike)) else ""] += 1
        return real(path, *args, **named)

    monkeypatch.setattr("builtins.open", counting)
    monkeypatch.setattr("io.open", counting)
    words = ["drape", str(wardrobe / f"{garment}.obj"), str(folder / body), *SHORT[:2], "--substeps", "2"]
    cli.run([*words, "--place", "as-is", "-o", "a.npz", "--no-fix-start"])
    monkeypatch.undo()
    files = [f"{garment}.obj", body, *(["post.bin"] if body == "post.gltf" else [])]
    assert {name: opened[name] for name in files} == dict.fromkeys(files, 1)
    told = capsys.readouterr().err
    assert ("the start has intersections" in told) == (garment == "narrow")
    assert ("--rest" in told) == (garment == "narrow" and body != "statue.glb")


def test_the_method_is_resolved_once_and_its_reason_is_printed(here, worn, monkeypatch, capsys):
    calls = []
    real = choose.choose_method_for_scene
    monkeypatch.setattr(choose, "choose_method_for_scene", lambda scene: calls.append(scene) or real(scene))
    assert cli.run([*worn, "--json", "-o", "a.npz"]) == 0
    method = json.loads(capsys.readouterr().out)["method"]
    assert method == {"name": "bvh", "why": real(calls[0]).why, "options": {}}
    assert method["why"] != "requested"
    assert len(calls) == 1
    assert cli.run([*worn, "--method", "brute_force", "--json", "-o", "a.npz"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == {"name": "brute-force", "why": "requested", "options": {}}
    assert len(calls) == 1


def test_a_character_that_is_inside_out_is_used_with_its_faces_flipped(here, worn, capsys):
    who = post()
    flipped = dataclasses.replace(who.mesh, faces=who.mesh.faces[:, ::-1])
    pliant.save_character("inward.glb", dataclasses.replace(who, mesh=flipped))
    assert cli.run([*worn, "-o", "a.npz"]) == 0
    assert cli.run([*worn[:2], "inward.glb", *SHORT, "-o", "b.npz"]) == 0
    assert "note: inward is inside out; it is used with its faces flipped" in capsys.readouterr().err
    assert np.array_equal(np.load("a.npz")["frames_0"], np.load("b.npz")["frames_0"])
    assert cli.run([*worn[:2], "inward.glb", *SHORT, "-o", "b.glb"]) == 0  # written with its bones
    assert len(document(here / "b.glb")["skins"]) == 1


def test_a_part_of_a_character_that_is_inside_out_is_used_with_its_faces_flipped(here, worn, capsys):
    who, ball = post(), pliant.shapes.ball(0.12, 2)
    x = np.concatenate([who.mesh.vertices, ball.vertices + who.mesh.vertices.mean(0) + [0.05, 0.0, 0.0]])
    joints, weights = (
        np.concatenate([rows, rows[:1].repeat(ball.n_vertices, 0)]) for rows in (who.joints, who.weights)
    )
    for name, way in (("right", 1), ("wrong", -1)):
        faces = np.concatenate([who.mesh.faces, ball.faces[:, ::way] + who.mesh.n_vertices])
        part = dataclasses.replace(who, mesh=pliant.Mesh(x, faces), joints=joints, weights=weights)
        pliant.save_character(f"{name}.glb", part)
        assert cli.run([*worn[:2], f"{name}.glb", *SHORT, "-o", f"{name}.npz", "--no-fix-start"]) in (0, 1)
        told = f"{ball.n_faces} of the {len(faces):,} faces of {name} point inward"
        assert (told in capsys.readouterr().err) == (name == "wrong")
    assert np.array_equal(np.load("right.npz")["frames_0"], np.load("wrong.npz")["frames_0"])
    assert cli.run([*worn[:2], "wrong.glb", *SHORT, "-o", "b.glb", "--no-fix-start"]) in (0, 1)
    assert len(document(here / "b.glb")["skins"]) == 1  # written with its bones


def test_a_tablecloth_over_a_character_says_that_no_clip_is_played(here, wardrobe, capsys):
    told = {}
    for name in ("post.glb", "statue.glb"):
        assert cli.run(["drape", "--body", str(wardrobe / name), "--frames", "1", "--resolution", "4"]) == 0
        told[name] = "post.glb has clips; under a tablecloth it stays in its rest pose" in capsys.readouterr().err
    assert told == {"post.glb": True, "statue.glb": False}

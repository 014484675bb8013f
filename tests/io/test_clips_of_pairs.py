"""Garment and body of one file play the same clip, whichever is named; what plays another is told."""

import base64
import json
import pathlib

import numpy as np
import pytest

from pliant import Mesh, cli, load, save, shapes
from pliant.io.animation import load_clip, pair_clips
from pliant.io.named import clips_of

BALL = shapes.ball(0.1, 2)
SHEET = shapes.cloth(0.1, 0.1, 5, centre=(0.0, 0.12, 0.0))


def written(path: pathlib.Path, parts: dict[str, Mesh], clips: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
    """A glTF with a node for each part; clips say of each node where it is (height, metres) and when (s)."""
    data, views, accessors = b"", [], []

    def put(array: np.ndarray, kind: str, code: int) -> int:
        nonlocal data
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
        flat = array.reshape(len(array), -1)
        bounds = {"min": flat.min(0).tolist(), "max": flat.max(0).tolist()}
        accessors.append(
            {"bufferView": len(views) - 1, "componentType": code, "count": len(array), "type": kind, **bounds}
        )
        data += array.tobytes()
        return len(accessors) - 1

    meshes = []
    for mesh in parts.values():
        x = put(mesh.vertices.astype("<f4"), "VEC3", 5126)
        faces = put(mesh.faces.astype("<u4").ravel(), "SCALAR", 5125)
        meshes.append({"primitives": [{"attributes": {"POSITION": x}, "indices": faces}]})
    animations = []
    for name, moves in clips.items():
        samplers, channels = [], []
        for part, keys in moves.items():
            t = put(np.array([key[0] for key in keys], "<f4"), "SCALAR", 5126)
            at = put(np.array([[0.0, key[1], 0.0] for key in keys], "<f4"), "VEC3", 5126)
            target = {"node": list(parts).index(part), "path": "translation"}
            channels.append({"sampler": len(samplers), "target": target})
            samplers.append({"input": t, "output": at})
        animations.append({"name": name, "samplers": samplers, "channels": channels})
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    nodes = [{"name": name, "mesh": k} for k, name in enumerate(parts)]
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": meshes,
        "animations": animations,
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"uri": uri, "byteLength": len(data)}],
    }
    path.write_text(json.dumps(document))


STILL, UP, DOWN = [(0.0, 0.0), (1.0, 0.0)], [(0.0, 0.0), (1.0, 0.3)], [(0.0, 0.0), (1.0, -0.3)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clips = {"idle": {"body": UP, "sheet": DOWN}, "run": {"body": DOWN, "sheet": DOWN}, "nod": {"body": STILL}}
    written(tmp_path / "both.gltf", {"body": BALL, "sheet": SHEET}, clips)
    written(tmp_path / "body.gltf", {"body": BALL}, {"walk": {"body": UP}, "run": {"body": DOWN}})
    written(tmp_path / "sheet.gltf", {"sheet": SHEET}, {"idle": {"sheet": STILL}, "run": {"sheet": DOWN}})
    return tmp_path


def test_names_of_clips_are_those_of_the_file(here):
    assert clips_of("both.gltf") == ["idle", "run", "nod"]
    assert clips_of("missing.glb") == clips_of("both.obj") == []


@pytest.mark.parametrize(
    ("files", "asked", "played", "told"),
    [
        (("both.gltf", "both.gltf"), (None, None), ("idle", "idle"), False),
        (("both.gltf", "both.gltf"), ("run", None), ("run", "run"), False),
        (("both.gltf", "both.gltf"), (None, "run"), ("run", "run"), False),
        (("both.gltf", "both.gltf"), ("run", "idle"), ("run", "idle"), False),
        (("sheet.gltf", "body.gltf"), ("run", None), ("run", "run"), False),
        (("sheet.gltf", "body.gltf"), (None, None), ("run", "run"), False),
        (("sheet.gltf", "body.gltf"), ("idle", None), ("idle", "walk"), True),
        (("sheet.gltf", "body.obj"), ("idle", None), ("idle", None), False),
        (("sheet.obj", "body.gltf"), ("run", None), (None, "run"), False),
        (("sheet.obj", "body.gltf"), (None, "run"), (None, "run"), False),
        (("sheet.npz", "body.gltf"), ("run", None), ("run", None), False),
    ],
)
def test_both_play_the_clip_that_is_named_where_both_have_it(here, files, asked, played, told):
    *found, sentence = pair_clips(*files, *asked)
    assert tuple(found) == played
    assert bool(sentence) == told


@pytest.mark.compiled
@pytest.mark.parametrize(("words", "code"), [([], 1), (["--clip", "run"], 0), (["--body-clip", "run"], 0)])
def test_check_and_fix_play_one_clip_of_one_file(here, capsys, words, code):
    parts = ["both.gltf", "--part", "sheet", "--body-part", "body", *words]
    assert cli.run(["check", *parts, "--json"]) == code
    frames = json.loads(capsys.readouterr().out)["frames"]
    gaps = [frame["clearance"] for frame in frames]
    if not code:  # they move together: the clearance stays what it is
        assert np.ptp(gaps) < 1e-6
    assert cli.run(["fix", *parts, "-o", "new.npz", "--json"]) in (0, 1)
    said = json.loads(capsys.readouterr().out)
    assert [frame["clearance"] for frame in said["before"]["frames"]] == pytest.approx(gaps)


@pytest.mark.compiled
def test_the_clip_of_a_garment_that_does_not_move_is_that_of_the_body(here, capsys):
    save("still.obj", load("sheet.gltf"))
    assert cli.run(["check", "still.obj", "--body", "body.gltf", "--clip", "run", "--json"]) in (0, 1)
    assert len(json.loads(capsys.readouterr().out)["frames"]) > 1
    assert cli.run(["check", "still.obj", "--body", "body.gltf", "--clip", "jump"]) == 2
    assert "body.gltf: has no clip 'jump'; one of: walk, run" in capsys.readouterr().err


@pytest.mark.compiled
def test_a_pair_that_plays_different_clips_is_told(here, capsys):
    cli.run(["check", "sheet.gltf", "--body", "body.gltf", "--clip", "idle"])
    assert "the garment plays clip 'idle' and the body 'walk'" in capsys.readouterr().err
    cli.run(["check", "sheet.gltf", "--body", "body.gltf"])
    assert "plays clip" not in capsys.readouterr().err


def test_a_clip_that_does_not_move_a_part_is_told(here, caplog):
    load_clip("both.gltf", part="sheet", clip="nod")
    assert "clip 'nod' does not move part 'sheet'" in caplog.text


@pytest.mark.compiled
def test_rest_takes_the_pose_without_a_clip(here, capsys):
    assert cli.run(["check", "both.gltf", "--part", "sheet", "--body-part", "body", "--rest", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["frames"]) == 1
    assert cli.run(["check", "sheet.gltf", "--body", "body.gltf", "--rest", "--clip", "run"]) == 2
    assert "--rest reads the rest pose without a clip" in capsys.readouterr().err

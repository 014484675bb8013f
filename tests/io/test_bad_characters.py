"""Every broken character is told what is wrong with it, in one error of one kind."""

import json
import pathlib
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from characters import Made, small_character
from conftest import SEED, cases
from pliant import MeshFileError, load_character

FUZZ = pathlib.Path(__file__).with_name("fuzz_characters.py")


def nodes(j: Any) -> None:
    j["nodes"][1]["children"] = [0]


def own_child(j: Any) -> None:
    j["nodes"][1]["children"] = [1]


def skin_gone(j: Any) -> None:
    j["skins"] = []


def no_joints(j: Any) -> None:
    j["skins"][0]["joints"] = []


def joint_beyond_nodes(j: Any) -> None:
    j["skins"][0]["joints"] = [0, 99]


def fewer_joints(j: Any) -> None:
    j["skins"][0] = {"joints": [0]}


def few_inverses(j: Any) -> None:
    j["accessors"][j["skins"][0]["inverseBindMatrices"]]["count"] = 1


def inverse_is_no_matrix(j: Any) -> None:
    j["accessors"][j["skins"][0]["inverseBindMatrices"]]["type"] = "VEC4"


def weights_missing(j: Any) -> None:
    del j["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]


def weights_too_few(j: Any) -> None:
    j["accessors"][attribute(j, "WEIGHTS_0")]["count"] = 3


def joints_are_floats(j: Any) -> None:
    j["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"] = attribute(j, "WEIGHTS_0")


def count_of_a_billion(j: Any) -> None:
    j["accessors"][attribute(j, "POSITION")]["count"] = 10**9


def keys_of_a_billion(j: Any) -> None:
    j["accessors"][sampler(j, 0)["input"]]["count"] = 10**9


def uri_outside(j: Any) -> None:
    j["buffers"][0]["uri"] = "../secret.bin"


def uri_of_the_web(j: Any) -> None:
    j["buffers"][0]["uri"] = "http://example.org/a.bin"


def targets_of_another_size(j: Any) -> None:
    j["meshes"][0]["primitives"][0]["targets"][0]["POSITION"] = sampler(j, 1)["output"]
    j["accessors"][sampler(j, 1)["output"]]["type"] = "VEC3"
    j["accessors"][sampler(j, 1)["output"]]["count"] = 2


def weights_of_other_morphs(j: Any) -> None:
    j["meshes"][0]["weights"] = [0.0, 1.0]


def sampler_gone(j: Any) -> None:
    j["animations"][0]["channels"][0]["sampler"] = 9


def target_gone(j: Any) -> None:
    j["animations"][0]["channels"][0]["target"]["node"] = 9


def no_target(j: Any) -> None:
    del j["animations"][0]["channels"][0]["target"]


def path_is_a_list(j: Any) -> None:
    j["animations"][0]["channels"][0]["target"]["path"] = ["rotation"]


def keys_and_values_differ(j: Any) -> None:
    j["accessors"][sampler(j, 0)["input"]]["count"] = 2


def cubic_without_tangents(j: Any) -> None:
    sampler(j, 0)["interpolation"] = "CUBICSPLINE"


def unknown_interpolation(j: Any) -> None:
    sampler(j, 0)["interpolation"] = "BOUNCE"


def output_of_another_type(j: Any) -> None:
    j["accessors"][sampler(j, 0)["output"]]["type"] = "VEC2"


def animated_matrix(j: Any) -> None:
    j["nodes"][1] = {"matrix": np.eye(4).ravel().tolist()}


def matrix_that_is_not_affine(j: Any) -> None:
    matrix = np.eye(4)
    matrix[0, 3] = 1.0
    j["nodes"][0] = {"matrix": matrix.ravel().tolist(), "children": [1]}


def rotation_of_zero(j: Any) -> None:
    j["nodes"][0]["rotation"] = [0, 0, 0, 0]


def scale_of_infinity(j: Any) -> None:
    j["nodes"][0]["scale"] = [1e200, 1e200, 1e200]


def attribute(j: Any, name: str) -> int:
    return int(j["meshes"][0]["primitives"][0]["attributes"][name])


def sampler(j: Any, k: int) -> Any:
    return j["animations"][0]["samplers"][k]


BROKEN = {
    nodes: "two parents|cycle",
    own_child: "its own",
    skin_gone: "whole number",
    no_joints: "no joints",
    joint_beyond_nodes: "whole number in 0..2",
    fewer_joints: "joint 1, but the skin has 1",
    few_inverses: "1 inverse bind matrices for 2 joints",
    inverse_is_no_matrix: "expected MAT4",
    weights_missing: "no WEIGHTS_0",
    weights_too_few: "do not fit the 4 vertices",
    joints_are_floats: "do not fit",
    count_of_a_billion: "1000000000 is more than",
    keys_of_a_billion: "1000000000 is more than",
    uri_outside: "own folder",
    uri_of_the_web: "own folder",
    targets_of_another_size: "2 entries for 4 vertices",
    weights_of_other_morphs: "expected 1 numbers",
    sampler_gone: "whole number",
    target_gone: "whole number",
    no_target: "no target",
    path_is_a_list: "one of: translation, rotation, scale, weights",
    keys_and_values_differ: "12 numbers for 2 keyframes of 4 numbers",
    cubic_without_tangents: "two tangents",
    unknown_interpolation: "one of: STEP, LINEAR, CUBICSPLINE",
    output_of_another_type: "expected VEC4",
    animated_matrix: "has a matrix, but",
    matrix_that_is_not_affine: "0 0 0 1",
    rotation_of_zero: "unit quaternion",
    scale_of_infinity: "is not finite|is beyond",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_character_is_one_clear_error(tmp_path: pathlib.Path, broken: Any) -> None:
    path = small_character().save(tmp_path / "small.gltf")
    document = json.loads(path.read_text())
    broken(document)
    path.write_text(json.dumps(document))
    tracemalloc.start()
    with pytest.raises(MeshFileError, match=BROKEN[broken]):
        load_character(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ([0, 0, 0, 0], "vertex 2 are all zero"),
        ([1.5, -0.5, 0, 0], "vertex 2 are not all positive"),
        ([np.nan, 1, 0, 0], "vertex 2 are not all finite"),
        ([255, 0, 0, 0], "vertex 2 do not sum to 1"),
        ([0.2, 0.1, 0, 0], "vertex 2 do not sum to 1"),
    ],
)
def test_weights_that_share_nothing_out_are_refused(tmp_path: pathlib.Path, weights: list[float], why: str) -> None:
    with pytest.raises(MeshFileError, match=why):
        load_character(small_character(weights=weights).save(tmp_path / "small.gltf"))


def test_weights_that_nearly_sum_to_one_are_made_to(tmp_path: pathlib.Path) -> None:
    character = load_character(small_character(weights=[0.75, 0.5, 0, 0]).save(tmp_path / "small.gltf"))
    assert np.allclose(character.weights[2], [0.6, 0.4], rtol=0, atol=1e-15)
    assert np.allclose(character.weights.sum(1), 1.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("times", "values", "why"),
    [
        ([0.0, 2.0, 1.0], None, r"times\[2\] = 1 comes before times\[1\] = 2"),
        ([0.0, np.nan, 1.0], None, r"times\[1\] is not finite"),
        ([0.0, 0.5, 1.0], np.full((3, 4), np.inf), r"values\[0, 0\] is not finite"),
        ([0.0, 0.5, 1.0], np.zeros((3, 4)), "non-zero"),
    ],
)
def test_keys_out_of_order_or_without_a_number_are_refused(
    tmp_path: pathlib.Path, times: list[float], values: Any, why: str
) -> None:
    with pytest.raises(MeshFileError, match=rf"animations\[0\].samplers\[0\].*{why}"):
        load_character(small_character(times=times, turns=values).save(tmp_path / "small.gltf"))


def test_a_file_that_is_no_gltf_is_told_what_characters_are(tmp_path: pathlib.Path) -> None:
    with pytest.raises(MeshFileError, match=r"characters are \.glb or \.gltf"):
        load_character(tmp_path / "human.obj")


def greedy() -> dict[str, Made]:
    """Files of at most 64 KiB that ask for as much time and memory as their format allows."""
    zeros = {"componentType": 5126, "count": 60_000}
    found = {}
    for name, count in (("keys", 800), ("clips", 300)):
        made = small_character()
        made.json["accessors"] += [zeros | {"type": "SCALAR"}, zeros | {"type": "VEC3"}]
        last = len(made.json["accessors"]) - 1
        clip = {
            "samplers": [{"input": last - 1, "output": last}],
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}],
        }
        made.json["animations"] = [clip] * count
        if name == "keys":
            made.json["animations"] = [clip | {"channels": clip["channels"] * count}]  # type: ignore[operator]
        found[name] = made
    made = small_character()
    made.json["accessors"].append(zeros | {"type": "VEC3"})
    wide = {"attributes": {"POSITION": len(made.json["accessors"]) - 1}}
    made.json["meshes"] = [{"primitives": [wide | {"targets": [wide["attributes"]] * 2500}]}]
    made.json["nodes"][2] = {"mesh": 0}
    found["morphs"] = made
    made = small_character()
    start = len(made.json["nodes"])
    made.json["nodes"] += [{"children": [start + k + 1]} for k in range(1500)]
    leaves = [{"name": "a"}] * 800
    made.json["nodes"].append({"children": list(range(start + 1501, start + 2301))})
    made.json["nodes"] += leaves
    made.json["skins"] = [{"joints": list(range(start + 1501, start + 2301))}]
    made.json["scenes"] = [{"nodes": [0, 2, start]}]
    found["chain"] = made
    return found


def test_greedy_characters_get_neither_time_nor_memory(tmp_path: pathlib.Path) -> None:
    paths = [made.save(tmp_path / f"{name}.gltf") for name, made in greedy().items()]
    assert max(path.stat().st_size for path in paths) <= 64 << 10
    said = fuzz("--files", *map(str, paths))
    assert said["complaints"] == []


def test_mutants_of_characters_load_or_are_refused(tmp_path: pathlib.Path) -> None:
    count = min(max(cases(20_000) // 20, 200), 1000)
    said = fuzz("--cases", str(count), "--seed", str(SEED))
    assert said["complaints"] == []
    # mutants of which all or none are characters would test nothing
    assert said["character"] > count // 25
    assert said["error"] > count // 4


@pytest.mark.long
def test_twenty_thousand_mutants_of_characters_load_or_are_refused() -> None:
    assert fuzz("--cases", "20000", "--seed", str(SEED))["complaints"] == []


def fuzz(*options: str) -> dict[str, Any]:
    run = subprocess.run([sys.executable, str(FUZZ), *options], capture_output=True, text=True, timeout=600)
    assert run.stdout, run.stderr[-3000:]
    found: dict[str, Any] = json.loads(run.stdout)
    return found

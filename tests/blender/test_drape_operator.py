"""Drape in Blender: frames are those of `pliant drape`, they play while it runs, and cancel and kill change nothing."""

import pathlib

import numpy as np
import pytest

import pliant
from blender import opened as blender
from blender.test_extension import PLIANT, Used, belt_of, extension, fake, in_metres, use  # noqa: F401
from pliant import cli, shapes
from pliant.materials.fabrics import MATERIALS

pytestmark = blender.needs_blender
QUICK = {"settle": 0.1}
SCENES = [("sheet", 1.0), ("sleeve", 0.01), ("shape_keys", 1.0)]


def draped(used: Used, folder: pathlib.Path, unit: float, fps: float, *words: str, lead_in: int = 0) -> np.ndarray:
    """What `pliant drape` makes of the meshes that the extension sent, without the frames of the lead-in; these meshes
    are those that Blender evaluates. Cloth is chaotic: roundings of 5e-8 m grow to 1e-3 m in 4 frames of a fast arm."""
    sent = folder / "sent"
    for name, clip in (("garment0", used.garment), ("body", used.body)):
        seen, _ = pliant.load_clip(sent / f"{name}.npz")
        expected = in_metres(clip, unit)
        assert np.array_equal(seen.mesh.faces, expected.mesh.faces)
        blender.assert_equal(seen.frames, expected.frames.astype(np.float64))
    words = ("--dt", repr(1.0 / fps), "--lead-in", repr(lead_in / fps), *words, "-o", str(folder / "w.npz"))
    frames = len(used.garment) + lead_in - 1
    files = [str(sent / "garment0.npz"), str(sent / "body.npz")]
    assert cli.run(["drape", *files, "--frames", str(frames), *words]) in (0, 1)
    return np.load(folder / "w.npz")["frames_0"][lead_in:] / unit


@pytest.mark.parametrize(("scene", "unit"), SCENES)
def test_drape_plays_what_pliant_simulates(extension, tmp_path, scene, unit):  # noqa: F811
    used = use(extension, tmp_path, scene, "drape:timer", settings=QUICK)
    assert used.meta["error"] == ""
    assert used.meta["messages"][0][1].startswith("4 frames draped; ")
    ours = draped(used, tmp_path, unit, 24.0, lead_in=3)
    assert np.abs(ours - used.garment.frames).max() > 1e-3  # cloth has moved
    blender.assert_equal(used.after, ours)
    kinds = [name for name, _, _ in used.meta["modifiers"]]
    assert kinds == {"sleeve": ["Armature", "Pliant Drape", "Subdivision"]}.get(scene, ["Pliant Drape"])
    changed = [name for name in used.meta["changed"] if not name.startswith(("objects/", "pliant/"))]
    assert changed == []  # meshes, with UVs, materials, weights and shape keys, are as they were
    assert [name for name in used.meta["caches"] if "live" in name] == []
    assert not used.meta["saved_file_changed"]


def test_frames_are_shown_while_the_process_runs_and_not_saved(extension, tmp_path):  # noqa: F811
    used = use(extension, tmp_path, "long", "drape:timer", settings={"settle": 0.0})
    shown, unfinished = used.meta["live"]
    assert shown >= 2
    assert unfinished
    blender.assert_equal(used.more["live"], used.after[1], 1e-6)
    assert "Pliant Drape" not in used.meta["modifiers_while_saved"]
    assert any(text.startswith("Drape: draping") for text in used.meta["drawn"])


@pytest.mark.parametrize("way", ["cancel", "kill"])
@pytest.mark.parametrize("before", [[], ["drape"]])
def test_a_run_that_ends_early_leaves_the_scene_as_it_was(extension, tmp_path, way, before):  # noqa: F811
    used = use(extension, tmp_path, "long", *before, f"drape:{way}", settings={"settle": 0.0})
    assert used.meta["live"][0] >= 2  # its frames were shown
    assert used.meta[f"changed_by_{way}"] == []
    assert not used.meta["saved_file_changed"]
    assert [name for name in used.meta["caches"] if "live" in name] == []
    if not before:
        assert used.meta["modifiers"] == []
        assert np.array_equal(used.after.astype(np.float32), used.garment.frames)
    assert ("exit code -9" in used.meta["error"]) == (way == "kill")


@pytest.mark.parametrize("command", ["check", "fix", "bind"])
@pytest.mark.parametrize("way", ["cancel", "kill"])
def test_other_commands_that_end_early_change_nothing(extension, tmp_path, command, way):  # noqa: F811
    program = fake(tmp_path, "import time; time.sleep(60)")
    used = use(extension, tmp_path, "sleeve", f"{command}:{way}", program=program)
    assert used.meta[f"changed_by_{way}"] == used.meta["changed"] == []
    assert not used.meta["saved_file_changed"]
    assert ("exit code -9" in used.meta["error"]) == (way == "kill")


def test_pins_of_a_vertex_group_follow_the_armature(extension, tmp_path):  # noqa: F811
    used = use(extension, tmp_path, "sleeve", "drape:timer", settings={"settle": 0.0, "pins": "Pinned"})
    rows = np.array(used.meta["pinned"])
    assert len(rows) == 16
    words = ["--pin", f"ids:{','.join(map(str, rows))}"]
    blender.assert_equal(used.after, draped(used, tmp_path, 0.01, 24.0, *words))


def test_layers_have_their_own_materials_and_stay_in_order(extension, tmp_path):  # noqa: F811
    settings = {"settle": 0.0, "material": "SILK"}
    used = use(extension, tmp_path, "coat", "drape:timer", settings=settings, layers=[["Coat", "DENIM", ""]])
    assert used.meta["messages"][0][0] == "FINISHED"
    words = ["--material", "silk", "--layer", str(tmp_path / "sent" / "garment1.npz"), "--layer-material", "denim"]
    blender.assert_equal(used.after, draped(used, tmp_path, 1.0, 24.0, *words))
    blender.assert_equal(used.more["after_layer0"], np.load(tmp_path / "w.npz")["frames_1"])
    assert used.meta["caches"] == ["Coat-drape.pc2", "Grid-drape.pc2"]


@pytest.mark.parametrize("name", ["CesiumMan", "Fox"])
def test_a_belt_is_draped_on_a_character_of_others(extension, data, tmp_path, name):  # noqa: F811
    belt_on(data / "rigged" / f"{name}.glb", tmp_path)
    known = {"PLIANT_TEST_CHARACTER": str(tmp_path / "dressed.glb")}
    used = use(extension, tmp_path, "character", "drape:timer", settings={"settle": 0.0}, **known)
    assert used.meta["messages"][0][1].startswith("4 frames draped; ")
    blender.assert_equal(used.after, draped(used, tmp_path, 1.0, 10.0))


def test_a_garment_that_starts_inside_the_body_is_fixed_first(extension, tmp_path):  # noqa: F811
    used = use(extension, tmp_path, "late", "drape", settings={"settle": 0.0})
    assert pliant.check(used.garment, used.body).frames[0].penetrating
    assert used.meta["messages"][0][1] == "2 frames draped; the start of Grid was fixed"


def belt_on(path: pathlib.Path, folder: pathlib.Path) -> None:
    body = pliant.load_character(path)
    pliant.bind(belt_of(body, 0.008), body).save(folder / "dressed.glb")


@pytest.mark.parametrize(
    ("settings", "layers", "said"),
    [
        ({"pins": "Nowhere"}, [], "has no vertex group 'Nowhere'"),
        ({"pins": "Empty"}, [], "no vertex of 'Sleeve' has a weight of more than 0.5 in group 'Empty'"),
        ({}, [["Sleeve", "SILK", ""]], "'Sleeve' is chosen twice"),
        ({"body": None}, [], "Drape needs a body"),
    ],
)
def test_what_cannot_be_draped_is_refused_with_the_remedy(extension, tmp_path, settings, layers, said):  # noqa: F811
    used = use(extension, tmp_path, "sleeve", "drape", settings=settings, layers=layers)
    kind, text = used.meta["messages"][0]
    assert kind == "ERROR"
    assert said in text
    assert used.meta["changed"] == []


@pytest.mark.parametrize(("scene", "unit"), SCENES)
def test_shape_keys_hold_what_fix_finds(extension, tmp_path, scene, unit):  # noqa: F811
    """Also below an armature, which acts after them."""
    used = use(extension, tmp_path, scene, "fix", "check", settings={"store": "KEYS"})
    assert used.meta["messages"][0][0] == "FINISHED"
    ours = pliant.fix(in_metres(used.garment, unit), in_metres(used.body, unit), clearance=0.002 * unit, fps=24.0)
    blender.assert_equal(used.after * unit, np.stack([ours.garment.at(t) for t in range(len(ours.garment))]))
    assert [name for name, _, _ in used.meta["modifiers"]] == {"sleeve": ["Armature", "Subdivision"]}.get(scene, [])
    first = {"sleeve": 1}.get(scene, 3)
    keys = ["Basis", *(["Pressed"] if scene == "shape_keys" else [])]
    assert used.meta["keys"] == [*keys, *(f"Pliant Fix {first + k}" for k in range(4))]
    assert used.meta["now"][0] == used.meta["now"][1]


def test_fix_again_begins_with_the_garment_as_it_was_in_both_stores(extension, tmp_path):  # noqa: F811
    keys = use(extension, tmp_path, "sleeve", "fix", "fix", settings={"store": "KEYS"})
    blender.assert_equal(keys.after, use(extension, tmp_path, "sleeve", "fix").after)
    assert len(keys.meta["keys"]) == 5


def test_before_and_after_switch_shape_keys(extension, tmp_path):  # noqa: F811
    used = use(extension, tmp_path, "sleeve", "fix", "before_after", settings={"store": "KEYS"})
    blender.assert_equal(used.after, used.garment.frames.astype(np.float64))


def test_a_single_frame_has_one_shape_key_without_animation(extension, tmp_path):  # noqa: F811
    used = use(extension, tmp_path, "single", "fix", settings={"store": "KEYS"})
    assert used.meta["keys"] == ["Basis", "Pliant Fix"]
    assert [name for name in used.meta["changed"] if name.startswith("actions/")] == []
    ours = pliant.fix(used.garment, used.body, clearance=0.002)
    blender.assert_equal(used.after, ours.garment.frames[:1])


def test_shape_keys_that_cannot_hold_the_result_are_refused(extension, tmp_path):  # noqa: F811
    """A modifier that moves all vertices to a plane leaves no way back; nothing has changed then."""
    used = use(extension, tmp_path, "flattened", "fix", settings={"store": "KEYS"})
    kind, text = used.meta["messages"][0]
    assert kind == "ERROR"
    assert "cannot hold the result" in text
    assert "choose Mesh Cache" in text
    assert used.meta["changed"] == []


def test_the_materials_of_the_panel_are_those_of_pliant():
    names = (blender.ROOT / "integrations" / "blender" / "settings.py").read_text("utf-8")
    assert all(f'("{name.upper()}", ' in names for name in MATERIALS)


def test_a_walking_character_wears_a_skirt_for_the_whole_range(extension, tmp_path):  # noqa: F811
    walker, skirt = shapes.walking_mannequin(0.7), shapes.skirt(spacing=0.04)
    pliant.bind(skirt, walker).save(tmp_path / "dressed.glb")
    known = {"PLIANT_TEST_CHARACTER": str(tmp_path / "dressed.glb")}
    used = use(extension, tmp_path, "character", "drape:timer", "check", settings={"settle": 0.0}, **known)
    assert used.meta["messages"][0][1] == "4 frames draped; no intersections"
    assert used.meta["messages"][1][1].startswith("no intersections in 4 frames")
    blender.assert_equal(used.after, draped(used, tmp_path, 1.0, 10.0))

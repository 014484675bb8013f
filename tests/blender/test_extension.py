"""The extension in Blender: installed from its zip, its operators give what pliant gives when it is called directly."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import pliant
from blender import opened as blender
from blender.opened import HERE, PYTHON, ROOT
from pliant import shapes

pytestmark = blender.needs_blender
SOURCE = ROOT / "integrations" / "blender"
PLIANT = pathlib.Path(sys.executable).with_name("pliant")


@pytest.fixture(scope="module")
def extension(tmp_path_factory) -> pathlib.Path:
    """The zip that `make extension` builds."""
    folder = tmp_path_factory.mktemp("extension")
    subprocess.run([sys.executable, ROOT / "tools" / "build_extension.py", folder], check=True, timeout=300)
    (made,) = folder.glob("*.zip")
    return made


@dataclasses.dataclass
class Used:
    """What went into the operators and what came out."""

    garment: pliant.Clip
    body: pliant.Clip
    after: np.ndarray
    depth: np.ndarray | None
    meta: dict
    blend: pathlib.Path
    more: dict


def use(
    extension: pathlib.Path,
    folder: pathlib.Path,
    scene: str,
    *commands: str,
    program: pathlib.Path = PLIANT,
    settings: dict | None = None,
    layers: list | None = None,
    **more: str,
) -> Used:
    job = {"zip": str(extension), "scene": scene, "folder": str(folder), "commands": commands, "pliant": str(program)}
    job |= {"settings": settings or {}, "layers": layers or []}
    done = subprocess.run(
        [str(PYTHON), str(HERE / "use_extension.py"), json.dumps(job)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"BLENDER_USER_RESOURCES": str(folder / "user")} | more,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    with np.load(folder / "out.npz") as found:
        clips = [
            pliant.Clip(pliant.Mesh(found[name][0], found[f"{name}_faces"], name=name), found[name].astype(np.float32))
            for name in ("garment", "body")
        ]
        depth = found.get("depth")
        more = {name: found[name] for name in found.files if name.startswith(("live", "layer", "after_"))}
        return Used(*clips, found["after"], depth, json.loads(str(found["meta"])), folder / "scene.blend", more)


def in_metres(clip: pliant.Clip, unit: float) -> pliant.Clip:
    frames = (clip.frames.astype(np.float64) * unit).astype(np.float32)
    return pliant.Clip(clip.mesh.moved(frames[0]), frames)


@pytest.mark.parametrize(("scene", "first", "unit"), [("sheet", 3, 1.0), ("sleeve", 1, 0.01), ("shape_keys", 3, 1.0)])
def test_check_lists_frames_and_depths_as_pliant_does(extension, tmp_path, scene, first, unit):
    used = use(extension, tmp_path, scene, "check")
    report = pliant.check(in_metres(used.garment, unit), in_metres(used.body, unit), fps=24.0)
    wrong = {first + f.frame: f for f in report.frames if f.penetrating or f.self_pairs}
    assert wrong
    assert {row["frame"] for row in used.meta["findings"]} == set(wrong)
    for row in used.meta["findings"]:
        ours = wrong[row["frame"]]
        assert (row["inside"], row["crossings"], row["self_pairs"]) == (ours.inside, ours.crossings, ours.self_pairs)
        assert row["depth"] * unit == pytest.approx(ours.depth, rel=1e-5)
    assert used.meta["findings"][0]["depth"] * unit == pytest.approx(report.worst_depth, rel=1e-5)
    deepest = np.maximum(-report.distances, 0.0).max(0)
    assert np.abs(used.depth * unit - deepest).max() < 1e-6
    assert used.meta["now"][0] == used.meta["now"][1]
    assert np.array_equal(used.after.astype(np.float32), used.garment.frames)


@pytest.mark.parametrize(("scene", "unit"), [("sheet", 1.0), ("sleeve", 0.01), ("shape_keys", 1.0)])
def test_fix_plays_what_pliant_writes_and_check_confirms_it(extension, tmp_path, scene, unit):
    used = use(extension, tmp_path, scene, "fix", "check", "before_after", "before_after")
    ours = pliant.fix(in_metres(used.garment, unit), in_metres(used.body, unit), clearance=0.002 * unit, fps=24.0)
    blender.assert_equal(used.after * unit, np.stack([ours.garment.at(t) for t in range(len(ours.garment))]))
    kinds = [kind for _, kind, _ in used.meta["modifiers"]]
    assert kinds == {"sleeve": ["ARMATURE", "MESH_CACHE", "SUBSURF"]}.get(scene, ["MESH_CACHE"])
    if scene == "sleeve":
        assert used.meta["shown"] > used.garment.mesh.n_vertices  # still subdivided
    left = [f for f in ours.after.frames if f.penetrating or f.self_pairs]
    assert len(used.meta["findings"]) == len(left)


def test_a_bound_skirt_of_a_walking_character(extension, tmp_path):
    walker, skirt = shapes.walking_mannequin(0.7), shapes.skirt(spacing=0.04)
    bound = pliant.bind(skirt.moved(skirt.vertices * [[0.93, 1.0, 0.93]]), walker)
    bound.save(tmp_path / "dressed.glb")
    used = use(extension, tmp_path, "character", "fix", PLIANT_TEST_CHARACTER=str(tmp_path / "dressed.glb"))
    assert not pliant.check(used.garment, used.body).ok
    ours = pliant.fix(used.garment, used.body, clearance=0.002, fps=10.0)
    blender.assert_equal(used.after, np.stack([ours.garment.at(t) for t in range(len(ours.garment))]))


def belt_of(body: pliant.Character, away: float) -> pliant.Mesh:
    """The skin around the middle of a character, moved outward by a share of its size."""
    welded, size = body.mesh.welded, body.mesh.size
    x = welded.vertices
    middle = np.abs(x[welded.faces].mean(1)[:, 1] - 0.5 * (x[:, 1].min() + x[:, 1].max())) < 0.08 * size
    rows, faces = np.unique(welded.faces[middle], return_inverse=True)
    return pliant.Mesh(x[rows] + away * size * welded.vertex_normals[rows], faces.reshape(-1, 3), name="skirt")


@pytest.mark.parametrize("name", ["CesiumMan", "Fox"])
def test_a_belt_inside_of_a_character_of_others(extension, data, tmp_path, name):
    body = pliant.load_character(data / "rigged" / f"{name}.glb")
    size = body.mesh.size
    pliant.bind(belt_of(body, -0.004), body).save(tmp_path / "dressed.glb")
    used = use(extension, tmp_path, "character", "check", "fix", PLIANT_TEST_CHARACTER=str(tmp_path / "dressed.glb"))
    report = pliant.check(used.garment, used.body, fps=10.0)
    assert report.penetrating
    assert np.abs(used.depth - np.maximum(-report.distances, 0.0).max(0)).max() < 1e-6 * size
    ours = pliant.fix(used.garment, used.body, clearance=0.002, fps=10.0)
    blender.assert_equal(used.after, np.stack([ours.garment.at(t) for t in range(len(ours.garment))]))


@pytest.mark.parametrize("make", [shapes.skirt, shapes.cape, shapes.trousers])
def test_bind_gives_a_garment_the_weights_of_pliant(extension, tmp_path, make):
    walker, worn = shapes.walking_mannequin(0.7), make(spacing=0.025)
    pliant.save_character(tmp_path / "walker.glb", walker)
    pliant.save(tmp_path / "skirt.obj", dataclasses.replace(worn, name="skirt"))
    used = use(extension, tmp_path, "unbound", "bind", PLIANT_TEST_CHARACTER=str(tmp_path))
    assert used.meta["messages"][0][0] == "FINISHED"
    assert np.ptp(used.garment.frames, axis=0).max() == 0.0  # it stood still before
    ours = pliant.bind(worn, pliant.load_character(tmp_path / "walker.glb"), influences=8).garment
    blender.assert_equal(used.after, np.stack([ours.shape("walk", t / 40.0) for t in range(5, 9)]), 2e-5)
    assert used.meta["now"] == [6, 6]


@pytest.mark.parametrize("name", ["CesiumMan", "Fox"])
def test_bind_to_a_character_of_others(extension, data, tmp_path, name):
    """Their keyframes are 1/24 s apart; the clip that Blender plays is one of theirs."""
    body = pliant.load_character(data / "rigged" / f"{name}.glb")
    belt = belt_of(body, 0.006)
    (tmp_path / "walker.glb").write_bytes((data / "rigged" / f"{name}.glb").read_bytes())
    pliant.save(tmp_path / "skirt.obj", belt)
    known = {"PLIANT_TEST_CHARACTER": str(tmp_path), "PLIANT_TEST_RATE": "24"}
    used = use(extension, tmp_path, "unbound", "bind", **known)
    assert used.meta["messages"][0][0] == "FINISHED"
    ours = pliant.bind(belt, body, influences=8).garment
    played = [np.stack([ours.shape(clip, t / 24.0) for t in range(5, 9)]) for clip in body.clips]
    closest = min(played, key=lambda x: np.abs(x - used.after).max())
    # vertices whose nearest points on the skin are equally far on two triangles may take either, by their last digits
    away = np.abs(closest - used.after).max((0, 2)) / np.abs(closest).max()
    assert np.mean(away < 4e-6) > 0.97
    assert away.max() < 1e-3
    assert np.ptp(closest, axis=0).max() > 1e-3 * body.mesh.size


def fake(folder: pathlib.Path, text: str) -> pathlib.Path:
    """A program in place of pliant."""
    path = folder / "fake"
    path.write_text(f"#!{sys.executable}\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
        ("import sys; print('error: the file is wrong', file=sys.stderr); sys.exit(2)", "the file is wrong"),
        ("import sys; sys.exit('error: nothing was found')", "nothing was found (exit code 1)"),
    ],
)
def test_a_process_that_dies_changes_nothing_in_the_scene(extension, tmp_path, text, said):
    used = use(extension, tmp_path, "sheet", "check", "fix", program=fake(tmp_path, text))
    assert [words[0] for words in used.meta["messages"]] == ["ERROR", "ERROR"]
    assert all(said in words[1] for words in used.meta["messages"])
    assert used.meta["modifiers"] == used.meta["findings"] == []
    assert used.depth is None
    assert np.array_equal(used.after.astype(np.float32), used.garment.frames)


def test_a_missing_program_is_named_with_the_remedy(extension, tmp_path):
    used = use(extension, tmp_path, "sheet", "check", program=tmp_path / "nowhere")
    assert "pip install pliant" in used.meta["messages"][0][1]


def test_a_failed_installation_says_what_pip_said(tmp_path):
    """pip prints hints, and at last its errors; outside of Blender, because the program imports nothing of it."""
    program = [
        sys.executable,
        "-I",
        str(SOURCE / "install_program.py"),
        str(tmp_path / "none.whl"),
        str(tmp_path / "e"),
    ]
    held, ours = os.pipe()  # the program ends itself and its group when its input is closed
    done = subprocess.run(program, stdin=held, capture_output=True, text=True, timeout=120, start_new_session=True)
    os.close(held), os.close(ours)
    assert (done.returncode, done.stdout) == (1, "")
    (error,) = [line for line in done.stderr.splitlines() if not line.startswith("progress ")]
    assert error.startswith("error: pip failed: ")
    assert "none.whl" in error
    assert "ERROR" not in error


def test_cancel_ends_the_process_and_removes_its_files(tmp_path, monkeypatch):
    """The class is plain Python, so that it runs here as well as in Blender."""
    monkeypatch.syspath_prepend(str(SOURCE))
    import process  # type: ignore[import-not-found]

    program = fake(
        tmp_path, "import sys, time; print('progress 0.25 waiting', file=sys.stderr, flush=True); time.sleep(60)"
    )
    one = process.PliantProcess()
    one.start(str(program))
    while one.progress[1] != "waiting":
        assert one.running
    assert one.progress == (0.25, "waiting")
    one.close()
    assert not one.running
    assert not one.folder.exists()


def test_the_extension_has_the_version_of_the_package(extension):
    assert extension.name == f"pliant-{pliant.__version__}.zip"


def test_blender_finds_the_manifest_valid(extension):
    """By the program behind Blender's own command `extension validate`."""
    (check,) = PYTHON.parents[1].rglob("bl_pkg/cli/blender_ext.py")
    done = subprocess.run(
        [str(PYTHON), str(check), "validate", str(extension)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr

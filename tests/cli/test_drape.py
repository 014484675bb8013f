"""`pliant drape` as people use it: files in, files out, one table or one JSON, exit codes, options from a file."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pliant
from conftest import hear_ctrl_c
from pliant import cli, shapes
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.report.facts import run_facts
from pliant.scenes import drape_scene, tablecloth_for, tablecloth_scene
from pliant.scenes.drape import default_eps
from pliant.simulation import Simulation
from time_limit import PATIENCE, started

pytestmark = pytest.mark.compiled
SHORT = ["--frames", "4", "--substeps", "2"]


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty folder to stand in, with a cloth and a ball beside it."""
    pliant.save(tmp_path / "cloth.obj", shapes.cloth(0.5, 0.5, 9, centre=(0.0, 0.15, 0.0)))
    pliant.save(tmp_path / "ball.ply", shapes.ball(0.1, 2))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


FILES = ["../cloth.obj", "../ball.ply"]


def _meshes():
    return shapes.cloth(0.5, 0.5, 9, centre=(0.0, 0.15, 0.0)), shapes.ball(0.1, 2)


def test_without_a_named_output_it_writes_drape_glb_and_a_table(here, capsys):
    assert cli.run(["drape", *FILES, *SHORT]) == 0
    assert [p.name for p in here.iterdir()] == ["drape.glb"]
    said, talk = capsys.readouterr()
    for word in ("frames", "4 (0.04 s)", "81", "deepest penetration", "0 mm (exact)", "times real time", "drape.glb"):
        assert word in said
    assert "draping" in talk
    assert "..." not in said


def test_the_solver_is_that_of_the_library_and_an_unknown_one_is_refused(here, capsys):
    assert cli.run(["drape", *FILES, *SHORT[2:], "--frames", "25", "--solver", "implicit", "-o", "a.npz"]) == 0
    cloth, ball = _meshes()
    last = next(a for a in np.load("a.npz").values() if a.ndim == 3 and len(a) == 26)[-1]
    for solver, same in (("implicit", True), ("xpbd", False)):
        *_, frame = Simulation(drape_scene(cloth, ball), substeps=2, solver=solver).run(25)
        assert (np.abs(last - frame.x[: cloth.n_vertices]).max() < 1e-6) == same
    capsys.readouterr()
    assert cli.run(["drape", *FILES, "--solver", "magic"]) == 2
    assert "implicit" in capsys.readouterr().err


def test_a_placement_is_refused_where_it_would_have_no_effect(here, capsys):
    pathlib.Path("above.toml").write_text('place = "above"\n')
    for words, why in ((["--scene", "rod"], "a built-in scene"), (["--body", "../ball.ply"], "a tablecloth")):
        for place in (["--place", "above"], ["--place", "as-is"], ["--config", "above.toml"]):
            assert cli.run(["drape", *words, *SHORT, *place]) == 2
            said = capsys.readouterr().err
            assert re.search(rf"error: --place \S+ is for the mesh file of a cloth on a body; {why}", said), said
        assert cli.run(["drape", *words, *SHORT, "--place", "auto"]) == 0


def test_the_command_line_passes_only_the_material_that_was_given(here, monkeypatch):
    seen = []
    monkeypatch.setitem(pliant.scenes.SCENES, "rod", lambda **options: seen.append(options) or drape_scene(*_meshes()))
    cli.run(["drape", "--scene", "rod", *SHORT])
    cli.run(["drape", "--scene", "rod", *SHORT, "--material.density", "0.2"])
    assert "material" not in seen[0]
    assert seen[1]["material"] == pliant.Cloth(density=0.2)


def test_every_output_can_be_read_back(here):
    for ending in ("glb", "pc2", "npz", "obj"):
        assert cli.run(["drape", *FILES, *SHORT, "-o", f"deep/run.{ending}"]) == 0
    assert pliant.load("deep/run.glb").n_faces == 128 + shapes.ball(0.1, 2).n_faces
    assert np.fromfile("deep/run.pc2", "<i4", 4, offset=16)[[0, 3]].tolist() == [81, 5]  # points, samples
    assert [a for a in np.load("deep/run.npz").values() if a.ndim == 3 and len(a) == 5]
    assert len(list(pathlib.Path("deep").glob("run_0*.obj"))) >= 5


def test_replay_and_sheet_show_the_run_and_the_second_start_compiles_nothing(here, small_pictures):
    from PIL import Image

    tokens = ["drape", *FILES, *SHORT, "--replay", "run.html", "--sheet", "run.png"]
    assert cli.run(tokens) == 0
    assert sorted(p.name for p in here.iterdir()) == ["run.html", "run.png"]
    assert '"frameCount":5' in (here / "run.html").read_text("utf-8")
    assert np.asarray(Image.open("run.png")).std() > 5.0
    # other tests fill the same cache at the same time, so the compiler itself is watched, not the folder
    code = (
        "import functools, sys; from numba.core import event; from pliant.cli import run\n"
        "from pliant.simulation import result\n"
        "result.contact_sheet = functools.partial(result.contact_sheet, tile=(96, 80))\n"
        "with event.install_recorder('numba:compile') as seen:\n"
        "    code = run(sys.argv[1:])\n"
        "print(len(seen.buffer), file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, *tokens, "-o", "a.glb"]
    again = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert again.stderr.splitlines()[-1] == "0"


def test_json_stands_alone_on_stdout(here, capsys):
    assert cli.run(["drape", *FILES, *SHORT, "--json", "-o", "a.npz"]) == 0
    said, talk = capsys.readouterr()
    figures = json.loads(said)
    assert figures["files"] == ["a.npz"]
    assert {"frames": 4, "particles": 81, "penetration_m": 0.0}.items() <= figures.items()
    assert {"contacts_most", "least_distance_m", "ms_per_frame", "times_real_time", "eps_m"} <= figures.keys()
    assert "a.npz" in talk


def test_what_was_not_measured_is_not_called_zero(here, capsys):
    assert cli.run(["drape", *FILES, *SHORT, "--no-measure", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["penetration_m"] is None
    assert cli.run(["drape", *FILES, *SHORT, "--no-measure"]) == 0
    assert "not measured" in capsys.readouterr().out


def test_cloth_that_starts_inside_is_exit_code_1_only_where_it_must_stay(here, capsys):
    pliant.save("low.obj", shapes.cloth(0.5, 0.5, 9))
    assert cli.run(["drape", "low.obj", FILES[1], *SHORT, "--place", "as-is", "--no-fix-start"]) == 1
    assert "it starts there" in capsys.readouterr().err
    assert cli.run(["drape", "low.obj", FILES[1], *SHORT]) == 0
    assert "starts inside body 'ball'; moved above" in capsys.readouterr().err


def test_a_body_alone_gets_a_tablecloth_of_its_size(here, capsys):
    assert cli.run(["drape", "--body", FILES[1], "--resolution", "9", *SHORT, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["scene"], figures["particles"]) == ("tablecloth on ball", 81)
    over = tablecloth_for(shapes.ball(0.1, 2), 9)
    assert np.ptp(over.vertices, axis=0) == pytest.approx([0.32, 0.0, 0.32], abs=1e-3)


def test_a_tablecloth_that_slides_off_comes_to_rest_on_the_floor():
    scene = tablecloth_scene(shapes.ball(0.1, 2), resolution=9)
    soft = scene.bodies[0].mesh
    aside = dataclasses.replace(scene.bodies[0], mesh=soft.moved(soft.vertices + np.array([0.15, 0.0, 0.0])))
    sim = pliant.Simulation(dataclasses.replace(scene, bodies=[aside, *scene.bodies[1:]]), substeps=4)
    for _ in range(250):
        frame = sim.step()
    x = frame.x[: soft.n_vertices]
    assert -0.25 < x[:, 1].min() < x[:, 1].max() < 0.0  # a corner hangs over the edge of the floor


@pytest.mark.parametrize("scene", ["rod", "spinning-ball", "waving-mannequin"])
def test_scenes_with_bodies_that_move_are_offered_and_written(here, capsys, scene):
    args = ["drape", "--scene", scene, "--resolution", "9", "--frames", "3", "--substeps", "2"]
    assert cli.run([*args, "-o", "a.glb", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["scene"], figures["frames"], figures["penetration_m"]) == (scene, 3, 0.0)
    assert b'"rotation"' in pathlib.Path("a.glb").read_bytes()


@pytest.mark.parametrize("scene", ["ribbon", "twist", "stack", "pinch", "curtain"])
def test_scenes_of_cloth_that_meets_itself_are_offered_and_counted(here, capsys, scene):
    args = ["drape", "--scene", scene, "--resolution", "9", "--frames", "3", "--substeps", "2", "--json"]
    assert cli.run([*args, "-o", "a.npz"]) == 0
    figures = json.loads(capsys.readouterr().out)
    wanted = {
        "scene": scene,
        "self_contact": "safe",
        "intersecting_pairs_cloth_total": 0,
        "intersecting_pairs_bodies_total": 0,
    }
    assert wanted.items() <= figures.items()
    assert scene in cli.drape.drape.__doc__


def test_self_contact_and_thickness_reach_the_scene_from_words_and_from_a_file(here, capsys):
    words = ["drape", *FILES, *SHORT, "--json", "-o", "a.npz"]
    (here / "run.toml").write_text('self-contact = "push"\nthickness = 0.002\n')
    for more, mode, thick in (
        ([], "safe", None),
        (["--self-contact", "off"], "off", None),
        (["--config", "run.toml"], "push", 0.002),
        (["--config", "run.toml", "--self-contact", "safe", "--thickness", "0.001"], "safe", 0.001),
    ):
        assert cli.run([*words, *more]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert (figures["self_contact"], figures["thickness_m"]) == (mode, thick or figures["eps_m"])


def test_the_table_says_what_safe_mode_kept(here, capsys):
    assert cli.run(["drape", *FILES, *SHORT, "--self-contact", "safe", "-o", "a.npz"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "intersecting pairs, cloth and cloth 0" in said
    assert "intersecting pairs, cloth and bodies 0" in said
    assert "safe mode 0 intersecting pairs in 4 frames" in said


def test_cloth_that_starts_with_intersections_is_exit_code_1_in_safe_mode_only(here, capsys):
    flat = shapes.cloth(0.2, 0.2, 5, centre=(0.0, 0.3, 0.0))
    upright = flat.vertices[:, [1, 0, 2]] + np.array([-0.287, 0.3, 0.0])
    x = np.concatenate([flat.vertices, upright])
    pliant.save("cross.obj", pliant.Mesh(x, np.concatenate([flat.faces, flat.faces[:, ::-1] + 25])))
    words = ["drape", "cross.obj", FILES[1], *SHORT, "--place", "as-is", "-o", "a.npz"]
    assert cli.run([*words, "--self-contact", "off"]) == 0
    assert "in all, worst frame" in capsys.readouterr().out
    assert cli.run([*words, "--self-contact", "safe"]) == 1
    assert "intersect in the start and 4 frames of safe mode; the start has intersections" in capsys.readouterr().err


def test_a_distance_larger_than_the_smallest_part_is_refused(here, capsys):
    assert cli.run(["drape", "--scene", "rod", "--eps", "9"]) == 2
    assert "eps = 9 m is more than the size of the smallest body, 0.5" in capsys.readouterr().err


def test_a_cloth_alone_is_told_what_is_missing(here, capsys):
    assert cli.run(["drape", FILES[0]]) == 2
    assert capsys.readouterr().err.startswith("error: a body is missing: pliant drape ../cloth.obj BODY")


def test_cloth_that_never_arrives_is_said(here, capsys):
    assert cli.run(["drape", *FILES, "--frames", "1", "--substeps", "1"]) == 0
    assert "never touched" in capsys.readouterr().err


BAD = [
    (["--frames", "0"], "frames = 0"),
    (["--frames", "1000000000"], "needs"),
    (["--frames", "many"], "many"),
    (["--resolution", "1"], "resolution = 1"),
    (["--eps", "nan"], "eps = nan"),
    (["--eps", "-1"], "eps = -1"),
    (["--self-contact", "sure"], "sure"),
    (["--thickness", "0"], "thickness = 0"),
    (["--eps", "1e9"], "eps = 1e+09 m is more than the size"),
    (["--dt", "0"], "dt = 0"),
    (["--substeps", "0"], "substeps = 0"),
    (["--gravity", "0", "nan", "0"], "gravity[1]"),
    (["--material.density", "0"], "density = 0"),
    (["--material.densty", "1"], "Did you mean --material.density"),
    (["--frction", "1"], "Did you mean --friction"),
    (["--place", "beside"], "beside"),
    (["--method", "bhv"], "unknown method 'bhv'"),
    (["--scene", "tablecloth-on-ball"], "has its own cloth"),
    (["--units", "furlong"], "unknown units 'furlong'"),
    (["-o", "a.xyz"], "unknown extension '.xyz'; one of: .obj, .glb"),
    (["-o", "a.html"], "; use --replay a.html"),
    (["-o", "a.png"], "; use --sheet a.png"),
    (["--replay", "a.txt"], "--replay a.txt"),
    (["-o", "."], "is a folder"),
    (["-o", os.devnull], "unknown extension"),
    (["--config"], "--config needs the name"),
    (["-o", "../ball.ply/x.glb"], "cannot write"),
    (["--config", "no.toml"], "no.toml"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_use_is_one_line_and_exit_code_2_and_leaves_no_file(here, capsys, words, said):
    assert cli.run(["drape", *FILES, *words]) == 2
    out, talk = capsys.readouterr()
    errors = [line for line in talk.splitlines() if line.startswith("error: ")]
    assert (out, len(errors)) == ("", 1)
    assert said in errors[0]
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("text", ["", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "v 0 nan 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"])
def test_a_damaged_file_is_named_and_nothing_is_written(here, capsys, text):
    (here.parent / "bad.obj").write_text(text)
    assert cli.run(["drape", "../bad.obj", FILES[1]]) == 2
    assert "bad.obj" in capsys.readouterr().err
    assert cli.run(["drape", FILES[0], "../bad.obj"]) == 2
    assert list(here.iterdir()) == []


def test_an_output_that_is_also_an_input_is_refused(here, capsys):
    pliant.save("cloth.glb", shapes.cloth(0.5, 0.5, 5))
    before = (here / "cloth.glb").read_bytes()
    assert cli.run(["drape", "cloth.glb", FILES[1], *SHORT, "-o", "cloth.glb"]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert (here / "cloth.glb").read_bytes() == before


@pytest.mark.parametrize(
    ("cloth", "body", "out"),
    [
        ("run_0000.obj", "body.obj", "run.obj"),  # frame 0 of the cloth
        ("run_0001.obj", "body.obj", "run.obj"),  # the last frame
        ("cloth.obj", "run.obj", "run.obj"),  # the body, which does not move
    ],
)
def test_a_sequence_that_would_overwrite_an_input_is_refused(here, capsys, cloth, body, out):
    pliant.save(cloth, shapes.cloth(0.5, 0.5, 5))
    pliant.save(body, shapes.ball(0.2, 1))
    before = sorted((path.name, path.read_bytes()) for path in here.iterdir())
    assert cli.run(["drape", cloth, body, "--frames", "1", "-o", out]) == 2
    assert "would overwrite an input file" in capsys.readouterr().err
    assert sorted((path.name, path.read_bytes()) for path in here.iterdir()) == before


@pytest.mark.parametrize("option", ["--layer", "--stitches", "--config"])
def test_an_output_that_an_option_reads_is_refused(here, capsys, option):
    (here / "read.obj").write_text("frames = 1\n")
    assert cli.run(["drape", *FILES, *SHORT, option, "read.obj", "-o", "read.obj"]) == 2
    assert "would overwrite an input file" in capsys.readouterr().err
    assert (here / "read.obj").read_text() == "frames = 1\n"


def test_an_existing_result_is_replaced(here):
    (here / "a.glb").write_bytes(b"old")
    assert cli.run(["drape", *FILES, *SHORT, "-o", "a.glb"]) == 0
    assert (here / "a.glb").read_bytes()[:4] == b"glTF"


CONFIG = """
cloth = "../cloth.obj"
body = "../ball.ply"
frames = 3
substeps = 2
friction = 0.5
wind = [1.0, 0.0, 0.0]
units = "m"
out = "named.npz"
[material]
density = 0.5
"""


@pytest.mark.parametrize("form", [["--config", "run.toml"], ["--config=run.toml"]])
def test_options_may_stand_in_a_file_and_what_is_typed_wins(here, capsys, form):
    (here / "run.toml").write_text(CONFIG)
    assert cli.run(["drape", *form, "--frames", "2", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["frames"], figures["particles"], figures["files"]) == (2, 81, ["named.npz"])


def test_options_in_a_file_reach_the_scene(here, monkeypatch):
    import pliant.scenes

    seen = {}

    def spy(*meshes, **options):
        seen.update(options)
        return drape_scene(*meshes, **options)

    monkeypatch.setattr(pliant.scenes, "drape_scene", spy)
    (here / "run.toml").write_text(CONFIG)
    assert cli.run(["drape", "--config", "run.toml"]) == 0
    assert (seen["friction"], seen["wind"], seen["material"].density) == (0.5, (1.0, 0.0, 0.0), 0.5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("frmes = 3", "frmes"),
        ('frames = "three"', "three"),
        ("[material]\ndensty = 1.0", "densty"),
        ("frames = = 3", "run.toml"),
        ("wind = [1.0]", "wind"),
    ],
)
def test_a_mistake_in_the_file_is_named(here, capsys, line, said):
    (here / "run.toml").write_text(line + "\n")
    assert cli.run(["drape", *FILES, "--config", "run.toml"]) == 2
    assert said in capsys.readouterr().err
    assert [p.name for p in here.iterdir()] == ["run.toml"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a single process there")
def test_ctrl_c_in_the_middle_is_exit_code_130_and_leaves_no_file(here):
    command = [sys.executable, "-m", "pliant", "drape", *FILES, "--frames", "100000", "-o", "a.glb"]
    with started(command, stdout=-1, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("draping"):
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said, talk = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert talk.splitlines()[-1] == "interrupted"
    assert "Traceback" not in talk
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("size", [0.01, 0.05, 1.0, 20.0, 300.0])
@pytest.mark.parametrize("count", [3, 60])
def test_cells_are_never_larger_than_the_default_distance(size, count):
    body, cloth = shapes.ball(size / 2, 1), shapes.cloth(1.6 * size, 1.6 * size, count)
    sim = Simulation(drape_scene(cloth, body))
    (detector,) = sim.detectors
    assert isinstance(detector, DistanceFieldDetector)
    assert detector.field.spacing <= 1.001 * default_eps(body, cloth) <= 0.0101 * body.size
    assert detector.field.nbytes < 300e6


@pytest.mark.parametrize("size", [0.05, 20.0])
def test_small_and_large_scenes_stay_outside_too(size):
    body = shapes.ball(size / 2, 3)
    result = pliant.drape(tablecloth_for(body, 13), body, frames=int(60 * size**0.5) + 20, substeps=5)
    assert result.n_contacts.max() > 3
    assert result.least_distance.min() >= -1e-6 * body.size


def test_a_distance_finer_than_the_cells_is_warned_about(caplog):
    Simulation(drape_scene(shapes.cloth(1.0, 1.0, 5), shapes.box((5.0, 0.05, 0.05), 1), eps=0.001))
    assert "larger than eps" in caplog.text


def test_cloth_on_cloth_takes_the_detector_and_the_response_that_were_named(here, capsys):
    args = ["drape", "--scene", "ribbon", "--resolution", "9", "--frames", "3", "--substeps", "2", "-o", "a.npz"]
    own = ["--self-contact", "push", "--self-method", "sphere-surface", "--self-response", "penalty+geometric"]
    assert cli.run([*args, *own, "--levels", "1", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {
        "intersecting_pairs_cloth_total": 0,
        "unresolved_most": 0,
        "frames_with_unresolved": 0,
    }.items() <= figures.items()
    for words, said in (
        (["--self-method", "tree", "--levels", "1"], "--levels is for --self-method sphere-surface"),
        (["--self-method", "distance-field"], "does not detect self-contact"),
        (["--self-response", "surface-tag"], "works against obstacles only"),
        (["--self-contact", "off", "--self-response", "penalty"], "has --self-contact 'off'"),
    ):
        assert cli.run([*args, *words]) == 2
        assert said in capsys.readouterr().err


def test_a_corner_that_reaches_between_the_points_of_the_cloth_is_told(here, capsys):
    foot = [(0.2, -0.1, 0.2), (-0.2, -0.1, 0.2), (0.0, -0.1, -0.2)]
    spike = pliant.Mesh([(0.05, 0.1, 0.1), *foot], [(0, 2, 1), (0, 3, 2), (0, 1, 3), (1, 2, 3)])
    assert spike.volume > 0.0
    pliant.save("spike.obj", spike)
    pliant.save("coarse.obj", shapes.cloth(0.8, 0.8, 5, centre=(0.0, 0.13, 0.0)))
    words = ["drape", "coarse.obj", "spike.obj", "--frames", "30", "--place", "as-is", "-o", "run.npz"]
    words += ["--self-contact", "off"]  # the guard of safe mode would keep the corner out
    assert cli.run([*words, "--json"]) == 1  # every point that is measured is outside, and yet it is cut
    said = json.loads(capsys.readouterr().out)
    assert said["penetration_m"] == 0.0
    assert said["frames_with_crossing_pairs"] > 0
    run = np.load("run.npz")
    last = pliant.Mesh(run["frames_0"][-1], run["faces_0"])
    assert said["intersecting_pairs_bodies_at_end"] == len(pliant.intersections(last, spike)) > 0
    assert cli.run(words) == 1
    table, talk = capsys.readouterr()
    row = " ".join(table.split())
    assert f"{said['intersecting_pairs_bodies_at_end']} at the end" in row
    most = said["crossing_pairs_bodies_most"]
    assert f"0 mm at vertices and edge midpoints (exact); {most} pairs of triangles cross" in row
    assert "corners of the body reach between the vertices of the cloth" in talk
    assert cli.run([*words, "--no-measure", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["intersecting_pairs_bodies_at_end"] is None
    # from Python only the last frame is counted where cloth may intersect itself
    alone = pliant.drape(pliant.load("coarse.obj"), spike, 30, place="as-is", self_contact="off")
    assert alone.intersecting_pairs is None
    at_end = alone.intersecting_pairs_bodies_at_end
    assert at_end > 0
    assert run_facts(alone)["intersecting pairs, cloth and bodies"] == f"{at_end} at the end"

"""What people run into on their first day is told, not left to be found out."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest

import pliant
from characters import post
from pliant import cli, shapes
from pliant.cli.run_warnings import run_warnings
from pliant.io import save_animation
from pliant.io.named import parts_of
from pliant.scenes import drape_scene
from pliant.simulation import Simulation
from pliant.simulation.record import record

pytestmark = pytest.mark.compiled
BODY = dataclasses.replace(shapes.ball(0.3, 3), name="body")


def tube(radius: float = 0.31, sag: float = 0.0) -> pliant.Mesh:
    """A skirt around the ball: its upper border lies close to it, its lower one hangs."""
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    rings = [(radius * np.cos(0.3 - 0.9 * t) + 0.12 * t + sag * t, 0.1 - 0.3 * t) for t in np.linspace(0.0, 1.0, 9)]
    x = np.concatenate([np.stack([r * np.cos(angle), np.full(40, y), r * np.sin(angle)], 1) for r, y in rings])
    k = np.arange(40)
    faces = [
        np.stack(corners, 1) + 40 * ring
        for ring in range(8)
        for corners in ((k, 40 + k, (k + 1) % 40), ((k + 1) % 40, 40 + k, 40 + (k + 1) % 40))
    ]
    return pliant.Mesh(x, np.concatenate(faces), name="tube")


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    pliant.save("body.obj", BODY)
    pliant.save("tube.obj", tube())
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_garment_on_a_body_that_stands_is_held_by_its_waistband(here, capsys):
    run = ["drape", "tube.obj", "body.obj", "--frames", "60", "--substeps", "4", "-o", "run.npz"]
    code, _, talk = told(capsys, *run)
    assert code == 0
    assert "note: 40 boundary vertices close to the body are pinned; --hold none releases them" in talk
    frames = np.load("run.npz")["frames_0"]
    assert np.array_equal(frames[-1, :40], frames[0, :40])
    assert not np.array_equal(frames[-1, 40:], frames[0, 40:])
    _, _, talk = told(capsys, *run, "--hold", "none")
    assert "held" not in talk
    frames = np.load("run.npz")["frames_0"]
    assert not np.array_equal(frames[-1, :40], frames[0, :40])


def test_only_worn_garments_are_held(here):
    worn = tube()
    assert len(drape_scene(worn, BODY).bodies[0].pins) == 40
    assert len(drape_scene(worn, BODY, hold="none").bodies[0].pins) == 0
    assert drape_scene(worn, BODY, pins=[3]).bodies[0].pins.tolist() == [3]
    assert len(drape_scene(worn, BODY, place="above").bodies[0].pins) == 0
    patch = shapes.cloth(0.05, 0.05, 4, centre=(0.0, 0.305, 0.0))  # all of its border is near, but it is flat
    assert len(drape_scene(patch, BODY).bodies[0].pins) == 0
    towel = shapes.cloth(0.4, 0.4, 15)
    x, z = towel.vertices[:, 0], towel.vertices[:, 2]
    bent = 0.31 * np.stack([np.sin(x / 0.31), np.cos(x / 0.31) * np.cos(z / 0.31), np.sin(z / 0.31)], 1)
    bent *= 0.31 / np.linalg.norm(bent, axis=1)[:, None]
    assert len(drape_scene(towel.moved(bent), BODY).bodies[0].pins) == 0  # one border: it lies on the body
    floor = shapes.box((10.0, 0.1, 10.0), 4, centre=(0.0, -0.35, 0.0))
    assert len(drape_scene(worn, floor).bodies[0].pins) == 0  # near, but not around it


def test_a_waistband_that_starts_inside_comes_out(here):
    tight = tube(0.29)
    scene = drape_scene(tight, BODY)
    assert len(scene.bodies[0].pins) == 0
    result = record(Simulation(scene, substeps=4), 40)
    assert result.least_distance[0] < -0.004
    assert result.least_distance[-1] >= -1e-4


def test_cloth_that_slid_down_is_told(here):
    result = record(Simulation(drape_scene(tube(), BODY, hold="none"), substeps=2), 2, measure=False)
    start = result.x[0][0]
    for down, word in ((0.0, ""), (0.4, "slid down the body by 0.4 m"), (0.1, "")):
        end = start - np.array([0.0, down, 0.0])
        frames = {0: np.stack([start, end, end])}
        lies = dataclasses.replace(result, x=frames, n_obstacle_contacts=np.array([0, 5, 5]))
        assert word in " ".join(run_warnings(lies))
        assert bool(word) == bool(run_warnings(lies))
    # what has slid off may cross the body, too: each has its own warning
    crosses = dataclasses.replace(lies, scene=dataclasses.replace(lies.scene, self_contact="push"))
    crosses = dataclasses.replace(crosses, crossing_pairs=np.array([[0, 0], [3, 0], [0, 0]]))
    slid = {0: np.stack([start, start, start - np.array([0.0, 0.4, 0.0])])}
    for counts in ([0, 5, 5], [0, 5, 0]):
        found = run_warnings(dataclasses.replace(crosses, x=slid, n_obstacle_contacts=np.array(counts)))
        assert len(found) == 2
        assert "3 pairs of triangles cross" in found[1]
    high = {0: np.stack([start + 0.3, start - 0.3, start - 0.3])}  # dropped on it from above, not worn
    assert run_warnings(dataclasses.replace(lies, x=high)) == []
    held = drape_scene(tube(), BODY)
    assert run_warnings(dataclasses.replace(lies, scene=held, x={0: np.stack([start, start - 1.0, start - 1.0])})) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["fix", "tube.obj", "-b", "body.obj", "--clearance", "2", "-o", "x.obj"], "write 2mm, or 2m for metres"),
        (["check", "tube.obj", "-b", "body.obj", "--max-depth", "30"], "--max-depth 30 is 30 m"),
        (["check", "tube.obj", "-b", "body.obj", "--min-clearance", "5"], "write 5mm, or 5m for metres"),
        (["drape", "tube.obj", "body.obj", "--resolution", "20"], "--resolution is for generated cloth"),
        (["drape", "tube.obj", "body.obj", "--eps", "5parsecs"], "expected a length such as 2mm"),
        (["field", "body.obj", "--spacing", "wide"], "expected a length such as 2mm"),
    ],
)
def test_a_number_that_cannot_be_meant_is_an_error(here, capsys, words, why):
    code, _, talk = told(capsys, *words)
    assert code == 2
    assert why in talk
    assert not pathlib.Path("x.obj").exists()


def test_a_length_with_a_unit_is_meant(here, capsys):
    assert told(capsys, "check", "tube.obj", "-b", "body.obj", "--max-depth", "1m")[0] == 0


def test_flat_bodies_and_garments_are_looked_at(here, capsys):
    pathlib.Path("point.obj").write_text("v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n")
    for words in (["tube.obj", "-b", "point.obj"], ["point.obj", "-b", "body.obj"]):
        assert told(capsys, "check", *words)[0] in (0, 1, 2)


def test_fix_says_where_a_body_is_open(here, capsys):
    keep = BODY.vertices[BODY.faces].mean(1)[:, 1] > -0.2
    pliant.save("open.obj", pliant.Mesh(BODY.vertices, BODY.faces[keep]))
    _, _, talk = told(capsys, "fix", "tube.obj", "-b", "open.obj", "-o", "new.obj")
    assert "note: body 'open' is open: shell 0" in talk


def test_lengths_may_have_units_everywhere(here, capsys):
    code, out, _ = told(capsys, "drape", "tube.obj", "body.obj", "--frames", "1", "--eps", "5mm", "--json")
    assert code == 0
    assert json.loads(out)["eps_m"] == 0.005
    code, out, _ = told(capsys, "field", "body.obj", "--spacing", "2cm", "--samples", "0", "--json")
    assert code == 0
    assert json.loads(out)["spacing_m"] == 0.02
    pathlib.Path("run.toml").write_text('eps = 0.004\nthickness = "3mm"\nframes = 1\n')
    _, out, _ = told(capsys, "drape", "tube.obj", "body.obj", "--config", "run.toml", "--json")
    said = json.loads(out)
    assert (said["eps_m"], said["thickness_m"]) == (0.004, 0.003)


def test_a_body_that_is_inside_out_is_turned(here, capsys):
    pliant.save("body.obj", pliant.Mesh(BODY.vertices, BODY.faces[:, ::-1]))
    code, _, talk = told(capsys, "drape", "tube.obj", "body.obj", "--frames", "2")
    assert code == 0
    assert "note: body is inside out; it is used with its faces flipped" in talk
    code, out, talk = told(capsys, "tets", "body.obj", "--size", "10cm", "--json")
    assert "used with its faces flipped" in talk
    assert json.loads(out)["tets"] > 0


@pytest.mark.parametrize(
    ("factor", "move", "remedy"),
    [
        (100.0, 0.0, "add --units cm --body-units m"),
        (0.001, 0.0, "add --body-units mm"),
        (1.0, 5.0, "are both files in the same units"),
    ],
)
def test_other_units_of_garment_and_body_are_warned_about(here, capsys, factor, move, remedy):
    pliant.save("tube.obj", tube().moved(tube().vertices * factor + move))
    for words in (["check", "tube.obj"], ["fix", "tube.obj", "-o", "x.obj"]):
        _, _, talk = told(capsys, *words, "-b", "body.obj")
        assert remedy in talk
    pliant.save("tube.obj", tube())
    _, _, talk = told(capsys, "check", "tube.obj", "-b", "body.obj")
    assert "units" not in talk


def test_fix_says_that_it_writes_metres(here, capsys):
    pliant.save("cm.obj", tube().moved(tube().vertices * 100.0))
    pliant.save("bodycm.obj", BODY.moved(BODY.vertices * 100.0))
    _, _, talk = told(capsys, "fix", "cm.obj", "-b", "bodycm.obj", "--units", "cm", "-o", "new.obj")
    assert "note: written in metres, y up; read it without --units and --up" in talk
    _, _, talk = told(capsys, "fix", "tube.obj", "-b", "body.obj", "-o", "new.obj")
    assert "metres" not in talk
    assert "overlap volume" not in talk  # nobody asked for it, and garments are open


def test_a_file_of_several_things_says_so(here, capsys):
    clips = [pliant.Clip(mesh, mesh.vertices[None]) for mesh in (BODY, tube())]
    save_animation("both.glb", clips, 30.0)
    assert parts_of("both.glb") == ["body", "tube"]
    assert parts_of("body.obj") == ["body"]
    assert parts_of("missing.glb") == parts_of("tube.ply") == []
    _, _, talk = told(capsys, "check", "both.glb", "-b", "body.obj")
    assert "note: both.glb contains body, tube, taken together; --part NAME takes one of them" in talk
    _, _, talk = told(capsys, "check", "tube.obj", "-b", "both.glb")
    assert "--body-part NAME" in talk
    _, _, talk = told(capsys, "check", "both.glb", "--part", "tube", "--body-part", "body")
    assert "taken together" not in talk


def test_loose_triangles_are_told(here, capsys):
    soup = BODY.vertices[BODY.faces].reshape(-1, 3)
    noise = np.random.default_rng(1).uniform(-1e-6, 1e-6, soup.shape)
    pliant.save("soup.obj", pliant.Mesh(soup + noise, np.arange(len(soup)).reshape(-1, 3)))
    _, _, talk = told(capsys, "check", "soup.obj")
    assert "no triangle shares an edge with another" in talk
    pliant.save("soup.obj", pliant.Mesh(soup, np.arange(len(soup)).reshape(-1, 3)))  # seams alone are none
    _, _, talk = told(capsys, "check", "soup.obj")
    assert "no triangle shares" not in talk


def test_frames_are_not_written_among_those_that_are_read(here, capsys):
    pathlib.Path("run").mkdir()
    for k in range(3):
        pliant.save(f"run/t_{k}.obj", tube().moved(tube().vertices - 0.001 * k))
    for source, new in (("run", "run/new.obj"), ("run/*.obj", "run/new.obj"), ("run/t_*.obj", "run/t.obj")):
        code, _, talk = told(capsys, "fix", source, "-b", "body.obj", "-o", new)
        assert code == 2
        assert "would be among the frames of" in talk
    assert len(list(pathlib.Path("run").iterdir())) == 3
    assert told(capsys, "fix", "run/t_*.obj", "-b", "body.obj", "-o", "run/new.obj")[0] == 0
    assert len(list(pathlib.Path("run").iterdir())) == 6


def test_even_motion_has_no_jitter_to_compare_with(here, capsys):
    pathlib.Path("run").mkdir()
    sunk = tube(0.30)
    for k in range(4):
        pliant.save(f"run/t_{k}.obj", sunk.moved(sunk.vertices - np.array([0.0, 0.005, 0.0]) * k))
    _, out, _ = told(capsys, "fix", "run", "-b", "body.obj", "-o", "new/t.obj")
    row = next(line for line in out.splitlines() if "jitter" in line)
    assert "times" not in row


def test_names_of_methods_are_in_one_piece(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = told(capsys, "methods")
    for name in ("distance-field", "stochastic-bvh", "sphere-surface"):
        assert name in out


def test_cloth_that_still_moves_at_the_end_is_told_in_one_line(here, capsys):
    pliant.save("sheet.obj", shapes.cloth(0.8, 0.8, 9, centre=(0.0, 0.32, 0.0)))
    line = "warning: the cloth still moves at "
    _, _, talk = told(capsys, "drape", "sheet.obj", "body.obj", "--frames", "12", "-o", "a.npz")
    assert talk.count(line) == 1
    assert "more --frames let it come to rest" in talk
    _, _, talk = told(capsys, "drape", "sheet.obj", "body.obj", "--frames", "250", "-o", "a.npz", "--friction", "1")
    assert line not in talk
    _, _, talk = told(
        capsys, "drape", "--scene", "tablecloth-on-ball", "--resolution", "8", "--frames", "12", "-o", "a.npz"
    )
    assert line not in talk  # a built-in scene is as long as its author made it


def test_an_unknown_response_is_told_before_anything_is_baked(here, capsys):
    code, _, talk = told(capsys, "drape", "--body", "body.obj", "--response", "bounce", "-o", "a.npz")
    assert code == 2
    assert talk.startswith("error: unknown response 'bounce'; one of: projection, printed-projection")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bind", "tube.obj", "post.glb", "-o", "a.glb"], "or raise --max-distance"),
        (["bind", "body.obj", "post.glb", "-o", "a.glb", "--smooth", "-3"], "error: --smooth = -3 must be in 0..1000"),
        (["drape", "tube.obj", "body.obj", "--rest-scale", "0"], "error: --rest-scale = 0 must be"),
        (["drape", "tube.obj", "body.obj", "--eps", "-3"], "error: --eps = -3 must be"),
        (["drape", "tube.obj", "body.obj", "--self-contact", "off", "--self-method", "bvh"], "error: --self-method"),
        (["check", "max_distance.obj"], "error: max_distance.obj: no such file"),
    ],
)
def test_errors_name_options_as_they_are_typed(here, capsys, words, message):
    who = post()
    pliant.save_character("post.glb", dataclasses.replace(who, mesh=who.mesh.moved(who.mesh.vertices + 9.0)))
    code, _, talk = told(capsys, *words)
    assert code == 2
    assert message in talk


def test_a_body_without_extent_is_named(here, capsys):
    pathlib.Path("point.obj").write_text("v 0 0 0\nv 0 0 0\nv 0 0 0\nf 3 2 1\n")
    code, _, talk = told(capsys, "drape", "tube.obj", "point.obj", "--frames", "1")
    assert code == 2
    assert "error: mesh 'point' has no extent" in talk


def test_a_body_among_the_files_of_a_check_is_not_passed_over(here, capsys):
    pliant.save("inside.obj", tube(0.25))
    code, _, said = told(capsys, "check", "inside.obj", "body.obj")
    assert code == 2
    assert "did you mean pliant check inside.obj --body body.obj?" in said
    pliant.save("far.obj", tube().moved(tube().vertices + np.array([2.0, 0.0, 0.0])))
    assert told(capsys, "check", "far.obj", "body.obj")[0] == 0  # two files that are not worn on each other


def test_a_character_is_not_fixed_as_one_cloth_with_its_clothes(here, capsys):
    pliant.save_character("post.glb", post(rings=4, around=4))
    skin = pliant.load_character("post.glb").mesh
    pliant.save("coat.obj", skin.moved(1.2 * skin.vertices))
    assert told(capsys, "bind", "coat.obj", "post.glb", "-o", "both.glb", "--max-distance", "1m")[0] == 0
    code, _, said = told(capsys, "fix", "both.glb", "-o", "out.glb")
    assert code == 2
    assert "say which is the garment, and on which it is worn" in said
    assert not pathlib.Path("out.glb").exists()


def test_near_names_are_told_first(here, capsys):
    pliant.save_character("post.glb", post(rings=4, around=4))
    names = list(pliant.load_character("post.glb").clips)
    code, _, said = told(capsys, "check", "tube.obj", "--body", "post.glb", "--body-clip", names[0].upper() + "s")
    assert code == 2
    assert f"did you mean {names[0]!r}" in said

"""One run of each kind: what it leaves in its folder."""

import json
import pathlib
import re
import tomllib

import numpy as np
import pytest
from PIL import Image

import pliant
from characters import sleeve
from cli.test_preroll import bent
from pliant.audit.check import check
from pliant.detect.choose import choose_method_for_scene
from pliant.scenes import drape_scene
from pliant.simulation import Simulation
from pliant.sweep import drapes, work
from pliant.sweep.bakes import _layout, bake_slab, slab_file, slab_jobs
from pliant.sweep.plan import plan_of
from pliant.sweep.results import columns_of, folder_of, rows_of
from pliant.sweep.sweep import _failed, sweep
from pliant.sweep.work import RECORD, carry_out, read_record, record_of, write_json

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "sweep.md"


def done(tmp_path, table):
    """The one run of the table, carried out here."""
    (run,) = plan_of(table, "x", tmp_path).runs
    folder = tmp_path / run.id
    for job in slab_jobs(run, folder) if run.kind == "bake" else ():
        bake_slab(job.task)
    carry_out({"run": run.plain(), "folder": str(folder)})
    record = read_record(run, folder)
    assert record is not None
    return record, folder


@pytest.mark.compiled
def test_a_drape_holds_what_is_given(tmp_path):
    pliant.save(tmp_path / "sheet.obj", pliant.shapes.cloth(0.4, 0.4, 5, centre=(0.0, 0.3, 0.0)))
    pliant.save(tmp_path / "ball.obj", pliant.shapes.ball(0.2, 2))
    held = {"pin": "left 1mm", "rest-scale": 0.9, "frames": 2, "substeps": 2, "method": "brute-force"}
    table = {"run": "drape", "garments": ["sheet.obj"], "bodies": ["ball.obj"], "fixed": held, "files": ["npz"]}
    _, folder = done(tmp_path, table | {"thumbnails": False})
    x = np.load(folder / "drape.npz")["frames_0"]
    assert ((x[0] == x[-1]).all(1) == (x[0, :, 0] > 0.19)).all()


@pytest.mark.compiled
def test_a_drape_without_lead_in_begins_in_the_first_pose_of_the_clip_as_pliant_drape_does(tmp_path):
    """Without a pre-roll, the post jumps there and an edge is stretched to many times its length."""
    pliant.save_character(tmp_path / "post.glb", bent(60.0))
    pliant.save(tmp_path / "sleeve.obj", sleeve(rings=5, around=12))
    table = {"run": "drape", "garments": ["sleeve.obj"], "bodies": ["post.glb"], "files": ["npz"], "thumbnails": False}
    record, folder = done(tmp_path, table | {"fixed": {"lead-in": 0, "frames": 2, "substeps": 2}})
    with np.load(folder / "drape.npz") as frames:
        assert np.abs(frames["frames_1"][0] - bent(60.0).shape("bent", 0.0)).max() < 1e-6
    assert record["figures"]["stretch_most"] < 0.1


@pytest.mark.compiled
def test_a_check_records_what_pliant_check_finds(tmp_path):
    worn, body = pliant.shapes.ball(0.2, 2), pliant.shapes.ball(0.2, 2)
    pliant.save(tmp_path / "worn.ply", worn.moved(worn.vertices + np.array([0.1, 0.0, 0.0])))
    pliant.save(tmp_path / "body.ply", body)
    record, folder = done(tmp_path, {"run": "check", "garments": ["worn.ply"], "bodies": ["body.ply"]})
    report = check(pliant.load(tmp_path / "worn.ply"), pliant.load(tmp_path / "body.ply"))
    figures = record["figures"]
    assert figures["penetration_m"] == report.worst_depth > 0.05
    assert figures["inside_most"] == report.frames[0].inside > 0
    assert figures["body_pairs_most"] == report.frames[0].body_pairs > 0
    assert json.loads((folder / "report.json").read_text("utf-8"))["worst_depth_m"] == report.worst_depth
    assert Image.open(folder / "thumbnail.jpg").size == (288, 216)


@pytest.mark.compiled
def test_the_table_has_every_note_of_a_check_and_the_gallery_all_but_the_overlap_volume(tmp_path):
    body = pliant.shapes.ball(0.2, 2)
    pliant.save(tmp_path / "worn.ply", pliant.shapes.cloth(0.1, 0.1, 4))
    pliant.save(tmp_path / "body.ply", pliant.Mesh(body.vertices, body.faces[:, ::-1]))
    table = {"run": "check", "garments": ["worn.ply"], "bodies": ["body.ply"], "files": []}
    finished = sweep(plan_of(table, "x", tmp_path), tmp_path / "out")
    (record,) = finished.records.values()
    assert [note["kind"] for note in record["check_notes"]] == ["flipped", "no-overlap", "wholly-inside"]
    (row,) = json.loads((tmp_path / "out" / "table.json").read_text("utf-8"))["rows"]
    assert row["unchecked"] == "; ".join(note["text"] for note in record["check_notes"])
    card = (tmp_path / "out" / "gallery.html").read_text("utf-8").split("</article>")[0]
    assert "it was checked as if flipped" in card
    assert "overlap volume" not in card


@pytest.mark.parametrize("said", [{}, {"method": "auto"}], ids=["nothing", "auto"])
def test_a_drape_takes_the_method_that_pliant_drape_takes(tmp_path, monkeypatch, said):
    taken = []

    def simulation(scene, *args, **options):
        sim = Simulation(scene, *args, **options)
        taken.append((sim.method, choose_method_for_scene(scene).name, sim.solver))
        return sim

    monkeypatch.setattr(drapes, "Simulation", simulation)
    small = {"resolution": 3, "frames": 1, "substeps": 1, "eps": 1e-4, "measure": False, "solver": "implicit"}
    table = {"run": "drape", "bodies": ["ball"], "thumbnails": False, "fixed": small | said}
    assert done(tmp_path, table)[0]["error"] is None
    assert taken == [("bvh", "bvh", "implicit")]  # a field of that ball would be coarser than eps


@pytest.mark.compiled
def test_a_bake_in_slabs_is_the_field_of_one_piece_and_its_slabs_are_deleted(tmp_path):
    body = pliant.shapes.torus(0.3, 0.1, 40, 16)
    pliant.save(tmp_path / "body.ply", body)
    table = {"run": "bake", "bodies": ["body.ply"], "thumbnails": False, "fixed": {"resolution": 60, "slabs": 3}}
    record, folder = done(tmp_path, table)
    whole = pliant.DistanceField.bake(pliant.load(tmp_path / "body.ply"), 60)
    joined = pliant.DistanceField.load(folder / "field.npz")
    assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(whole.grid, joined.grid))
    assert (record["figures"]["slabs_baked"], record["figures"]["examined_points"]) == (3, whole.examined)
    assert sorted(file.name for file in folder.iterdir()) == ["field.npz", "run.json", "times.json"]


@pytest.mark.compiled
def test_slabs_stay_until_the_record_is_on_disk(tmp_path, monkeypatch):
    pliant.save(tmp_path / "body.ply", pliant.shapes.ball(0.3, 2))
    table = {"run": "bake", "bodies": ["body.ply"], "thumbnails": False, "fixed": {"resolution": 16, "slabs": 2}}
    (run,) = plan_of(table, "x", tmp_path).runs
    folder = folder_of(tmp_path / "out", run.id)
    for job in slab_jobs(run, folder):
        bake_slab(job.task)

    def killed(path, value):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(work, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            carry_out({"run": run.plain(), "folder": str(folder)})
    assert read_record(run, folder) is None
    assert slab_jobs(run, folder) == []
    left = folder / slab_name(run)
    kept = left.read_bytes()
    carry_out({"run": run.plain(), "folder": str(folder)})
    assert not left.exists()
    left.write_bytes(kept)  # as if killed between the record and this
    assert sweep(plan_of(table, "x", tmp_path), tmp_path / "out").now == 0
    assert not left.exists()


def slab_name(run) -> str:
    return slab_file(pathlib.Path(), 0, _layout(run)[1].slabs).name


def test_a_row_takes_figures_from_records_with_former_names(tmp_path):
    plan = plan_of({"run": "drape", "bodies": ["ball"], "product": {"friction": [0.1, 0.2]}}, "x", tmp_path)
    new, old = {"failed_substeps": 3, "unresolved_most": 4}, {"forced": 3, "remained_most": 4}
    records = {run.id: record_of(run, figures=figures) for run, figures in zip(plan.runs, (new, old))}
    rows = rows_of(plan, records)
    assert [{name: row[name] for name in new} for row in rows] == [new] * 2
    assert [name for name in columns_of(plan, rows) if name in new | old] == [*new]
    limits = {"run": "check", "garments": ["skirt"], "bodies": ["ball"], "fixed": {"max-body-pairs": 5}}
    plan = plan_of(limits, "x", tmp_path)
    (row,) = rows_of(plan, {run.id: record_of(run) for run in plan.runs})
    assert row["max-body-pairs"] == 5


def test_a_failure_does_not_take_the_place_of_what_another_sweep_has_done(tmp_path):
    (tmp_path / "bad.ply").write_text("ply\nformat ascii 1.0\nelement vertex 3\n")
    (run,) = plan_of({"run": "check", "garments": ["bad.ply"]}, "x", tmp_path).runs
    folder = folder_of(tmp_path, run.id)
    write_json(folder / RECORD, record_of(run, figures={"inside_most": 3}))
    good = (folder / RECORD).read_bytes()
    assert carry_out({"run": run.plain(), "folder": str(folder)}) == {"failed": False}
    assert _failed(tmp_path, run, "its process was killed")["error"] is None
    assert (folder / RECORD).read_bytes() == good


BAD = [
    ({"run": "drape", "bodies": ["bad.ply"]}, "bad.ply"),
    ({"run": "drape", "scenes": ["ribbon"], "fixed": {"place": "above"}}, "place does not apply"),
    ({"run": "drape", "bodies": ["ball"], "fixed": {"clip": "walk"}}, "clip does not apply"),
    ({"run": "check", "garments": ["bad.ply"]}, "bad.ply"),
    ({"run": "check", "garments": ["skirt"], "fixed": {"body-clip": "walk"}}, "body-clip does not apply"),
]


@pytest.mark.parametrize(("table", "said"), BAD, ids=[said for _, said in BAD])
def test_what_cannot_be_done_is_recorded_with_its_error(tmp_path, table, said):
    (tmp_path / "bad.ply").write_text("ply\nformat ascii 1.0\nelement vertex 3\n")
    record, folder = done(tmp_path, table)
    assert said in record["error"]
    assert "\n" not in record["error"]
    assert str(tmp_path) not in record["error"]
    assert record["figures"] == {}
    assert sorted(file.name for file in folder.iterdir()) == ["run.json", "times.json"]


def test_the_examples_of_the_page_are_sweeps(tmp_path):
    text = DOCS.read_text("utf-8")
    examples = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.S)]
    for name in {n for table in examples for key in ("garments", "bodies") for n in table.get(key, ())}:
        if "." in name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("")
    for table in examples:
        for name in (n for key in ("garments", "bodies") for n in table.get("zip", {}).get(key, ())):
            (tmp_path / name).write_text("")
    plans = [plan_of(table, "x", tmp_path) for table in examples]
    assert len(plans) >= 3
    assert f"{len(plans[0].runs)} drapes" in text


@pytest.mark.compiled
def test_a_garment_on_a_body_that_stands_may_be_held_or_not(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(drapes, "drape_scene", lambda *meshes, **how: seen.append(how) or drape_scene(*meshes, **how))
    pliant.save(tmp_path / "sheet.obj", pliant.shapes.cloth(0.3, 0.3, 5, centre=(0.0, 0.25, 0.0)))
    pliant.save(tmp_path / "ball.obj", pliant.shapes.ball(0.2, 2))
    plain = {"run": "drape", "garments": ["sheet.obj"], "bodies": ["ball.obj"], "thumbnails": False}
    for fixed in ({"frames": 1}, {"frames": 1, "hold": "none"}):
        assert done(tmp_path, plain | {"fixed": fixed})[0]["error"] is None
    assert [how.get("hold") for how in seen] == [None, "none"]

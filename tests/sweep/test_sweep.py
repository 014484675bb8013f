"""A sweep that is killed, whose workers are killed, and whose runs fail: the table is the same, bit for bit."""

import contextlib
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import pliant
from pliant import cli
from pliant.scenes import tablecloth_scene
from pliant.simulation.record import record
from pliant.sweep.plan import read_plan
from pliant.sweep.sweep import sweep
from pliant.sweep.work import RECORD
from time_limit import started

posix = pytest.mark.skipif(os.name != "posix", reason="kills whole groups of processes")
# a cloth of 16 particles on 20 triangles, for so many frames that a sweep can be killed between two runs
FRAMES = 20
SMALL = f"""
run = "drape"
bodies = ["stone.ply", "broken.ply"]
files = ["npz"]
thumbnails = false
[fixed]
frames = {FRAMES}
resolution = 4
substeps = 2
eps = 0.05
method = "brute-force"
[product]
friction = [0.1, 0.2, 0.3, 0.4]
"""
LONG = """
run = "drape"
bodies = ["stone.ply", "pebble.ply"]
files = ["npz"]
thumbnails = false
[fixed]
frames = 40
[product]
friction = [0.0, 0.2, 0.4, 0.6, 0.8]
resolution = [6, 8, 10, 12]
[random]
count = 5
seed = 3
"material.bend" = {low = 1e-5, high = 1e-3, log = true}
"""


def made(folder: pathlib.Path, text: str) -> pathlib.Path:
    """The sweep's file, with its bodies beside it."""
    folder.mkdir(exist_ok=True)
    pliant.save(folder / "stone.ply", pliant.shapes.ball(0.2, 0))
    pliant.save(folder / "pebble.ply", pliant.shapes.ball(0.2, 2))
    (folder / "broken.ply").write_bytes((folder / "stone.ply").read_bytes()[:-7])
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


def records(out: pathlib.Path) -> dict[str, int]:
    """Finished runs, and when they were written."""
    return {file.parent.name: file.stat().st_mtime_ns for file in out.glob(f"runs/*/{RECORD}")}


def kill_half_way(file: pathlib.Path, out: pathlib.Path, enough: int, workers: int) -> dict[str, int]:
    """Start the command in a group of its own, and end all of it when `enough` runs are done."""
    words = [sys.executable, "-m", "pliant", "sweep", str(file), "--out", str(out), "--workers", str(workers)]
    with started(words, start_new_session=True, stderr=subprocess.DEVNULL) as group:
        end = time.monotonic() + 300.0
        try:
            while len(records(out)) < enough and group.poll() is None and time.monotonic() < end:
                time.sleep(0.005)
        finally:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.killpg(group.pid, signal.SIGKILL)
    return records(out)


class KillOne:
    """Progress that ends one of the working processes once `after` jobs are done."""

    def __init__(self, after: int) -> None:
        self.after, self.killed = after, 0

    def __call__(self, now) -> None:
        if now.done < self.after or self.killed:
            return
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                works = b"pliant.sweep.worker" in (entry / "cmdline").read_bytes()
            except (OSError, ValueError):
                continue
            if parent == os.getpid() and works:
                os.kill(int(entry.name), signal.SIGKILL)
                self.killed = int(entry.name)
                return


def results(out: pathlib.Path) -> dict[str, bytes]:
    """All files whose bytes must not depend on what happened on the way."""
    tables = [out / name for name in ("table.csv", "table.json", "gallery.html")]
    runs = (f for f in sorted(out.glob("runs/*/*")) if f.name != "times.json")
    return {str(f.relative_to(out)): f.read_bytes() for f in [*tables, *runs]}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The small sweep, undisturbed on one process."""
    file = made(tmp_path_factory.mktemp("small"), SMALL)
    return file, sweep(read_plan(file), file.with_suffix(""), workers=1)


@posix
def test_killed_and_started_again_with_a_worker_killed_it_ends_with_the_same_files(swept):
    file, done = swept
    out = file.parent / "killed"
    there = kill_half_way(file, out, 2, 1)
    assert 2 <= len(there) < 8
    kill = KillOne(1)
    again = sweep(read_plan(file), out, workers=2, progress=kill)
    assert {name: when for name, when in records(out).items() if name in there} == there
    assert (again.before, again.now) == (len(there), 8 - len(there))
    assert results(out) == results(done.out)


def test_a_failed_run_stops_no_other_and_is_told_everywhere(swept, capsys):
    file, done = swept
    assert [done.plan.runs.index(run) for run in done.failed] == [4, 5, 6, 7]
    assert cli.run(["sweep", str(file), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["done_before"], told["done_now"], len(told["failed"])) == (8, 0, 4)
    assert "broken.ply" in told["failed"][0]["error"]
    assert "\n" not in told["failed"][0]["error"]
    page = (done.out / "gallery.html").read_text("utf-8")
    assert page.count('<article class="card failed"') == 4
    assert page.count('<article class="card"') == 4


def test_the_table_has_a_row_for_each_run_with_what_was_asked_and_found(swept):
    _, done = swept
    with open(done.out / "table.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [run.id for run in done.plan.runs]
    assert [float(row["friction"]) for row in rows] == 2 * [0.1, 0.2, 0.3, 0.4]
    plain = json.loads((done.out / "table.json").read_text("utf-8"))["rows"]
    for row, same in zip(rows[:4], plain):
        assert float(row["stretch_most"]) == same["stretch_most"] > 0.0
        assert same["contacts_most"] > 0
        assert same["penetration_m"] == 0.0
    assert len({row["stretch_mean"] for row in rows[:4]}) == 4
    assert all(row["error"] and not row["stretch_most"] for row in rows[4:])


def test_a_run_is_what_pliant_drape_computes(swept):
    file, done = swept
    body = pliant.load(file.parent / "stone.ply")
    scene = tablecloth_scene(body, resolution=4, eps=0.05, friction=0.1)
    result = record(pliant.Simulation(scene, substeps=2, method="brute-force"), FRAMES)
    figures = done.records[done.plan.runs[0].id]["figures"]
    assert figures["least_distance_m"] == result.summary["least_distance_m"]
    assert figures["fastest_at_end_m_per_s"] == result.summary["fastest_at_end_m_per_s"]


@pytest.mark.parametrize("damage", ["{", '{"format": 1, "id": "other"}', "[]", ""])
def test_a_damaged_record_is_no_record(swept, damage):
    from pliant.sweep.results import folder_of
    from pliant.sweep.work import read_record

    file, done = swept
    run = done.plan.runs[0]
    folder = file.parent / f"damaged{len(damage)}"
    folder.mkdir()
    (folder / RECORD).write_text(damage)
    assert read_record(run, folder) is None
    assert read_record(run, folder_of(done.out, run.id)) is not None


def test_too_many_pictures_are_read_from_beside_the_gallery_and_all_are_there(swept, tmp_path, monkeypatch):
    from pliant.sweep import results as module
    from pliant.sweep.work import THUMBNAIL

    _, done = swept
    pictured = {name: record | {"files": [THUMBNAIL]} for name, record in done.records.items()}
    monkeypatch.setattr(module, "MOST_EMBEDDED", 7)
    module.write_results(tmp_path, done.plan, pictured)
    page = (tmp_path / "gallery.html").read_text("utf-8")
    assert page.count('src="runs/') == 8
    assert "8 pictures are too many for one page" in page


def test_a_table_is_parquet_too_where_pyarrow_is(swept):
    parquet = pytest.importorskip("pyarrow.parquet")
    _, done = swept
    found = parquet.read_table(done.out / "table.parquet").to_pylist()
    assert found == [
        {k: row.get(k) for k in found[0]} for row in json.loads((done.out / "table.json").read_text("utf-8"))["rows"]
    ]


@posix
@pytest.mark.long
@pytest.mark.compiled
def test_two_hundred_drapes_killed_half_way_and_started_again_end_with_the_same_files(tmp_path):
    file = made(tmp_path, LONG)
    out, plan = tmp_path / "killed", read_plan(file)
    assert len(plan.runs) == 200
    began = time.monotonic()
    done = sweep(plan, tmp_path / "undisturbed", workers=2)
    print(f"undisturbed: {time.monotonic() - began:.0f} s")
    assert done.failed == []
    there = kill_half_way(file, out, 100, 2)
    kill, began = KillOne(20), time.monotonic()
    again = sweep(plan, out, workers=2, progress=kill)
    print(f"killed after {len(there)} runs; the other {again.now}, a worker killed: {time.monotonic() - began:.0f} s")
    assert 100 <= len(there) < 200
    assert kill.killed
    assert {name: when for name, when in records(out).items() if name in there} == there
    assert results(out) == results(done.out)

"""Limits in a sweep of checks: a run beyond them is done and marked, and the command ends with 1."""

import csv
import json

import numpy as np
import pytest

import pliant
from pliant import cli
from pliant.audit.check import check
from pliant.audit.findings import Limits
from pliant.sweep.plan import read_plan
from pliant.sweep.results import folder_of
from pliant.sweep.work import carry_out

pytestmark = pytest.mark.compiled  # 80 triangles each are 15 s without

SWEEP = 'run = "check"\ngarments = ["off.ply", "in.ply"]\nbodies = ["body.ply"]\nthumbnails = false\n[fixed]\n'


@pytest.fixture
def folder(tmp_path):
    """A garment beside the body, and one that is 100 mm inside of it or more."""
    ball = pliant.shapes.ball(0.2, 1)
    for name, off in (("off", 1.0), ("in", 0.2), ("body", 0.0)):
        pliant.save(tmp_path / f"{name}.ply", ball.moved(ball.vertices + np.array([off, 0.0, 0.0])))
    return tmp_path


def swept(folder, limits):
    """Exit code of the command, and the rows of its table; the runs themselves are carried out here."""
    (folder / "s.toml").write_text(SWEEP + limits)
    for run in read_plan(folder / "s.toml").runs:
        carry_out({"run": run.plain(), "folder": str(folder_of(folder / "s", run.id))})
    code = cli.run(["sweep", str(folder / "s.toml"), "--json"])
    return code, json.loads((folder / "s" / "table.json").read_text("utf-8"))["rows"]


JUDGED = [
    ('max-depth = "1mm"', Limits(depth=0.001)),
    ('max-depth = "1m"\nmin-clearance = "5mm"', Limits(depth=1.0, clearance=0.005)),
    ("max-inside = 0", Limits(inside=0)),
    ("max-depth = 1.0\nmax-body-pairs = 2", Limits(depth=1.0, body_pairs=2)),
    ("max-self = 0", Limits()),
]


@pytest.mark.parametrize(("limits", "same"), JUDGED, ids=[limits for limits, _ in JUDGED])
def test_a_run_is_judged_as_pliant_check_judges_with_the_same_options(folder, capsys, limits, same):
    code, rows = swept(folder, limits)
    worn, body = (pliant.load(folder / f"{name}.ply") for name in ("in", "body"))
    assert code == 1
    assert [(row["within_limits"], row["broken"], row["error"]) for row in rows] == [
        (True, None, None),
        (False, "; ".join(check(worn, body).broken(same)), None),
    ]
    told = json.loads(capsys.readouterr().out)
    assert (told["failed"], [run["id"] for run in told["beyond_limits"]]) == ([], [rows[1]["id"]])


def test_what_is_beyond_is_marked_in_the_gallery_the_table_and_the_report(folder):
    _, rows = swept(folder, 'max-depth = "1mm"')
    page = (folder / "s" / "gallery.html").read_text("utf-8")
    assert "<li>2 checks, 1 exceeds its limits</li>" in page
    assert page.count('<article class="card beyond"') == page.count('<article class="card"') == 1
    assert page.count(f'<p class="error">{rows[1]["broken"]}</p>') == 1
    with open(folder / "s" / "table.csv", encoding="utf-8", newline="") as stream:
        assert [row["within_limits"] for row in csv.DictReader(stream)] == ["true", "false"]
    report = json.loads((folder_of(folder / "s", rows[1]["id"]) / "report.json").read_text("utf-8"))
    assert (report["within_limits"], report["broken"]) == (False, [rows[1]["broken"]])


def test_wide_limits_are_kept_and_the_code_is_0(folder):
    code, rows = swept(folder, 'max-depth = "1m"')
    assert (code, [row["within_limits"] for row in rows]) == (0, [True, True])
    assert "<li>2 checks, all within their limits</li>" in (folder / "s" / "gallery.html").read_text("utf-8")


def test_without_limits_nothing_is_judged_and_the_gallery_says_so(folder):
    code, rows = swept(folder, "")
    assert code == 0
    assert not {"within_limits", "broken"} & set(rows[1])
    page = (folder / "s" / "gallery.html").read_text("utf-8")
    assert "<li>2 checks, none judged: no limits were given" in page
    assert "none failed" not in page


def test_a_failed_check_is_told_beside_those_that_kept_their_limits(folder):
    (folder / "off.ply").write_text("ply\nformat ascii 1.0\nelement vertex 3\n")
    code, _ = swept(folder, 'max-depth = "1m"')
    assert code == 1
    page = (folder / "s" / "gallery.html").read_text("utf-8")
    assert "<li>2 checks, 1 failed, the others within their limits</li>" in page


def test_the_command_says_which_runs_are_beyond(folder, capsys):
    swept(folder, 'max-depth = "1mm"')
    capsys.readouterr()
    assert cli.run(["sweep", str(folder / "s.toml")]) == 1
    told = capsys.readouterr()
    assert "1 of 2 runs exceed their limits" in told.err
    assert "mm deep in frame 0, 1 mm allowed" in " ".join(told.out.split())

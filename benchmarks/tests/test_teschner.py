"""The survey's table at small sizes: every figure of ours stands for a right answer."""

import json

import numpy as np
import pytest

from pliant import cli
from pliant_bench import contest, inside, teschner
from pliant_bench.contest import Entry

pytestmark = pytest.mark.compiled


def test_the_survey_comes_out_as_json_page_and_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(teschner, "FACTORS", (0.3, 1.0, 3.0))
    monkeypatch.setattr(teschner, "BUCKETS", (16, 4096))
    options = ["--quick", "--repeats", "1", "--json", "-o", "r.html", "--save", "results"]
    assert cli.run(["bench", "--paper", "teschner2005", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    (row,) = (row for row in said["tables"]["teschner2005"] if row["what"] == "spatial hash")
    assert row["wrong"] == 0
    assert row["all_ms"] > 0.0
    assert not {"ratio", "paper", "paper_ms"} & set(row)
    assert any("three blocks" in note for note in said["notes"])
    assert {cell["same"] for cell in said["tables"]["hash-cells"]} == {"yes"}
    buckets = said["tables"]["hash-buckets"]
    assert {row["same"] for row in buckets} == {"yes"}
    few, many = (sum(row["collisions"] for row in buckets if row["buckets"] == size) for size in (16, 4096))
    assert few > many
    names = ("hash-cells.svg", "hash-buckets.svg", "teschner2005.csv")
    assert all(any(name in path for path in said["written"]) for name in names)


def test_vertices_in_tets_are_all_found_and_a_peer_that_loses_one_is_found_out(monkeypatch):
    def peer(case):
        lost = np.concatenate([case.truth[1:], [[0, 0]]])
        return [Entry("Fake", lambda: lost, lambda found: inside._judge(case, found), runs_on="one")]

    monkeypatch.setattr(inside, "PEERS", {"fake": peer})
    monkeypatch.setattr(inside, "present", lambda _: "1.0")
    rows = inside.inside_table(quick=True, repeats=1).rows
    ours = [row for row in rows if row["who"].startswith(contest.OWN)]
    assert {(row["missing"], row["extra"]) for row in ours} == {(0, 0)}
    assert ours[0]["pairs"] > 50
    (theirs,) = (row for row in rows if row["who"] == "Fake")
    assert (theirs["missing"], theirs["extra"]) == (1, 1)


def test_the_scene_of_t7_is_the_one_others_were_measured_on():
    x, tets = inside.block(13, bend=7.0)
    assert (len(x), len(tets)) == (2744, 10985)
    y, more = inside.block(13, shift=(0.6, 0.3, 0.5), seed=1)
    pairs = teschner.TetHash(np.concatenate([x, y]), np.concatenate([tets, more + len(x)])).pairs()
    assert len(pairs) == 1255

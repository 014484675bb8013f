"""Spheres against the cubic on a small ribbon: tables, chart and picture; the cubic in lots is the cubic."""

import json

import numpy as np
import pytest

import pliant
from detect.made import sheet
from pliant import cli
from pliant.kernels.kinds import EDGE_TO_EDGE
from pliant_bench import quick
from pliant_bench.jung import Moment, Narrow
from pliant_bench.kernels import cubic_batches as cubic_batches


@pytest.mark.compiled
def test_the_paper_comes_out_as_json_page_and_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--quick", "--repeats", "1", "--json", "-o", "r.html", "--save", "results"]
    assert cli.run(["bench", "--paper", "jung2005", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    fall, levels, view = (said["tables"][name] for name in ("jung-fall", "jung-levels", "jung-view"))
    assert fall[-1]["contacts"] > 100
    assert all(row["spheres_us"] > 0.0 and row["plain_us"] > 0.0 for row in fall if row["candidates"])
    assert {(row["level"], row["kind"]) for row in levels} == {
        (k, kind) for k in range(4) for kind in ("vertex-face", "edge-edge")
    }
    assert {row["sure_recall_percent"] for row in levels if row["sure"]} == {100.0}
    assert all(row["extra"] == 0 and row["error_share_percent"] <= 100.0 for row in levels)
    assert view[0]["face_level"] > view[1]["face_level"]
    assert said["findings"] == [quick.LINE]
    (folder,) = (tmp_path / "results").iterdir()
    names = {"jung-fall.csv", "jung-fall.svg", "jung-levels.csv", "jung-view.csv", "jung2005.json"}
    names |= {"jung-response.csv"}
    assert all(row["disagree"] == 0 for row in said["tables"]["jung-response"] if "disagree" in row)
    assert {p.name for p in folder.iterdir()} == names
    assert "<svg" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.compiled
def test_the_cubic_in_lots_finds_what_the_cubic_finds_pair_by_pair(rng):
    cloth = sheet(9, 0.1)
    x_0 = cloth.vertices + rng.normal(size=cloth.vertices.shape) * 0.002
    narrow = Narrow(cloth)
    narrow.move(Moment(1, x_0, x_0 + rng.normal(size=x_0.shape) * 0.01))
    expected = []
    for solve, (p_0, p_1) in zip(
        (pliant.geometry.vertex_face_impact, pliant.geometry.edge_edge_impact), narrow._gathered()
    ):
        hit, time = solve(p_0, p_1, method="cubic")
        expected.append(np.sort(time[hit]))
    found, counts, times = narrow.found.copy(), narrow.counts.copy(), np.empty(narrow.found.shape[:2])
    cubic_batches.touch(narrow._motions, 1e-9, found, times, counts)
    taken = np.arange(found.shape[1]) < counts[:, None]
    edges = found[taken][:, 0] == EDGE_TO_EDGE
    for ours, theirs in zip((np.sort(times[taken][~edges]), np.sort(times[taken][edges])), expected):
        assert len(theirs) > 20
        np.testing.assert_allclose(ours, theirs, atol=1e-9)

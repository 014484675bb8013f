"""What a query to a height grid costs: the table, the chart, and that the answers are right."""

import json

import numpy as np
import pytest

from pliant import cli
from pliant_bench import height_grids, quick


@pytest.mark.parametrize("order", [height_grids.ROWS, height_grids.STEPS, height_grids.RANDOM])
def test_every_point_lies_over_the_grid_and_orders_differ_in_how_far_the_next_is(order):
    points = height_grids.points_of(order, 64, 5000)
    assert np.isfinite(height_grids.grid_of(64).sample(points)[0]).all()
    step = float(np.median(np.linalg.norm(np.diff(points[:, [0, 2]], axis=0), axis=1)))
    low, high = {height_grids.ROWS: (0.0, 2 / 63), height_grids.STEPS: (0.0, 1.1 / 100)}.get(order, (0.3, 0.7))
    assert low < step < high


@pytest.mark.compiled
def test_the_paper_comes_out_as_json_page_and_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--quick", "--repeats", "1", "--json", "-o", "r.html", "--save", "results"]
    assert cli.run(["bench", "--paper", "neal", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    cost, face = said["tables"]["neal-cost"], said["tables"]["neal-face"]
    assert {(row["nodes"], row["who"]) for row in cost} == {(n, w) for n in (64, 256) for w in ("pliant", "scipy")}
    assert max(row["error_m"] for row in cost if "error_m" in row) < 1e-12
    assert all(row["ns"] > 0.0 and "ratio" not in row for row in cost)
    assert said["findings"] == [said["notes"][-1]] == [quick.LINE]
    assert {row["who"] for row in face} == set(height_grids.WAYS)
    assert max(row["deepest_mm"] for row in face) == 0.0
    (folder,) = (tmp_path / "results").iterdir()
    names = {"neal-cost.csv", "neal-cost.svg", "neal-face.csv", "neal.json"}
    assert {p.name for p in folder.iterdir()} == names
    assert "<svg" in (tmp_path / "r.html").read_text("utf-8")

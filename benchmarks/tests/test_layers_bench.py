"""T9 and T9b at small sizes: ours is right, and a peer that loses a layer or turns a point round is found out."""

import functools

import numpy as np
import pytest

from pliant_bench import contest, layers, models
from pliant_bench.contest import Entry

pytestmark = pytest.mark.compiled


def test_layers_are_complete_and_a_peer_that_loses_one_is_found_out(monkeypatch):
    def peer(case):
        (ours,) = layers._ours(case)
        image = ours.work()
        full = next(k for k in case.pixels if image.start[k + 1] > image.start[k])
        start = image.start[:-1].copy()
        start[full + 1 :] -= 1
        lost = np.delete(image.depth, image.start[full])
        return [Entry("Fake", lambda: lost, lambda depth: layers._judge(case, start, depth), runs_on="one")]

    monkeypatch.setattr(layers, "PEERS", {"fake": peer})
    monkeypatch.setattr(layers, "present", lambda _: "1.0")
    rows = layers.layers_table(quick=True, repeats=1).rows
    ours = [row for row in rows if row["who"] == contest.OWN]
    assert {(row["odd"], row["wrong"]) for row in ours} == {(0, 0)}
    assert max(row["error"] for row in ours) < 1e-3
    assert {(row["odd"], row["wrong"]) for row in rows if row["who"] == "Fake"} == {(1, 1)}


def test_points_inside_are_right_and_a_peer_that_turns_one_round_is_found_out(monkeypatch):
    def peer(case):
        found = case.ours.copy()
        found[case.rows[0]] ^= True
        return [Entry("Fake", lambda: found, functools.partial(layers._judge_inside, case), runs_on="one")]

    monkeypatch.setattr(layers, "INSIDE_PEERS", {"fake": peer})
    monkeypatch.setattr(layers, "present", lambda _: "1.0")
    rows = layers.inside_table(quick=True, repeats=1).rows
    ours = [row for row in rows if row["who"] == contest.OWN]
    assert {(row["wrong"], row["off_ours"]) for row in ours} == {(0, 0)}
    assert [(row["wrong"], row["off_ours"]) for row in rows if row["who"] == "Fake"] == [(1, 1)]


def test_the_survey_has_a_row_for_images_and_one_for_points():
    rows = layers.survey_rows(quick=True, repeats=1, folder=None, progress=lambda _: None)
    assert [(row["what"], row["wrong"]) for row in rows] == [("layered depth image", 0), ("points inside", 0)]
    assert all(row["ratio"] == pytest.approx(row["paper_ms"] / row["all_ms"]) for row in rows)


def test_the_torus_is_closed_and_as_large_as_it_says():
    torus = models.bumpy_torus(30)
    assert (torus.n_faces, torus.issues.closed, torus.issues.inward) == (1800, True, False)

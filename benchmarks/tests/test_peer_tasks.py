"""T3 to T8 at small sizes: ours is right with no peer at all, and a peer stands beside it with its ratio."""

import functools

import numpy as np
import pytest

import pliant
from pliant.report.tables import Table
from pliant_bench import cloth_step, cloths, contest, nearest, pairs, proximity, referee, steps
from pliant_bench.contest import Entry

pytestmark = pytest.mark.compiled
MODULES = {"T3": nearest, "T4": proximity, "T5": steps, "T6": pairs}


@pytest.fixture
def beside(monkeypatch):
    """Take the peers of a task away, or put one in their place: a function from the case to an Entry."""

    def put(module, make=None, name="PEERS") -> None:
        monkeypatch.setattr(module, name, {} if make is None else {"fake": lambda case: [make(case)]})
        monkeypatch.setattr(module, "present", lambda wanted: "1.0" if wanted == "fake" else None)

    return put


def _fake(work, check) -> Entry:
    return Entry("Fake", work, check, runs_on="one", note="made up")


def test_nearest_points_of_ours_are_exact_and_a_wrong_peer_is_found_out(beside) -> None:
    def peer(case) -> Entry:
        far = pliant.closest_point(case.mesh, case.points)[1] + 0.25
        return _fake(lambda: far, functools.partial(nearest._judge_points, case))

    beside(nearest, peer)
    rows = nearest.nearest_table(quick=True, repeats=1).rows
    ours, theirs = ([row for row in rows if row["who"] == who] for who in ("pliant", "Fake"))
    assert {row["case"] for row in ours} == {"1,280 faces, near", "1,280 faces, anywhere"}
    assert max(row["error"] for row in ours) < 1e-12
    assert min(row["off_ours"] for row in theirs) > 0.01
    assert [row["ratio"] == pytest.approx(row["us"] / own["us"]) for own, row in zip(ours[::2], theirs)] == [True, True]


def test_pairs_of_cloth_are_complete_and_a_peer_that_loses_some_is_found_out(beside) -> None:
    def peer(case) -> Entry:
        fewer = (case.truth[0][1:], np.concatenate([case.truth[1], [[0, 0]]]))
        return _fake(lambda: fewer, lambda found: referee.differ(found, case.truth))

    beside(proximity, peer)
    rows = proximity.proximity_table(quick=True, repeats=1, method="brute-force").rows
    ours, theirs = ([row for row in rows if row["who"] == who] for who in ("pliant", "Fake"))
    assert {(row["missing"], row["extra"]) for row in ours} == {(0, 0)}
    assert [(row["missing"], row["extra"]) for row in theirs] == [(0, 1), (1, 1), (1, 1)]
    found = {row["case"]: (row["vertex_face"], row["edge_edge"]) for row in ours}
    # what the IPC Toolkit (by exact distances) and Newton count as well
    assert found == {"6x20 flat": (0, 0), "6x20 folded": (810, 2229), "6x20 crumpled": (415, 1320)}


def test_the_tree_finds_the_pairs_that_brute_force_finds(beside) -> None:
    beside(proximity)
    rows = proximity.proximity_table(quick=True, repeats=1).rows
    assert {(row["who"], row["missing"], row["extra"]) for row in rows} == {("pliant", 0, 0)}


def test_steps_are_not_late_and_a_late_one_is_found_out(beside) -> None:
    def peer(case) -> Entry:
        return _fake(lambda: min(1.0, case.truth + 1e-3), functools.partial(steps._judge, case))

    beside(steps, peer)
    rows = steps.steps_table(quick=True, repeats=1).rows
    theirs = {row["case"]: row["late"] for row in rows if row["who"] == "Fake"}
    assert theirs == {
        f"6x20 {state} {kind}": "LATE" if kind == "hit" else "no"
        for state in ("folded", "crumpled")
        for kind in ("miss", "hit")
    }
    assert {(row["late"], row["of_true"] > 0.8) for row in rows if row["who"] == "pliant"} == {("no", True)}


def test_crossings_are_complete_and_a_peer_that_adds_one_is_found_out(beside) -> None:
    def peer(case) -> Entry:
        more = np.concatenate([case.truth, [[0, 0]]])
        return _fake(lambda: more, functools.partial(pairs._judge, case))

    beside(pairs, peer)
    rows = pairs.pairs_table(quick=True, repeats=1).rows
    # what Coal and FCL find as well
    assert {(row["pairs"], row["missing"], row["extra"]) for row in rows if row["who"] == "pliant"} == {(186, 0, 0)}
    assert [(row["pairs"], row["extra"]) for row in rows if row["who"] == "Fake"] == [(187, 1)]


def test_a_tree_that_was_refitted_holds_the_last_frame(beside) -> None:
    beside(pairs, lambda case: _fake(int, lambda _: {}), "REFITS")
    table = pairs.refit_table(quick=True, repeats=1)
    assert {row["box_right"] for row in table.rows if row["who"] == "pliant"} == {"yes"}
    assert [row["note"] for row in table.rows if row["who"] == "Fake"] == ["made up"]


def test_a_strip_falls_without_crossing_and_is_judged(monkeypatch) -> None:
    monkeypatch.setattr(cloth_step, "present", lambda _: None)
    small = cloth_step.Setting((6, 14), 16)
    monkeypatch.setattr(cloth_step, "Setting", lambda *_: small)
    rows = cloth_step.cloth_table(quick=True).rows
    assert {row["who"] for row in rows} == set(cloth_step.MODES)
    assert {(row["depth_mm"], row["ground_mm"], row["crossings"]) for row in rows} == {(0.0, 0.0, 0)}
    assert 0.0 < rows[0]["stretch_mean_percent"] < 1.0
    keys = ("stretch_mean_percent", "stretch_max_percent")
    for who in cloth_step.MODES:  # the same on any number of threads
        assert len({tuple(row[key] for key in keys) for row in rows if row["who"] == who}) == 1


def test_participants_are_compared_at_equal_strain() -> None:
    rows = [
        {"who": "pliant", "threads": 1, "ms": 20.0, "cpu": 10.0, "strain_95": 0.5, "note": '"safe"'},
        {"who": "pliant push", "threads": 1, "ms": 1.0, "cpu": 1.0, "strain_95": 0.5, "note": '"push"'},
        {"who": "Newton VBD 1 x 10", "threads": 1, "ms": 30.0, "cpu": 30.0, "strain_95": 9.0, "note": ""},
        {"who": "Newton VBD 20 x 2", "threads": 1, "ms": 200.0, "cpu": 170.0, "strain_95": 1.5, "note": ""},
        {"who": "Newton Style3D 1 x 3", "threads": 1, "ms": 20.0, "cpu": 20.0, "strain_95": 0.4, "note": ""},
        {"who": "Newton XPBD, no self-contact", "threads": 1, "ms": 5.0, "cpu": 5.0, "strain_95": 1.0, "note": ""},
    ]
    rows = cloth_step.at_equal_strain([row | {"strain_most": 3.0, "crossings_most": 0} for row in rows])
    ratios = [row.get("ratio_strain") for row in rows]
    assert ratios == [None, None, pytest.approx(3.0), pytest.approx(17.0), None, None]
    said = cloth_step.strain_findings(Table("t8-cloth", "", cloth_step.COLUMNS, rows))
    assert len(said) == 3
    assert "pliant, 1 thread: 10.0 ms" in said[0]
    assert "Newton VBD 20 x 2" in said[1]
    assert said[1].endswith("17.0 times as long as pliant (17.0 at its strain)")
    assert said[2].endswith("2.0 times as long as pliant")  # which has no variant with so little strain


def test_the_metric_of_a_fall_sees_each_fault() -> None:
    setting = cloth_step.Setting((8, 24))
    mesh = setting.strip
    good = cloth_step.quality(mesh.vertices, mesh.faces, setting)
    assert good["stretch_max_percent"] == pytest.approx(0.0, abs=1e-9)
    assert (good["depth_mm"], good["ground_mm"], good["crossings"]) == (0.0, 0.0, 0)
    lower = mesh.vertices - (0.0, 0.04, 0.0)
    assert cloth_step.quality(lower, mesh.faces, setting)["depth_mm"] == pytest.approx(10.0, abs=0.2)
    assert cloth_step.quality(lower - (0.0, 0.55, 0.0), mesh.faces, setting)["ground_mm"] == pytest.approx(10.0)
    longer = cloth_step.quality(mesh.vertices * (1.0, 1.0, 1.1), mesh.faces, setting)
    assert longer["stretch_max_percent"] == pytest.approx(10.0)
    x = mesh.vertices.copy()
    x[0] = x[100] + (0.001, -0.01, 0.002)
    x[1] += (0.0, 0.02, 0.0)
    assert cloth_step.quality(x, mesh.faces, setting)["crossings"] > 0
    assert cloth_step.quality(x * np.nan, mesh.faces, setting) == {"note": "diverged"}


def test_every_task_says_how_it_is_measured() -> None:
    for task in (nearest.TASK, proximity.TASK, steps.TASK, pairs.TASK, pairs.REFIT_TASK, cloth_step.TASK):
        assert task.unit in contest.UNITS
        assert task.about.startswith("T")
    assert len(cloths.SIZES) == 3

"""`pliant bench`: what it measures, says and refuses; peers are absent here, which is no error."""

import csv
import inspect
import json
import pathlib
import platform
import re
import sys

import pytest

import pliant
from pliant import cli
from pliant.report.tables import Column, Report, Table
from pliant_bench import command, openvdb, quick, suite, whole
from pliant_bench.peers import PACKAGES


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """No peers, no originals, an empty folder to work in."""
    for module in PACKAGES:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(openvdb, "version", lambda: None)
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return ["--data", "../data", "--quick", "--repeats", "1"]


@pytest.mark.compiled
def test_peers_that_are_absent_are_listed_and_ours_is_right(alone, capsys) -> None:
    assert cli.run(["bench", "peers", "t1", *alone, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    rows = said["tables"]["t1-bake"]
    assert {(row["who"], row["covered_percent"], row["wrong_signs"]) for row in rows} == {("pliant", 100.0, 0)}
    assert max(row["error_max_cells"] for row in rows) < 1e-3
    states = said["about"]["peers"]
    assert all(states[name].startswith("absent") for name in ("OpenVDB", "Open3D", "Warp", "libigl"))


@pytest.mark.compiled
def test_sampling_in_bricks_and_densely_gives_the_same_errors_as_scipy(alone, capsys) -> None:
    assert cli.run(["bench", "peers", "T2", *alone, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["t2-sample"]
    for where in {row["where"] for row in rows}:
        checked = [row for row in rows if row["where"] == where and row["threads"] == 1 and row.get("checked")]
        assert {row["who"] for row in checked} == {"pliant sparse", "pliant dense", "scipy"}
        worst = [row["error_max_cells"] for row in checked]
        assert worst == pytest.approx([worst[0]] * 3, abs=1e-4)
        assert worst[0] < 0.866


@pytest.mark.compiled
def test_growth_is_shown_saved_and_drawn(alone, capsys, tmp_path) -> None:
    assert cli.run(["bench", "growth", *alone, "-o", "r.html", "--save", "results"]) == 0
    out = capsys.readouterr().out
    assert "slope" in out
    (folder,) = (tmp_path / "work" / "results").iterdir()
    assert folder.name.endswith(f"-core-{platform.machine().lower()}")
    rows = list(csv.DictReader((folder / "growth.csv").open(encoding="utf-8")))
    assert {row["mesh"] for row in rows} == {"bumpy sphere", "bust"}
    assert sorted(p.name for p in folder.iterdir()) == ["growth.csv", "growth.json", "growth.svg"]
    page = (tmp_path / "work" / "r.html").read_text("utf-8")
    assert "<svg" in page
    assert str(tmp_path) not in page + (folder / "growth.json").read_text("utf-8")


@pytest.mark.compiled
def test_the_papers_table_names_what_could_not_be_had(alone, capsys, tmp_path) -> None:
    ball = pliant.shapes.ball(0.1, 2)
    pliant.save(tmp_path / "data" / "bunny_69451.ply", ball.moved(ball.vertices * (1.0, 0.2, 0.2)))  # few nodes
    assert cli.run(["bench", "--paper", "fuhrmann2003", *alone]) == 0
    out = capsys.readouterr().out
    for words in ("not at hand: Skull", "Turbine", "delta", "hausdorff"):
        assert words in out
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    assert lines[0] == lines[-1] == quick.LINE
    for words in (
        "9,274,604",
        "must",
        "missed",
        "faster",
        "times-real-time",
        "1 024",
        "272 cells",
        "real time: at most",
    ):
        assert words not in out, words


@pytest.mark.compiled
def test_tasks_of_trees_and_cloth_come_out_as_json_page_and_files(alone, capsys, tmp_path) -> None:
    tasks = ["T3", "t4", "t5", "T6", "t6B", "T8"]
    assert cli.run(["bench", "peers", *tasks, *alone, "--json", "-o", "r.html", "--save", "results"]) == 0
    said = json.loads(capsys.readouterr().out)
    names = ["t3-nearest", "t4-proximity", "t5-step", "t6-pairs", "t6b-refit", "t8-cloth"]
    assert list(said["tables"]) == names
    assert all(state.startswith("absent") for name, state in said["about"]["peers"].items() if name != "scipy")
    assert {row["who"].partition(" ")[0] for rows in said["tables"].values() for row in rows} == {"pliant"}
    for task in ("T3:", "T4:", "T5:", "T6:", "T6b:", "T8:"):
        assert any(note.startswith(task) for note in said["notes"])
    page = (tmp_path / "work" / "r.html").read_text("utf-8")
    (folder,) = (tmp_path / "work" / "results").iterdir()
    for name in names:
        assert f"{name}.csv" in [path.name for path in folder.iterdir()]
    assert page.count("<h2>") == len(names)
    assert "nearest point of a surface" in page


def test_the_help_names_every_benchmark() -> None:
    text = inspect.getsource(command)
    names = [*suite.TASKS, *suite.REPORTS, *suite.PAPERS]
    assert [name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []


BAD = [
    (
        [],
        "name a benchmark, one of: peers, garments, gradients, gpu, growth, skins, stochastic, trees, --paper",
    ),
    (["peers", "--paper", "fuhrmann2003"], "name a benchmark, one of:"),
    (["fuhrmann2003"], "fuhrmann2003 is a paper; did you mean --paper fuhrmann2003?"),
    (["pears"], "did you mean 'peers'?"),
    (["peers", "T99"], "unknown task 'T99'"),
    (["growth", "T1"], "only peers has tasks"),
    (["--paper", "nobody1999"], "nobody1999"),
    (["peers", "--repeats", "0"], "repeats = 0"),
    (["growth", "--data", "nowhere"], "nowhere is not a folder"),
    (["growth", "-o", "r.txt"], "unknown extension '.txt'"),
    (["growth", "--only", "skirt"], "--only is for pliant bench garments"),
    (["garments", "--sizes", "5"], "sizes = 5"),
    (["garments", "--only", "sofa"], "no such character and garment here; there are: mannequin/snug-top"),
]
if pathlib.Path("/proc").is_dir():  # where nobody can write, not even root
    BAD.append((["growth", "--save", "/proc/nowhere"], "cannot write /proc/nowhere"))


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_use_is_exit_code_2_and_leaves_no_file(alone, capsys, tmp_path, words, said) -> None:
    assert cli.run(["bench", *words]) == 2
    out, talk = capsys.readouterr()
    assert out == ""
    assert said in talk
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.compiled
def test_everything_on_one_page_goes_on_where_a_part_fails(alone, capsys, tmp_path, monkeypatch) -> None:
    def broken(**_):
        raise FileNotFoundError("no such mesh: rabbit.ply")

    some = {name: whole.chapters()[name] for name in ("growth", "peers T3")} | {"neal": broken}
    monkeypatch.setattr(whole, "chapters", lambda: some)
    assert cli.run(["bench", "--report", "all.html", "--save", "results", *alone, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [row["chapter"] for row in said["tables"]["chapters"]] == ["growth", "peers T3", "neal"]
    wanted = "neal could not be measured: FileNotFoundError: no such mesh: rabbit.ply (test_command.py, line "
    assert any(text.startswith(wanted) for text in said["findings"])
    assert "T3" not in said["findings"][0]  # nobody took part, and a task that was not measured says nothing
    page = (tmp_path / "work" / "all.html").read_text("utf-8")
    assert 'href="#peers-t3"' in page
    assert 'id="peers-t3"' in page
    assert str(tmp_path) not in page
    (folder,) = (tmp_path / "work" / "results").iterdir()
    assert {"growth.csv", "growth.json", "t3-nearest.csv", "peers-t3.json"} <= {p.name for p in folder.iterdir()}


def test_the_fastest_other_on_as_many_threads_is_the_rival() -> None:
    rows = [
        {"case": "a", "who": "pliant", "threads": 1, "ms": 2.0},
        {"case": "a", "who": "pliant", "threads": 2, "ms": 1.0},
        {"case": "a", "who": "slow", "threads": 2, "ms": 9.0},
        {"case": "a", "who": "fast", "threads": 2, "ms": 3.0},
        {"case": "a", "who": "alone", "threads": 1, "ms": 0.5},
        {"case": "b", "who": "pliant", "threads": 2, "ms": 1.0},
    ]
    table = Table("t3-nearest", "", [Column("case"), Column("ms"), Column("who")], rows)
    chapter = whole.Chapter("peers T3", Report(title="", findings=[], tables=[table]), "", 1.0)
    (found,) = [t.rows for t in whole.summary([chapter]).tables if t.name == "rivals"]
    wanted = [("a", 1, "alone", 0.25), ("a", 2, "fast", 3.0)]
    assert [(row["case"], row["threads"], row["rival"], row["times"]) for row in found] == wanted

"""`pliant check` in continuous integration: many files, limits in pliant.toml, JUnit and SARIF."""

import json
import pathlib
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pliant
from pliant import Mesh, cli, shapes

pytestmark = pytest.mark.compiled
BALL = shapes.ball(0.1, 3)


def sheet(height: float) -> Mesh:
    cloth = shapes.cloth(0.3, 0.3, 13)
    return cloth.moved(cloth.vertices + np.array([0.003, height, 0.001]))


def save_parts(path: pathlib.Path, **parts: Mesh) -> None:
    """An OBJ whose objects are the parts."""
    lines, first = [], 1
    for name, mesh in parts.items():
        lines += [f"o {name}", *(f"v {a!r} {b!r} {c!r}" for a, b, c in mesh.vertices.tolist())]
        lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + first).tolist()]
        first += mesh.n_vertices
    path.write_text("\n".join(lines))


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A repository with a ball, a cloth that clips 5 mm of it and one that does not, and two characters."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "characters").mkdir()
    pliant.save(tmp_path / "ball.ply", BALL)
    pliant.save(tmp_path / "clips.obj", sheet(0.095))
    pliant.save(tmp_path / "clear.obj", sheet(0.102))
    for name, height in (("good", 0.102), ("bad", 0.095)):
        save_parts(tmp_path / "characters" / f"{name}.obj", Skin=BALL, Skirt=sheet(height))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *words: str) -> dict:
    code = cli.run(["check", *words, "--json"])
    return json.loads(capsys.readouterr().out) | {"code": code}


def test_several_files_have_a_row_each_and_one_exit_code(here, capsys):
    assert cli.run(["check", "clear.obj", "clips.obj", "--body", "ball.ply"]) == 1
    out, talk = capsys.readouterr()
    assert "2 checks, 1 failed" in out
    rows = {line.split()[0]: line for line in out.splitlines() if ".obj" in line}
    assert "within limits" in rows["clear.obj"]
    assert "exceeds limits" in rows["clips.obj"]
    assert "warning: clips.obj: 4.76 mm deep" in talk
    both = said(capsys, "clear.obj", "clips.obj", "--body", "ball.ply")
    assert [each["within_limits"] for each in both["checks"]] == [True, False]
    assert both["checks"][1]["violations"][0]["rule"] == "penetration"


def test_two_files_without_a_body_say_how_to_name_one(here, capsys):
    assert cli.run(["check", "clear.obj", "ball.ply"]) == 0
    assert "--body names the body" in capsys.readouterr().err


def test_a_bad_file_among_others_is_an_error_and_the_others_are_checked(here, capsys):
    pathlib.Path("broken.obj").write_text("v 0 0\n")
    found = said(capsys, "broken.obj", "clear.obj", "--junit", "out.xml", "--sarif", "out.sarif")
    assert found["code"] == 2
    assert "broken.obj" in found["checks"][0]["error"]
    assert found["checks"][1]["within_limits"]
    suites = ET.parse("out.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("2", "0", "1")
    run = json.loads(pathlib.Path("out.sarif").read_text())["runs"][0]
    assert not run["invocations"][0]["executionSuccessful"]
    assert [result["ruleId"] for result in run["results"]] == ["unreadable"]


def test_a_folder_of_characters_is_checked_file_by_file(here, capsys):
    for name, height in (("a", 0.102), ("b", 0.095)):
        pliant.save(here / "characters" / f"{name}.glb", sheet(height))
    found = said(capsys, "characters", "--body", "ball.ply")
    assert [pathlib.Path(each["file"]).name for each in found["checks"]] == ["a.glb", "b.glb"]
    assert [each["within_limits"] for each in found["checks"]] == [True, False]


def test_pliant_toml_lists_files_parts_and_limits(here, capsys):
    (here / "pliant.toml").write_text(
        """
        [check]
        max-depth = "1mm"

        [[check.case]]
        files = "characters/*.obj"
        part = "Skirt"
        body-part = "Skin"

        [[check.case]]
        files = ["clips.obj"]
        body = "ball.ply"
        max-depth = 0.006
        """
    )
    found = said(capsys)
    results = {pathlib.Path(each["file"]).name: each["within_limits"] for each in found["checks"]}
    assert results == {"bad.obj": False, "good.obj": True, "clips.obj": True}
    assert found["code"] == 1
    assert said(capsys, "--max-depth", "6mm")["code"] == 0  # the command line wins
    assert said(capsys, "clips.obj")["within_limits"]  # a file that is typed has the case that lists it
    assert said(capsys, "clips.obj", "--max-depth", "0")["code"] == 1
    (here / "deep").mkdir()
    assert cli.run(["check", "characters/bad.obj", "--config", "pliant.toml"]) == 1


def test_pliant_toml_is_found_above_but_not_outside_the_repository(here, capsys, monkeypatch):
    (here / "pliant.toml").write_text("[check]\nmax-self = 3\n")
    monkeypatch.chdir(here / "characters")
    assert cli.run(["check", "good.obj", "--part", "Skirt"]) == 0
    assert "pliant.toml" in capsys.readouterr().err
    (here / "characters" / ".git").mkdir()
    assert cli.run(["check", "good.obj", "--part", "Skirt"]) == 0
    assert "pliant.toml" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[check]\nmax-deth = 1\n", "'max-deth'"),
        ("[check]\nmax-self = '1'\n", "a whole number"),
        ("[check]\nmax-self = true\n", "a whole number"),
        ("[[check.case]]\npart = 'A'\n", "needs files"),
        ("[[check.case]]\nfiles = 'none*.glb'\n", "no file matches"),
        ("[[check.case]]\nfiles = '/tmp/*.glb'\n", "relative"),
        ("[check\n", "not TOML"),
        ("check = 3\n", "must be a table"),
        ("[check]\nmax-depth = 'five'\n[[check.case]]\nfiles = 'clips.obj'\n", "--max-depth"),
        ("", "no [[check.case]]"),
    ],
)
def test_a_bad_pliant_toml_is_one_clear_error(here, capsys, text, told):
    (here / "pliant.toml").write_text(text)
    assert cli.run(["check"]) == 2
    talk = capsys.readouterr().err
    assert told in talk
    assert "Traceback" not in talk


def test_nothing_to_check_is_an_error(here, capsys):
    assert cli.run(["check"]) == 2
    assert "name a file" in capsys.readouterr().err


def test_junit_has_a_suite_per_file_and_a_case_per_limit(here, capsys):
    words = "clear.obj", "clips.obj", "--body", "ball.ply", "--min-clearance", "1mm", "--junit", "out.xml"
    assert said(capsys, *words)["files"] == ["out.xml"]
    suites = ET.parse("out.xml").getroot()
    assert (suites.tag, suites.get("tests"), suites.get("failures")) == ("testsuites", "6", "2")
    good, bad = suites
    assert [case.get("name") for case in good] == ["penetration", "clearance", "self-intersection"]
    failed = {case.get("name"): case.find("failure") for case in bad}
    assert "deep in frame 0, 0 mm allowed" in failed["penetration"].get("message")
    assert "required" in failed["clearance"].get("message")
    assert failed["self-intersection"] is None


def test_names_that_xml_and_uris_cannot_hold_are_escaped(here, capsys):
    odd = 'a & "b" <ü>.obj'
    pliant.save(odd, sheet(0.095))
    said(capsys, odd, "-b", "ball.ply", "--junit", "out.xml", "--sarif", "out.sarif")
    assert ET.parse("out.xml").getroot()[0].get("name") == odd
    result = json.loads(pathlib.Path("out.sarif").read_text("utf-8"))["runs"][0]["results"][0]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20%26%20%22b%22%20%3C%C3%BC%3E.obj"
    assert odd in result["message"]["text"]


def test_sarif_has_a_result_per_exceeded_limit_with_rule_frame_and_file(here, capsys):
    said(capsys, "clips.obj", "clear.obj", "-b", "ball.ply", "--sarif", "out.sarif")
    log = json.loads(pathlib.Path("out.sarif").read_text())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    results = [result for result in run["results"] if result["level"] == "error"]
    assert [result["ruleId"] for result in results] == ["penetration"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    assert results[0]["properties"] == {"frame": 0, "time_s": 0.0}
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "clips.obj"


def test_pages_of_several_checks_go_into_a_folder(here, capsys, small_pictures):
    found = said(capsys, "clear.obj", "clips.obj", "clips.obj", "-b", "ball.ply", "--report", "pages")
    assert found["files"] == [str(pathlib.Path("pages", f"{name}.html")) for name in ("clear", "clips", "clips-2")]
    assert all(pathlib.Path(name).is_file() for name in found["files"])
    assert cli.run(["check", "clear.obj", "clips.obj", "--report", "page.html"]) == 2
    assert "name a folder" in capsys.readouterr().err

"""`pliant check` in continuous integration: many files, limits in pliant.toml, JUnit and SARIF."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pliant
from pliant import Mesh, cli, shapes
from pliant.report.check_formats import CheckedCase, write_junit, write_sarif

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


def test_junit_fits_the_schema_that_jenkins_validates(here, capsys):
    """Elements and attributes of junit-10.xsd, the schema of Jenkins' xUnit plugin."""
    odd = "skirt\x01\x1b[0m.obj"
    pathlib.Path(odd).write_text("v 0 0\n")
    said(capsys, odd, "clips.obj", "clear.obj", "-b", "ball.ply", "--junit", "out.xml", "--sarif", "out.sarif")
    fields = {
        "testsuites": {"name", "time", "tests", "failures", "errors"},
        "testsuite": {"name", "tests", "failures", "errors", "time"},
        "testcase": {"name", "classname"},
        "failure": {"type", "message"},
        "error": {"type", "message"},
        "system-out": set(),
    }
    inside = {"testsuites": {"testsuite"}, "testsuite": {"testcase", "system-out"}, "testcase": {"failure", "error"}}
    root = ET.parse("out.xml").getroot()
    for element in root.iter():
        assert set(element.attrib) == fields[element.tag]
        assert {child.tag for child in element} <= inside.get(element.tag, set())
        if element.tag in ("failure", "error"):
            assert element.text == element.get("message")
        if element.tag.startswith("testsuite"):
            assert re.fullmatch(r"\d+\.\d{3}", element.get("time"))
            for kind in ("failures", "errors"):
                assert int(element.get(kind)) == len(list(element.iter(kind[:-1])))
            assert int(element.get("tests")) == len(list(element.iter("testcase")))
    assert root[0].get("name") == "skirt\ufffd\ufffd[0m.obj"


def test_a_name_that_is_no_text_is_written_all_the_same(here):
    name = os.fsdecode(b"cl\xffps.obj")
    case = CheckedCase(pathlib.Path(name), name, 0.1, ["penetration"], [], [], f"{name}: truncated")
    write_junit("out.xml", [case])
    write_sarif("out.sarif", [case], {"penetration": "It penetrates."})
    assert name.replace("\udcff", "\ufffd") == ET.parse("out.xml").getroot()[0].get("name")
    (result,) = json.loads(pathlib.Path("out.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert result["message"]["text"] == "cl?ps.obj: truncated"


def test_sarif_keeps_the_rules_of_the_standard_and_of_code_scanning(here, capsys, monkeypatch):
    """SARIF 2.1.0, 3.13 to 3.52: required properties and their types; GitHub also wants a line and a fingerprint."""
    monkeypatch.chdir(here / "characters")
    words = "../clips.obj", "../missing_.obj", "bad.obj", "-b", "../ball.ply", "--sarif", "out.sarif"
    pathlib.Path("../missing_.obj").write_text("v 0 0\n")
    said(capsys, *words)
    log = json.loads(pathlib.Path("out.sarif").read_text("utf-8"))
    assert set(log) == {"$schema", "version", "runs"}
    (run,) = log["runs"]
    assert set(run) == {"tool", "invocations", "results"}
    driver = run["tool"]["driver"]
    assert set(driver) == {"name", "version", "rules"}
    assert all(set(rule) == {"id", "shortDescription"} for rule in driver["rules"])
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"] == {"startLine": 1}
        assert re.fullmatch("[0-9a-f]{16}:1", result["partialFingerprints"]["primaryLocationLineHash"])
    places = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert places == {"clips.obj", "missing_.obj", "characters/bad.obj"}  # from the root of the repository
    assert len({json.dumps(each["partialFingerprints"]) for each in run["results"]}) == len(run["results"])


def test_a_body_that_is_typed_stands_for_its_garments(here, capsys):
    """A commit that changes a body alone checks what is worn on it, and one that changes both checks it once."""
    (here / "pliant.toml").write_text("[[check.case]]\nfiles = ['clips.obj', 'clear.obj']\nbody = 'ball.ply'\n")
    found = said(capsys, "ball.ply", "clips.obj")
    assert [each["file"] for each in found["checks"]] == ["clips.obj", "clear.obj"]
    found = said(capsys, "clips.obj", "ball.ply")
    assert [each["file"] for each in found["checks"]] == ["clips.obj", "clear.obj"]
    assert found["code"] == 1


def test_characters_in_folders_of_their_own_are_found(here, capsys):
    for name, height in (("ann", 0.102), ("bea", 0.095)):
        (here / "cast" / name).mkdir(parents=True)
        pliant.save(here / "cast" / name / "hero.glb", sheet(height))
    found = said(capsys, "cast", "--body", "ball.ply")
    assert [pathlib.Path(each["file"]).parts[1] for each in found["checks"]] == ["ann", "bea"]


INTEGRATIONS = pathlib.Path(__file__).parents[2]


def test_the_hook_and_the_action_run_what_they_say(here, capsys):
    """The shell of the action's step, on files with spaces in their names, and the entry of the hook."""
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((INTEGRATIONS / ".pre-commit-hooks.yaml").read_text())
    assert hook["require_serial"]
    assert re.search(hook["files"], "clips.obj")
    assert cli.run([*hook["entry"].split()[1:], "clips.obj", "clear.obj", "--body", "ball.ply"]) == 1
    action = yaml.safe_load((INTEGRATIONS / "integrations/github/action.yml").read_text())
    workflow = yaml.safe_load((INTEGRATIONS / "integrations/github/check-garments.yml").read_text())
    given = next(step for step in workflow["jobs"]["check"]["steps"] if "pliant-check" in step.get("uses", ""))["with"]
    assert set(given) <= set(action["inputs"])
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= set(given)
    if shutil.which("bash") is None:
        return
    step = action["runs"]["steps"][-1]
    pathlib.Path("clips.obj").rename("a coat.obj")
    pathlib.Path("pliant").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pliant "$@"\n')
    pathlib.Path("pliant").chmod(0o755)
    environment = os.environ | {
        "ARGUMENTS": '"a coat.obj" --body ball.ply',
        "PATH": f".{os.pathsep}{os.environ['PATH']}",
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    ended = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 1, ended.stderr
    assert ET.parse("pliant-check/junit.xml").getroot().get("failures") == "1"
    (result,) = [
        r
        for r in json.loads(pathlib.Path("pliant-check/results.sarif").read_text())["runs"][0]["results"]
        if r["level"] == "error"
    ]
    assert result["ruleId"] == "penetration"

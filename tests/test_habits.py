"""What the repository tells contributors agrees with what it contains."""

import ast
import pathlib
import re
import tomllib

import pytest

import pliant

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[0].split())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_make_help_has_one_line_for_each_target() -> None:
    lines = re.findall(r"^([a-z-]+):.*?## (.*)$", MAKEFILE, re.M)
    assert sorted(name for name, _ in lines) == sorted(TARGETS)
    assert [text for _, text in lines if len(text) > 100] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_call_make_targets_on_three_systems_with_pinned_actions(path: pathlib.Path) -> None:
    text = path.read_text("utf-8")
    runs = re.findall(r"run: (.*)$", text, re.M)
    assert runs
    assert {re.match(r"make ([a-z-]+)", run)[1] for run in runs} <= TARGETS  # type: ignore[index]
    assert [action for action in re.findall(r"uses: (\S+)", text) if not re.search(r"@v\d+$", action)] == []
    assert {"ubuntu", "windows", "macos"} <= set(re.findall(r"(\w+)-latest", text))


def test_the_citation_has_the_version_of_the_package() -> None:
    assert f"\nversion: {pliant.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_architecture_lists_the_layers_that_the_contracts_prove() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers, storeys = ([re.split(r" [|:] ", line) for line in part["layers"]] for part in contracts[:2])
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    part = text[text.index("## Imports") : text.index("Within `detect`")]
    told = [re.findall(r"`(\w+)`", line) for line in re.findall(r"^\d+\. (.*)$", part, re.M)]
    assert told == layers
    assert len(layers) <= 12
    order = re.search(r"Within `detect`, the order is (.*)\.", text)
    assert order is not None
    assert [[name] for name in re.findall(r"`(\w+)`", order[1])] == storeys


def test_the_architecture_shows_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    tree = text[text.index("```text\nsrc/pliant/") : text.index("## Imports")]
    package = ROOT / "src" / "pliant"
    rooms = [p.parent.name for room in ("", "detect", "kernels") for p in (package / room).glob("*/__init__.py")]
    modules = [p.name for p in package.glob("[!_]*.py")]
    assert [name for name in (*(f"{room}/" for room in rooms), *modules) if name not in tree] == []


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table, package, missing = text[text.index("| file | contents |") :], ROOT / "src" / "pliant", []
    for cell in re.findall(r"^\| (`.*?) \|", table, re.M):
        folder = ""
        for name in re.findall(r"`([\w/]+\.py)`", cell):
            folder = name.rpartition("/")[0] or folder
            if not (package / folder / name.rpartition("/")[2]).is_file():
                missing.append(name)
    assert missing == []


def starts_without_end(path: pathlib.Path) -> list[str]:
    """Calls of `subprocess.run` without a timeout, and of `subprocess.Popen`, which nothing would kill."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    wanted = {"run": "timeout", "check_output": "timeout", "check_call": "timeout", "call": "timeout", "Popen": None}
    return [
        f"{path.name}:{call.lineno}"
        for call in calls
        if ast.unparse(call.func).startswith("subprocess.")
        and ast.unparse(call.func).removeprefix("subprocess.") in wanted
        and wanted[ast.unparse(call.func).removeprefix("subprocess.")] not in [key.arg or "" for key in call.keywords]
    ]


def test_every_process_that_a_test_starts_has_a_time_limit() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "benchmarks" / "tests").rglob("*.py")]
    files += [ROOT / "tools" / "check_wheel.py", ROOT / "tests" / "khronos.py"]
    assert [call for path in files for call in starts_without_end(path)] == []

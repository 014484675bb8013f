"""The habits of the house that a machine can watch."""

import ast
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

import pliant

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "pliant"
SOURCES = sorted(SRC.rglob("*.py"))
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
WRONG_ROOM = {"manager", "helper", "helpers", "util", "utils", "data", "process", "handle", "common", "misc"}
# written in pieces, so that this file does not find itself
MACHINE_PATHS = re.compile(
    "|".join(["/ho" + r"me/\w", "/ro" + "ot/", "/Us" + r"ers/\w", r"[A-Z]:\\Us" + "ers", "/wo" + "rk/"])
)
HOSTS = re.compile(
    "|".join([r"pypi\.o" + "rg", "pythonho" + r"sted\.org", r"registry\.np" + r"mjs\.org", "artifac" + "tory"])
)


def tracked() -> list[pathlib.Path]:
    """Text files under version control; all of them where this is no checkout."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def imports(path: pathlib.Path) -> set[str]:
    """Top-level packages that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_no_source_file_is_longer_than_400_lines() -> None:
    long = {str(f.relative_to(ROOT)): n for f in SOURCES if (n := len(f.read_text("utf-8").splitlines())) > 400}
    assert long == {}


def test_only_kernels_import_numba() -> None:
    assert [f.name for f in SOURCES if "numba" in imports(f) and f.parent != SRC / "kernels"] == []


def test_kernels_are_made_by_the_one_decorator_and_without_fastmath() -> None:
    wrong = re.compile(r"@(numba\.)?(n?jit|vectorize|guvectorize|stencil)\b|fastmath\s*=\s*True")
    files = [f for f in SOURCES if f.parent == SRC / "kernels" and f.name != "jit.py"]
    assert [f.name for f in files if wrong.search(f.read_text("utf-8"))] == []


def test_only_cli_talks_to_the_terminal() -> None:
    talkative = [f.name for f in SOURCES if imports(f) & {"rich", "cyclopts"} and f.parent != SRC / "cli"]
    assert talkative == []


def test_nothing_forks() -> None:
    wrong = re.compile(r"os\.fork\b|set_start_method\(.fork|get_context\(.fork")
    assert [f.name for f in SOURCES if wrong.search(f.read_text("utf-8"))] == []


def test_no_file_is_named_after_nothing_in_particular() -> None:
    assert [f.name for f in SOURCES if f.stem in WRONG_ROOM or f.parent.name in WRONG_ROOM] == []


def test_no_tracked_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {m.group()}" for p in (MACHINE_PATHS, HOSTS) for m in p.finditer(text)]
    assert found == []


def test_the_version_is_the_same_everywhere() -> None:
    assert pliant.__version__ == importlib.metadata.version("pliant")
    assert re.search(rf"^## .*\b{re.escape(pliant.__version__)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)


def test_every_public_name_loads() -> None:
    assert [name for name in pliant.__all__ if getattr(pliant, name, None) is None] == []
    assert set(pliant.__all__) <= set(dir(pliant))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pliant' has no attribute 'Mash'"):
        _ = pliant.Mash


def test_type_checkers_see_the_same_public_names() -> None:
    tree = ast.parse((SRC / "__init__.py").read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: alias.name if node.module is None else node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == pliant._HOME


def test_importing_pliant_loads_nothing_heavy() -> None:
    script = "import sys, pliant; print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_constraints_pin_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    names = {re.split(r"[<>=!~\[ ;]", requirement)[0] for requirement in wanted}
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    assert names <= pinned


def test_every_page_of_docs_is_linked_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    linked = {(ROOT / "docs" / target).resolve() for target in re.findall(r"\]\(([^)#]+)", index)}
    pages = {p.resolve() for p in (ROOT / "docs").rglob("*.md")} - {(ROOT / "docs" / "index.md").resolve()}
    assert {str(p.relative_to(ROOT)) for p in pages - linked} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_in_docs_lead_somewhere(page: pathlib.Path) -> None:
    broken = []
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        headings = re.findall(r"^#+ (.*)", there.read_text("utf-8"), re.M) if anchor and there.is_file() else []
        if not there.exists() or (anchor and anchor not in map(slug, headings)):
            broken.append(target)
    assert broken == []


def test_files_named_in_docs_exist() -> None:
    named = {
        (page, path)
        for page in PAGES
        for path in re.findall(r"`((?:src|tests|docs|tools)/[\w./-]+)`", page.read_text("utf-8"))
    }
    assert sorted(f"{page.name}: {path}" for page, path in named if not (ROOT / path).exists()) == []


@pytest.mark.compiled
def test_the_example_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert len(names["hits"]) > 0  # type: ignore[arg-type]
    assert capsys.readouterr().out.count("contacts") == 50


EXAMPLES = [page for page in PAGES if page.name != "README.md" and "```python" in page.read_text("utf-8")]


@pytest.mark.compiled
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    body, sheet = pliant.shapes.ball(0.2, 2), pliant.shapes.cloth(0.5, 0.5, 6)
    for name in ("body.obj", "scan.stl"):
        pliant.save(tmp_path / name, body)
    # what examples take from the reader's own work
    names: dict[str, object] = {
        "clip": pliant.Clip(sheet, sheet.vertices[None].repeat(2, 0)),
        "still": pliant.Clip(body, body.vertices[None]),
    }
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
        exec(compile(code, page.name, "exec"), names)

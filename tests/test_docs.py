"""The documents: links lead somewhere, examples run, commands are spelled right, and no page or name is left out."""

import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib
import types

import cyclopts
import pytest

import pliant
from conftest import DATA
from pliant.cli import COMMANDS, _app
from pliant.detect.methods import METHODS
from time_limit import LONG, PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md")), ROOT / "benchmarks" / "README.md"]
FENCE = re.compile(r"^(?:<!-- needs: (\w+) -->\n)?```(\{?\w*\}?)\n(.*?)^```$", re.M | re.S)
# what `<!-- needs: NAME -->` above an example asks for
NEEDS = {"usd": "pxr", "cluster": "distributed", "torch": "torch", "jax": "jax", "cuda": "cupy", "pandas": "pandas"}
pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def blocks(page: pathlib.Path, *languages: str) -> list[tuple[str, str]]:
    """Fenced blocks in these languages, with what each needs."""
    return [(need, text) for need, kind, text in FENCE.findall(page.read_text("utf-8")) if kind in languages]


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def available(need: str) -> bool:
    return DATA.is_dir() if need == "data" else importlib.util.find_spec(NEEDS[need]) is not None


def test_every_page_is_linked_from_the_index_so_that_the_site_has_it() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    linked = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#]+)", index)}
    assert {p.name for p in DOCS.rglob("*.md") if p.resolve() not in linked} == {"index.md"}


def linked_below(*headings: str) -> list[pathlib.Path]:
    """Pages that index.md links below these of its headings."""
    parts = re.split(r"^## ", (DOCS / "index.md").read_text("utf-8"), flags=re.M)
    texts = [part for part in parts if part.split("\n", 1)[0] in headings]
    assert len(texts) == len(headings)
    return [DOCS / target for text in texts for target in dict.fromkeys(re.findall(r"\]\(([^)#:]+\.md)\)", text))]


SHOWN = linked_below("Concepts", "Detectors", "BVHs and distance fields", "Response and dynamics", "Commands")
UNSEEN = {"files.md"}  # what can be read and written has no shape
# a chart that another page has, or figures in a table of its own
CHARTED = {"impact.md", "skins.md", "self-contact.md"}
METHODICAL = [*linked_below("Detectors", "BVHs and distance fields", "Response and dynamics"), DOCS / "self-contact.md"]
ids = {"ids": lambda p: p.relative_to(DOCS).as_posix()}


@pytest.mark.parametrize("page", [p for p in SHOWN if p.name not in UNSEEN], **ids)  # type: ignore[arg-type]
def test_every_page_of_a_noun_a_method_or_a_command_has_a_picture(page: pathlib.Path) -> None:
    assert re.search(r"!\[[^\]]{10,}\]\([^)]*\.(png|svg)\)", page.read_text("utf-8"))


@pytest.mark.parametrize("page", METHODICAL, **ids)  # type: ignore[arg-type]
def test_every_page_of_a_method_says_what_it_needs_promises_and_costs_with_code(page: pathlib.Path) -> None:
    text = page.read_text("utf-8")
    said = set(re.findall(r"^\| (\w+) \|", text, re.M))
    missing = {"guarantee", "needs", "code", "tests"} - said
    missing |= set() if "```python" in text or "```sh" in text else {"an example"}
    missing |= set() if page.name in CHARTED or re.search(r"!\[[^\]]+\]\([^)]*\.svg\)", text) else {"a cost curve"}
    assert missing == set()


def test_every_cell_of_the_comparison_with_other_programs_has_a_source() -> None:
    parts = (DOCS / "beside-others.md").read_text("utf-8").split("\n## ")[1:3]
    tables = [[line.strip("|").split(" | ") for line in re.findall(r"^\|.*", part, re.M)] for part in parts]
    assert [{len(row) for row in [rows[0], *rows[2:]]} for rows in tables] == [{5}, {6}]
    assert len({tuple(row[0] for row in rows[2:]) for rows in tables}) == 1  # the same rows, and the same of pliant
    assert len({tuple(row[1] for row in rows[2:]) for rows in tables}) == 1
    cells = [cell.strip() for rows in tables for row in rows[2:] for cell in row[1:]]
    assert [cell for cell in cells if "](" not in cell and cell != "not found"] == []
    assert len(cells) >= 9 * 12


def test_the_tables_of_which_method_when_are_those_that_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pliant_bench")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "studies"))
    charts, study = importlib.import_module("charts"), importlib.import_module("which_method")
    page = (DOCS / "which-method.md").read_text("utf-8")
    for path in (ROOT / "benchmarks" / "results").glob("*/which-method.csv"):
        table = charts.table_of(path)
        assert {row["case"] for row in table.rows} == set(study.CASES)
        assert [name for name in study.CASES if study.markdown(table, name) not in page] == []


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """`docs/played.py`."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("played")


def test_the_commands_below_a_picture_of_the_gallery_write_the_page_that_it_plays(played: types.ModuleType) -> None:
    names = []
    for shown, blocks_of_it in played.sections((DOCS / "gallery.md").read_text("utf-8")):
        lines = [line for kind, block in blocks_of_it if kind == "sh" for line in played.commands(block)]
        written = [line[k + 1] for line in lines for k, word in enumerate(line) if word in ("--replay", "--report")]
        assert sorted(f"{name}.html" for name in shown) == sorted(written)
        names += shown
    assert len(names) == len(set(names)) >= 6


def test_a_picture_becomes_a_button_and_its_page_is_made_once(played: types.ModuleType, tmp_path: pathlib.Path) -> None:
    section = """## Two\n<!-- play: b.html -->\n![two](two.png)\n\n```python\nopen("a.txt", "w").write("made")\n```
\n```python\nopen("b.html", "w").write(open("a.txt").read())\n```\n"""
    assert '<a class="play" href="_static/b.html" title="Play">![two](two.png)</a>\n' in played.buttons(section)
    assert played.make_pages(section, tmp_path) == [tmp_path / "b.html"]
    assert (tmp_path / "b.html").read_text("utf-8") == "made"
    assert played.make_pages(section, tmp_path) == []
    with pytest.raises(FileNotFoundError):  # no command writes it
        played.make_pages(section.replace("b.html -->", "c.html -->"), tmp_path)
    with pytest.raises(RuntimeError, match="division by zero"):
        played.make_pages(
            section.replace('open("a.txt", "w").write("made")', "1 / 0").replace("b.html", "d.html"), tmp_path
        )
    with pytest.raises(ValueError, match="'rm'"):
        played.commands("rm -r out  # no")


def test_every_method_has_a_page_of_its_own() -> None:
    places = {name: [DOCS / "detectors" / f"{name}.md", DOCS / f"{name}.md"] for name in METHODS}
    assert [name for name, pages in places.items() if not any(page in METHODICAL for page in pages)] == []


@pages
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        headings = re.findall(r"^#+ (.*)", there.read_text("utf-8"), re.M) if anchor and there.is_file() else []
        if not there.exists() or (anchor and anchor not in map(slug, headings)):
            broken.append(target)
    assert broken == []


def spelled_out(path: str) -> list[str]:
    """Paths that `folder/{a,b}.py` stands for."""
    head, brace, rest = path.partition("{")
    names, _, tail = rest.partition("}")
    return [end for name in names.split(",") for end in spelled_out(head + name + tail)] if brace else [path]


NAMED = re.compile(r"(?<![\w./-])((?:src/pliant|tests|docs|tools|benchmarks)/[\w./{},-]*[\w/}])(?![\w/<*-])")


def test_files_that_are_named_exist() -> None:
    # addresses are other places, and files marked "new:" are those that a reader would add
    elsewhere = re.compile(r"https?:\S+|^.* new: .*$", re.M)
    named = {(page, path) for page in PAGES for path in NAMED.findall(elsewhere.sub("", page.read_text("utf-8")))}
    absent = {
        f"{page.name}: {path}" for page, some in named for path in spelled_out(some) if not (ROOT / path).exists()
    }
    assert sorted(absent) == []
    assert len(named) > 300


def test_tests_that_are_named_exist_and_are_in_the_file_named_before_them() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "benchmarks" / "tests").rglob("test_*.py")]
    there = {p: set(re.findall(r"def (test_\w+)", p.read_text("utf-8"))) for p in files}
    everywhere = set().union(*there.values())
    wrong, judged = [], 0
    for page in PAGES:
        text = page.read_text("utf-8")
        wrong += [f"{page.name}: {name}" for name in re.findall(r"`(test_\w+)`", text) if name not in everywhere]
        for path, names in re.findall(r"`((?:benchmarks/)?tests/[\w/]+\.py)`: ((?:`test_\w+`(?:, | and )?)+)", text):
            found = re.findall(r"`(test_\w+)`", names)
            judged += len(found)
            wrong += [f"{page.name}: {path}: {name}" for name in found if name not in there.get(ROOT / path, ())]
    assert wrong == []
    assert judged > 80


def test_the_api_has_every_public_name_once() -> None:
    listed = " ".join(text for _, text in blocks(DOCS / "api.md", "{api}")).split()
    assert sorted(name for name in listed if "." not in name) == sorted(pliant._MODULE_OF)


def test_the_site_says_something_about_every_name_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    sys.modules.pop("api_text", None)
    text = importlib.import_module("api_text").expanded((DOCS / "api.md").read_text("utf-8"))
    silent = [part.split("\n", 1)[0] for part in text.split("\n### ")[1:] if len(part.split("```")[-1].strip()) < 20]
    assert silent == []
    assert "{api}" not in text


def commands(page: pathlib.Path) -> list[str]:
    """Command lines of `pliant` in fenced blocks and between backticks; in a usage list, up to its explanation."""
    text = page.read_text("utf-8")
    lines = [line for _, block in blocks(page, "", "sh", "bash") for line in block.splitlines()]
    lines += re.findall(r"`(pliant [^`\n]+)`", FENCE.sub("", text))
    lines = [re.split(r"\s{3,}|\s+#", line.strip())[0] for line in lines]
    # dots and COMMAND stand for something to fill in
    return [line for line in lines if line.startswith("pliant ") and "..." not in line and "COMMAND" not in line]


@pages
def test_commands_and_options_exist(
    page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for line in commands(page):
        tokens = [t for t in shlex.split(line.split(" | ")[0].split(" > ")[0])[1:] if t != "--help"]
        if "--config" in tokens:
            pathlib.Path(tokens[tokens.index("--config") + 1]).touch()
        try:
            if tokens and not tokens[0].startswith("-"):
                assert tokens[0] in COMMANDS
                _app(tokens).parse_args(tokens, exit_on_error=False, print_error=False)
        except (cyclopts.CycloptsError, AssertionError) as error:
            if not isinstance(
                error, cyclopts.MissingArgumentError
            ):  # `pliant fix` in a sentence is the command as such
                wrong.append(f"{line}: {error}")
    assert wrong == []


@pages
def test_option_files_are_toml_that_the_command_takes(page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for _, text in blocks(page, "toml"):
        tomllib.loads(text)
        if asked := re.match(r"# \S+, for: pliant (\w+) --config", text):
            (tmp_path / "run.toml").write_text(text, "utf-8")
            tokens = [asked[1], "--config", str(tmp_path / "run.toml")]
            _app(tokens).parse_args(tokens, exit_on_error=False, print_error=False)


@pages
def test_make_targets_exist(page: pathlib.Path) -> None:
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    text = "\n".join(block for _, block in blocks(page, "sh", "bash"))
    asked = {word for line in re.findall(r"^make ([a-z -]+)", text, re.M) for word in line.split()}
    assert asked <= there


@pytest.mark.compiled
def test_the_example_in_the_readme_finds_contacts(capsys: pytest.CaptureFixture[str]) -> None:
    ((_, code),) = blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert len(names["hits"]) > 0  # type: ignore[arg-type]
    assert capsys.readouterr().out.count("contacts") == 50


EXAMPLES = [page for page in PAGES if page.name != "README.md" and blocks(page, "python")]


@pytest.mark.compiled
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda p: p.relative_to(ROOT).as_posix())
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
    absent = set()
    for need, code in blocks(page, "python"):
        if need and not available(need):
            absent.add(need)
        else:
            exec(compile(code, page.name, "exec"), names)
    if absent:
        pytest.skip(f"all but the blocks that need: {', '.join(sorted(absent))}")


@pytest.mark.long
def test_the_examples_have_the_types_that_the_package_states() -> None:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("needs pyright: pip install pyright")
    told = subprocess.run(
        [sys.executable, ROOT / "tools" / "check_examples.py"], capture_output=True, text=True, timeout=LONG * PATIENCE
    )
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.long
def test_the_site_builds_without_warnings_and_its_pages_fetch_nothing(tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("needs the extra [docs]")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-D", "replays=0", "-d", "trees", str(DOCS), "site"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=LONG * PATIENCE)
    fetched = re.compile(r"""<(?:script|img|iframe|link)[^>]*(?:src|href)=["'](?:https?:)?//""")
    assert [p.name for p in (tmp_path / "site").rglob("*.html") if fetched.search(p.read_text("utf-8"))] == []
    assert not any("url(http" in p.read_text("utf-8") for p in (tmp_path / "site").rglob("*.css"))


def test_an_example_that_is_no_python_is_not_left_out() -> None:
    kinds = {kind for page in PAGES for _, kind, _ in FENCE.findall(page.read_text("utf-8"))}
    assert kinds <= {"", "python", "sh", "bash", "text", "toml", "json", "{api}", "{include}"}

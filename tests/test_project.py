"""The habits of the house that a machine can watch."""

import ast
import functools
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

import pliant
from time_limit import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "pliant"
SOURCES = sorted(SRC.rglob("*.py"))
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
        command = ["git", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@functools.cache
def imports(path: pathlib.Path) -> set[str]:
    """Top-level packages that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_no_source_file_is_longer_than_400_lines() -> None:
    long = {str(f.relative_to(ROOT)): n for f in SOURCES if (n := len(f.read_text("utf-8").splitlines())) > 400}
    assert long == {}


def test_only_kernels_import_numba() -> None:
    assert [f.name for f in SOURCES if "numba" in imports(f) and SRC / "kernels" not in f.parents] == []


def test_kernels_are_made_by_the_one_decorator_and_without_fastmath() -> None:
    wrong = re.compile(r"@(numba\.)?(n?jit|vectorize|guvectorize|stencil)\b|fastmath\s*=\s*True")
    files = [f for f in SOURCES if SRC / "kernels" in f.parents and f.name != "jit.py"]
    assert [f.name for f in files if wrong.search(f.read_text("utf-8"))] == []


MOST_ARGUMENTS = 8


def kernels_with_many_arguments() -> set[str]:
    """The kernels with more than MOST_ARGUMENTS arguments, as "file function", relative to the kernels' folder."""
    found: set[str] = set()
    for folder in (SRC / "kernels", ROOT / "benchmarks" / "pliant_bench" / "kernels"):
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.FunctionDef):
                    continue
                decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
                count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
                if count > MOST_ARGUMENTS and any(isinstance(d, ast.Name) and d.id == "kernel" for d in decorators):
                    found.add(f"{path.relative_to(folder).as_posix()} {node.name}")
    return found


def test_no_kernel_takes_more_than_eight_arguments() -> None:
    assert kernels_with_many_arguments() == set(), "bundle arguments that belong together in a NamedTuple"


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
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert run.stdout == "[]\n"


def test_the_constraints_pin_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    names = {re.split(r"[<>=!~\[ ;]", requirement)[0] for requirement in wanted}
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    assert names <= pinned


def _of_bundles(value: ast.expr) -> bool:
    """Whether an assigned value is a bundle, or a tuple of fields of bundles."""
    fields = value.elts if isinstance(value, ast.Tuple) else []
    return isinstance(value, ast.Name) or any(isinstance(part, ast.Attribute) for part in fields)


def unpacked_and_written(function: ast.FunctionDef) -> set[str]:
    """The names whose elements a function writes, and that it assigns in one tuple with a name it never indexes."""
    indexed = [n for n in ast.walk(function) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    arrays = {n.value.id for n in indexed if isinstance(n.value, ast.Name)}
    written = {n.value.id for n in indexed if isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)}
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and _of_bundles(node.value):
            names = {name.id for name in node.targets[0].elts if isinstance(name, ast.Name)}
            found |= names & written if names - arrays else set()
    return found


def test_arrays_that_a_parallel_kernel_writes_are_not_unpacked_with_scalars() -> None:
    # Numba's parallel pass then drops the writes as dead code, without a word: bakes crashed on arrays never filled
    found = set()
    for path in sorted((SRC / "kernels").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(
                "parallel=True" in ast.unparse(d) for d in node.decorator_list
            ):
                found |= {f"{path.stem}.{node.name}: {name}" for name in unpacked_and_written(node)}
    assert found == set()

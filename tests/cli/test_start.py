"""The command line starts quickly, fails politely and keeps stdout for results."""

import contextlib
import importlib
import inspect
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import pliant
from conftest import hear_ctrl_c
from pliant import cli
from pliant.cli import interruption, output
from time_limit import PATIENCE, started

HEAVY = ("numpy", "numba", "scipy", "skimage", "PIL", "websockets")


def call(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pliant", *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | env, timeout=60, check=False)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch):
    """Register a function as the command `try`."""

    def register(function) -> None:
        module = types.ModuleType("pliant_test_command")
        module.try_ = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.COMMANDS, "try", (f"{module.__name__}:try_", "A command of the tests."))

    return register


def seconds_of(*words: str) -> float:
    """The least that Python takes for this, of three times."""
    took = []
    for _ in range(3):
        before, start = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, timeout=60, check=True)
        wall, after = time.perf_counter() - start, os.times()
        # processor time is what the wall clock says where no other test uses the cores; Windows does not tell it
        used = after.children_user + after.children_system - before.children_user - before.children_system
        took.append(min(wall, used) if used else wall)
    return min(took)


def test_help_arrives_in_half_a_second() -> None:
    took = seconds_of("-m", "pliant", "--help")
    # on a slow machine: not much later than what parses the line and writes in colours is loaded
    assert took < 0.5 or took < 1.8 * seconds_of("-c", "import cyclopts, rich.console")


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from pliant.cli import run\n"
        "for words in ('--help', '--version'):\n"
        "    run([words])\n"
        f"    print(words, *[m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert result.stderr.splitlines() == ["--help", "--version"]


def test_a_file_that_is_not_there_is_told_before_anything_heavy_is_loaded(tmp_path) -> None:
    lines = [
        "drape --body none.obj",
        "check none.obj",
        "fix none.obj -b no.obj -o x.obj",
        "field none.obj",
        "tets none.obj -o x.msh",
    ]
    # one process for all: what a command loads shows in its own line first
    script = (
        f"import sys; from pliant.cli import run\n"
        f"for words in {lines!r}:\n"
        f"    code = run(words.split())\n"
        f"    print(words, code, *[m for m in {HEAVY} if m in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=PATIENCE)
    assert result.stdout.splitlines() == [f"{words} 2" for words in lines]
    assert result.stderr == len(lines) * "error: none.obj: no such file\n"


def test_version_is_printed_alone() -> None:
    assert call("--version").stdout == f"{pliant.__version__}\n"


def test_every_command_is_in_the_help_and_has_help_of_its_own(capsys) -> None:
    text = call("--help").stdout
    for name in cli.COMMANDS:
        assert name in text
        assert cli.run([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: pliant {name}")


def test_the_help_shows_defaults_as_they_are_typed(capsys) -> None:
    assert cli.run(["drape", "--help"]) == 0
    text = " ".join(re.sub(r"[│\n]", " ", capsys.readouterr().out).split())
    assert "[default: 0 -9.81 0]" in text
    assert re.findall(r"\[default: (?:\(|False|True|None)", text) == []


def test_the_help_names_every_scene_and_method() -> None:
    from pliant.cli import drape
    from pliant.detect.base import Finds
    from pliant.detect.methods import METHODS
    from pliant.scenes import SCENES

    text = inspect.getsource(drape)
    soft = [name for name, detector in METHODS.items() if detector.finds & (Finds.SELF | Finds.PAIR)]
    assert [name for name in (*SCENES, *soft) if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []


@pytest.mark.parametrize(
    ("words", "hint"), [(["docter"], "did you mean 'doctor'"), (["doctor", "--jsn"], "Did you mean --json")]
)
def test_a_typo_is_answered_with_a_suggestion_on_one_line(words: list[str], hint: str) -> None:
    result = call(*words)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("vertices[17, 2] is not finite (nan)"), "error: vertices[17, 2] is not finite (nan)\n"),
        (pliant.MeshFileError("a.obj", "line 3", "no\nnumber"), "error: a.obj (line 3): no number\n"),
        (FileNotFoundError(2, "No such file or directory", "b.obj"), "error: b.obj: No such file or directory\n"),
        (
            PermissionError(13, "cannot write c.glb: Permission denied"),
            "error: cannot write c.glb: Permission denied\n",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(command, capsys, error: Exception, line: str) -> None:
    def fails() -> None:
        raise error

    command(fails)
    assert cli.run(["try"]) == 2
    assert capsys.readouterr() == ("", line)


def test_debugging_shows_where_bad_input_was_noticed(command, capsys, monkeypatch) -> None:
    def fails() -> None:
        raise ValueError("no")

    monkeypatch.setenv("PLIANT_DEBUG", "1")
    command(fails)
    assert cli.run(["try"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_defect_shows_its_traceback_and_is_not_mistaken_for_a_finding(command, capsys) -> None:
    command(lambda: [][1])
    assert cli.run(["try"]) == 3
    assert "IndexError" in capsys.readouterr().err


@pytest.mark.parametrize("code", [None, 0, 1])
def test_the_exit_code_is_what_the_command_returns(command, code: int | None) -> None:
    command(lambda: code)
    assert cli.run(["try"]) == (code or 0)


def test_an_interrupt_is_one_line_and_exit_code_130(command, capsys) -> None:
    def waits() -> None:
        raise KeyboardInterrupt

    command(waits)
    assert cli.run(["try"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a single process there")
def test_ctrl_c_ends_a_running_command_without_a_traceback() -> None:
    script = (
        "import sys, time, types; from pliant import cli\n"
        "module = types.ModuleType('m'); module.f = lambda: (print('up', flush=True), time.sleep(30))\n"
        "sys.modules['m'] = module; cli.COMMANDS['f'] = ('m:f', ''); cli.main(['f'])"
    )
    command = [sys.executable, "-c", script]
    with started(command, stdout=-1, stderr=-1, text=True, preexec_fn=hear_ctrl_c) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=10)
    assert (process.returncode, talk) == (130, "interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a single process there")
def test_ctrl_c_that_a_destructor_swallows_ends_the_command_at_the_next_step(monkeypatch) -> None:
    monkeypatch.setattr(interruption, "_requested", False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interruption.install()
        with output.progress("waiting") as advance:
            advance()
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                advance()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = (
        "import sys, types; from pliant import cli\n"
        "module = types.ModuleType('m'); module.f = lambda: print('x' * 1_000_000)\n"
        "sys.modules['m'] = module; cli.COMMANDS['f'] = ('m:f', ''); cli.main(['f'])"
    )
    with started([sys.executable, "-c", script], stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        talk = process.stderr.read()
        process.wait(60)
    assert (process.returncode, talk) == (0, "")


def test_warnings_of_the_library_reach_stderr_and_its_chatter_does_not(command, capsys) -> None:
    def talks() -> None:
        logging.getLogger("pliant.test").info("detail")
        logging.getLogger("pliant.test").warning("the mesh is 3000 m wide")

    command(talks)
    cli.run(["try"])
    assert capsys.readouterr() == ("", "warning: the mesh is 3000 m wide\n")


def test_the_library_itself_is_silent() -> None:
    script = "import logging, pliant; logging.getLogger('pliant.mesh').warning('psst')"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert (result.stdout, result.stderr) == ("", "")


def test_json_has_plain_numbers_only(capsys) -> None:
    value = {"a": np.float64(0.5), "b": np.arange(2), "c": (np.nan, np.inf), "d": np.bool_(True), 3: None}
    output.print_json(value)
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": [0, 1], "c": [None, None], "d": True, "3": None}


def test_progress_goes_to_stderr_and_is_one_line_where_nobody_watches(capsys) -> None:
    with output.progress("draping", 3) as advance:
        for _ in range(3):
            advance(note="12 contacts")
    assert capsys.readouterr() == ("", "draping ...\n")


def test_compiling_is_announced_until_the_kernels_are_on_disk(capsys, monkeypatch, tmp_path) -> None:
    from pliant.kernels import jit

    monkeypatch.setattr(jit, "COMPILED", True)
    monkeypatch.setattr(jit, "kernel_cache", lambda source: tmp_path)
    (tmp_path / "jit._touch-1.py311.1.nbc").touch()  # what `pliant doctor` leaves is not enough
    output.say_if_compiling("respond.projection.project")
    assert "compiling (first run only" in capsys.readouterr().err
    (tmp_path / "projection.project-9.py311.1.nbc").touch()
    output.say_if_compiling("respond.projection.project")
    assert capsys.readouterr() == ("", "")


def test_a_first_run_says_how_long_it_will_compile_and_shows_each_kernel(capsys, monkeypatch) -> None:
    from pliant.cli.first_run import compile_first
    from pliant.kernels import ahead

    two = [ahead.Call(0, "bvh.build.widen", 30.0, []), ahead.Call(1, "bvh.tree.link", 10.0, [])]
    monkeypatch.setenv("PLIANT_PROGRESS", "lines")
    monkeypatch.setattr(ahead, "missing", lambda command: two)
    monkeypatch.setattr(ahead, "workers", lambda count: 2)
    monkeypatch.setattr(ahead, "compile_ahead", lambda command, wanted: iter([None, two[0], two[1]]))
    compile_first("drape")
    what = "compiling 2 kernels, only this once: about 20 s on 2 cores"
    assert capsys.readouterr().err.splitlines() == [f"progress {share} {what}" for share in ("0.00", "0.75", "1.00")]
    monkeypatch.setattr(ahead, "missing", lambda command: [])
    compile_first("drape")
    assert capsys.readouterr() == ("", "")


def test_every_command_that_announces_compiling_names_a_kernel() -> None:
    from pliant.cli.sweep import KERNELS

    named = [*KERNELS.values()]
    for file in pathlib.Path(cli.__file__).parent.glob("*.py"):
        named += re.findall(r'say_if_compiling\("([^"]*)"\)', file.read_text())
    assert len(named) >= 9
    for name in named:
        module, _, function = name.rpartition(".")
        assert hasattr(importlib.import_module(f"pliant.kernels.{module}"), function), name


def test_every_command_that_compiles_ahead_has_a_list() -> None:
    from pliant.kernels.ahead import LISTS

    text = "".join(file.read_text() for file in pathlib.Path(cli.__file__).parent.glob("*.py"))
    assert {*re.findall(r'compile_first\("([^"]*)"\)', text)} == {*LISTS} == {"bind", "check", "drape", "fix"}


def test_tables_that_are_piped_are_not_cut(capsys, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    output.table(("name", "says"), [("a", "[bold]" + "x" * 150)])
    assert "[bold]" + "x" * 150 in capsys.readouterr().out


def test_methods_prints_every_method_as_json() -> None:
    from pliant.detect import METHODS

    rows = json.loads(call("methods", "--json").stdout)
    assert [row["name"] for row in rows] == list(METHODS)
    assert {row["guarantee"] for row in rows} <= {"A", "B", "C"}
    assert all(row["finds"] and set(row["finds"]) <= {"obstacle", "pair", "self"} for row in rows)

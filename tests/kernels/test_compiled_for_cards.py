"""Kernels compile for graphics cards on machines without one, where numba-cuda and its compiler are installed."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).parents[2] / "tools"
LEAST = 80  # percent


def compiled(*options: str, tool: str = "compile_for_cards.py") -> subprocess.CompletedProcess[str]:
    pytest.importorskip("numba_cuda")
    if importlib.util.find_spec("nvidia") is None or importlib.util.find_spec("nvidia.cu13") is None:
        pytest.skip("needs the compiler of CUDA, which `make ptx` installs")
    command = [sys.executable, str(TOOLS / tool), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=3000)


def test_distances_compile_for_cards() -> None:
    done = compiled("--only", "geometry.batches")
    assert "2 of 2 kernels compile (100.0 %)" in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_most_kernels_compile_for_cards() -> None:
    done = compiled("--least", str(LEAST))
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.long
def test_all_that_is_launched_on_cards_compiles_with_the_types_of_its_arguments() -> None:
    done = compiled(tool="launches_for_cards.py")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " launches compile" in done.stdout

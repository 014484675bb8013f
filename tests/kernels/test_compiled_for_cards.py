"""Kernels compile for graphics cards on machines without one, where numba-cuda and its compiler are installed."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "compile_for_cards.py"
LEAST = 80  # percent


def compiled(*options: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("numba_cuda")
    if importlib.util.find_spec("nvidia") is None or importlib.util.find_spec("nvidia.cu13") is None:
        pytest.skip("needs the compiler of CUDA, which `make ptx` installs")
    command = [sys.executable, str(TOOL), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=3000)


def test_distances_compile_for_cards() -> None:
    done = compiled("--only", "geometry.batches")
    assert "2 of 2 kernels compile (100.0 %)" in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_most_kernels_compile_for_cards() -> None:
    done = compiled("--least", str(LEAST))
    assert done.returncode == 0, done.stdout[-4000:]

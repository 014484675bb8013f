"""Without a graphics card everything is said in one line; the kernels of the card run in Numba's simulator."""

import os
import pathlib
import subprocess
import sys

import pytest

from pliant.kernels import device
from pliant.kernels.gpu import card

FOLDER = pathlib.Path(__file__).parents[1] / "gpu"
QUIET = {"PYTHONWARNINGS": "ignore", "NUMBA_NUM_THREADS": "1"}


def test_the_seam_imports_nothing_of_cuda() -> None:
    script = "import sys, pliant.kernels.device, pliant.kernels.gpu.card; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("module", ["entries", "records", "scratch", "wide"])
def test_modules_of_the_card_can_be_imported_alone_with_a_numpy_that_lacks_what_numba_looks_up(module: str) -> None:
    pytest.importorskip("numba_cuda")
    script = f"""import numpy as np
if hasattr(np, 'row_stack'):
    del np.row_stack
import pliant.kernels.gpu.{module}
print('row_stack' in vars(np))"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr[-2000:]


@pytest.mark.parametrize(("version", "found"), [(None, "not installed"), ("9.9.0", "9.9.0 is not a tested version")])
def test_what_is_missing_is_said_in_one_line_with_its_remedy(monkeypatch, version: str | None, found: str) -> None:
    monkeypatch.setattr(card, "SIMULATED", False)
    monkeypatch.setattr(card, "version", lambda package: version)
    missing = card.examine.__wrapped__()
    assert found in missing.missing
    assert "\n" not in missing.missing
    assert 'pip install "pliant[cuda]"' in missing.advice


def test_a_driver_that_cannot_be_loaded_is_no_error(monkeypatch) -> None:
    def breaks() -> None:
        raise OSError("no library\nlibcuda")

    monkeypatch.setattr(card, "SIMULATED", False)
    monkeypatch.setattr(card, "version", lambda package: "0.30.4")
    monkeypatch.setattr(card, "module", breaks)
    assert card.examine.__wrapped__().missing == "numba-cuda cannot be imported: no library libcuda"


def test_arrays_say_where_they_live() -> None:
    class There:
        def __init__(self, kind: int) -> None:
            self.kind = kind

        def __dlpack_device__(self) -> tuple[int, int]:
            return (self.kind, 0)

    assert [device.is_there(each) for each in ([1.0], There(1), There(2))] == [False, False, True]


@pytest.mark.compiled  # with the compiler off it would compare the same interpreted code, for a minute
def test_kernels_of_the_card_give_the_bits_of_the_processor_in_the_simulator() -> None:
    """The tests in tests/gpu, which run on a card by `make test-gpu`."""
    environment = os.environ | QUIET | {"NUMBA_ENABLE_CUDASIM": "1"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(FOLDER)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=FOLDER.parents[1], timeout=500)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout

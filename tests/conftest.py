"""What all tests share: the data folder that may be absent, seeds and case counts from the environment."""

import contextlib
import functools
import gc
import os
import pathlib
import signal
import sys
from collections.abc import Generator

import numpy as np
import pytest

from time_limit import TimeLimit

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DATA = pathlib.Path(__file__).resolve().parents[1].parent / "shared" / "data"
SEED = int(os.environ.get("PLIANT_SEED", "2003"))


def cases(default: int) -> int:
    """How many random cases to run: `PLIANT_CASES` or the default, no more than `PLIANT_MOST_CASES`."""
    return min(int(os.environ.get("PLIANT_CASES", default)), int(os.environ.get("PLIANT_MOST_CASES", sys.maxsize)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked long")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("PLIANT_AHEAD", "0")  # the processes of a test run compile side by side anyway
    if not config.pluginmanager.has_plugin("time-limit"):  # the conftest of the benchmarks imports this function
        config.pluginmanager.register(TimeLimit(), "time-limit")


@contextlib.contextmanager
def alone() -> Generator[None]:
    """Let the processes of a run through one by one."""
    with open(__file__, "rb") as file:
        if fcntl and "PYTEST_XDIST_WORKER" in os.environ:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the first process write all bytecode, and collect no garbage meanwhile: 11 s instead of 17."""
    gc.disable()
    with alone():
        return (yield)


# files that take longest, longest first: no process is left with one of them while others have nothing to do
FIRST = (
    "test_docs.py",
    "test_device.py",
    "test_scenes.py",
    "test_methods.py",
    "test_distance_field.py",
    "test_page.py",
    "test_drape.py",
    "test_guard_carry.py",
    "test_self_contact.py",
    "test_trees.py",
    "test_play.py",
    "test_determinism.py",
    "test_deformable_contact.py",
    "test_implicit.py",
    "test_jit.py",
    "test_session.py",
    "test_geometric.py",
    "test_dressing.py",
    "test_command.py",
    "test_garments.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))
    if config.getoption("--long"):
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="runs in `make test-long`"))


def pytest_collection_finish() -> None:
    """Keep what collection made, which stays to the end, out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # compiled kernels stay too, and the default examines them again and again
    gc.enable()


def pytest_report_header() -> str:
    found = "found" if DATA.is_dir() else "absent, its tests skip"
    return f"reproduce with PLIANT_SEED={SEED}; shared data {found}"


def hear_ctrl_c() -> None:
    """For `preexec_fn`: a suite started in the background ignores SIGINT, and its children would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


# folders whose tests judge the parallel loops themselves
LOOPS = {"kernels", "detect"}


@pytest.fixture(scope="module", autouse=True)
def one_thread(request: pytest.FixtureRequest) -> Generator[None]:
    """Where processes share the cores, scenes run on one thread: 12 to 19 percent less processor time than on two.

    Every method and response is judged to give the same bits on two threads, here and in test_determinism.py; without
    pytest-xdist, as in `make test-long`, everything runs on all threads.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or LOOPS & {*request.path.parts}:
        yield
        return
    from pliant.kernels import jit

    before = jit.threads()
    jit.set_threads(1)
    yield
    jit.set_threads(before)


@pytest.fixture(scope="module")
def frozen() -> None:
    """Keep what earlier files made, mostly compiled kernels, out of every later `gc.collect`."""
    gc.freeze()


@pytest.fixture
def data() -> pathlib.Path:
    """The folder of real meshes beside the checkout; tests that need it skip without it."""
    if not DATA.is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    return DATA


@pytest.fixture
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sheets and field pages have small pictures; the examples of docs and tests/report make them at full size."""
    from pliant.report import check_sheet, field_page
    from pliant.simulation import result

    tile = (96, 80)
    small = functools.partial(field_page.field_page, slices=3, size=tile)
    monkeypatch.setattr(field_page, "field_page", small)
    monkeypatch.setattr(result, "contact_sheet", functools.partial(result.contact_sheet, tile=tile))
    monkeypatch.setattr(check_sheet, "write_check_sheet", functools.partial(check_sheet.write_check_sheet, tile=tile))

"""A time limit for every test, and child processes that no test leaves behind."""

import contextlib
import faulthandler
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from typing import Any

import pytest

LIMIT = 600.0  # seconds per test; the slowest takes about 60 on two idle cores with an empty kernel cache
PATIENCE = 300.0  # seconds for a child process, which may have to compile kernels
LONG = 6  # tests marked long, and every test with `--long`, may take this many times as long


class TimeLimitReached(BaseException):
    """Raised in a test at its time limit; no `except Exception` of the code under test catches it."""


class TimeLimit:
    """A plugin that limits the time of each of the three phases of a test."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        with time_limit(limit_of(item)):
            return (yield)

    pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup


def limit_of(item: pytest.Item) -> float:
    return LIMIT * (LONG if "long" in item.keywords or item.config.getoption("--long", False) else 1)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitReached` after `seconds`, and end the process if it still runs after twice that time.

    An exception does not reach a kernel that never returns. The process then prints where each thread is and ends, and
    pytest-xdist reports the test as the one that ended its worker.
    """

    def stop(*_: object) -> None:
        raise TimeLimitReached(f"took longer than {seconds:g} s")

    alarm = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, stop) if alarm else None
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=sys.__stderr__)
    if alarm:
        signal.setitimer(signal.ITIMER_REAL, seconds, 10.0)  # repeated, since a destructor swallows exceptions
    try:
        yield
    finally:
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A child process that is killed at the end of the block: `with subprocess.Popen` alone waits for it for ever."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()

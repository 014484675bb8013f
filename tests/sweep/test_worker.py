"""Processes for jobs: whatever a job does, it does to itself only."""

import os
import pathlib
import sys
import time

import pytest

from pliant.sweep.pool import run_here
from pliant.sweep.worker import Job, Limits, WorkerProcess
from time_limit import started

TESTS = str(pathlib.Path(__file__).resolve().parents[1])
ANY = Limits()
linux = pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="needs /proc")


def job(name, **task):
    return Job(f"sweep.odd_jobs:{name}", task)


@pytest.fixture(scope="module")
def apart():
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = TESTS if before is None else os.pathsep.join([TESTS, before])
    with WorkerProcess() as process:
        yield process
    os.environ.pop("PYTHONPATH")
    if before is not None:
        os.environ["PYTHONPATH"] = before


def test_a_job_is_answered_whatever_libraries_print(apart):
    assert apart.run(job("double", number=21), ANY).value == 42


def test_an_error_is_one_line_and_leaves_the_process_to_others(apart):
    first = apart.run(job("whoami"), ANY).value
    assert apart.run(job("complain"), ANY).error == "two lines"
    assert apart.run(job("crash"), ANY).error == "KeyError: 'nobody expected this'"
    assert apart.run(job("whoami"), ANY).value == first != os.getpid()


def test_a_job_whose_process_is_killed_is_done_again(apart, tmp_path):
    outcome = apart.run(job("die_once", mark=str(tmp_path / "mark")), ANY)
    assert (outcome.value, outcome.attempts, outcome.error) == ("well", 2, None)


def test_a_job_that_kills_every_process_is_given_up(apart):
    outcome = apart.run(job("die"), Limits(attempts=2))
    assert outcome.died
    assert outcome.error == "its process was ended by SIGKILL, 2 times"


def test_a_job_beyond_its_time_is_ended(apart, tmp_path):
    outcome = apart.run(job("sleep", mark=str(tmp_path / "mark")), Limits(seconds=0.3))
    assert (outcome.error, outcome.died, outcome.attempts) == ("took longer than 0.3 s", False, 1)


@linux
def test_a_job_beyond_its_memory_is_ended(apart):
    outcome = apart.run(job("eat"), Limits(seconds=200.0, memory=200 << 20))
    assert outcome.error == "took more than 200 MiB of memory"


def test_a_process_that_nobody_asks_leaves_and_another_comes(apart):
    with WorkerProcess(idle=0.2) as process:
        first = process.run(job("whoami"), ANY).value
        process.process.wait(60.0)
        assert process.run(job("whoami"), ANY).value != first


@linux
def test_a_process_leaves_when_whoever_asked_is_gone(apart, tmp_path):
    mark = tmp_path / "mark"
    call = "WorkerProcess().run(Job('sweep.odd_jobs:sleep', {'mark': %r}), Limits())"
    lines = f"from pliant.sweep.worker import *\n{call}"
    with started([sys.executable, "-c", lines % str(mark)]):
        pid = _wait(lambda: mark.exists() and mark.read_text())
    assert _wait(lambda: _is_gone(pid))


def _is_gone(pid: str) -> bool:
    """No process, or one that has ended and that nobody has waited for yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _wait(ready, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_a_pool_gives_every_job_its_outcome_and_stops_when_nobody_listens(apart):
    jobs = [job("double", number=n) for n in range(6)]
    assert sorted((n, outcome.value) for n, outcome in run_here(jobs, 1, ANY)) == [(n, 2 * n) for n in range(6)]
    some = run_here(jobs, 1, ANY)
    next(some)
    some.close()

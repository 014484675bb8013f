"""The time limit of every test: it ends a test that waits, one that catches everything, and child processes."""

import pathlib
import subprocess
import sys
import time

import pytest

import time_limit

FOLDER = pathlib.Path(__file__).parent


def test_a_test_that_waits_is_ended_with_the_limit_in_the_message():
    with pytest.raises(time_limit.TimeLimitReached, match=r"took longer than 0\.05 s"), time_limit.time_limit(0.05):
        time.sleep(60)


def test_a_test_within_its_limit_is_left_alone():
    with time_limit.time_limit(0.02):
        pass
    time.sleep(0.05)


def test_a_process_that_no_exception_ends_says_where_it_is_and_ends():
    code = (
        "import time, time_limit\n"
        "def catches_everything():\n"
        "    while True:\n"
        "        try: time.sleep(60)\n"
        "        except BaseException: pass\n"
        "with time_limit.time_limit(0.2): catches_everything()"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "in catches_everything" in run.stderr


def test_a_child_process_is_killed_at_the_end_of_the_block():
    with (
        pytest.raises(ZeroDivisionError),
        time_limit.started([sys.executable, "-c", "import time; time.sleep(60)"]) as process,
    ):
        _ = 1 / 0
    assert process.returncode not in (None, 0)


def test_every_test_has_the_limit(request):
    assert isinstance(request.config.pluginmanager.get_plugin("time-limit"), time_limit.TimeLimit)
    assert time_limit.limit_of(request.node) in (time_limit.LIMIT, time_limit.LONG * time_limit.LIMIT)

"""Jobs that go wrong in the ways jobs do; the processes of `WorkerProcess` import them."""

import os
import pathlib
import signal
import time


def double(task):
    print("a library talks")
    return 2 * task["number"]


def whoami(task):
    return os.getpid()


def complain(task):
    raise ValueError("two\n  lines")


def crash(task):
    raise KeyError("nobody expected this")


def die(task):
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(task):
    """Killed the first time, well the second."""
    mark = pathlib.Path(task["mark"])
    if not mark.exists():
        mark.touch()
        die(task)
    return "well"


def sleep(task):
    pathlib.Path(task["mark"]).write_text(str(os.getpid()))
    time.sleep(60.0)


def eat(task):
    held = bytearray(300 << 20)
    held[::4096] = b"x" * len(held[::4096])
    time.sleep(60.0)

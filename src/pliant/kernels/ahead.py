"""Kernels compiled ahead of need, side by side in processes of their own: what a command needs, from a recorded list.

Numba compiles one kernel at a time, when it is called first. The lists in `calls/` name the kernels and types of
arguments of a run, with the seconds that each took to compile; `tools/record_kernels.py` writes them. What a list
does not name is compiled when it is called, and the cache on disk (`disk_cache`) is the same in both cases.
"""

import contextlib
import gc
import importlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from . import jit
from .call_text import PACKAGE, from_text

FEW = 4.0  # seconds of compilation that are not worth starting processes, each of which takes one to import Numba
MOST = 4  # processes, of some 650 MB each
_FOLDER = pathlib.Path(__file__).parent / "calls"
LISTS = tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))  # commands


class Call(NamedTuple):
    """A kernel of a list."""

    index: int  # in the list
    name: str  # "dynamics.newton_step.newton_step"
    seconds: float  # of processor time that its compilation took, with what only it calls
    arguments: list  # types, see `call_text`


def calls(command):
    """The list of a command, for example "drape"."""
    text = (_FOLDER / f"{command}.json").read_text(encoding="utf-8")
    return [Call(k, *row) for k, row in enumerate(json.loads(text))]


def missing(command):
    """The kernels of a command that no process has compiled before: none, or those worth compiling ahead."""
    if not jit.COMPILED or os.environ.get("PLIANT_AHEAD", "1") in ("0", "off", "false"):
        return []
    found = [call for call in calls(command) if not jit.is_cached(call.name)]
    return found if sum(call.seconds for call in found) > FEW else []


def workers(count):
    """The number of processes for `count` kernels."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(available, count, MOST))


def compile_ahead(command, wanted):
    """Compile kernels of a list in processes; yield each when it is ready, and None from time to time."""
    waiting, done = queue.SimpleQueue(), queue.SimpleQueue()
    for call in sorted(wanted, key=lambda call: -call.seconds):
        waiting.put(call)
    with contextlib.ExitStack() as stack:
        for _ in range(workers(len(wanted))):
            process = stack.enter_context(_worker(command))
            threading.Thread(target=_feed, args=(process, waiting, done), daemon=True).start()
        left = len(wanted)
        while left:
            try:
                call = done.get(timeout=0.2)
            except queue.Empty:
                yield None
                continue
            left -= 1
            yield call


@contextlib.contextmanager
def _worker(command):
    arguments = [sys.executable, "-m", __name__, command]
    pipe = subprocess.PIPE
    process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, bufsize=1)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _feed(process, waiting, done):
    """Give a process one kernel after another. What a process that has died leaves is compiled when it is called."""
    while True:
        try:
            call = waiting.get_nowait()
        except queue.Empty:
            return
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(f"{call.index}\n")
            process.stdout.readline()
        done.put(call)


def compile_call(call):
    """Compile one kernel of a list, or load it; return the seconds of processor time."""
    start = time.process_time()
    module, _, function = call.name.rpartition(".")
    found = getattr(importlib.import_module(f"{PACKAGE}.{module}"), function)
    getattr(found, "compiled", found).compile(tuple(map(from_text, call.arguments)))
    return time.process_time() - start


def main(command):
    """Compile the kernels whose numbers arrive on stdin, and answer each with a line."""
    listed = calls(command)
    for call in listed:
        importlib.import_module(f"{PACKAGE}.{call.name.rpartition('.')[0]}")
    gc.freeze()  # otherwise the garbage collector looks through all of Numba after each kernel
    for line in sys.stdin:
        try:
            answer = f"{compile_call(listed[int(line)]):.2f}"
        except Exception as error:  # the command compiles it again, and reports what is wrong
            answer = type(error).__name__
        sys.stdout.write(f"{line.strip()} {answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])

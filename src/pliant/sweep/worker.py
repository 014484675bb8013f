"""Worker process for jobs: a crash affects one job only.

The process is spawned (never forked) and exchanges lines of JSON: {"call": "module:function", "task": ...} as input,
{"value": ...} or {"error": ...} as output. It exits at once when its input closes because the parent has ended.
"""

import contextlib
import importlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Any, NamedTuple, Self

from ..errors import MeshFileError
from ..validate import size_text

_TICK = 0.1  # s between checks of a job's time and memory
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Limits(NamedTuple):
    """Limits of a job; None: unlimited."""

    seconds: float | None = None
    memory: int | None = None  # bytes
    attempts: int = 3  # attempts at a job whose process dies


class Job(NamedTuple):
    """A job: `call`, a "module:function" that takes `task` and returns a value, both JSON-serialisable."""

    call: str
    task: dict[str, Any]


class Outcome(NamedTuple):
    """The outcome of a job: a value, or an error in one line. `died`: its process ended before the job did. `refused`:
    the worker cannot run such jobs."""

    value: Any = None
    error: str | None = None
    died: bool = False
    attempts: int = 1
    refused: bool = False


class WorkerProcess:
    """A worker process that runs jobs one after the other and is restarted if it dies.

    threads: number of threads of its parallel loops. idle: seconds without a job after which it exits; the next job
    starts a new one.
    """

    def __init__(self, threads: int | None = None, idle: float | None = None) -> None:
        self.threads, self.idle = threads, idle
        self.process: subprocess.Popen[bytes] | None = None
        self.answers: queue.Queue[bytes] = queue.Queue()
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, job: Job, limits: Limits) -> Outcome:
        """Run a job and return its outcome; if the process dies, retry up to `limits.attempts` attempts in all."""
        for attempt in range(1, limits.attempts + 1):
            found = self._once(job, limits)._replace(attempts=attempt)
            if not found.died or self.closed:
                break
        if found.died and limits.attempts > 1:
            return found._replace(error=f"{found.error}, {found.attempts} times")
        return found

    def close(self) -> None:
        """Kill the process, even while it runs a job."""
        self.closed = True
        self._end()

    def _once(self, job: Job, limits: Limits) -> Outcome:
        process = self.process
        if process is None or process.poll() is not None:
            self._end()
            process = self._start()
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # a dead process is detected below
            process.stdin.write(json.dumps(job._asdict()).encode() + b"\n")
            process.stdin.flush()
        began = time.monotonic()
        while True:
            try:
                line = self.answers.get(timeout=_TICK)
            except queue.Empty:
                if broken := _beyond(process.pid, time.monotonic() - began, limits):
                    self._end()
                    return Outcome(error=broken)
                continue
            if not line:
                code = process.wait()
                self._end()
                return Outcome(error=f"its process {_how(code)}", died=True)
            return Outcome(**json.loads(line))

    def _start(self) -> "subprocess.Popen[bytes]":
        if self.closed:
            raise RuntimeError("this worker process is closed")
        environment = dict(os.environ)
        # the child imports the same package, installed or not
        here = str(pathlib.Path(__file__).resolve().parents[2])
        others = [p for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p]
        environment["PYTHONPATH"] = os.pathsep.join([here, *others])
        if self.threads is not None:
            environment.setdefault("NUMBA_NUM_THREADS", str(self.threads))
        self.process = process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from pliant.sweep.worker import serve; serve({self.idle})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if _debug() else subprocess.DEVNULL,
            env=environment,
        )
        self.answers = queue.Queue()
        threading.Thread(target=_listen, args=(process, self.answers), daemon=True).start()
        if self.closed:  # closed by another thread in the meantime
            self._end()
        return process

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()


def _beyond(pid: int, seconds: float, limits: Limits) -> str | None:
    """Return a message if a job exceeds a limit, else None."""
    if limits.seconds is not None and seconds > limits.seconds:
        return f"took longer than {limits.seconds:g} s"
    if limits.memory is not None and resident(pid) > limits.memory:
        return f"took more than {size_text(limits.memory)} of memory"
    return None


def _listen(process: "subprocess.Popen[bytes]", answers: "queue.Queue[bytes]") -> None:
    """Queue the output lines of the process, and an empty one at its end; pipes have no portable timeout."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            answers.put(line)
    answers.put(b"")


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _debug() -> bool:
    return os.environ.get("PLIANT_DEBUG", "") not in ("", "0")


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if the platform does not report it."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as words:
            return int(words.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def serve(idle: float | None = None) -> None:
    """Main loop of the worker process: run jobs until the input ends or none has arrived for `idle` seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which kills this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by libraries must not mix with answers
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(jobs,), daemon=True).start()
    while True:
        try:
            job = json.loads(jobs.get(timeout=idle))
        except queue.Empty:
            return
        answers.write(json.dumps(_answer(job)).encode() + b"\n")
        answers.flush()


def _take(jobs: "queue.SimpleQueue[bytes]") -> None:
    """Read the input while a job runs, and exit when the parent has ended."""
    for line in sys.stdin.buffer:
        jobs.put(line)
    os._exit(0)


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    try:
        module, _, name = job["call"].partition(":")
        return {"value": getattr(importlib.import_module(module), name)(job["task"])}
    except Exception as error:
        if _debug():
            traceback.print_exc()
        return {"error": in_one_line(error)}


def in_one_line(error: BaseException) -> str:
    """Format an error in one line; unexpected errors include the name of their type."""
    if isinstance(error, MemoryError):
        return "out of memory"
    text = " ".join(str(error).split())
    if isinstance(error, (ValueError, MeshFileError, OSError)) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

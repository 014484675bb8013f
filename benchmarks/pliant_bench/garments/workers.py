"""Runs in processes of their own, so that one without end can be stopped: it is a miss, and the others go on."""

import dataclasses
import functools
import multiprocessing
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from .wearing import Run

if TYPE_CHECKING:
    import logging

TAILORING = 600.0  # seconds that making a garment may take
Task = tuple[Run, pathlib.Path | None]
Tell = Callable[[str], None]


def _serve(pipe: Connection) -> None:
    """The loop of a worker: tasks in; progress, then a row or an error out. It ends with the process that began it."""
    import logging
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the other process, and this one with it
    try:
        _work(pipe, logging.getLogger("pliant"))
    except (EOFError, OSError):
        return


def _work(pipe: Connection, log: "logging.Logger") -> None:
    from .outline import Unfit
    from .running import run_one

    log.setLevel("ERROR")
    while (task := pipe.recv()) is not None:
        run, sheet = task
        try:
            row = run_one(run, sheet, lambda note: pipe.send(("note", note)))
            pipe.send(("row", row))
        except Unfit as error:
            pipe.send(("unfit", str(error)))
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:  # a run that fails is a miss, and the others go on
            pipe.send(("failed", f"{type(error).__name__}: {error}"))


class Worker:
    """A process that does one run after another; it is replaced when a run takes too long."""

    def __init__(self, serve: Callable[[Connection], None] = _serve, tailoring: float = TAILORING) -> None:
        self._serve, self._tailoring = serve, tailoring
        self._process: Any = None
        self._pipe: Any = None

    def run(self, task: Task, limit: float, tell: Tell) -> dict[str, Any]:
        """The row of a run; its `state` says why there are no figures."""
        if self._process is None:
            spawn = multiprocessing.get_context("spawn")
            self._pipe, theirs = spawn.Pipe()
            self._process = spawn.Process(target=self._serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        run, _ = task
        empty = {"character": run.character, "garment": run.garment, "wanted": run.particles}
        asked = {"solver": run.solver, "substeps": run.substeps, "self_contact": run.self_contact}
        empty |= {key: value for key, value in asked.items() if value is not None}
        self._pipe.send(task)
        last, until, about = "", time.monotonic() + self._tailoring, run.name
        while True:
            try:
                if not self._pipe.poll(max(until - time.monotonic(), 0.0)):
                    self.stop()
                    return empty | {"state": f"no end in time ({last or 'not begun'})"}
                kind, value = self._pipe.recv()
            except (EOFError, OSError):
                self.stop()
                return empty | {"state": f"the process ended ({last})"}
            if kind == "row":
                return dict(value)
            if kind != "note":
                return empty | {"state": value if kind == "failed" else f"unfit: {value}"}
            last = value
            if value == "ready":
                until = time.monotonic() + limit
            tell(f"{about}: {value}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


@dataclasses.dataclass(frozen=True, eq=False)
class Crew:
    """Several workers at the same time; more than one makes the times of the runs unreliable."""

    jobs: int
    limit: float

    def rows(self, tasks: Sequence[Task], tell: Tell) -> Iterator[dict[str, Any]]:
        """The rows in the order of the tasks."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for k in range(len(tasks)):
            waiting.put(k)
        found: dict[int, dict[str, Any]] = {}
        ready, ended = threading.Condition(), threading.Event()

        def work() -> None:
            worker = Worker()
            try:
                while not ended.is_set():
                    try:
                        k = waiting.get_nowait()
                    except queue.Empty:
                        return
                    row = worker.run(tasks[k], self.limit, functools.partial(_told, tell, f"{k + 1} of {len(tasks)}"))
                    with ready:
                        found[k] = row
                        ready.notify_all()
            finally:
                worker.stop()

        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(self.jobs, len(tasks)))]
        for thread in threads:
            thread.start()
        try:
            for k in range(len(tasks)):
                with ready:
                    while k not in found:
                        ready.wait(0.2)
                yield found[k]
        finally:
            ended.set()


def _told(tell: Tell, count: str, note: str) -> None:
    tell(f"{count}: {note}")

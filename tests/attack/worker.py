"""A worker process that runs cases one after the other; a case that times out or ends the process is a failure."""

import contextlib
import importlib
import logging
import multiprocessing
import os
import resource
import sys
import time
import traceback
import warnings

from attack.trial import Trial

MOST_CASES = 4000  # cases after which the process is replaced
MOST_MEMORY = 3 * 2**30  # bytes above which the process is replaced


def run_case(guarantee: str, seed: int, index: int) -> dict:
    """The results of a case as plain values. An unexpected exception is a failure."""
    trial, began = Trial(guarantee, seed, index), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            importlib.import_module(f"attack.{guarantee}").attack(trial)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        trial.failures.append(f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})")
        if os.environ.get("PLIANT_DEBUG"):
            traceback.print_exc()
    return {
        "checks": trial.checks,
        "failures": trial.failures,
        "kept": trial.kept,
        "notes": dict(trial.notes),
        "remarks": trial.remarks,
        "measures": trial.measures,
        "seconds": time.perf_counter() - began,
        "line": trial.line,
        "timed_out": False,
    }


def _serve(pipe, folder) -> None:
    sys.path[:] = [folder, *(path for path in sys.path if path != os.path.join(folder, "attack"))]
    logging.disable(logging.CRITICAL)  # the attacks count reports instead of reading warnings
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            pipe.send((run_case(*pipe.recv()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


class Worker:
    """One process; `ask` sends it a case, `answer` returns the result, or None while the case is running."""

    def __init__(self, threads: int = 2) -> None:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
        self.case, self.process = None, None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.process = context.Process(target=_serve, args=(other, folder), daemon=True)
        self.process.start()
        other.close()
        self.done = 0

    def ask(self, guarantee: str, seed: int, index: int, limit: float) -> None:
        self.case, self.limit, self.began = (guarantee, seed, index), limit, time.monotonic()
        self.pipe.send(self.case)

    def answer(self) -> dict | None:
        """None while the case runs within its time limit."""
        took = time.monotonic() - self.began
        try:
            if self.pipe.poll(0.0):
                found, memory = self.pipe.recv()
                self.done += 1
                if self.done >= MOST_CASES or memory > MOST_MEMORY:
                    self._again()
                return found
        except (EOFError, ConnectionError):
            self.process.join(5.0)
            return self._broken(f"the process ended with exit code {self.process.exitcode}", took)
        if took <= self.limit:
            return None
        return self._broken("timed out", took, timed_out=True)

    def _broken(self, why: str, took: float, timed_out: bool = False) -> dict:
        guarantee, seed, index = self.case
        self._again()
        line = Trial(guarantee, seed, index).line
        text = f"{why} ({took:.0f} s)"
        return {
            "checks": 1,
            "failures": [text],
            "kept": [],
            "notes": {},
            "remarks": [],
            "measures": {},
            "seconds": took,
            "line": line,
            "timed_out": timed_out,
        }

    def _again(self) -> None:
        self.close()
        self._begin()

    def close(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join(5.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

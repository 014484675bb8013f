"""Stands for `subprocess` where pliant reads through a program of its own: a copy of this process is the program for
one file after the other, which takes milliseconds instead of a third of a second (Linux and macOS). Where a file ends
it, the next one gets a new copy."""

import argparse
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable

_MANY = 500  # files of one copy, so that what the library keeps of them does not add up
_STUCK = 60.0  # seconds by the wall after which a copy is ended
_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss


class Copied:
    """`main` is the program's function; `run` gives it the last words of the command."""

    DEVNULL = -1
    TimeoutExpired = TimeoutError

    def __init__(self, main: Callable[..., None], words: int, seconds: float = 2.0, extra: int = 512 << 20) -> None:
        self.main, self.words, self.seconds, self.extra = main, words, seconds, extra
        self.signals: dict[str, int] = {}  # programs that a signal has ended
        self.odd: list[str] = []  # what no program may do, whatever the file
        self._child = self._requests = self._answers = self._count = 0

    def run(self, command, **_):
        if not self._child or self._count >= _MANY:
            self.close()
            self._child, self._requests, self._answers = self.begin()
        self._count += 1
        os.write(self._requests, json.dumps(command[-self.words :]).encode() + b"\n")
        stuck = not select.select([self._answers], [], [], _STUCK)[0]
        if stuck:
            os.kill(self._child, signal.SIGKILL)
        told = b""
        while not told.endswith(b"\n") and (more := os.read(self._answers, 1 << 16)):
            told += more
        if not told:
            code = self._wait()
            return self._ended(code, stuck)
        wrong, spent, grown, code = json.loads(told)
        if code:
            return self._ended(code, -code == signal.SIGALRM)
        if wrong:
            self.odd.append(wrong)
        if spent > self.seconds:
            self.odd.append(f"took {spent:.1f} s")
        if grown > self.extra:
            self.odd.append(f"took {grown >> 20} MiB")
            self.close()  # the peak of a process does not fall
        return argparse.Namespace(returncode=int(bool(wrong)), stderr=str(wrong).encode())

    def _ended(self, code: int, stuck: bool) -> argparse.Namespace:
        if stuck:
            self.odd.append(f"no answer within {_STUCK:g} s")
        else:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            self.signals[name] = self.signals.get(name, 0) + 1
        return argparse.Namespace(returncode=code, stderr=b"")

    def close(self) -> None:
        if self._child:
            os.close(self._requests)
            self._requests = 0
            self._wait()

    def _wait(self) -> int:
        for end in (self._requests, self._answers):
            if end:
                os.close(end)
        code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        self._child = self._requests = self._answers = self._count = 0
        return code

    def begin(self) -> tuple[int, int, int]:
        """Start a program: its process, where it reads requests, and where it writes answers."""
        theirs, requests = os.pipe()
        answers, ours = os.pipe()
        child = os.fork()
        if child:
            os.close(theirs)
            os.close(ours)
            return child, requests, answers
        os.close(requests)
        os.close(answers)
        with os.fdopen(theirs, "rb") as given:
            for line in given:
                wrong, start, before = "", time.process_time(), _peak()
                try:
                    self.main(*json.loads(line))
                except BaseException as error:
                    wrong = f"{type(error).__name__}: {error}"[:300]
                answer = [wrong, time.process_time() - start, _peak() - before, 0]
                os.write(ours, json.dumps(answer).encode() + b"\n")
        os._exit(0)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT

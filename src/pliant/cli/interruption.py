"""Ctrl-C that cannot be lost.

Python raises KeyboardInterrupt in whatever code runs when the signal arrives. In a destructor or in a callback of the
compiler the exception is printed or discarded, and the command would go on. The handler therefore remembers the signal,
and every step of a progress bar raises the exception again.

A program that starts a command can also have it end with itself, however it ends: see `end_with_input`.
"""

import os
import signal
import sys
import threading
from types import FrameType

_requested = False


def install() -> None:
    """Handle SIGINT in this process, unless it is ignored (a job in the background) or handled otherwise."""
    global _requested
    _requested = False
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    global _requested
    _requested = True
    raise KeyboardInterrupt


def raise_if_requested() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed and its exception was lost."""
    if _requested:
        raise KeyboardInterrupt


def end_with_input() -> None:
    """With PLIANT_END_WITH_INPUT=1 in the environment, end this process, and the group that it leads, when its stdin is
    closed: a pipe from the program that started it, which the system closes even where that program is killed."""
    if os.environ.get("PLIANT_END_WITH_INPUT") == "1":
        threading.Thread(target=_wait_for_end, args=(sys.stdin.fileno(),), daemon=True).start()


def _wait_for_end(pipe: int) -> None:
    while os.read(pipe, 4096):
        pass
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(128 + signal.SIGTERM)

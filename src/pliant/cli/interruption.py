"""Ctrl-C that cannot be lost.

Python raises KeyboardInterrupt in whatever code runs when the signal arrives. In a destructor or in a callback of the
compiler the exception is printed or discarded, and the command would go on. The handler therefore remembers the signal,
and every step of a progress bar raises the exception again.
"""

import signal
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

"""What the rest of pliant warns of while it works for a page: heard where it is said, and told to the page."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

_OURS = "pliant.view"  # what is said here is told anyway


class _Ear(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.tell, self.thread = tell, threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self.thread and not record.name.startswith(_OURS):
            self.tell(record.getMessage())


@contextlib.contextmanager
def hearing(tell: Callable[[str], None]) -> Iterator[None]:
    """`tell` is told every warning of this thread while the block runs; the terminal has it as before."""
    ear, log = _Ear(tell), logging.getLogger("pliant")
    log.addHandler(ear)
    try:
        yield
    finally:
        log.removeHandler(ear)

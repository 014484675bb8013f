"""Log relay: forwards warnings of pliant from the simulation thread to the page."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

_OURS = "pliant.view"  # its messages reach the page directly


class _RelayHandler(logging.Handler):
    def __init__(self, send: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.send, self.thread = send, threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self.thread and not record.name.startswith(_OURS):
            self.send(record.getMessage())


@contextlib.contextmanager
def relay_warnings(send: Callable[[str], None]) -> Iterator[None]:
    """Call `send` with every warning and error that this thread logs outside of `view` while the block runs; other
    handlers are not affected."""
    relay, log = _RelayHandler(send), logging.getLogger("pliant")
    log.addHandler(relay)
    try:
        yield
    finally:
        log.removeHandler(relay)

"""What the server knows of a session: this much and no more, so that either can be tried without the other."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from .commands import Command, Known


class News(NamedTuple):
    """One encoded frame. `world` changes with everything that a page builds itself from."""

    world: int
    serial: int
    data: bytes  # empty before the first frame


class Face(Protocol):
    """A running simulation, as seen from outside its thread; nothing here waits for it, but `stop`."""

    @property
    def newest(self) -> News:
        """Replaced as a whole, after `hello` and `known` of a new world."""

    @property
    def known(self) -> Known:
        """What commands are checked against."""

    @property
    def said(self) -> tuple[tuple[int, str], ...]:
        """The last few lines to tell every page, {"note": ...} or {"problem": ...} as JSON, numbered from 1."""

    def hello(self) -> str:
        """JSON that a page builds itself from; empty while there is nothing to show."""

    def start(self) -> None:
        """Start computing."""

    def stop(self) -> None:
        """Stop computing, within two seconds."""

    def listen(self, call: Callable[[], None]) -> None:
        """`call` is run, on the computing thread, whenever `newest`, `hello` or `said` changed."""

    def post(self, client: int, command: Command) -> None:
        """Take a command; never waits."""

    def leave(self, client: int) -> None:
        """The client is gone or lost the controls: what it holds is let go."""

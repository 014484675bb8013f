"""Session interface: the part of a session that the server uses, so that each can be tested without the other."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from .. import renamed
from .commands import Command, ValidCommands

__getattr__ = renamed.module(__name__, {"SessionProtocol": "pliant.view.session_interface:SessionInterface"})


class PublishedFrame(NamedTuple):
    """One encoded frame. `generation`: number of the newest greeting (`hello`), incremented with each; after another
    greeting of the same scene, `data` is the last frame of the former generation until the next frame."""

    generation: int
    serial: int
    data: bytes  # empty before the first frame of a scene


class SessionInterface(Protocol):
    """A running simulation as seen from other threads; no method blocks except `stop`."""

    @property
    def newest(self) -> PublishedFrame:
        """The newest frame; replaced as a whole, after `hello` and `valid_commands` of a new generation."""

    @property
    def valid_commands(self) -> ValidCommands:
        """The valid names and ranges of commands."""

    @property
    def messages(self) -> tuple[tuple[int, str], ...]:
        """The latest messages for all pages, numbered from 1: JSON with "note", "warning" or "problem" as the key."""

    @property
    def has_started(self) -> bool:
        """Whether a greeting has been published; a session that failed before has nothing to show."""

    @property
    def failed(self) -> str:
        """The message of the error that ended the simulation; empty while it runs."""

    def hello(self) -> str:
        """Return the JSON from which a page builds its content; empty while there is nothing to show."""

    def start(self) -> None:
        """Start the simulation thread."""

    def stop(self) -> None:
        """Ask the simulation thread to stop, and wait at most 1.5 s."""

    def subscribe(self, call: Callable[[], None]) -> None:
        """Register `call`, run on the simulation thread whenever `newest`, `hello` or `messages` has changed."""

    def post(self, client: int, command: Command) -> None:
        """Queue a command without blocking."""

    def leave(self, client: int) -> None:
        """Release what the client holds, after it disconnected or lost the controls."""

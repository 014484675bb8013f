"""A server of a session on a thread of its own, for tests that are its clients."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from pliant.view.access import AccessRules
from pliant.view.commands import Do
from pliant.view.listening_socket import listen_at
from pliant.view.server import DEFAULT_LIMITS, Limits, Server
from pliant.view.session_interface import SessionInterface
from view.fake import FakeSession
from view.raw import Raw


def until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def small(rate: float = 0.0) -> FakeSession:
    return FakeSession(side=4, rate=rate)


class Running:
    """What a client needs to know, and a look inside for tests."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.server, self.loop, self.gate = server, loop, server.rules
        self.port, self.url, self.host = self.gate.port, self.gate.url, f"127.0.0.1:{self.gate.port}"

    def tasks(self) -> int:
        """How many tasks the loop has, that of this question not counted."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(60.0)


@contextlib.contextmanager
def running(
    session: SessionInterface, limits: Limits = DEFAULT_LIMITS, token: bool = False, host: str = "127.0.0.1"
) -> Iterator[Running]:
    """Serve `session` on a free port while the block runs."""
    listening = listen_at(host, 0)
    gate = AccessRules.at(listening, host, token)
    ready, over, made = threading.Event(), threading.Event(), []

    async def serving() -> None:
        server = Server(session, listening, gate, limits)
        await server.start()
        made.append(Running(server, asyncio.get_running_loop()))
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.01)
        await server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serving()), daemon=True)
    session.start()
    thread.start()
    assert ready.wait(60.0)
    try:
        yield made[0]
    finally:
        over.set()
        thread.join(60.0)
        session.stop()
        assert not thread.is_alive()


def is_well(server: Running) -> None:
    """A new client sees the run and is heard."""
    session = server.server.session
    before = session.newest.serial
    with Raw(server.port) as client:
        assert client.words("hello")["generation"] == session.generation
        generation, serial = client.picture()
        assert generation == session.generation
        assert before <= serial <= session.serial  # frames may have come meanwhile
        client.say(do="go")
        assert until(lambda: session.commands and session.commands[-1][1] == Do("go"))

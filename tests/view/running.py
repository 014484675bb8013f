"""A server of a session on a thread of its own, for tests that are its clients."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from pliant.view.face import Face
from pliant.view.gate import Gate, listen_at
from pliant.view.server import USUAL, Limits, Server


class Running:
    """What a client needs to know, and a look inside for tests."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.server, self.loop, self.gate = server, loop, server.gate
        self.port, self.url, self.host = self.gate.port, self.gate.url, f"127.0.0.1:{self.gate.port}"

    def tasks(self) -> int:
        """How many tasks the loop has, that of this question not counted."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(10.0)


@contextlib.contextmanager
def running(session: Face, limits: Limits = USUAL, token: bool = False, host: str = "127.0.0.1") -> Iterator[Running]:
    """Serve `session` on a free port while the block runs."""
    listening = listen_at(host, 0)
    gate = Gate.at(listening, host, token)
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
    assert ready.wait(10.0)
    try:
        yield made[0]
    finally:
        over.set()
        thread.join(10.0)
        session.stop()
        assert not thread.is_alive()

"""The server: files over HTTP, one WebSocket a page, all on one thread beside the one that computes.

A client has no queue. What it has not been told yet is worked out when it can take more, so a slow one misses frames
and a stalled one costs one frame of memory until its time is up.
"""

import asyncio
import contextlib
import dataclasses
import functools
import itertools
import json
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from websockets.asyncio.server import Server as Sockets
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_sockets
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from . import answers
from .commands import LONGEST, Command, Known, Refused, parse
from .face import Face
from .gate import Controls, Gate
from .page import FRONT, Page, table

LINK = "/link"  # where pages open their socket
LOG = logging.getLogger("pliant.view.sockets")
LOG.setLevel(logging.WARNING)  # the library would log every frame where pliant is debugged
IN_ALL = 1.0  # seconds from Ctrl-C until nobody waits for the session any more
AT_ONCE = 64  # messages of one client before the others have their turn


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much of everything; times in seconds."""

    clients: int = 8
    connections: int = 64  # those that only ask for files included
    fps: float = 60.0  # frames a second that a client is sent at most
    stall: float = 30.0  # a client that takes nothing for so long is dropped
    controls: float = 30.0  # without a command, after which others may have them
    opening: float = 5.0
    closing: float = 0.5
    sent_ahead: int = 1 << 19  # bytes that the system may hold for a client: what is in there is already old


USUAL = Limits()


class Line(ServerConnection):
    """A connection that the server counts from its first byte on."""

    def __init__(self, house: "Server", *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.house = house

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        wire = transport.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.house.limits.sent_ahead)
        # asyncio does so only where it made the socket itself; without it, words after words take 40 ms each
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.house.lines.add(self)
        if len(self.house.lines) > self.house.limits.connections:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.house.lines.discard(self)
        self.house.seats.discard(self)
        super().connection_lost(exc)


@dataclasses.dataclass(eq=False)
class Client:
    """Someone with a page open, and what it was told last."""

    number: int
    line: Line
    wake: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    world: int | None = None
    serial: int | None = None
    line_said: int = 0
    heard: bool | None = None  # whether it was told that its commands are
    answer: str = ""  # to its last command, if that was not taken


class Server:
    """Serves one session on one listening socket; all of it runs in one event loop."""

    def __init__(self, session: Face, listening: socket.socket, gate: Gate, limits: Limits = USUAL) -> None:
        self.session, self.gate, self.limits = session, gate, limits
        self.pages: dict[str, Page] = table()
        self.controls = Controls(limits.controls)
        self.lines: set[Line] = set()
        self.seats: set[Line] = set()  # that of a client is taken before the handshake ends, so that two cannot share
        self.clients: dict[int, Client] = {}
        self._listening = listening
        self._numbers = itertools.count(1)
        self._known: tuple[Known | None, Known] = (None, session.known)  # of the world before, and of this one
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sockets: Sockets | None = None
        self._watch: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = await serve_sockets(
            self._meet,  # type: ignore[arg-type]
            sock=self._listening,
            process_request=self._answer,  # type: ignore[arg-type]
            process_response=self._seal,
            create_connection=functools.partial(Line, self),  # type: ignore[arg-type]
            compression=None,  # positions hardly shrink, and what arrives cannot unfold into more
            server_header=None,
            max_size=LONGEST,
            open_timeout=self.limits.opening,
            close_timeout=self.limits.closing,
            ping_interval=self.limits.stall / 3.0,
            ping_timeout=self.limits.stall * 2.0 / 3.0,
            logger=LOG,
        )
        self.session.listen(self._changed)

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """Those that listen."""
        return tuple(self._sockets.sockets) if self._sockets is not None else ()

    async def close(self) -> None:
        """Close every socket: politely, and after `limits.closing` without asking."""
        if self._watch is not None:
            self._watch.cancel()
        if self._sockets is None:
            self._listening.close()
            return
        self._sockets.close()
        closed = asyncio.ensure_future(self._sockets.wait_closed())
        await asyncio.wait([closed], timeout=self.limits.closing)
        for line in tuple(self.lines):
            line.transport.abort()
        await asyncio.wait([closed], timeout=self.limits.closing)

    def _changed(self) -> None:
        """There is news; called on the computing thread."""
        loop = self._loop
        with contextlib.suppress(RuntimeError):  # the loop has closed: there is nobody left to tell
            if loop is not None:
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for client in self.clients.values():
            client.wake.set()

    # what comes in by HTTP

    def _answer(self, line: Line, request: Request) -> Response | None:
        """A file, a refusal, or None: the socket may be opened."""
        host = self.gate.host(request.headers.get_all("Host"))
        if host is None:
            return answers.refusal(403, "This is not a name of this server.")
        if (method := getattr(request, "method", "GET")) not in ("GET", "HEAD"):
            return answers.refusal(405, "Only GET and HEAD.")
        path, _, query = request.path.partition("?")
        token = answers.token(query)
        if path == LINK:
            full = len(self.seats) >= self.limits.clients
            no_seat = answers.refusal(503, f"{len(self.seats)} pages are open; close one of them.")
            if full and "Upgrade" not in request.headers and self.gate.opens(token):
                return no_seat  # a page that was refused asks why: scripts in browsers see no status of a socket
            if not self.gate.admits(host, request.headers.get_all("Origin"), token):
                return answers.refusal(403, "Only the page of this server may connect; scripts need its token.")
            if full:
                return no_seat
            if "Upgrade" not in request.headers:
                return answers.refusal(426, "This is the address of a socket.")
            self.seats.add(line)
            return None
        if (page := self.pages.get(path)) is None:
            return answers.refusal(404, "There is no such file.")
        if page is self.pages.get(FRONT) and not self.gate.opens(token):
            return answers.refusal(403, "Open the address with its token, as pliant play printed it.")
        return answers.file(page, empty=method == "HEAD")

    def _seal(self, line: ServerConnection, request: Request, response: Response) -> None:
        answers.seal(response, self.gate.host(request.headers.get_all("Host")))

    # what comes in by the socket

    async def _meet(self, line: Line) -> None:
        client = Client(next(self._numbers), line)
        self.clients[client.number] = client
        tasks = [asyncio.ensure_future(work) for work in (self._hear(client), self._tell(client))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self.clients[client.number]
            self.controls.leave(client.number)
            self.session.leave(client.number)
            self._wake()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in done:
            task.result()

    async def _hear(self, client: Client) -> None:
        with contextlib.suppress(ConnectionClosed):
            for count in itertools.count(1):
                message = await client.line.recv()
                try:
                    self._command(client, self._understood(message))
                except Refused as refused:
                    await self._refuse(client, refused)
                    return
                if count % AT_ONCE == 0:
                    await asyncio.sleep(0)

    def _understood(self, message: str | bytes) -> Command | None:
        """The command, or None for one of the world before: its page could not know yet that it is gone."""
        known = self.session.known
        if known is not self._known[1]:
            self._known = (self._known[1], known)
        try:
            return parse(message, known)
        except Refused:
            if (before := self._known[0]) is None:
                raise
            parse(message, before)
            return None

    def _command(self, client: Client, command: Command | None) -> None:
        before, now = self.controls.holder, self._now
        if command is None:
            client.answer = "the scene has changed"
            client.wake.set()
        elif not self.controls.take(client.number, now):
            client.answer = "someone else has the controls"
            client.wake.set()
        else:
            if before != client.number or self._watch is None:  # who was silent may go on, and others hear of it
                if before is not None and before != client.number:
                    self.session.leave(before)
                self._wake()
                self._expire()
            self.session.post(client.number, command)

    def _expire(self) -> None:
        """Tell all when the controls are free again."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self.controls.holder is None or self._loop is None:
            return
        if self._now >= self.controls.until:
            self._wake()
        else:
            self._watch = self._loop.call_at(self.controls.until, self._expire)

    async def _refuse(self, client: Client, refused: Refused) -> None:
        try:
            async with asyncio.timeout(2.0 * self.limits.closing):
                await client.line.close(refused.code, refused.why)
        except TimeoutError:  # it does not read what we would say
            client.line.transport.abort()

    # what goes out by the socket

    async def _tell(self, client: Client) -> None:
        with contextlib.suppress(ConnectionClosed):
            client.line_said = self._last_said() - (not self.session.hello())
            while True:
                client.wake.clear()
                due = self._now + 1.0 / self.limits.fps
                for text in self._words(client):
                    await self._send(client, text)
                news = self.session.newest
                if news.data and news.world == client.world and news.serial != client.serial:
                    client.serial = news.serial
                    await self._send(client, news.data)
                    await asyncio.sleep(due - self._now)
                await client.wake.wait()

    def _words(self, client: Client) -> Iterator[str]:
        """What the client has not been told yet; worked out as it is sent."""
        if (world := self.session.newest.world) != client.world and (hello := self.session.hello()):
            client.world, client.serial = world, None
            yield hello
        if (heard := self.controls.free_for(client.number, self._now)) != client.heard:
            client.heard = heard
            yield json.dumps({"controls": heard})
        if client.answer:
            text, client.answer = client.answer, ""
            yield json.dumps({"refused": text})
        for number, text in self.session.said:
            if number > client.line_said:
                client.line_said = number
                yield text

    async def _send(self, client: Client, message: str | bytes) -> None:
        try:
            async with asyncio.timeout(self.limits.stall):
                await client.line.send(message)
        except TimeoutError:
            client.line.transport.abort()  # closing politely would wait for it to read
            await client.line.wait_closed()

    def _last_said(self) -> int:
        return max((number for number, _ in self.session.said), default=0)

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def run(
    session: Face,
    listening: socket.socket,
    gate: Gate,
    limits: Limits = USUAL,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve until Ctrl-C; then all sockets are closed within a second, and the session is told to stop."""
    ended: list[float] = []

    async def serving() -> None:
        server, over = Server(session, listening, gate, limits), asyncio.Event()
        loop = asyncio.get_running_loop()

        def changed() -> None:
            if getattr(session, "failed", "") and not session.newest.world:  # there was never anything to show
                loop.call_soon_threadsafe(over.set)

        session.listen(changed)
        try:
            await server.start()
            changed()
            with _hearing_signals(over):  # before anybody knows that there is something to end
                if ready is not None:
                    ready()
                await over.wait()
        finally:
            ended.append(time.monotonic())
            stopping.start()
            await server.close()

    # the session stops while sockets close, on a thread that nobody has to wait for
    stopping = threading.Thread(target=session.stop, daemon=True)
    session.start()
    with contextlib.suppress(KeyboardInterrupt):  # where signals cannot be heard, asyncio makes them this
        asyncio.run(serving())
    if not ended:  # interrupted before anything was served
        session.stop()
        return
    stopping.join(max(0.0, IN_ALL - (time.monotonic() - ended[0])))


@contextlib.contextmanager
def _hearing_signals(over: asyncio.Event) -> Iterator[None]:
    """Ctrl-C and a polite kill set `over`; a second Ctrl-C does what it always does."""
    loop, heard = asyncio.get_running_loop(), []

    def end(number: signal.Signals) -> None:
        if number != signal.SIGINT:  # who pressed Ctrl-C knows; others would find a server that vanished
            logging.getLogger("pliant.view").warning("ended by %s", number.name)
        over.set()

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            if sys.platform != "win32":
                loop.add_signal_handler(number, end, number)
                heard.append(number)
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)

"""The server: files over HTTP and one WebSocket per page, on one thread next to the simulation thread.

Clients have no send queue. The next message is determined when a client is ready to receive, so a slow client skips
frames, and a stalled client costs the memory of one frame until its timeout.
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

from .. import renamed
from . import http_responses
from .access import AccessRules, Controls, token_in
from .commands import LONGEST, Command, Refused, ValidCommands, parse
from .session_interface import SessionInterface
from .static_files import FRONT, StaticFile, static_files

LINK = "/link"  # path of the WebSocket
LOG = logging.getLogger("pliant.view.sockets")
LOG.setLevel(logging.WARNING)  # at debug level the library logs every frame
SHUTDOWN_SECONDS = 1.0  # seconds from Ctrl-C to the end of waiting for the session
MESSAGES_PER_TURN = 64  # messages of one client processed before others are served


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of the server; times in seconds."""

    clients: int = 8
    connections: int = 64  # including requests for files
    fps: float = 60.0  # largest frame rate sent to a client
    stall: float = 30.0  # time without receiving after which a client is disconnected
    controls: float = 30.0  # time without a command after which others may take the controls
    open_timeout: float = 5.0  # of the opening handshake
    close_timeout: float = 0.5  # of the closing handshake
    send_buffer: int = 1 << 19  # bytes sent ahead to a client; more would mean older frames


DEFAULT_LIMITS = Limits()
__getattr__ = renamed.module(__name__, {"USUAL": "pliant.view.server:DEFAULT_LIMITS"})


class Connection(ServerConnection):
    """A connection, counted by the server from the moment it is accepted."""

    def __init__(self, owner: "Server", *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.owner = owner

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        wire = transport.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.owner.limits.send_buffer)
        # asyncio sets this only for sockets it created; without it, consecutive messages take 40 ms each
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.owner.connections.add(self)
        if len(self.owner.connections) > self.owner.limits.connections:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.owner.connections.discard(self)
        self.owner.reserved.discard(self)
        super().connection_lost(exc)


@dataclasses.dataclass(eq=False)
class Client:
    """A connected page and what was last sent to it."""

    number: int
    connection: Connection
    wake: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    generation: int | None = None
    serial: int | None = None
    last_message: int = 0
    controls_sent: bool | None = None  # last sent value of "controls"
    refusal: str = ""  # reason why its last command was rejected


class Server:
    """Serves one session on one listening socket, in one event loop."""

    def __init__(
        self, session: SessionInterface, listening: socket.socket, rules: AccessRules, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.session, self.rules, self.limits = session, rules, limits
        self.files: dict[str, StaticFile] = static_files()
        self.controls = Controls(limits.controls)
        self.connections: set[Connection] = set()
        self.reserved: set[Connection] = set()  # slots of clients, reserved before the handshake ends to avoid a race
        self.clients: dict[int, Client] = {}
        self._listening = listening
        self._numbers = itertools.count(1)
        # of the previous and the current generation
        self._valid_commands: tuple[ValidCommands | None, ValidCommands] = (None, session.valid_commands)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sockets: Sockets | None = None
        self._watch: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = await serve_sockets(
            self._serve_client,  # type: ignore[arg-type]
            sock=self._listening,
            process_request=self._answer,  # type: ignore[arg-type]
            process_response=self._add_security_headers,
            create_connection=functools.partial(Connection, self),  # type: ignore[arg-type]
            compression=None,  # positions hardly compress, and messages cannot be decompression bombs
            server_header=None,
            max_size=LONGEST,
            open_timeout=self.limits.open_timeout,
            close_timeout=self.limits.close_timeout,
            ping_interval=self.limits.stall / 3.0,
            ping_timeout=self.limits.stall * 2.0 / 3.0,
            logger=LOG,
        )
        self.session.subscribe(self._changed)

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening sockets."""
        return tuple(self._sockets.sockets) if self._sockets is not None else ()

    async def close(self) -> None:
        """Close every socket, with a closing handshake of at most `limits.close_timeout` seconds."""
        if self._watch is not None:
            self._watch.cancel()
        if self._sockets is None:
            self._listening.close()
            return
        self._sockets.close()
        closed = asyncio.ensure_future(self._sockets.wait_closed())
        await asyncio.wait([closed], timeout=self.limits.close_timeout)
        for connection in tuple(self.connections):
            connection.transport.abort()
        await asyncio.wait([closed], timeout=self.limits.close_timeout)

    def _changed(self) -> None:
        """Wake all clients; called on the simulation thread when the session has changed."""
        loop = self._loop
        with contextlib.suppress(RuntimeError):  # the loop is closed
            if loop is not None:
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for client in self.clients.values():
            client.wake.set()

    # HTTP requests

    def _answer(self, connection: Connection, request: Request) -> Response | None:
        """Return a file or an error response, or None to open the socket."""
        host = self.rules.host(request.headers.get_all("Host"))
        if host is None:
            return http_responses.refusal(403, "The Host header does not name this server.")
        if (method := getattr(request, "method", "GET")) not in ("GET", "HEAD"):
            return http_responses.refusal(405, "Only GET and HEAD are supported.")
        path, _, query = request.path.partition("?")
        token = token_in(query)
        if path == LINK:
            full = len(self.reserved) >= self.limits.clients
            full_response = http_responses.refusal(503, f"{len(self.reserved)} clients are connected; close one.")
            if full and "Upgrade" not in request.headers and self.rules.accepts_token(token):
                return full_response  # a rejected page requests the reason: scripts cannot read the status of a socket
            if not self.rules.admits(host, request.headers.get_all("Origin"), token):
                return http_responses.refusal(403, "Only the page of this server may connect; scripts need its token.")
            if full:
                return full_response
            if "Upgrade" not in request.headers:
                return http_responses.refusal(426, "This is the address of a WebSocket.")
            self.reserved.add(connection)
            return None
        if (file := self.files.get(path)) is None:
            return http_responses.refusal(404, "There is no such file.")
        if file is self.files.get(FRONT) and not self.rules.accepts_token(token):
            return http_responses.refusal(403, "Open the address with its token, as pliant play printed it.")
        return http_responses.file_response(file, empty=method == "HEAD")

    def _add_security_headers(self, connection: ServerConnection, request: Request, response: Response) -> None:
        http_responses.add_security_headers(response, self.rules.host(request.headers.get_all("Host")))

    # messages from clients

    async def _serve_client(self, connection: Connection) -> None:
        client = Client(next(self._numbers), connection)
        self.clients[client.number] = client
        tasks = [asyncio.ensure_future(work) for work in (self._receive(client), self._send_loop(client))]
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

    async def _receive(self, client: Client) -> None:
        with contextlib.suppress(ConnectionClosed):
            for count in itertools.count(1):
                message = await client.connection.recv()
                try:
                    self._command(client, self._parse_command(message))
                except Refused as refused:
                    await self._refuse(client, refused)
                    return
                if count % MESSAGES_PER_TURN == 0:
                    await asyncio.sleep(0)

    def _parse_command(self, message: str | bytes) -> Command | None:
        """Return the command, or None if it is valid only in the previous generation: the page was not yet updated."""
        valid = self.session.valid_commands
        if valid is not self._valid_commands[1]:
            self._valid_commands = (self._valid_commands[1], valid)
        try:
            return parse(message, valid)
        except Refused:
            if (before := self._valid_commands[0]) is None:
                raise
            parse(message, before)
            return None

    def _command(self, client: Client, command: Command | None) -> None:
        before, now = self.controls.holder, self._now
        if command is None:
            client.refusal = "the scene has changed"
            client.wake.set()
        elif not self.controls.take(client.number, now):
            client.refusal = "someone else has the controls"
            client.wake.set()
        else:
            if before != client.number or self._watch is None:  # the holder changed, or returns after its timeout
                if before is not None and before != client.number:
                    self.session.leave(before)
                self._wake()
                self._schedule_expiry()
            self.session.post(client.number, command)

    def _schedule_expiry(self) -> None:
        """Notify all clients when the controls become free."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self.controls.holder is None or self._loop is None:
            return
        if self._now >= self.controls.until:
            self._wake()
        else:
            self._watch = self._loop.call_at(self.controls.until, self._schedule_expiry)

    async def _refuse(self, client: Client, refused: Refused) -> None:
        try:
            async with asyncio.timeout(2.0 * self.limits.close_timeout):
                await client.connection.close(refused.code, refused.why)
        except TimeoutError:  # the client does not read
            client.connection.transport.abort()

    # messages to clients

    async def _send_loop(self, client: Client) -> None:
        with contextlib.suppress(ConnectionClosed):
            # A new client gets no old messages, except, if there is no greeting yet, the newest: the progress note or
            # the reason why the session ended.
            client.last_message = self._newest_message() - (not self.session.hello())
            while True:
                client.wake.clear()
                due = self._now + 1.0 / self.limits.fps
                for text in self._pending_messages(client):
                    await self._send(client, text)
                news = self.session.newest
                if news.data and news.generation == client.generation and news.serial != client.serial:
                    client.serial = news.serial
                    await self._send(client, news.data)
                    await asyncio.sleep(due - self._now)
                await client.wake.wait()

    def _pending_messages(self, client: Client) -> Iterator[str]:
        """Yield the messages not yet sent to the client, each determined when the one before has been sent."""
        if (generation := self.session.newest.generation) != client.generation and (hello := self.session.hello()):
            client.generation, client.serial = generation, None
            yield hello
        if (free := self.controls.free_for(client.number, self._now)) != client.controls_sent:
            client.controls_sent = free
            yield json.dumps({"controls": free})
        if client.refusal:
            text, client.refusal = client.refusal, ""
            yield json.dumps({"refused": text})
        for number, text in self.session.messages:
            if number > client.last_message:
                client.last_message = number
                yield text

    async def _send(self, client: Client, message: str | bytes) -> None:
        try:
            async with asyncio.timeout(self.limits.stall):
                await client.connection.send(message)
        except TimeoutError:
            client.connection.transport.abort()  # a closing handshake would wait for the client to read
            await client.connection.wait_closed()

    def _newest_message(self) -> int:
        return max((number for number, _ in self.session.messages), default=0)

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def run(
    session: SessionInterface,
    listening: socket.socket,
    rules: AccessRules,
    limits: Limits = DEFAULT_LIMITS,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve until Ctrl-C, SIGTERM, or a failure of the session before its first greeting; then close all sockets within
    a second and stop the session."""
    ended: list[float] = []

    async def serving() -> None:
        server, over = Server(session, listening, rules, limits), asyncio.Event()
        loop = asyncio.get_running_loop()

        def changed() -> None:
            if session.failed and not session.has_started:
                loop.call_soon_threadsafe(over.set)

        session.subscribe(changed)
        try:
            await server.start()
            changed()
            with _handling_signals(over):  # before `ready` announces the server
                if ready is not None:
                    ready()
                await over.wait()
        finally:
            ended.append(time.monotonic())
            stopping.start()
            await server.close()

    # stop the session while sockets close, on a daemon thread that need not be joined
    stopping = threading.Thread(target=session.stop, daemon=True)
    session.start()
    with contextlib.suppress(KeyboardInterrupt):  # raised by asyncio on platforms without signal handlers
        asyncio.run(serving())
    if not ended:  # interrupted before anything was served
        session.stop()
        return
    stopping.join(max(0.0, SHUTDOWN_SECONDS - (time.monotonic() - ended[0])))


@contextlib.contextmanager
def _handling_signals(over: asyncio.Event) -> Iterator[None]:
    """Set `over` on SIGINT and SIGTERM while the block runs; afterwards Ctrl-C has its default effect."""
    loop, heard = asyncio.get_running_loop(), []

    def end(number: signal.Signals) -> None:
        if number != signal.SIGINT:  # Ctrl-C needs no message, a terminated server does
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

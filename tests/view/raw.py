"""A client made of a socket and nothing else: it can be as rude as a test needs."""

import contextlib
import json
import os
import socket
import struct
from typing import Any

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Answer:
    """Status line, headers and body of what a server said over HTTP."""

    def __init__(self, said: bytes) -> None:
        head, _, self.body = said.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def ask(port: int, path: str = "/", method: str = "GET", **headers: str) -> Answer:
    """One request; `Host` is ours where it is not given."""
    with socket.create_connection(("127.0.0.1", port), 60.0) as line:
        line.sendall(written(path, {"Host": f"127.0.0.1:{port}"} | headers, method))
        said = b""
        while block := line.recv(65536):
            said += block
    return Answer(said)


def written(path: str, headers: dict[str, str], method: str = "GET") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def upgrade(port: int, origin: str | None, host: str | None = None, query: str = "") -> bytes:
    """The request for a socket."""
    wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": KEY, "Sec-WebSocket-Version": "13"}
    asked = {"Host": host or f"127.0.0.1:{port}"} | wanted | ({} if origin is None else {"Origin": origin})
    return written(f"/link{query}", asked)


def frame(opcode: int, content: bytes, *, last: bool = True, masked: bool = True, reserved: int = 0) -> bytes:
    """One frame as a client sends it (RFC 6455, section 5.2)."""
    first, size, mask = (last << 7) | (reserved << 4) | opcode, len(content), os.urandom(4) if masked else b""
    if size < 126:
        head = struct.pack("!BB", first, (masked << 7) | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, (masked << 7) | 126, size)
    else:
        head = struct.pack("!BBQ", first, (masked << 7) | 127, size)
    if masked:
        key = (mask * (size // 4 + 1))[:size]
        content = (int.from_bytes(content, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
    return head + mask + content


class Raw:
    """A WebSocket by hand."""

    def __init__(self, port: int, origin: str | None = "", query: str = "", taken: int | None = None) -> None:
        self.socket = socket.socket()
        if taken is not None:  # how much the system takes for us: little, for one that reads little
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, taken)
        self.socket.settimeout(60.0)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(upgrade(port, f"http://127.0.0.1:{port}" if origin == "" else origin, query=query))
        self._had = b""
        while b"\r\n\r\n" not in self._had:
            if not (block := self.socket.recv(65536)):
                break
            self._had += block
        head, _, self._had = self._had.partition(b"\r\n\r\n")
        self.status = Answer(head).status

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def drop(self) -> None:
        """Gone without a word: the other side gets a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def say(self, **words: Any) -> None:
        self.send(frame(TEXT, json.dumps(words).encode()))

    def read(self) -> tuple[int, bytes]:
        """The next frame: opcode and content. Pings are answered, as browsers do."""
        opcode, content = self._frame()
        if opcode == PING:
            with contextlib.suppress(OSError):
                self.send(frame(PONG, content))
        return opcode, content

    def _frame(self) -> tuple[int, bytes]:
        first, size = self._take(2)
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._take(8))
        return first & 15, self._take(size)

    def _take(self, count: int) -> bytes:
        while len(self._had) < count:
            if not (block := self.socket.recv(max(65536, count - len(self._had)))):
                raise EOFError
            self._had += block
        taken, self._had = self._had[:count], self._had[count:]
        return taken

    def code(self, answer: bytes | None = None) -> int | None:
        """How the server closes: its code, 1005 without one, 1006 where it says nothing (RFC 6455, section 7.1.5).
        None: it did not, but answered a ping."""
        try:
            while True:
                opcode, content = self.read()
                if opcode == CLOSE:
                    return int(struct.unpack("!H", content[:2])[0]) if content else 1005
                if opcode == PONG and content == answer:
                    return None
        except (EOFError, ConnectionError):
            return 1006

    def alive(self) -> int | None:
        """None where the server answers a ping, or how it closes."""
        mark = os.urandom(8)
        with contextlib.suppress(OSError):
            self.send(frame(PING, mark))
        return self.code(mark)

    def words(self, key: str) -> Any:
        """The next text that has `key`."""
        while True:
            opcode, content = self.read()
            if opcode == TEXT and key in (said := json.loads(content)):
                return said[key]

    def picture(self) -> tuple[int, int]:
        """World and serial of the next frame of the run."""
        while True:
            opcode, content = self.read()
            if opcode == BINARY:
                _, generation, serial, _ = struct.unpack("<4I", content[:16])
                return generation, serial

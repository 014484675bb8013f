"""The server against those who mean no good: requests, origins, frames."""

import contextlib
import json
import socket

import numpy as np
import pytest

from conftest import cases
from pliant.view.commands import Do
from pliant.view.listening_socket import listen_at
from pliant.view.server import Limits, run
from pliant.view.static_files import static_files
from view.raw import BINARY, PING, TEXT, Raw, ask, frame, upgrade
from view.running import Running, is_well, running, small, until
from view.test_commands import BAD, GOOD, finite

# 1002: not even a frame; 1005: a frame that says goodbye; 1006: one that was cut off
EXPECTED = {None, 1002, 1003, 1005, 1006, 1007, 1009}


@pytest.fixture(scope="module")
def still():
    """A server whose session makes no frame by itself; tests leave it as they find it."""
    with running(small()) as server:
        yield server


# files


def test_the_page_and_its_scripts_are_served_as_they_are(still: Running) -> None:
    for path, file in static_files().items():
        answer = ask(still.port, path)
        assert (answer.status, answer.body, answer.headers["content-type"]) == (200, file.content, file.content_type), (
            path
        )


def test_a_query_changes_nothing(still: Running) -> None:
    assert ask(still.port, "/scene.js?x=../../y").body == static_files()["/scene.js"].content


def test_head_is_get_without_the_body(still: Running) -> None:
    answer = ask(still.port, "/scene.js", method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(static_files()["/scene.js"].content))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_405(still: Running, method: str) -> None:
    assert ask(still.port, "/scene.js", method=method).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%252e%252e/etc/passwd",
        "/..\\..\\etc\\passwd", "/..%5c..%5cetc", "//etc/passwd", "/etc/passwd", "file:///etc/passwd",
        "http://127.0.0.1/scene.js", "http://evil.com/", "/./scene.js", "/static/scene.js", "/static/../scene.js",
        "/scene.js/", "/scene.js/..", "/scene.js%00", "/scene.js\x00.html", "/\x00", "/SCENE.JS", "/scene%2ejs",
        "scene.js", "*", "/server.py", "/../server.py", "/__init__.py", "/replay.html", "/C:\\Windows\\win.ini",
        "/" + "a" * 4000, "/" + "../" * 1000,
    ],
)  # fmt: skip
def test_what_is_not_in_the_table_is_404(still: Running, path: str) -> None:
    answer = ask(still.port, path)
    assert (answer.status, answer.body) == (404, b"There is no such file.\n")


@pytest.mark.parametrize(("path", "status"), [("/scene.js", 200), ("/nothing", 404), ("/link", 403)])
def test_every_answer_keeps_browsers_to_our_own_files(still: Running, path: str, status: int) -> None:
    answer = ask(still.port, path, Origin="http://evil.com")
    policy = answer.headers["content-security-policy"].split("; ")
    assert answer.status == status
    assert "default-src 'self'" in policy
    assert not {"unsafe-inline", "unsafe-eval", "*"} & set(" ".join(policy).replace("'", "").split())
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert [name for name in answer.headers if name.startswith("access-control")] == []


def test_what_is_not_http_is_shown_the_door(still: Running) -> None:
    for said in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"\x00" * 99_999,
    ):
        with socket.create_connection(("127.0.0.1", still.port), 10.0) as line, contextlib.suppress(ConnectionError):
            line.sendall(said)
            line.shutdown(socket.SHUT_WR)
            assert b" 200 " not in line.recv(65536)
    assert ask(still.port, "/scene.js").status == 200


# who may come in


def test_it_listens_on_this_machine_alone(still: Running) -> None:
    assert [line.getsockname() for line in still.server.sockets] == [("127.0.0.1", still.port)]


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.com", "null", None, "http://localhost.evil.com", "http://localhost.evil.com:{port}",
        "http://127.0.0.1:{other}", "http://127.0.0.1", "https://127.0.0.1:{port}", "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.com", "file://", "http://[::1]:{port}",
    ],
)  # fmt: skip
def test_a_socket_for_another_origin_is_403_and_none_is_opened(still: Running, origin: str | None) -> None:
    origin = origin and origin.format(port=still.port, other=still.port + 1)
    with socket.create_connection(("127.0.0.1", still.port), 10.0) as line:
        line.sendall(upgrade(still.port, origin))
        assert line.recv(65536).startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert still.server.clients == {}


@pytest.mark.parametrize("host", ["evil.com", "localhost.evil.com:{port}", "127.0.0.1:{other}", "10.0.0.1:{port}"])
def test_a_foreign_host_is_403_for_files_and_sockets(still: Running, host: str) -> None:
    host = host.format(port=still.port, other=still.port + 1)
    assert ask(still.port, "/scene.js", Host=host).status == 403
    with socket.create_connection(("127.0.0.1", still.port), 10.0) as line:
        line.sendall(upgrade(still.port, f"http://{host}", host))  # a name that was made to point here
        assert line.recv(65536).startswith(b"HTTP/1.1 403 Forbidden\r\n")


def test_the_page_itself_may_open_a_socket(still: Running) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{still.port}"
        with socket.create_connection(("127.0.0.1", still.port), 10.0) as line:
            line.sendall(upgrade(still.port, f"http://{host}", host))
            assert line.recv(65536).startswith(b"HTTP/1.1 101 ")
    assert until(lambda: not still.server.clients)


def test_with_a_token_page_and_socket_ask_for_it_and_scripts_may_come() -> None:
    with running(small(), token=True, host="0.0.0.0") as server:
        token, own = server.gate.token, f"http://127.0.0.1:{server.port}"
        assert server.url.endswith(f":{server.port}/?token={token}")
        assert ask(server.port, "/scene.js").status == 200
        for page in ("/", "/play.html"):
            found = 200 if page in server.server.files else 404
            assert ask(server.port, f"{page}?token={token}").status == found
            assert ask(server.port, page).status == (403 if found == 200 else 404)
        for origin in (None, own):
            for query, status in (("", 403), ("?token=x", 403), (f"?token={token}x", 403), (f"?token={token}", 101)):
                with Raw(server.port, origin, query) as client:
                    assert client.status == status
        with Raw(server.port, "http://evil.com", f"?token={token}") as client:
            assert client.status == 403


# what comes in


CODES = {
    "binary": (frame(BINARY, b'{"do": "pause"}'), 1003),
    "not JSON": (frame(TEXT, b"pause"), 1003),
    "not a command": (frame(TEXT, b'{"do": "explode"}'), 1003),
    "in three pieces": (frame(TEXT, b'{"do', last=False) + frame(0, b'": "ex', last=False) + frame(0, b'"}'), 1003),
    "bad UTF-8": (frame(TEXT, b'{"do": "\xff\xfe"}'), 1007),
    "UTF-8 cut off": (frame(TEXT, "€".encode()[:2]), 1007),
    "too long": (frame(TEXT, b" " * 65_537), 1009),
    "too long by what it says": (frame(TEXT, b" " * 65_537)[:14], 1009),
    "4 GiB by what it says": (b"\x81\xff" + (1 << 32).to_bytes(8, "big") + b"mask", 1009),
    "too long in pieces": (frame(TEXT, b" " * 40_000, last=False) + frame(0, b" " * 40_000), 1009),
    "not masked": (frame(TEXT, b'{"do": "pause"}', masked=False), 1002),
    "reserved bits": (frame(TEXT, b'{"do": "pause"}', reserved=4), 1002),
    "an opcode that is none": (frame(3, b"x"), 1002),
    "the end of nothing": (frame(0, b"x"), 1002),
    "a long ping": (frame(PING, b"x" * 126), 1002),
    "a length that is negative": (b"\x81\xff" + b"\xff" * 8 + b"mask", 1009),
}


@pytest.mark.parametrize(("said", "code"), CODES.values(), ids=CODES)
def test_what_is_not_a_command_closes_with_its_code(still: Running, said: bytes, code: int) -> None:
    with Raw(still.port) as client:
        client.send(said)
        assert client.code() == code


def test_a_command_in_pieces_with_a_ping_between_is_one_command(still: Running) -> None:
    session, before = still.server.session, len(still.server.session.commands)
    with Raw(still.port) as client:
        client.send(frame(TEXT, b'{"do": ', last=False) + frame(PING, b"") + frame(0, b'"pause"}'))
        assert until(lambda: len(session.commands) > before)
    assert session.commands[-1][1] == Do("pause")
    assert until(lambda: not still.server.clients)


def fuzz(count: int, rng: np.random.Generator) -> dict[int | None, int]:
    """How often connections were closed with which code by `count` frames that are random or nearly right; None counts
    those that were taken."""
    seeds = [text.encode("utf-8", "surrogatepass") for text in BAD.values() if len(text) < 1000]
    seeds += [json.dumps(asked).encode() for asked, _ in GOOD]
    codes: dict[int | None, int] = {}
    session = small()
    patient = Limits(
        close_timeout=0.2, open_timeout=300.0, stall=900.0
    )  # where other work stops this process for a while
    with running(session, patient) as server:
        client = Raw(server.port)
        for _ in range(count):
            said, whole = _mutant(seeds, rng)
            with contextlib.suppress(ConnectionError):  # it may have closed before it had read all
                client.send(said)
                if not whole:
                    client.socket.shutdown(socket.SHUT_WR)
            # a ping is answered before a message is looked at, but two of them are not
            code = client.alive() or client.alive()
            codes[code] = codes.get(code, 0) + 1
            if code is not None:
                client.socket.close()
                client = Raw(server.port)
                assert client.status == 101
        client.socket.close()
        assert until(lambda: not server.server.clients)
        is_well(server)
    for _, command in session.commands:
        assert finite(command)
    return codes


def _mutant(seeds: list[bytes], rng: np.random.Generator) -> tuple[bytes, bool]:
    """What to send, and whether the server can tell where it ends."""
    content = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(rng.integers(0, 4)):
        at = int(rng.integers(len(content) + 1))
        content[at : at + int(rng.integers(3))] = rng.bytes(int(rng.integers(3)))
    kind = int(rng.integers(20))
    if kind == 0:
        return rng.bytes(int(rng.integers(1, 200))), False
    if kind == 1:
        last, reserved = bool(rng.integers(2)), int(rng.choice([0, 0, 0, 1, 4]))
        return frame(int(rng.integers(16)), bytes(content[:130]), last=last, reserved=reserved), True
    if kind == 2:
        return frame(BINARY, bytes(content)), True
    if kind == 3:
        return frame(TEXT, rng.bytes(int(rng.integers(60_000, 70_000)))), True
    if kind == 4:
        at = int(rng.integers(len(content) + 1))
        return frame(TEXT, bytes(content[:at]), last=False) + frame(0, bytes(content[at:])), True
    return frame(TEXT, bytes(content)), True


def test_frames_at_random_leave_the_server_well(rng: np.random.Generator) -> None:
    assert fuzz(cases(2000), rng).keys() <= EXPECTED


@pytest.mark.long
def test_a_hundred_thousand_frames_at_random_leave_the_server_well(rng: np.random.Generator) -> None:
    codes = fuzz(100_000, rng)
    print(codes)
    assert codes.keys() <= EXPECTED


def test_a_command_of_the_scene_before_is_told_so_and_one_of_no_scene_closes() -> None:
    session = small()
    with running(session) as server, Raw(server.port) as client:
        client.say(set="gravity", to=1)
        assert until(lambda: len(session.commands) == 1)
        session.valid_commands = session.valid_commands._replace(ranges={"friction": (0.0, 1.0)})
        session.new_generation()
        client.say(set="gravity", to=2)
        assert client.words("refused") == "the scene has changed"
        client.say(set="gravity", to=200)
        assert client.code() == 1003
    assert len(session.commands) == 1


def test_ctrl_c_before_anything_is_served_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    session = small()

    def pressed(work) -> None:
        work.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.view.server.asyncio.run", pressed)
    with listen_at("127.0.0.1", 0) as listening:
        run(session, listening, None)
    assert session._over.is_set()

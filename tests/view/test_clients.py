"""The server and its clients: what they are sent, the slow, those who leave, how many there may be, who commands."""

import contextlib
import os
import pathlib
import socket
import threading
import time

import pytest

from pliant.view.commands import Do, Grab, LetGo
from pliant.view.server import Limits
from view.fake import FakeSession
from view.raw import TEXT, Raw, ask, frame
from view.running import Running, is_well, running, small, until

REACH = {"grab": [0, 2, 0], "along": [0, -1, 0]}
FDS = pathlib.Path("/proc/self/fd")


@pytest.fixture(scope="module")
def still():
    """A server whose session makes no frame by itself; tests leave it as they find it."""
    with running(small()) as server:
        yield server


# what goes out


def test_a_client_is_told_the_world_then_its_newest_frame_then_each_new_one() -> None:
    session = small()
    with running(session) as server, Raw(server.port) as client:
        assert client.words("hello")["generation"] == 1
        assert client.words("controls") is True
        assert client.picture() == (1, 1)
        session.tick()
        assert client.picture() == (1, 2)
        session.new_generation()
        assert client.words("hello")["generation"] == 2
        assert client.picture() == (2, 3)


def test_short_messages_do_not_wait_for_one_another(still: Running) -> None:
    """Without TCP_NODELAY the second one waits until the first is acknowledged, 40 ms here."""

    def seconds() -> float:
        with Raw(still.port) as client:
            start = time.perf_counter()
            assert client.alive() is None
            assert client.alive() is None
            return time.perf_counter() - start

    assert any(seconds() < 0.03 for _ in range(50))


def test_what_the_session_says_reaches_every_client_once() -> None:
    session = small()
    session.say(note="of old")
    with running(session) as server, Raw(server.port) as one, Raw(server.port) as other:
        for client in (one, other):
            assert client.picture() == (1, 1)
        session.say(note="baking")
        session.say(problem="no room")
        for client in (one, other):
            assert client.words("note") == "baking"
            assert client.words("problem") == "no room"
        session.tick()
        for client in (one, other):
            assert client.picture() == (1, 2)  # and the first one not again


def test_who_comes_before_there_is_anything_to_show_is_told_what_is_being_done() -> None:
    session = small()
    session.say(note="compiling")
    session.say(note="baking")
    hello, session._hello = session._hello, ""
    with running(session) as server, Raw(server.port) as client:
        assert client.words("note") == "baking"
        session._hello = hello
        session.tick()
        assert client.words("hello")["generation"] == 1
        assert client.picture() == (1, 2)


def test_no_client_is_sent_more_frames_a_second_than_wanted() -> None:
    session = small(rate=200.0)
    with running(session, Limits(fps=20.0)) as server:
        start = time.monotonic()
        with Raw(server.port) as client:
            for _ in range(11):
                client.picture()
        assert time.monotonic() - start > 0.49


def test_a_client_that_did_not_read_gets_the_newest_frame_and_not_those_between() -> None:
    session, count = FakeSession(side=100, rate=0.0), 200  # frames of 120 kB
    with running(session, Limits(fps=1e4)) as server, Raw(server.port, taken=65536) as client:
        for _ in range(count):
            session.tick()
            time.sleep(0.002)
        seen = [client.picture()[1]]
        while seen[-1] <= count:
            seen.append(client.picture()[1])
    assert seen == sorted(set(seen))
    assert len(seen) < count / 4
    assert seen[-1] == count + 1


def stalled(session: FakeSession, limits: Limits, seconds: float) -> tuple[float, float, float, float]:
    """Beside one that reads nothing: the share of frames that another client still gets and that the session still
    makes, growth in bytes, and after how many seconds the stalled one was dropped."""

    def rates(span: float) -> tuple[float, float]:
        start, made, got = time.monotonic(), session.serial, 0
        while time.monotonic() - start < span:
            reader.picture()
            got += 1
        return got / (time.monotonic() - start), (session.serial - made) / (time.monotonic() - start)

    with running(session, limits) as server, Raw(server.port) as reader:
        alone = rates(min(5.0, seconds / 2))
        before = resident()
        with Raw(server.port, taken=65536) as idle:
            start, gone = time.monotonic(), []

            def watch() -> None:
                until(lambda: 2 not in server.server.clients, 2 * seconds + 20.0)
                gone.append(time.monotonic() - start)

            assert until(lambda: 2 in server.server.clients)
            watching = threading.Thread(target=watch)
            watching.start()
            beside = rates(seconds)
            grown = resident() - before
            watching.join()
            assert idle.status == 101
    return beside[0] / alone[0], beside[1] / alone[1], grown, gone[0]


def resident() -> float:
    """Bytes of memory in use."""
    return int(pathlib.Path("/proc/self/statm").read_text("ascii").split()[1]) * float(os.sysconf("SC_PAGE_SIZE"))


@pytest.mark.skipif(not FDS.exists(), reason="memory is read from /proc")
def test_a_stalled_client_is_dropped_and_costs_the_others_nothing() -> None:
    share, pace, grown, gone = stalled(FakeSession(side=100, rate=30.0), Limits(stall=3.0), 4.0)
    assert gone < 12.0
    assert share > 0.5  # of a few seconds, on cores that others use; the long test asks for 0.9
    assert pace > 0.5
    assert grown < 50e6


@pytest.mark.long
@pytest.mark.skipif(not FDS.exists(), reason="memory is read from /proc")
def test_a_client_that_reads_nothing_for_a_minute_is_dropped_after_half_of_it() -> None:
    share, pace, grown, gone = stalled(FakeSession(side=100, rate=60.0), Limits(), 60.0)
    print(f"rate of the other x{share:.3f}, of the session x{pace:.3f}, {grown / 1e6:.1f} MB, gone after {gone:.1f} s")
    assert gone <= 32.0
    assert share >= 0.9
    assert pace >= 0.9
    assert grown <= 50e6


def test_a_client_that_answers_no_ping_is_dropped() -> None:
    session = small()
    with running(session, Limits(stall=0.6)) as server, Raw(server.port) as client:
        assert client.status == 101
        assert until(lambda: session.left == [1])


# who comes and goes


@pytest.mark.parametrize("way", ["closes", "is gone", "is cut off", "talks nonsense"])
def test_who_leaves_in_a_drag_lets_go(way: str) -> None:
    session = small(rate=50.0)
    with running(session) as server, Raw(server.port) as client:
        client.say(**REACH)
        assert until(lambda: session.held_by is not None)
        if way == "closes":
            client.send(frame(8, b"\x03\xe8"))
        elif way == "is gone":
            client.socket.close()
        elif way == "is cut off":
            client.drop()
        else:
            client.send(frame(TEXT, b"?"))
        assert until(lambda: session.held_by is None)
        assert session.left == [1]


def cycles(count: int) -> None:
    """Come and go `count` times in every way there is; threads, tasks and open files are what they were."""
    session = small(rate=50.0)

    def inside() -> tuple[int, int, int]:
        return threading.active_count(), server.tasks(), len(os.listdir(FDS))

    with running(session) as server:
        ask(server.port, "/scene.js")
        assert until(lambda: server.tasks() == 1)
        before = inside()
        for k in range(count):
            if k % 7 == 6:
                with socket.create_connection(("127.0.0.1", server.port), 60.0) as line:
                    line.sendall(b"GET /scene.js HTTP/1.1\r\nHo" if k % 2 else b"")
                continue
            client = Raw(server.port)
            if k % 7 == 1:
                client.words("hello")
            elif k % 7 == 2:
                client.say(**REACH)
            elif k % 7 == 3:
                client.send(frame(TEXT, b"?"))
            elif k % 7 == 4:
                client.send(frame(8, b"\x03\xe8"))
                client.code()
            if k % 7 == 5:
                client.drop()
            else:
                client.socket.close()
            if k % 7 == 0:
                assert until(lambda: len(server.server.reserved) < 8)
        assert until(lambda: inside() == before), (before, inside())
        assert (server.server.clients, server.server.connections, server.server.reserved) == ({}, set(), set())
        assert session.held_by is None
        is_well(server)


@pytest.mark.skipif(not FDS.exists(), reason="open files are counted in /proc")
def test_a_hundred_who_come_and_go_leave_nothing_behind() -> None:
    cycles(100)


@pytest.mark.long
@pytest.mark.skipif(not FDS.exists(), reason="open files are counted in /proc")
def test_a_thousand_who_come_and_go_leave_nothing_behind() -> None:
    cycles(1000)


def test_the_ninth_client_is_503_until_one_leaves() -> None:
    with running(small()) as server, contextlib.ExitStack() as stack:
        inside = [stack.enter_context(Raw(server.port)) for _ in range(8)]
        assert [client.status for client in inside] == [101] * 8
        with Raw(server.port) as ninth:
            assert ninth.status == 503
        assert ask(server.port, "/link").body == b"8 clients are connected; close one.\n"  # so that a page can tell why
        assert ask(server.port, "/scene.js").status == 200
        inside[3].socket.close()
        assert until(lambda: len(server.server.reserved) == 7)
        with Raw(server.port) as ninth:
            assert ninth.status == 101


def test_who_asks_for_the_socket_as_for_a_file_takes_no_seat() -> None:
    with running(small(), Limits(clients=1)) as server:
        for _ in range(3):
            answer = ask(server.port, "/link", Origin=f"http://127.0.0.1:{server.port}")
            assert (answer.status, len(server.server.reserved)) == (426, 0)


def test_connections_that_ask_for_nothing_are_bounded_in_number() -> None:
    with running(small(), Limits(connections=4, open_timeout=300.0)) as server, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60.0)) for _ in range(4)]
        assert until(lambda: len(server.server.connections) == 4)
        with contextlib.suppress(ConnectionError):  # or nothing comes, where it was cut off before it asked
            assert ask(server.port, "/scene.js").status == 0
        idle[0].close()
        assert until(lambda: len(server.server.connections) == 3)
        assert ask(server.port, "/scene.js").status == 200


def test_connections_that_ask_for_nothing_are_bounded_in_time() -> None:
    with (
        running(small(), Limits(open_timeout=0.3)) as server,
        socket.create_connection(("127.0.0.1", server.port), 60.0) as idle,
    ):
        assert idle.recv(1) == b""


def test_one_client_has_the_controls_and_the_others_are_told() -> None:
    session = small()
    with running(session) as server, Raw(server.port) as one, Raw(server.port) as other:
        assert [client.words("controls") for client in (one, other)] == [True, True]
        one.say(do="pause")
        assert other.words("controls") is False
        other.say(do="go")
        assert other.words("refused") == "someone else has the controls"
        one.socket.close()
        assert other.words("controls") is True
        other.say(do="step")
        assert until(lambda: len(session.commands) == 2)
    assert session.commands == [(1, Do("pause")), (2, Do("step"))]


def test_controls_that_nobody_uses_pass_to_who_asks_and_the_drag_is_let_go() -> None:
    session = small()
    with running(session, Limits(controls=2.0)) as server, Raw(server.port) as one, Raw(server.port) as other:
        assert [client.words("controls") for client in (one, other)] == [True, True]
        one.say(**REACH)
        assert other.words("controls") is False
        assert session.held_by == 1
        assert other.words("controls") is True  # when the time is up, without anybody asking
        other.say(do="step")
        assert one.words("controls") is False
        assert session.held_by is None
        one.say(let="go")
        assert one.words("refused") == "someone else has the controls"
    assert [command for _, command in session.commands] == [
        Grab((0.0, 2.0, 0.0), (0.0, -1.0, 0.0), False),
        Do("step"),
    ]


def test_who_goes_on_after_a_silence_is_watched_again() -> None:
    session = small()
    with running(session, Limits(controls=1.0)) as server, Raw(server.port) as one, Raw(server.port) as other:
        assert [client.words("controls") for client in (one, other)] == [True, True]
        for _ in range(3):
            one.say(do="pause")
            assert other.words("controls") is False
            assert other.words("controls") is True  # each time that one is silent


def test_a_flood_of_commands_keeps_nobody_from_seeing() -> None:
    session = small(rate=100.0)
    over = threading.Event()
    with running(session) as server, Raw(server.port) as loud, Raw(server.port) as quiet:
        many = frame(TEXT, b'{"let": "go"}') * 500

        def shout() -> None:
            with contextlib.suppress(OSError):
                while not over.is_set():
                    loud.send(many)

        shouting = threading.Thread(target=shout)
        shouting.start()
        start = time.monotonic()
        for _ in range(5):
            quiet.picture()
        took = time.monotonic() - start
        over.set()
        shouting.join()
    assert took < 5.0  # a twentieth of a second where nobody shouts
    assert session.commands[-1][1] == LetGo()

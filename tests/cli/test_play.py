"""`pliant play` from its start to Ctrl-C; what the page shows is tried in tests/view."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator

import pytest

from conftest import hear_ctrl_c
from pliant import cli
from pliant.cli import play as command
from pliant.view import server
from time_limit import started
from view.fake import FakeSession
from view.raw import Raw

TESTS = pathlib.Path(__file__).resolve().parents[1]
# the command with a session that computes nothing
FAKE = (
    f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
    "from pliant import cli; from pliant.cli import play; from view.fake import FakeSession\n"
    "play.make_session = lambda *_: FakeSession(side=100)\n"
    "cli.main(['play', *sys.argv[1:]])"
)
unix = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a single process there")


@contextlib.contextmanager
def playing(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running command, and the address that it printed."""
    with started(list(words), stdout=-1, stderr=-1, text=True, preexec_fn=hear_ctrl_c) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> tuple[float, int, str]:
    """Press Ctrl-C: seconds until the end, exit code and what was left on stderr."""
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=20)
    return time.monotonic() - start, process.returncode, talk


@unix
def test_ctrl_c_closes_every_kind_of_connection_in_two_seconds() -> None:
    with playing(sys.executable, "-c", FAKE, "--port", "0") as (process, url):
        port = int(url.rsplit(":", 1)[1].strip("/"))
        assert url == f"http://127.0.0.1:{port}/"
        with Raw(port) as reading, Raw(port, taken=4096) as stalled, socket.create_connection(("127.0.0.1", port)):
            assert reading.words("hello")["generation"] == 1
            assert stalled.status == 101
            for _ in range(30):
                reading.picture()
            took, code, talk = end(process)
            assert reading.code() == 1001
        assert (code, talk) == (0, "Ctrl-C stops the server\n")
        assert took < 2.0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


@unix
def test_a_server_that_others_end_says_so() -> None:
    with playing(sys.executable, "-c", FAKE, "--port", "0") as (process, _):
        process.terminate()
        _, talk = process.communicate(timeout=20)
        assert (process.returncode, talk) == (0, "Ctrl-C stops the server\nwarning: ended by SIGTERM\n")


@unix
@pytest.mark.long
def test_ctrl_c_ends_a_simulation_in_two_seconds_at_any_time() -> None:
    """The first time while it is being made, or compiled, and then while it runs."""
    words = (sys.executable, "-m", "pliant", "play", "cloth-on-box-corner", "--port", "0")
    for running in (False, True):
        with playing(*words) as (process, url):
            with Raw(int(url.rsplit(":", 1)[1].strip("/"))) as client:
                client.socket.settimeout(300.0)
                if running:
                    for _ in range(20):
                        client.picture()
                else:
                    assert "creating the scene" in client.words("note")
                took, code, talk = end(process)
                assert client.code() == 1001
            assert (code, talk) == (0, "Ctrl-C stops the server\n")
            assert took < 2.0


def test_a_port_in_use_is_one_line_that_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.run(["play", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"error: port {port} is in use")
    assert "--port" in said.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["rod", "--place", "above"], "--place above is for the mesh file of a cloth on a body; a built-in scene"),
        (["tablecloth-on-bsut"], "unknown scene 'tablecloth-on-bsut'; did you mean 'tablecloth-on-bust'?"),
        (["skirt.obj"], "a body is missing: pliant play skirt.obj BODY; or pliant play --body skirt.obj"),
        (["rod", "body.obj"], "rod brings its own body; give either its name or files"),
        (
            ["rod", "--clip", "walk"],
            "--clip, --lead-in, --teleports, --root-motion, --hold, --ease and --layer are for a garment",
        ),
        (["no-such-skirt.obj", "body.obj"], "no-such-skirt.obj: no such file"),
        (["--method", "bhv"], "unknown method 'bhv'"),
        (["--port", "65536"], "--port = 65536 must be in 0..65535"),
        (["--fps", "0"], "--fps = 0 must be in 1..1000"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 is not an address of this machine"),
        (["--folder", __file__], "is a file; give a folder for recordings"),
        (["--folder", __file__ + "/deeper"], "cannot be written (Not a directory); give another for recordings"),
        (["--resolution", "1"], "resolution = 1 must be in 2..2000"),
    ],
)
def test_bad_use_is_told_before_anything_is_served(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "run", lambda *_: pytest.fail("it was served"))
    monkeypatch.setattr(command.play, "__kwdefaults__", command.play.__kwdefaults__ | {"port": 0})
    assert cli.run(["play", *words]) == 2
    assert why in capsys.readouterr().err


def test_what_is_refused_makes_no_folder(tmp_path: pathlib.Path) -> None:
    assert cli.run(["play", "no-such-scene", "--folder", str(tmp_path / "a" / "b"), "--port", "0"]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What would have been served; the browser is told nothing either."""
    calls: list[tuple[object, ...]] = []

    def run(session, listening, gate, limits, ready) -> None:
        calls.append((listening.getsockname(), gate, limits))
        ready()

    monkeypatch.setattr(server, "run", run)
    monkeypatch.setattr(command, "make_session", lambda *_: FakeSession(side=4))
    return calls


def test_the_address_is_on_stdout_and_of_this_machine_alone(served, capsys) -> None:
    assert cli.run(["play", "--port", "0"]) == 0
    (((host, port), gate, _),) = served
    assert (host, gate.token) == ("127.0.0.1", None)
    assert capsys.readouterr() == (f"http://127.0.0.1:{port}/\n", "Ctrl-C stops the server\n")


def test_where_recordings_cannot_be_written_one_can_still_play(served, capsys, monkeypatch) -> None:
    def refuse(folder: pathlib.Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(command, "check_writable", refuse)
    assert cli.run(["play", "--port", "0"]) == 0
    assert "this folder cannot be written (Permission denied)" in capsys.readouterr().err
    assert len(served) == 1


def test_another_host_is_served_with_a_token_in_the_address_and_a_warning(served, capsys) -> None:
    assert cli.run(["play", "--port", "0", "--host", "0.0.0.0"]) == 0
    (((host, _), gate, _),) = served
    said = capsys.readouterr()
    assert host == "0.0.0.0"
    assert gate.token is not None
    assert said.out.endswith(f"/?token={gate.token}\n")
    assert "warning: everyone who has this address can connect" in said.err


@pytest.mark.parametrize(("words", "opened"), [(["--open"], 1), (["--no-open"], 0), ([], 0)])
def test_a_browser_is_opened_where_that_is_wanted(words, opened, served, capsys, monkeypatch) -> None:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: not pages.append(url))
    assert cli.run(["play", "--port", "0", *words]) == 0
    deadline = time.monotonic() + 60.0
    while len(pages) < opened and time.monotonic() < deadline:
        time.sleep(0.01)
    assert pages == [capsys.readouterr().out.strip()] * opened


def test_files_become_the_scene(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "build_scene", lambda cloth, body, *rest, **_: ((cloth, body, rest[-2]), None))
    words = "auto", command.PAIR, command._DEFAULT_WEAR, {"friction": 0.5}
    made = command.make_session("cloth.obj", tmp_path / "body.obj", "sphere_surface", tmp_path, *words)
    assert made._start_options.own == (pathlib.Path("cloth.obj"), tmp_path / "body.obj", {"friction": 0.5})
    assert made._start_options.method == "sphere-surface"
    assert made._start_options.options == {}  # or the first of the ready scenes would have them too
    over = command.make_session(None, tmp_path / "body.obj", None, tmp_path, *words)
    assert over._start_options.own[0] is None
    assert command.make_session(None, tmp_path / "body.obj", "auto", tmp_path, *words)._start_options.method is None

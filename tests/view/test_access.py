"""Hosts, origins and tokens that open the gate, and those that do not; who has the controls."""

import errno
import socket

import pytest

from pliant.view.access import AccessRules, Controls
from pliant.view.listening_socket import listen_at

HERE = AccessRules(("localhost", "127.0.0.1", "[::1]"), 8420)
SECRET = AccessRules((*HERE.names, "desk"), 8420, "desk", "a-token")


@pytest.mark.parametrize("host", ["localhost:8420", "127.0.0.1:8420", "[::1]:8420", "LOCALHOST:8420"])
def test_our_own_names_are_answered(host: str) -> None:
    assert HERE.host([host]) == host.lower()


@pytest.mark.parametrize(
    "host",
    [
        "", ":8420", "localhost", "localhost:80", "localhost:8421", "localhost:08420", "localhost.evil.com:8420",
        "evil.com:8420", "evil.com", "127.0.0.1.evil.com:8420", "127.0.0.2:8420", "10.0.0.1:8420", "0.0.0.0:8420",
        "2130706433:8420", "::1:8420", "[::1]", "localhost:8420@evil.com", "evil.com@localhost:8420",
        "localhost:8420, evil.com", "localhost:8420/", "localhost.:8420", "desk:8420",
    ],
)  # fmt: skip
def test_other_names_are_not(host: str) -> None:
    assert HERE.host([host]) is None


def test_a_request_has_one_host() -> None:
    assert HERE.host([]) is None
    assert HERE.host(["localhost:8420"] * 2) is None


def test_the_usual_port_need_not_be_named() -> None:
    gate = AccessRules(HERE.names, 80)
    assert gate.host(["localhost"]) == "localhost"
    assert gate.host(["[::1]"]) == "[::1]"
    assert gate.admits("localhost", ["http://localhost"], "")


def test_the_origin_must_be_the_host_itself() -> None:
    assert HERE.admits("localhost:8420", ["http://localhost:8420"], "")


@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "http://evil.com", "http://localhost.evil.com:8420", "http://localhost.evil.com",
        "http://localhost:8421", "http://localhost", "https://localhost:8420", "http://127.0.0.1:8420",
        "localhost:8420", "http://localhost:8420/", "http://localhost:8420.evil.com", "http://evil.com#http://localhost:8420",
        "file://",
    ],
)  # fmt: skip
def test_no_other_origin_opens_a_socket(origin: str) -> None:
    assert not HERE.admits("localhost:8420", [origin], "")
    assert not SECRET.admits("localhost:8420", [origin], "a-token")


def test_two_origins_are_none() -> None:
    assert not HERE.admits("localhost:8420", ["http://localhost:8420", "http://evil.com"], "")


def test_without_an_origin_only_the_token_opens_a_socket() -> None:
    assert not HERE.admits("localhost:8420", [], "")
    assert not HERE.admits("localhost:8420", [], "a-token")
    assert not SECRET.admits("desk:8420", [], "")
    assert not SECRET.admits("desk:8420", [], "a-tokem")
    assert SECRET.admits("desk:8420", [], "a-token")


def test_where_there_is_a_token_the_right_origin_is_not_enough() -> None:
    assert not SECRET.admits("desk:8420", ["http://desk:8420"], "")
    assert not SECRET.admits("desk:8420", ["http://desk:8420"], "ä-token")
    assert SECRET.admits("desk:8420", ["http://desk:8420"], "a-token")


def test_on_this_machine_alone_there_is_no_token_unless_asked_for() -> None:
    with listen_at("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        gate, secret = AccessRules.at(listening, "127.0.0.1"), AccessRules.at(listening, "127.0.0.1", token=True)
    assert (gate.token, gate.url) == (None, f"http://127.0.0.1:{port}/")
    assert secret.url == f"http://127.0.0.1:{port}/?token={secret.token}"


def test_beyond_this_machine_there_is_a_token_each_time_another() -> None:
    with listen_at("0.0.0.0", 0) as listening:
        one, other = AccessRules.at(listening, "0.0.0.0"), AccessRules.at(listening, "0.0.0.0")
    assert one.token is not None
    assert other.token is not None
    assert len(one.token) >= 32
    assert one.token != other.token
    assert one.url == f"http://{socket.gethostname().lower()}:{one.port}/?token={one.token}"


def test_on_all_addresses_any_address_is_ours_but_no_name_is() -> None:
    """Another site can point a name of its own here, and no address."""
    with listen_at("0.0.0.0", 0) as listening:
        gate = AccessRules.at(listening, "0.0.0.0")
    assert gate.host([f"192.168.1.7:{gate.port}"])
    assert gate.host([f"[fe80::1]:{gate.port}"])
    assert gate.host([f"{socket.gethostname().lower()}:{gate.port}"])
    assert gate.host([f"evil.com:{gate.port}"]) is None
    assert gate.host([f"[fe80::1%eth0]:{gate.port}"]) is None
    assert gate.host([f"[fe80::1%; script-src *]:{gate.port}"]) is None  # it would stand in a header of ours


def test_the_first_who_commands_has_the_controls_until_it_leaves() -> None:
    controls = Controls(30.0)
    assert controls.take(1, 0.0)
    assert not controls.take(2, 29.9)
    assert controls.take(1, 29.9)
    assert not controls.take(2, 59.8)
    controls.leave(2)
    assert not controls.take(2, 59.8)
    controls.leave(1)
    assert controls.take(2, 59.8)


def test_who_is_silent_for_half_a_minute_loses_the_controls_to_the_next() -> None:
    controls = Controls(30.0)
    assert controls.take(1, 0.0)
    assert controls.take(2, 30.0)
    assert not controls.take(1, 30.0)


def test_a_port_in_use_is_named_with_what_to_do() -> None:
    with listen_at("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=rf"^port {port} is in use.*--port"):
            listen_at("127.0.0.1", port)


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(ValueError, match=r"--host 192\.0\.2\.1 is not an address of this machine"):
        listen_at("192.0.2.1", 0)


def test_a_name_of_no_machine_is_named() -> None:
    with pytest.raises(ValueError, match=r"--host no\.such\.host\.invalid cannot be resolved to an address"):
        listen_at("no.such.host.invalid", 0)


def test_a_port_that_is_reserved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> socket.socket:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(ValueError, match="port 80 may not be used by this user"):
        listen_at("127.0.0.1", 80)

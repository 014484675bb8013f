"""Who may come in: Host, Origin and token of a request; who of those inside has the controls.

A page of another site can make a browser connect here, and a name that its owner points at 127.0.0.1 makes it look like
our own (DNS rebinding). So the Host must be one that we serve under, and the Origin of a socket must be that very host.
Scripts have no Origin; they need the token.
"""

import dataclasses
import errno
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Sequence

OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclasses.dataclass(frozen=True)
class Gate:
    """Where we serve, and what a request must show. `any_address`: we listen on all addresses of this machine."""

    names: tuple[str, ...]  # hosts that we answer to, lower case, IPv6 in brackets
    port: int
    shown: str = "127.0.0.1"  # the one for people
    token: str | None = None  # asked for where it is not None
    any_address: bool = False

    @classmethod
    def at(cls, listening: socket.socket, host: str, token: bool = False) -> "Gate":
        """The gate before a socket that listens on `host`. Beyond this machine, and where asked for, with a token."""
        address = listening.getsockname()
        bound = ipaddress.ip_address(address[0])
        shown = socket.gethostname().lower() if bound.is_unspecified else _written(host)
        names = dict.fromkeys((*OWN_NAMES, shown, _written(address[0])))
        secret = secrets.token_urlsafe(24) if token or not bound.is_loopback else None
        return cls(tuple(names), address[1], shown, secret, bound.is_unspecified)

    def host(self, given: Sequence[str]) -> str | None:
        """The host of a request, with its port, where it is one of ours; `given`: all its Host headers."""
        if len(given) != 1:
            return None
        asked = given[0].strip().lower()
        name, colon, port = asked.rpartition(":")
        if not colon or asked.endswith("]"):
            name, port = asked, "80"
        if port != str(self.port) or not (name in self.names or (self.any_address and _is_address(name))):
            return None
        return asked

    def admits(self, host: str, origins: Sequence[str], token: str) -> bool:
        """May a socket be opened? `origins`: all Origin headers of the request, `host`: what `host()` returned."""
        if self.token is not None and not self.opens(token):
            return False
        if not origins:
            return self.token is not None
        return len(origins) == 1 and origins[0].strip().lower() == f"http://{host}"

    def opens(self, token: str) -> bool:
        """Is it the token? True where none is asked for. Takes as long for a near miss as for nonsense."""
        return self.token is None or hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    @property
    def url(self) -> str:
        """What to type into a browser."""
        return f"http://{self.shown}:{self.port}/" + (f"?token={self.token}" if self.token is not None else "")


@dataclasses.dataclass
class Controls:
    """One client at a time may command: who came first keeps it until it leaves or is silent for `patience` seconds."""

    patience: float = 30.0
    holder: int | None = None
    until: float = 0.0

    def take(self, client: int, now: float) -> bool:
        """May `client` command now? It has the controls from here on if so."""
        if not self.free_for(client, now):
            return False
        self.holder, self.until = client, now + self.patience
        return True

    def free_for(self, client: int, now: float) -> bool:
        return self.holder in (None, client) or now >= self.until

    def leave(self, client: int) -> None:
        if self.holder == client:
            self.holder = None


def listen_at(host: str, port: int) -> socket.socket:
    """A socket that listens on `host`; what prevents it is a ValueError that says what to do."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError):
        raise ValueError(f"--host {host} is no name or address that this machine knows; try 127.0.0.1") from None
    try:
        return socket.create_server(address[:2], family=family, backlog=64)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = (
                f"port {port} is in use, perhaps by another pliant play; choose another with --port, --port 0 takes one"
            )
            raise ValueError(why) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise ValueError(f"port {port} may not be used by this user; choose one above 1023 with --port") from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ValueError(f"--host {host} is not an address of this machine; try 127.0.0.1") from None
        raise


def _written(host: str) -> str:
    """As it stands in a URL."""
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _is_address(name: str) -> bool:
    """No name can be made to point elsewhere that is none."""
    if "%" in name:  # a zone, behind which anything may stand; browsers send none
        return False
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True

"""Access control: Host, Origin and token of a request, and which client has the controls.

A page of another site can make a browser connect to this server, and with DNS rebinding it can appear as our own. The
Host must therefore be one of the server's names, and the Origin of a socket must be the same host. Scripts send no
Origin; they need the token.
"""

import dataclasses
import hmac
import ipaddress
import secrets
import socket
import urllib.parse
from collections.abc import Sequence

OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclasses.dataclass(frozen=True)
class AccessRules:
    """The server's address and access rules. `any_address`: it listens on all addresses of this machine."""

    names: tuple[str, ...]  # valid host names, lower case, IPv6 in brackets
    port: int
    display_host: str = "127.0.0.1"  # host name in the printed URL
    token: str | None = None  # required if not None
    any_address: bool = False

    @classmethod
    def at(cls, listening: socket.socket, host: str, token: bool = False) -> "AccessRules":
        """Return the rules for a socket that listens on `host`; `token`: require one on loopback addresses too."""
        address = listening.getsockname()
        bound = ipaddress.ip_address(address[0])
        display_host = socket.gethostname().lower() if bound.is_unspecified else _written(host)
        names = dict.fromkeys((*OWN_NAMES, display_host, _written(address[0])))
        secret = secrets.token_urlsafe(24) if token or not bound.is_loopback else None
        return cls(
            names=tuple(names),
            port=address[1],
            display_host=display_host,
            token=secret,
            any_address=bound.is_unspecified,
        )

    def host(self, headers: Sequence[str]) -> str | None:
        """Return host and port of a request if they are valid, else None; `headers`: all its Host headers."""
        if len(headers) != 1:
            return None
        requested = headers[0].strip().lower()
        name, colon, port = requested.rpartition(":")
        if not colon or requested.endswith("]"):
            name, port = requested, "80"
        if port != str(self.port) or not (name in self.names or (self.any_address and _is_address(name))):
            return None
        return requested

    def admits(self, host: str, origins: Sequence[str], token: str) -> bool:
        """Return True if a socket may be opened. `origins`: all Origin headers, `host`: the result of `host()`."""
        if self.token is not None and not self.accepts_token(token):
            return False
        if not origins:
            return self.token is not None
        return len(origins) == 1 and origins[0].strip().lower() == f"http://{host}"

    def accepts_token(self, token: str) -> bool:
        """Return True if the token is correct or none is required; compares in constant time."""
        return self.token is None or hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    @property
    def url(self) -> str:
        """The URL to open in a browser."""
        return f"http://{self.display_host}:{self.port}/" + (f"?token={self.token}" if self.token is not None else "")


@dataclasses.dataclass
class Controls:
    """The controls, held by one client at a time until it leaves or sends no command for `timeout` seconds."""

    timeout: float = 30.0
    holder: int | None = None
    until: float = 0.0

    def take(self, client: int, now: float) -> bool:
        """Give `client` the controls if they are free for it; return whether it has them."""
        if not self.free_for(client, now):
            return False
        self.holder, self.until = client, now + self.timeout
        return True

    def free_for(self, client: int, now: float) -> bool:
        return self.holder in (None, client) or now >= self.until

    def leave(self, client: int) -> None:
        if self.holder == client:
            self.holder = None


def _written(host: str) -> str:
    """Format a host for a URL."""
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _is_address(name: str) -> bool:
    """Return True for a literal IP address, which DNS cannot rebind."""
    if "%" in name:  # an IPv6 zone, which may contain any text; browsers send none
        return False
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def token_in(query: str) -> str:
    """Return the token in the query of a URL; empty if there is none."""
    try:
        return urllib.parse.parse_qs(query, max_num_fields=8).get("token", [""])[0]
    except ValueError:
        return ""

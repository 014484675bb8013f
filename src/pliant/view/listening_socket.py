"""The listening socket of the server."""

import errno
import socket


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `host`; raise ValueError with advice if that fails."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError):
        raise ValueError(f"--host {host} cannot be resolved to an address; try 127.0.0.1") from None
    try:
        return socket.create_server(address[:2], family=family, backlog=64)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = (
                f"port {port} is in use, perhaps by another pliant play; choose another with --port (0: any free port)"
            )
            raise ValueError(why) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise ValueError(f"port {port} may not be used by this user; choose one above 1023 with --port") from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ValueError(f"--host {host} is not an address of this machine; try 127.0.0.1") from None
        raise

"""HTTP responses and their security headers."""

import email.utils
import http

from websockets.datastructures import Headers
from websockets.http11 import Response

from .static_files import StaticFile

# only files of this server; the page cannot send data elsewhere and cannot be framed by another page
POLICY = "default-src 'self'; img-src 'self' data:; {link}base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SECURITY_HEADERS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),  # the URL contains the token
    ("Cache-Control", "no-store"),
)


def file_response(file: StaticFile, empty: bool = False) -> Response:
    """Return the response with a file; `empty`: headers only."""
    return _response(http.HTTPStatus.OK, file, empty)


def refusal(status: int, why: str) -> Response:
    return _response(http.HTTPStatus(status), StaticFile(why.encode() + b"\n", "text/plain; charset=utf-8"))


def add_security_headers(response: Response, host: str | None) -> None:
    """Add the security headers; `host`: the host name and port of the request."""
    if response.status_code == http.HTTPStatus.SWITCHING_PROTOCOLS:
        return
    link = f"connect-src 'self' ws://{host}; " if host else ""  # in some browsers 'self' does not cover ws:
    response.headers["Content-Security-Policy"] = POLICY.format(link=link)
    for name, value in SECURITY_HEADERS:
        response.headers[name] = value


def _response(status: http.HTTPStatus, file: StaticFile, empty: bool = False) -> Response:
    headers = Headers(
        [
            ("Date", email.utils.formatdate(usegmt=True)),
            ("Connection", "close"),
            ("Content-Length", str(len(file.content))),
            ("Content-Type", file.content_type),
        ]
    )
    return Response(status.value, status.phrase, headers, b"" if empty else file.content)

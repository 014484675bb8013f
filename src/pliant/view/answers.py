"""HTTP responses and their security headers."""

import email.utils
import http
import urllib.parse

from websockets.datastructures import Headers
from websockets.http11 import Response

from .page import Page

# only files of this server; the page cannot send data elsewhere and cannot be framed by another page
POLICY = "default-src 'self'; img-src 'self' data:; {link}base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SECURITY_HEADERS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),  # the URL contains the token
    ("Cache-Control", "no-store"),
)


def file(page: Page, empty: bool = False) -> Response:
    """Return the response with a file; `empty`: headers only."""
    return _response(http.HTTPStatus.OK, page, empty)


def refusal(status: int, why: str) -> Response:
    return _response(http.HTTPStatus(status), Page(why.encode() + b"\n", "text/plain; charset=utf-8"))


def add_security_headers(response: Response, host: str | None) -> None:
    """Add the security headers; `host`: the host name and port of the request."""
    if response.status_code == http.HTTPStatus.SWITCHING_PROTOCOLS:
        return
    link = f"connect-src 'self' ws://{host}; " if host else ""  # in some browsers 'self' does not cover ws:
    response.headers["Content-Security-Policy"] = POLICY.format(link=link)
    for name, value in SECURITY_HEADERS:
        response.headers[name] = value


def token(query: str) -> str:
    """Return the token in the query of a URL; empty if there is none."""
    try:
        return urllib.parse.parse_qs(query, max_num_fields=8).get("token", [""])[0]
    except ValueError:
        return ""


def _response(status: http.HTTPStatus, page: Page, empty: bool = False) -> Response:
    headers = Headers(
        [
            ("Date", email.utils.formatdate(usegmt=True)),
            ("Connection", "close"),
            ("Content-Length", str(len(page.content))),
            ("Content-Type", page.kind),
        ]
    )
    return Response(status.value, status.phrase, headers, b"" if empty else page.content)

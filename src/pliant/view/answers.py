"""Answers over HTTP, and what browsers are told about every one of them."""

import email.utils
import http
import urllib.parse

from websockets.datastructures import Headers
from websockets.http11 import Response

from .page import Page

# nothing but our own files; whatever the page shows, it can send nothing elsewhere and stand in no other page
POLICY = "default-src 'self'; img-src 'self' data:; {link}base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SEAL = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),  # the token stands in the address
    ("Cache-Control", "no-store"),
)


def file(page: Page, empty: bool = False) -> Response:
    """A file; `empty`: its headers alone."""
    return _response(http.HTTPStatus.OK, page, empty)


def refusal(status: int, why: str) -> Response:
    return _response(http.HTTPStatus(status), Page(why.encode() + b"\n", "text/plain; charset=utf-8"))


def seal(response: Response, host: str | None) -> None:
    """Add the headers that keep the page to itself; `host`: the name and port it was asked for under."""
    if response.status_code == http.HTTPStatus.SWITCHING_PROTOCOLS:
        return
    link = f"connect-src 'self' ws://{host}; " if host else ""  # 'self' is not ws: in every browser
    response.headers["Content-Security-Policy"] = POLICY.format(link=link)
    for name, value in SEAL:
        response.headers[name] = value


def token(query: str) -> str:
    """The token in the query of an address; empty without one."""
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

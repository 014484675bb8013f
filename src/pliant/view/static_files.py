"""The static files of the page, read once into a table by request path, so that no request can name another file."""

import importlib.resources
from typing import NamedTuple

# the live page and the replay share the rendering scripts
SOURCES = (("pliant.report", (".js", ".css")), ("pliant.view", (".html", ".js", ".css", ".svg", ".png", ".woff2")))
FRONT = "/play.html"  # served for "/"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


class StaticFile(NamedTuple):
    """A file as it is sent."""

    content: bytes
    content_type: str


def static_files() -> dict[str, StaticFile]:
    """Return the files of the page by request path."""
    found: dict[str, StaticFile] = {}
    for package, endings in SOURCES:
        for file in importlib.resources.files(package).joinpath("static").iterdir():
            ending = "." + file.name.rpartition(".")[2]
            if ending in endings:
                if "/" + file.name in found:
                    raise ValueError(f"two files of the page are named {file.name}; rename one of them")
                found["/" + file.name] = StaticFile(file.read_bytes(), TYPES[ending])
    if FRONT in found:
        found["/"] = found[FRONT]
    return found

"""The files of the page, read once into a table: what is not in it does not exist, and no path is ever joined."""

import importlib.resources
from typing import NamedTuple

# the live page and the replay draw with the same scripts
PLACES = (("pliant.report", (".js", ".css")), ("pliant.view", (".html", ".js", ".css", ".svg", ".png", ".woff2")))
FRONT = "/play.html"  # what "/" shows
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


class Page(NamedTuple):
    content: bytes
    kind: str  # its content type


def table() -> dict[str, Page]:
    """Path of a request -> the file."""
    found: dict[str, Page] = {}
    for package, endings in PLACES:
        for file in importlib.resources.files(package).joinpath("static").iterdir():
            ending = "." + file.name.rpartition(".")[2]
            if ending in endings:
                if "/" + file.name in found:
                    raise ValueError(f"two files of the page are named {file.name}; name one of them otherwise")
                found["/" + file.name] = Page(file.read_bytes(), TYPES[ending])
    if FRONT in found:
        found["/"] = found[FRONT]
    return found

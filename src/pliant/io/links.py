"""References to other files: followed only if the target lies in the model's own folder."""

import pathlib
import re
import urllib.parse


def inside(folder: pathlib.Path, name: str) -> pathlib.Path | None:
    """Return the file `name`, or None if it is missing, absolute, has a scheme or resolves outside `folder`."""
    if not name or "\0" in name or "\\" in name or name.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name):
        return None
    try:
        root = folder.resolve()
        target = (root / name).resolve()
        if target.is_relative_to(root) and target.is_file():
            return target
    except (OSError, ValueError, RuntimeError):
        pass
    return None


def percent_decoded(uri: str) -> str:
    """Convert a URI reference to a file name."""
    return urllib.parse.unquote(uri, errors="replace")

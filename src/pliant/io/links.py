"""Names of files inside files: followed only when they stay in the model's own folder."""

import pathlib
import re
import urllib.parse


def inside(folder: pathlib.Path, name: str) -> pathlib.Path | None:
    """The file `name` means, or None where it is absolute, has a scheme, or leaves `folder` (links followed)."""
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
    """A URI reference as a file name."""
    return urllib.parse.unquote(uri, errors="replace")

"""The folder in which pliant caches compiled kernels and baked fields."""

import os
import pathlib
import sys


def cache_root() -> pathlib.Path:
    """The folder of everything that pliant caches; `PLIANT_CACHE` overrides the platform's default."""
    if chosen := os.environ.get("PLIANT_CACHE"):
        return pathlib.Path(chosen)
    home = pathlib.Path.home()
    if sys.platform == "win32":
        return pathlib.Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "pliant" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "pliant"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "pliant"

"""Whether usd-core is installed, the library of the extra `[usd]`."""

import importlib.util
import os
import pathlib

EXTRA = "pip install 'pliant[usd]'"


def installed() -> bool:
    return importlib.util.find_spec("pxr") is not None


def require(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if binary USD cannot be written; also called before a simulation starts."""
    if not installed():
        ending = pathlib.Path(path).suffix
        raise ValueError(f"{ending} ({path}) needs usd-core: {EXTRA}; or write .usda, which needs nothing")

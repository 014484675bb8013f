"""Exceptions of pliant; invalid arrays raise a plain `ValueError` that names the array and the index. Libraries that
only one function needs are imported here, with an error where they are absent."""

import difflib
import importlib
import os
from collections.abc import Iterable, Sequence
from typing import Any


class MeshFileError(Exception):
    """A file could not be read: `path`, `where` in it (line, byte, accessor), and `why`."""

    def __init__(self, path: str | os.PathLike[str], where: str, why: str) -> None:
        self.path = os.fspath(path)
        self.where = where
        self.why = why
        super().__init__(self.path, where, why)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.path}{place}: {self.why}"


class TooBigError(ValueError):
    """An operation would need more memory than allowed; raised before allocation."""


class CardLostError(RuntimeError):
    """A graphics card stopped working in a run; the simulation is at the last frame that was copied to the host, from
    which it goes on, on threads."""


def one_of(name: str, known: Iterable[str], most: int = 12) -> str:
    """Return, for an error about an unknown name, the closest matches and the first of all that there are."""
    names = list(known)
    lower = {each.lower(): each for each in reversed(names)}
    near = [lower[found] for found in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    near += [each for each in names if name.lower() in each.lower() and each not in near][: 3 - len(near)]
    hint = f"did you mean {' or '.join(repr(each) for each in near)}? " if near else ""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{hint}one of: {', '.join(names[:most]) or 'none'}{more}"


def unknown_option(called: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for an unknown option, with the closest match and all valid options."""
    options = sorted(known)
    near = difflib.get_close_matches(name, options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return TypeError(f"{called} has no option {name!r}; {hint}one of: {', '.join(options)}")


def too_many(called: str, places: Sequence[str], named: Iterable[str]) -> TypeError:
    """Return the error for more arguments by position than the parameters `places`; `named` are those by name."""
    options = ", ".join(f"{name}=" for name in sorted(named))
    first = f"only {' and '.join([', '.join(places[:-1]), places[-1]] if places[1:] else places)}" if places else "none"
    return TypeError(f"{called} takes {first} by position{'; give others by name: ' if options else ''}{options}")


def optional(library: str, function: str) -> Any:
    """Import a library that only `function` needs; raise ImportError that names both where it is not installed."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:  # it is there, and lacks something itself
            raise
        raise ImportError(f"{function} needs {library}, which is not installed: pip install {library}") from None

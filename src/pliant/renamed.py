"""Names of earlier versions: each still works for one version and warns with the new name."""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

# keyword arguments of public functions and classes
KEYWORDS = {"elasticity": "restitution"}


def warn(old: str, new: str, level: int = 3) -> None:
    """Emit the DeprecationWarning for a renamed name, at the caller of the code that uses it."""
    warnings.warn(f"{old} is now {new}; the old name will be removed", DeprecationWarning, stacklevel=level)


def attribute(old: str, new: str) -> Any:
    """Return a property under an old name that reads and writes the attribute `new`."""

    def get(self: Any) -> Any:
        warn(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    def put(self: Any, value: Any) -> None:
        warn(f"{type(self).__name__}.{old}", new)
        setattr(self, new, value)

    return property(get, put, doc=f"Deprecated: use `{new}`.")


def module(name: str, moved: dict[str, str]) -> Callable[[str], Any]:
    """Return a module `__getattr__` for the module `name`: each name in `moved` is found in the module it maps to."""

    def get(wanted: str) -> Any:
        if wanted not in moved:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        warn(f"{name}.{wanted}", f"{moved[wanted]}.{wanted}")
        return getattr(importlib.import_module(moved[wanted]), wanted)

    return get


def state(old: str) -> Any:
    """Return a property under an old name that reads and writes a detector's state by `state` and `restore`."""

    def get(self: Any) -> Any:
        warn(f"{type(self).__name__}.{old}", "state()")
        return self.state()

    def put(self: Any, value: Any) -> None:
        warn(f"{type(self).__name__}.{old}", "restore(state) or reset()")
        self.restore(value)

    return property(get, put, doc="Deprecated: use `state()`, `restore(state)` and `reset()`.")


def keywords(named: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return keyword arguments with the old names that `known` does not contain replaced by the new ones."""
    for old in [name for name in named if name in KEYWORDS and name not in known]:
        warn(old, KEYWORDS[old], 4)
        named[KEYWORDS[old]] = named.pop(old)
    return named

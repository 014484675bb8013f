"""What scenes of a batch share: within `sharing()`, what was made for a mesh and a material is made once."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
_known: ContextVar[dict[Any, Any] | None] = ContextVar("_known", default=None)


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """Within this block, `once` remembers."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def once(what: str, made_of: tuple[Any, ...], make: Callable[[], T]) -> T:
    """Return what `make` returns, or returned before for `what` and equal `made_of`."""
    known = _known.get()
    if known is None:
        return make()
    key = what, made_of
    if key not in known:
        known[key] = make()
    found: T = known[key]
    return found

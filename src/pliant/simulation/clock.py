"""Nested timers, without cost when off: `with clock("detect"): ...`. Within `with clock("step")` the time is stored
under the dotted name "step.detect"."""

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager


class Clock:
    """Seconds and calls per name. `Clock(on=False)` costs one attribute look-up per use."""

    def __init__(self, on: bool = True) -> None:
        self.on = on
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._stack: list[str] = []

    def __call__(self, name: str) -> AbstractContextManager[None]:
        return self._measure(name) if self.on else _NOTHING

    @contextlib.contextmanager
    def _measure(self, name: str) -> Iterator[None]:
        dotted = f"{self._stack[-1]}.{name}" if self._stack else name
        self._stack.append(dotted)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._stack.pop()
            self.seconds[dotted] = self.seconds.get(dotted, 0.0) + time.perf_counter() - start
            self.calls[dotted] = self.calls.get(dotted, 0) + 1


_NOTHING: AbstractContextManager[None] = contextlib.nullcontext()

"""Alternating runs, so that other load of the machine affects all participants; the best of each counts."""

import contextlib
import contextvars
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pliant.kernels import jit

Run = Callable[[], float]  # does the work and returns its time in seconds
BUDGET = 90.0  # s per participant in one comparison
_BUDGET = contextvars.ContextVar("budget", default=BUDGET)


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of each repeat."""

    runs: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.runs)

    @property
    def median(self) -> float:
        return float(np.median(self.runs))


def alternate(runs: Mapping[str, Run], repeats: int, budget: float | None = None) -> dict[str, Times]:
    """Each run once untimed (it may compile and touch new memory), then `repeats` alternating rounds.

    Whoever would need more than `budget` seconds leaves earlier; if the first round alone took half of it, that counts.
    """
    budget = _BUDGET.get() if budget is None else budget
    kept: dict[str, list[float]] = {}
    spent: dict[str, float] = {}
    for who, run in runs.items():
        spent[who] = run()
        kept[who] = [spent[who]] if spent[who] > 0.5 * budget else []
    for _ in range(repeats):
        for who, run in runs.items():
            if kept[who] and spent[who] + min(kept[who]) > budget:
                continue
            took = run()
            spent[who] += took
            kept[who].append(took)
    return {who: Times(tuple(seconds)) for who, seconds in kept.items()}


@contextlib.contextmanager
def hurried(budget: float) -> Iterator[None]:
    """Default time limit in seconds of each participant of the comparisons in the block."""
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call; its result is freed after the clock has stopped."""
    start = time.perf_counter()
    made = work()
    took = time.perf_counter() - start
    del made
    return took


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the kernels of pliant on `count` threads in the block."""
    before = jit.threads()
    jit.set_threads(count)
    try:
        yield
    finally:
        jit.set_threads(before)

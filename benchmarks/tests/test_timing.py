"""Runs take turns, and threads go back to what they were."""

from pliant.kernels import jit
from pliant_bench.timing import alternate, hurried, threads


def test_runs_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    seconds = {"a": iter([9.0, 2.0, 1.0]), "b": iter([8.0, 3.0, 4.0])}

    def run(who: str) -> float:
        order.append(who)
        return next(seconds[who])

    times = alternate({who: lambda who=who: run(who) for who in seconds}, 2)
    assert order == ["a", "b"] * 3
    assert [times["a"].runs, times["a"].best, times["b"].median] == [(2.0, 1.0), 1.0, 3.5]


def test_who_takes_too_long_runs_once_and_that_counts() -> None:
    times = alternate({"slow": lambda: 80.0, "fast": lambda: 0.1}, 3, budget=100.0)
    assert (times["slow"].runs, len(times["fast"].runs)) == ((80.0,), 3)


def test_threads_are_as_before_even_after_an_error() -> None:
    before = jit.threads()
    try:
        with threads(1):
            assert jit.threads() == 1
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert jit.threads() == before


def test_in_a_hurry_the_slow_leave_earlier() -> None:
    with hurried(0.5):
        found = alternate({"slow": lambda: 0.2, "quick": lambda: 0.01}, 5)
        counted = alternate({"slow": lambda: 0.3}, 5)
    assert [len(found[who].runs) for who in ("slow", "quick")] == [1, 5]
    assert len(counted["slow"].runs) == 1
    assert len(alternate({"slow": lambda: 0.2}, 5)["slow"].runs) == 5

"""Timers add up under dotted names and cost nothing when off."""

import time

import pytest

from pliant.simulation.clock import Clock


def test_names_are_joined_with_dots_and_calls_are_counted() -> None:
    clock = Clock()
    with clock("step"):
        for _ in range(3):
            with clock("detect"), clock("bvh"):
                pass
    assert clock.calls == {"step": 1, "step.detect": 3, "step.detect.bvh": 3}


def test_an_outer_timer_holds_the_inner_ones() -> None:
    clock = Clock()
    with clock("a"):
        with clock("b"):
            time.sleep(0.01)
        with clock("c"):
            time.sleep(0.01)
    assert clock.seconds["a"] >= clock.seconds["a.b"] + clock.seconds["a.c"] >= 0.02


def test_an_error_inside_is_timed_and_passes_through() -> None:
    clock = Clock()
    with pytest.raises(ZeroDivisionError), clock("a"), clock("b"):
        raise ZeroDivisionError
    with clock("c"):
        pass
    assert clock.calls == {"a": 1, "a.b": 1, "c": 1}


def test_a_clock_that_is_off_remembers_nothing() -> None:
    clock = Clock(on=False)
    with clock("a"), clock("b"):
        pass
    assert (clock.seconds, clock.calls) == ({}, {})

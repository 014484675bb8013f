"""The attacks of `make attack` in short: the same cases, in this process, a few dozen of each promise.

`python tests/attack/run.py --only PROMISE --case SEED:INDEX` runs one again.
"""

import pytest

from attack.promises import PROMISES
from attack.worker import run_case
from conftest import SEED, cases

NEEDS = {"sides": "igl", "fields": "igl", "safe": "ipctk", "steps": "ipctk", "audit": "igl"}
SHORT = {
    "detect": 45,
    "sides": 60,
    "fields": 25,
    "safe": 12,
    "crossings": 60,
    "tets": 60,
    "steps": 12,
    "temporal": 66,
    "restart": 10,
    "threads": 12,
    "audit": 15,
}


def assert_nothing_breaks(promise: str, first: int, count: int) -> None:
    if promise in NEEDS:
        pytest.importorskip(NEEDS[promise], reason="needs `pip install 'pliant[attack]'`")
    broken, checks = [], 0
    for index in range(first, first + count):
        found = run_case(promise, SEED, index)
        checks += found["checks"]
        broken += [f"{text}\n  {found['line']}" for text in found["failures"][:1]]
    assert not broken, f"{len(broken)} of {count} cases failed:\n" + "\n".join(broken[:10])
    assert checks >= count // 2  # a case that checks nothing is none


def test_every_promise_that_is_attacked_has_a_short_form():
    assert SHORT.keys() == PROMISES.keys()


@pytest.mark.compiled
@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_holds_in_random_cases(promise):
    assert_nothing_breaks(promise, 0, cases(SHORT[promise]))


@pytest.mark.compiled
@pytest.mark.long
@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_holds_in_many_random_cases(promise):
    assert_nothing_breaks(promise, 1000, 20 * cases(SHORT[promise]))

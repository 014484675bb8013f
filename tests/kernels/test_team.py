"""Loops that a team of threads shares: every batch runs once, by its owner first, and nothing waits for ever."""

import threading

import numpy as np
import pytest

from pliant.kernels.team import COUNTERS, barrier, claim, clear, complete


def claimed(team: np.ndarray, k: int, t: int, batches: int, most: int) -> list[int]:
    """The first `most` batches of loop `k` that thread `t` claims and completes."""
    found = []
    while len(found) < most and (b := claim(team, k, t, batches)) >= 0:
        complete(team, k, b, batches)
        found.append(int(b))
    return found


@pytest.mark.parametrize("threads", [1, 2, 3, 16, 20])
@pytest.mark.parametrize("batches", [1, 2, 10, 16])
def test_every_batch_is_claimed_once_whoever_comes(threads, batches):
    team = np.zeros((3, threads, COUNTERS), np.int64)
    assert sorted(claimed(team, 1, 0, batches, batches)) == list(range(batches))  # alone
    barrier(team, 1, batches)
    assert all(claim(team, 1, t, batches) == -1 for t in range(threads))  # late
    found = [b for _ in range(batches) for t in range(threads) for b in claimed(team, 2, t, batches, 1)]
    assert sorted(found) == list(range(batches))
    barrier(team, 2, batches)
    assert not team[0].any()
    clear(team)
    assert not team.any()


def test_a_thread_begins_with_its_own_batches_and_goes_on_with_those_of_others():
    team = np.zeros((1, 4, COUNTERS), np.int64)
    assert claimed(team, 0, 2, 16, 16) == [*range(8, 16), *range(8)]


def test_threads_that_claim_at_once_share_all_batches():
    team, found = np.zeros((50, 2, COUNTERS), np.int64), [[], []]

    def work(t: int) -> None:
        for k in range(len(team)):
            found[t] += [(k, b) for b in claimed(team, k, t, 16, 16)]
            barrier(team, k, 16)

    both = [threading.Thread(target=work, args=(t,)) for t in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(found[0] + found[1]) == [(k, b) for k in range(len(team)) for b in range(16)]

"""Not a guarantee: cases that exit their process, never end, or raise, for the test of the worker."""

import os


def attack(trial):
    if trial.index == 0:
        os._exit(3)
    while trial.index == 1:
        pass
    raise KeyError("nobody expected this")

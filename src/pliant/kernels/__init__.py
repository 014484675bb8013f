"""The loops over elements. Idle threads spin for some 10 us, then sleep (docs/decisions/0005-idle-threads-sleep.md)."""

import os

# read by libgomp when Numba loads it; `jit` lets idle threads sleep, and without this they do so between any two loops
os.environ.setdefault("GOMP_SPINCOUNT", "5000")

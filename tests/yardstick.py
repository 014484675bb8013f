"""How slow this machine is just now, so that limits in seconds hold for the code and not for the machine."""

import gzip
import statistics
import time

import numpy as np

USUAL = 0.048  # seconds of processor time that the piece of work takes where the limits were set


def slowness() -> float:
    """How many times longer than usual a piece of work takes that is like reading a mesh; at least 1.

    Ask right after the time in question was taken: what disturbs one then disturbs the other.
    """
    return max(1.0, statistics.median(_seconds() for _ in range(5)) / USUAL)


def _seconds() -> float:
    start = time.process_time()
    text = gzip.decompress(gzip.compress(b"v 0.125 -2.5e-3 7\n" * 20_000, 1))
    numbers = [float(word) for line in text.splitlines() for word in line.split()[1:]]
    x = np.array(numbers).reshape(-1, 3)
    for _ in range(3):
        np.unique(x + np.arange(len(x))[:, None] % 97, axis=0)
    return time.process_time() - start

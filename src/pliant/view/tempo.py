"""Tempo: how long frames take of late, what that time is spent on, and how fast the time of a scene goes."""

import time
from collections.abc import Mapping

import numpy as np

HALF = 0.5  # seconds after which what was counts half


class Tempo:
    """Means that forget. `mean`: seconds a frame takes; `count`: frames since the last `again`; `ms`: what a hundredth
    of a second of the scene is spent on."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin with nothing, as of now."""
        self._ended = time.perf_counter()
        self._lived = np.zeros(3)  # of late: seconds, frames, and seconds simulated
        self.ms: dict[str, float] = {}
        self.again()

    def again(self) -> None:
        """Frames are of another length from here on."""
        self.mean, self.count = 0.0, 0

    def took(self, seconds: float, stages: Mapping[str, float], parts: int) -> None:
        """A frame took `seconds`, its `stages` each so many; there are `parts` of them in a hundredth of a second."""
        self.mean = seconds if not self.mean else self.mean + 0.1 * (seconds - self.mean)
        self.count += 1
        for name, spent in stages.items():
            ms = 1e3 * spent * parts
            self.ms[name] = self.ms.get(name, ms) + 0.1 * (ms - self.ms.get(name, ms))

    def lived(self, simulated: float) -> None:
        """Until now it went on by so many seconds of the scene."""
        now = time.perf_counter()
        past, self._ended = now - self._ended, now
        # all sums forget at the same pace, so that their ratios hold however long single frames are
        self._lived = 0.5 ** (past / HALF) * self._lived + np.array([past, 1.0, simulated])

    @property
    def fps(self) -> float:
        """Frames a second."""
        return float(self._lived[1] / max(self._lived[0], 1e-9))

    @property
    def speed(self) -> float:
        """Seconds simulated in a second."""
        return float(self._lived[2] / max(self._lived[0], 1e-9))

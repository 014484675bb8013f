"""Frame statistics: computing time per part and stage, and speed relative to real time, as decaying averages.

A frame of 0.01 s is simulated in one or several parts (`InteractiveRun.parts_per_frame`).
"""

import time
from collections.abc import Mapping

import numpy as np

# half-life of the sums behind `parts_per_second` and `speed`, seconds; `mean` and `ms` move a tenth of the way per part
HALF = 0.5


class FrameStatistics:
    """Decaying averages. `mean`: seconds per part; `count`: parts since the last `reset_part_time`; `ms`:
    milliseconds of each stage for 0.01 s of simulated time."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset all averages."""
        self._updated_at = time.perf_counter()
        self._sums = np.zeros(3)  # decaying sums: seconds, parts, simulated seconds
        self.ms: dict[str, float] = {}
        self.reset_part_time()

    def reset_part_time(self) -> None:
        """Reset the time per part, after the length of parts has changed."""
        self.mean, self.count = 0.0, 0

    def add_part(self, seconds: float, stages: Mapping[str, float], parts_per_frame: int) -> None:
        """Add a part that took `seconds`, with the seconds of its `stages`."""
        self.mean = seconds if not self.mean else self.mean + 0.1 * (seconds - self.mean)
        self.count += 1
        for name, spent in stages.items():
            ms = 1e3 * spent * parts_per_frame
            self.ms[name] = self.ms.get(name, ms) + 0.1 * (ms - self.ms.get(name, ms))

    def add_simulated(self, simulated: float) -> None:
        """Record that the scene has advanced by `simulated` seconds since the last call."""
        now = time.perf_counter()
        past, self._updated_at = now - self._updated_at, now
        # all sums decay at the same rate, so their ratios do not depend on the length of single parts
        self._sums = 0.5 ** (past / HALF) * self._sums + np.array([past, 1.0, simulated])

    @property
    def parts_per_second(self) -> float:
        """Parts computed per second."""
        return float(self._sums[1] / max(self._sums[0], 1e-9))

    @property
    def speed(self) -> float:
        """Simulated seconds per second of real time."""
        return float(self._sums[2] / max(self._sums[0], 1e-9))

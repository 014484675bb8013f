"""An animated height grid: heights at keyframes, interpolated linearly."""

from typing import Any, Self

import numpy as np

from ... import validate
from ...arguments import check_arguments
from .height_grid import HeightGrid, checked_heights


@check_arguments
class HeightSequence(HeightGrid):
    """Heights (t,ni,nj) at increasing `times` (t,), seconds; constant before the first and after the last.

    A column is empty while it is empty in either neighbouring keyframe. The surface velocity, used for friction and
    response, is the rate of change of the heights along the direction.
    """

    def __init__(
        self, times: Any, heights: Any, *, spacing: Any, direction: str = "+y", origin: Any = (0, 0, 0)
    ) -> None:
        self.times = validate.floats("times", times, (None,))
        if not len(self.times) or (np.diff(self.times) <= 0.0).any():
            raise ValueError(f"times must increase and have at least one value; got {self.times.tolist()[:8]}")
        self.frames = checked_heights("heights", heights, (len(self.times), None, None))
        super().__init__(self.frames[0], spacing=spacing, direction=direction, origin=origin)
        self.time = float(self.times[0])

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.frames.nbytes

    def seek(self, time: float) -> Self:
        """Set the heights to those at `time`; at a keyframe the velocity is that of the interval that ends there."""
        if time == self.time:
            return self
        self.time = time
        k = int(np.searchsorted(self.times, time)) - 1
        if k < 0 or k >= len(self.times) - 1:
            self.heights = self.frames[max(k, 0)].copy()
            self.velocity = np.zeros((0, 0, 3))
            return self
        a, b = self.frames[k], self.frames[k + 1]
        span = float(self.times[k + 1] - self.times[k])
        s = (time - float(self.times[k])) / span
        self.heights = b.copy() if s == 1.0 else a + (b - a) * s
        self.velocity = np.zeros((*a.shape, 3))
        self.velocity[:, :, self.axis] = self.sign / span * (b - a)
        return self

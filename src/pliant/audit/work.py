"""Work: what a repair may spend, so that it ends in bounded time, with the same result on any machine."""

from collections.abc import Callable, Iterable

# queries of the body for each vertex and frame, on average: about half a millisecond of CPU time
MOST = 400
STEP, SMOOTHING = 10, 100  # queries that take as long as a guarded step and as smoothing, of one vertex
PAIR = 0.5  # queries that take as long as measuring a pair of features that are near each other, in such a step
FRAMES = 100  # least number of frames that it is counted for: fewer may take as long
PASSES = 3  # over the frames: out of the body, again after smoothing over time, and out of itself


class Work:
    """The work that is left for `frames` of a garment of as many `vertices`. Every frame of a pass may spend an equal
    share of it; what it does not need is left for the others."""

    def __init__(self, vertices: int, frames: int) -> None:
        self._left, self._turns = float(MOST * vertices * max(frames, FRAMES)), PASSES * frames
        self._allowed = self._left
        self.cut_short: dict[str, list[int]] = {}  # what was not done to its end -> frames

    def begin(self, done: int) -> None:
        """Begin with a frame, after as many as `done` in all passes together."""
        self._allowed = self._left / max(self._turns - done, 1)

    def spend(self, queries: int) -> None:
        """Note that as many points were queried."""
        self._left -= queries
        self._allowed -= queries

    def is_spent(self, t: int, what: str) -> bool:
        """Return whether the share of frame t is spent, and note that `what` is therefore not done to its end."""
        if self._allowed > 0.0:
            return False
        frames = self.cut_short.setdefault(what, [])
        if t not in frames:
            frames.append(t)
        return True


def cut_short_text(cut_short: Iterable[tuple[str, tuple[int, ...]]]) -> str:
    """What was not done to its end, as text."""
    return "; ".join(
        f"{what} in {len(frames):,} frame{'s' * (len(frames) != 1)}, the first {frames[0]}"
        for what, frames in cut_short
    )


def report_stage(report_progress: Callable[[float], None], k: int, stages: int, share: float) -> None:
    """Report that of stage k, one of as many `stages`, this share is done; all of them are nine tenths of a repair."""
    report_progress(0.9 * (k + share) / stages)

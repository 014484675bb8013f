"""A time budget: what is left of it, once the work that must still follow is reserved by its predicted cost."""

import math
from collections.abc import Callable
from typing import NamedTuple

CLEAR = 3.0  # root mean squares by which recent measurements exceeded their predictions, reserved beside a prediction
FORGET = 0.8  # weight of a measurement relative to the next one
LIKELY = 4.0  # measurements above this multiple of the prediction are counted as that: another process ran
SPARE = 0.02  # share of the budget that is kept free for the work between two readings of the clock


class CostModel:
    """Predicts seconds as a constant and a cost per item, by least squares over the measurements so far, the most
    recent ones weighted most."""

    def __init__(self, fixed: float, each: float) -> None:
        # the guess is worth one measurement without items and one of a thousand
        self._sums = [2.0, 1e3, 1e6, 2.0 * fixed + 1e3 * each, 1e3 * (fixed + 1e3 * each)]
        self._fixed, self.each = fixed, each
        self._excess = 0.0  # mean square by which recent measurements exceeded their predictions

    def predict(self, count: int) -> float:
        """Expected seconds for this many items."""
        return self._fixed + self.each * count

    def reserve(self, count: int) -> float:
        """Seconds that rarely fall short for this many items."""
        return self.predict(count) + CLEAR * math.sqrt(self._excess)

    def measured(self, count: int, seconds: float) -> None:
        """Learn from the seconds that this many items took."""
        expected = self.predict(count)
        seconds = min(seconds, LIKELY * expected)
        self._excess += (1.0 - FORGET) * (max(seconds - expected, 0.0) ** 2 - self._excess)
        added = (1.0, count, float(count) ** 2, seconds, count * seconds)
        self._sums = [FORGET * old + new for old, new in zip(self._sums, added, strict=True)]
        weight, n, nn, t, nt = self._sums
        spread = nn - n * n / weight
        if spread > 1e-6 * nn:
            self.each = max((nt - n * t / weight) / spread, 0.0)
        self._fixed = max((t - self.each * n) / weight, 0.0)


class TimeBudget:
    """The time of one step: a search, the records of what it found, and rounds of further work as long as time remains.

    The records must be made whatever they cost. Their time is predicted from earlier steps and reserved.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds, self.clock = seconds, clock
        self.records, self.rounds = CostModel(3e-4, 5e-6), CostModel(2e-4, 1e-6)
        self._began = self._spent = self._stopped = self._paused = 0.0

    def begin(self) -> None:
        """Start a step."""
        self._began = self.clock()

    def left(self, found: int) -> float:
        """Seconds left to the search if it stops with this many contacts."""
        whole = (1.0 - SPARE) * self.seconds
        return whole - (self.clock() - self._began) - self.records.reserve(found)

    def affordable(self, left: float) -> int:
        """The number of contacts whose records take half of `left` seconds."""
        return int(min(0.5 * left / max(self.records.each, 1e-9), 1e9)) + 1

    def searched(self) -> None:
        """The search has stopped."""
        self._stopped = self.clock()

    def updated(self) -> None:
        """The step is paused until the records are asked for."""
        now = self.clock()
        self._spent, self._paused = now - self._began, now - self._stopped

    def timed_rounds(self, found: int) -> "Rounds":
        """The time for the records of this many contacts, which begins now."""
        return Rounds(self, found)

    def left_for_records(self) -> float:
        """Seconds of the budget that `update` has left."""
        return (1.0 - SPARE) * self.seconds - self._spent

    def recorded(self, found: int, seconds: float) -> None:
        """Learn from the seconds that records took."""
        self.records.measured(found, self._paused + seconds)


class Rounds:
    """Rounds of optional work while records are made, each begun only if time for it and for the rest remains."""

    def __init__(self, budget: TimeBudget, found: int) -> None:
        self._budget, self._found = budget, found
        self._began, self._optional = budget.clock(), 0.0
        self._round: tuple[float, int] | None = None  # when the present one began, and its number of points

    def may_begin(self, points: int) -> bool:
        """Whether a round for this many points may begin: it and all that must follow fit into the time left."""
        now = self._budget.clock()
        self._end(now)
        required = self._budget.records.reserve(self._found) - (now - self._began - self._optional)
        needed = self._budget.rounds.reserve(points) + max(required, 0.0)
        fits = now - self._began + needed < self._budget.left_for_records()
        self._round = (now, points) if fits else None
        return fits

    def ended(self) -> None:
        """No further round follows here."""
        self._end(self._budget.clock())

    def close(self) -> None:
        """All records are made."""
        spent = self._budget.clock() - self._began
        self._budget.recorded(self._found, spent - self._optional)

    def _end(self, now: float) -> None:
        if self._round is not None:
            began, points = self._round
            self._optional += now - began
            self._budget.rounds.measured(points, now - began)
            self._round = None


class Untimed(NamedTuple):
    """Rounds that may all begin, or none."""

    allowed: bool

    def may_begin(self, points: int) -> bool:
        return self.allowed

    def ended(self) -> None:
        pass


ALL_ROUNDS, NO_ROUNDS = Untimed(True), Untimed(False)

"""One random case of an attack: its random numbers, checks, failures and counts."""

import collections
import zlib

import numpy as np

MOST_KEPT = 4  # failures per case whose inputs are saved


class Trial:
    """Case `index` of a guarantee under `seed`; the three determine the case on every machine.

    `check` counts a check and records a failure if it does not hold; the arrays passed to it are its input. `note`
    counts anything else that the table shows, and `measure` keeps the largest value of a quantity.
    """

    def __init__(self, guarantee: str, seed: int, index: int) -> None:
        self.guarantee, self.seed, self.index = guarantee, seed, index
        self.rng = np.random.default_rng([seed, zlib.crc32(guarantee.encode()), index])
        self.checks = 0
        self.failures: list[str] = []
        self.kept: list[dict[str, np.ndarray]] = []
        self.notes: collections.Counter[str] = collections.Counter()
        self.remarks: list[str] = []
        self.measures: dict[str, float] = {}

    def check(self, holds, what: str, count: int = 1, **arrays) -> bool:
        self.checks += int(count)
        if not holds:
            self.failures.append(what)
            if len(self.kept) < MOST_KEPT:
                self.kept.append({name: np.asarray(array) for name, array in arrays.items()})
        return bool(holds)

    def note(self, what: str, count: int = 1) -> None:
        self.notes[what] += count

    def measure(self, what: str, value: float) -> None:
        self.measures[what] = max(float(value), self.measures.get(what, 0.0))

    def remark(self, what: str) -> None:
        """A note that also stores its case: not a failure, but worth investigating."""
        self.note(what)
        self.remarks.append(f"{what}: {self.line}")

    @property
    def line(self) -> str:
        """The command that reproduces the case."""
        return f"python tests/attack/run.py --only {self.guarantee} --case {self.seed}:{self.index}"

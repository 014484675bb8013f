"""Attack the guarantees of pliant with random cases for a given time: `make attack`.

    python tests/attack/run.py --minutes 120 --seed 1
    python tests/attack/run.py --only detect,safe --minutes 5
    python tests/attack/run.py --only detect --case 1:417          # repeat one case in this process
    python tests/attack/run.py --only pairings --cases 10000 --resume --minutes 60
    python tests/attack/run.py --only pairings --from 5000 --cases 2500 --jobs 16   # the cases 5000 to 7499

Guarantees take turns according to their shares of the time. A failure prints the command that reproduces it and saves
its input to out/attack; the attack continues. The exit code is 1 if anything failed. With --resume it goes on where
the run of the same seed ended whose results are in --json, and adds to its counts.
"""

import argparse
import collections
import dataclasses
import json
import multiprocessing.connection
import pathlib
import sys
import time

import numpy as np

# the folder above instead of this one, whose files share names with other packages
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from attack.guarantees import GUARANTEES  # noqa: E402
from attack.minimise import minimised  # noqa: E402
from attack.worker import Worker, run_case  # noqa: E402

FIRST = 900.0  # seconds for the first case of a guarantee, which includes compilation
PATIENCE = 5.0  # factor of the time limit when a case that timed out is repeated
MOST_REMARKS = 200  # remarks per guarantee in the JSON
SHOWN = 60  # printed failures per guarantee; all are counted and listed in the JSON


@dataclasses.dataclass
class Tally:
    cases: int = 0
    checks: int = 0
    failures: int = 0
    failed_cases: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_case: str = ""
    notes: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    lines: list = dataclasses.field(default_factory=list)
    remarks: list = dataclasses.field(default_factory=list)
    largest: dict = dataclasses.field(default_factory=dict)  # by quantity: the largest value, and its case
    values: dict = dataclasses.field(default_factory=dict)  # by quantity: of all cases, for percentiles
    next: int = 0  # the first index that has not been chosen
    open: list = dataclasses.field(default_factory=list)  # indices below it that have not been counted

    @classmethod
    def of(cls, stored: dict) -> "Tally":
        return cls(**stored | {"notes": collections.Counter(stored["notes"])})


def stored_tallies(path: pathlib.Path, seed: int) -> tuple[dict[str, Tally], float]:
    """Tallies by guarantee, and minutes, of an earlier run of this seed; nothing where there is none."""
    if not path.is_file():
        return {}, 0.0
    told = json.loads(path.read_text())
    if told["seed"] != seed:
        sys.exit(f"{path} has a run of seed {told['seed']}, not {seed}; choose another --json")
    return {name: Tally.of(one) for name, one in told["guarantees"].items()}, float(told["minutes"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0, help="Default: 120.")
    parser.add_argument("--seed", type=int, default=1, help="Default: 1.")
    parser.add_argument("--only", default="", help="guarantees, separated by commas. Default: all.")
    parser.add_argument("--cases", type=int, help="maximum number of cases per guarantee")
    parser.add_argument("--from", dest="first", type=int, default=0, help="index of the first case. Default: 0.")
    parser.add_argument("--case", help="SEED:INDEX, repeat one case")
    parser.add_argument("--resume", action="store_true", help="go on with the run whose results are in --json")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes. Default: 2.")
    parser.add_argument("--json", default="out/attack.json", help="Default: out/attack.json.")
    parser.add_argument("--keep", default="out/attack", help="folder for failing input. Default: out/attack.")
    args = parser.parse_args()
    chosen = [name.strip() for name in args.only.split(",") if name.strip()] or list(GUARANTEES)
    unknown = set(chosen) - set(GUARANTEES)
    if unknown:
        parser.error(f"unknown guarantees {', '.join(sorted(unknown))}; expected some of {', '.join(GUARANTEES)}")
    if args.case:
        return again(chosen, args.case, pathlib.Path(args.keep))
    attack = Attack(chosen, args)
    try:
        attack.run()
    except KeyboardInterrupt:
        print("interrupted; results so far:")
    finally:
        attack.close()
    return attack.report()


def again(chosen: list[str], case: str, folder: pathlib.Path) -> int:
    """Repeat one case in this process, for a debugger; its input is saved with as few faces as still fail."""
    seed, index = (int(part) for part in case.split(":"))
    failed = False
    for guarantee in chosen:
        found = run_case(guarantee, seed, index)
        print(f"{guarantee} {case}: {found['checks']} checks, {found['seconds']:.2f} s, {found['notes']}")
        for text in found["failures"]:
            print(f"  FAILED {text}")
        found["kept"] = [minimised(guarantee, arrays) for arrays in found["kept"]]
        keep(folder, guarantee, seed, index, found)
        failed |= bool(found["failures"])
    return int(failed)


class Attack:
    def __init__(self, chosen, args) -> None:
        self.args, self.folder = args, pathlib.Path(args.keep)
        self.tallies, self.before = {name: Tally(next=args.first) for name in chosen}, 0.0
        self.late: list[tuple[str, int]] = []  # cases to be repeated: timed out, or interrupted
        if args.resume:
            stored, self.before = stored_tallies(pathlib.Path(args.json), args.seed)
            self.tallies |= {name: one for name, one in stored.items() if name in chosen}
            self.late = [(name, index) for name, one in self.tallies.items() for index in one.open]
        self.spent = dict.fromkeys(chosen, 0.0)
        self.warm: set[str] = set()
        self.busy: set[str] = set()  # guarantees whose first case is running
        self.began = self.told = time.monotonic()
        self.workers = [Worker() for _ in range(max(1, args.jobs))]
        self.free = list(self.workers)

    def run(self) -> None:
        end = self.began + 60.0 * self.args.minutes
        while True:
            while self.free and (time.monotonic() < end or self.late):
                case = self._choose()
                if case is None:
                    break
                worker = self.free.pop()
                worker.again = case[2]
                worker.ask(case[0], self.args.seed, case[1], self._limit(case))
            busy = [worker for worker in self.workers if worker not in self.free]
            if not busy and (time.monotonic() >= end or self._choose(peek=True) is None):
                return
            for worker in busy:
                found = worker.answer()
                if found is not None:
                    self.free.append(worker)
                    self._count(worker, found)
            if len(self.free) < len(self.workers):
                busy = [worker.pipe for worker in self.workers if worker not in self.free]
                multiprocessing.connection.wait(busy, timeout=0.1)
            if time.monotonic() - self.told > 30.0:
                self._tell()

    def _choose(self, peek: bool = False):
        """The guarantee that is furthest behind its share, and its next case: (guarantee, index, whether repeated)."""
        if self.late:
            return (*self.late[-1], True) if peek else (*self.late.pop(), True)
        most = None if self.args.cases is None else self.args.first + self.args.cases
        open_ = [p for p in self.tallies if (most is None or self.tallies[p].next < most) and p not in self.busy]
        if not open_:
            return None
        guarantee = min(open_, key=lambda p: self.spent[p] / GUARANTEES[p][0])
        if peek:
            return guarantee, self.tallies[guarantee].next, False
        index = self.tallies[guarantee].next
        self.tallies[guarantee].next += 1
        self.tallies[guarantee].open.append(index)
        if guarantee not in self.warm:
            self.busy.add(guarantee)
        return guarantee, index, False

    def _limit(self, case) -> float:
        guarantee, _, second = case
        if guarantee not in self.warm:
            return FIRST
        return GUARANTEES[guarantee][1] * (PATIENCE if second else 1.0)

    def _count(self, worker, found) -> None:
        guarantee, seed, index = worker.case
        # the first case of a guarantee compiles and is not counted towards its share
        self.spent[guarantee] += found["seconds"] if guarantee in self.warm else 0.0
        self.warm.add(guarantee)
        self.busy.discard(guarantee)
        if found["timed_out"] and not worker.again:
            self.late.append((guarantee, index))
            return
        tally = self.tallies[guarantee]
        tally.open.remove(index)
        tally.cases += 1
        tally.checks += found["checks"]
        tally.seconds += found["seconds"]
        tally.notes.update(found["notes"])
        tally.remarks += found["remarks"][: max(0, MOST_REMARKS - len(tally.remarks))]
        for what, value in found["measures"].items():
            tally.values.setdefault(what, []).append(round(value, 4))
            tally.largest[what] = max(tally.largest.get(what, [0.0, ""]), [value, f"{seed}:{index}"])
        if found["seconds"] > tally.slowest and tally.cases > 1:
            tally.slowest, tally.slowest_case = found["seconds"], f"{seed}:{index}"
        if found["failures"]:
            tally.failed_cases += 1
            tally.failures += len(found["failures"])
            tally.lines.append({"line": found["line"], "failures": found["failures"][:8]})
            if tally.failed_cases <= SHOWN:
                print(f"FAILED {found['failures'][0]}\n       {found['line']}", flush=True)
            keep(self.folder, guarantee, seed, index, found)

    @property
    def minutes(self) -> float:
        """Of this run and of those that it goes on from."""
        return self.before + (time.monotonic() - self.began) / 60.0

    def _tell(self) -> None:
        self.told = time.monotonic()
        parts = [
            f"{name} {t.cases}" + (f" ({t.failed_cases} failed)" if t.failures else "")
            for name, t in self.tallies.items()
        ]
        print(f"{self.minutes:6.1f} min: {', '.join(parts)}", flush=True)
        self._write()

    def _write(self) -> None:
        path = pathlib.Path(self.args.json)
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {name: vars(tally) for name, tally in self.tallies.items()}
        path.write_text(json.dumps({"seed": self.args.seed, "minutes": self.minutes, "guarantees": told}, indent=1))

    def report(self) -> int:
        self._write()
        print(f"\nseed {self.args.seed}, {self.minutes:.1f} minutes")
        print(f"{'guarantee':14} {'cases':>9} {'checks':>12} {'failed cases':>12} {'slowest, s':>10}  case")
        for name, t in self.tallies.items():
            print(f"{name:14} {t.cases:9} {t.checks:12} {t.failed_cases:12} {t.slowest:10.2f}  {t.slowest_case}")
        for name, t in self.tallies.items():
            for what, (value, case) in sorted(t.largest.items()):
                most = np.percentile(t.values.get(what, [value]), 99.0)
                print(f"{name}: largest {what}: {value:.3g}, case {case}; 99 %: {most:.3g}")
            for group, counts in grouped(t.notes).items():
                print(f"{name}{group and f', {group}'}: " + ", ".join(f"{what} {count}" for what, count in counts))
        for name, t in self.tallies.items():
            failed = [f"{one['line'].split()[-1]}: {one['failures'][0][:200]}" for one in t.lines]
            print("\n".join([f"{name}, failed cases: {len(failed)}, not ended: {len(t.open)}", *failed[:SHOWN]]))
        return int(any(t.failures for t in self.tallies.values()))

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


def grouped(notes: collections.Counter) -> dict[str, list[tuple[str, int]]]:
    """Notes such as "clip: fast" by what stands before the colon, those without one first; the most frequent first."""
    groups: dict[str, list[tuple[str, int]]] = {"": []}
    for what, count in notes.most_common():
        group, _, rest = what.rpartition(": ")
        groups.setdefault(group, []).append((rest, count))
    return {group: counts for group, counts in groups.items() if counts}


def keep(folder: pathlib.Path, guarantee: str, seed: int, index: int, found: dict) -> None:
    """Save the input of failures, up to 200 files per guarantee."""
    for k, arrays in enumerate(found["kept"]):
        if arrays:
            folder.mkdir(parents=True, exist_ok=True)
            if len(list(folder.glob(f"{guarantee}-*.npz"))) < 200:
                np.savez(folder / f"{guarantee}-{seed}-{index}-{k}.npz", **arrays)


if __name__ == "__main__":
    sys.exit(main())

"""What each method costs as things grow: the curves on its page, and the table they are drawn from.

`python tools/costs.py [NAME ...]` measures (all of them: about five minutes) and writes cost-NAME.csv and .svg to
benchmarks/results/MACHINE; `--draw` draws the curves again from the tables. Milliseconds are processor time of one
thread, the best of several.
"""

import argparse
import csv
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pliant.bench import machine
from pliant.bench.timing import threads
from pliant.report.charts import curves_svg

ENOUGH, MOST = 0.6, 12  # seconds that are spent on one figure, and how many times at most


class Prepared(NamedTuple):
    """What is timed is `act`, on what `ready` gives: a fresh copy, say."""

    ready: Callable[[], Any]
    act: Callable[[Any], object]


Run = Callable[[], object] | Prepared


class Case(NamedTuple):
    """`runs(size)` for each of `sizes`: what to time, by the name of its curve; and how large that is on the axis."""

    axis: str
    label: str
    sizes: Iterable[float]
    runs: Callable[[float], tuple[float, Mapping[str, Run]]]
    unit: str = "milliseconds"
    scale: Callable[[float, float], float] = lambda seconds, size: 1e3 * seconds


class Row(NamedTuple):
    curve: str
    size: float
    value: float


def best(run: Run) -> float:
    """Seconds of processor time; once before, which may compile and touch fresh memory."""
    ready, act = run if isinstance(run, Prepared) else (lambda: None, lambda _: run())
    act(ready())
    spent: list[float] = []
    while len(spent) < 3 or (len(spent) < MOST and sum(spent) < ENOUGH):
        given, began = ready(), time.process_time()
        act(given)
        spent.append(time.process_time() - began)
        if spent[0] > 2.0:
            break
    return min(spent)


def measured(case: Case) -> Iterator[Row]:
    slow: set[str] = set()
    for wanted in case.sizes:
        size, runs = case.runs(wanted)
        for name, run in runs.items():
            if name not in slow:
                seconds = best(run)
                yield Row(name, size, case.scale(seconds, size))
                # four times as much of it would keep everybody waiting
                slow |= {name} if seconds > 2.0 else set()


def drawn(case: Case, rows: list[Row]) -> str:
    curves = {
        name: [(r.size, r.value) for r in rows if r.curve == name] for name in dict.fromkeys(r.curve for r in rows)
    }
    return curves_svg(curves, (case.axis, case.unit), case.label)


def kept(path: pathlib.Path) -> list[Row]:
    with path.open(newline="") as stream:
        return [Row(name, float(size), float(value)) for name, size, value in list(csv.reader(stream))[1:]]


def main() -> None:
    from cost_cases import CASES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *CASES])
    parser.add_argument("--draw", action="store_true")
    told = parser.parse_args()
    folder = pathlib.Path(__file__).resolve().parents[1] / "benchmarks" / "results" / machine.name()
    for name in told.names or CASES:
        case, path = CASES[name], folder / f"cost-{name}.csv"
        if not told.draw:
            with threads(1):
                rows = list(measured(case))
            with path.open("w", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows([("curve", "size", case.unit), *rows])
            print(f"{name}:", *(f"{r.curve} {r.size:g} {r.value:.4g}" for r in rows), sep="\n  ", flush=True)
        path.with_suffix(".svg").write_text(drawn(case, kept(path)) + "\n")


if __name__ == "__main__":
    import costs  # by the name that the cases import it by: else there would be two of each class

    costs.main()

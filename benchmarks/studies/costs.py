"""The cost of each method as its input grows: the curves on its page, and the tables they are drawn from.

`python benchmarks/studies/costs.py [NAME ...]` measures (default: all, in about five minutes) and writes cost-NAME.csv
and .svg to benchmarks/results/MACHINE; `--draw` redraws the curves from the tables. Times are CPU time of one thread,
the best of several runs.
"""

import argparse
import csv
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pliant.report.charts import curves_svg
from pliant_bench import machine
from pliant_bench.timing import threads

ENOUGH, MOST = 0.6, 12  # seconds per measurement, and maximum number of runs


class Prepared(NamedTuple):
    """Times `act` on the result of `ready`, such as a fresh copy."""

    ready: Callable[[], Any]
    act: Callable[[Any], object]


Run = Callable[[], object] | Prepared


class Case(NamedTuple):
    """`runs(size)` for each of `sizes`: the size on the axis, and the calls to time by the names of their curves."""

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
    """Seconds of CPU time, after one untimed run that may compile and touch fresh memory."""
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
                # the next size would take four times as long
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
    folder = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "results" / machine.name()
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
    import costs  # imported by name like in the cases, so that each class exists once

    costs.main()

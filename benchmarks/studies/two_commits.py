"""`pliant bench peers` of two commits in turn, and the ratio of their times.

    git clone -q . ../before && git -C ../before checkout -q COMMIT && make -C ../before setup
    python benchmarks/studies/two_commits.py ../before/.venv/bin/python .venv/bin/python
    python benchmarks/studies/two_commits.py BEFORE AFTER --tasks T3 T6b --rounds 4 --full --wall

BEFORE and AFTER are the Pythons of two environments, each with its own benchmarks. The tasks alternate between them,
small sizes unless --full, and the least time of all rounds counts: CPU time on one thread, which other work on the
machine hardly changes, or with --wall wall-clock time on one thread and on all. Prints a line per task, case and number
of threads with the times and their ratio; above --slower a case counts as slower, and the exit code is 1. A case that
only one commit measures is named, without a ratio.
"""

import argparse
import json
import os
import subprocess
import sys
from typing import Any

TASKS = ("T1", "T2", "T3", "T4", "T5", "T6", "T6b", "T7", "T8", "T9", "T9b")
UNITS = ("ms", "us", "ns", "seconds", "s")
OWN = "pliant"
ONE_THREAD = "import os, time; time.perf_counter = time.process_time; os.cpu_count = lambda: 1; "
RUN = "from pliant.cli import main; main()"
Key = tuple[str, str, str, int, str]  # task, case, participant, threads, unit


def measure(python: str, task: str, full: bool, wall: bool) -> dict[Key, float]:
    """The times of pliant in one run of a task."""
    words = ["bench", "peers", task, "--json", *([] if full else ["--quick"])]
    threads = {} if wall else {"NUMBA_NUM_THREADS": "1"}
    command = [python, "-c", ("" if wall else ONE_THREAD) + RUN, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | threads)
    if done.returncode:
        why = " ".join(done.stderr.strip().splitlines()[-1:])
        print(f"{python} {' '.join(words)} failed: {why}", file=sys.stderr, flush=True)
        return {}
    found: dict[Key, float] = {}
    for rows in json.loads(done.stdout)["tables"].values():
        for row in rows:
            if str(row.get("who", "")).startswith(OWN) and (unit := _unit(row)):
                threads = int(row.get("threads") or 0)
                about = " ".join(str(row[name]) for name in ("case", "mesh", "points", "grid", "where") if name in row)
                key = (task, about, row["who"], threads, unit)
                found[key] = min(found.get(key, float("inf")), float(row[unit]))
    return found


def _unit(row: dict[str, Any]) -> str:
    return next((unit for unit in UNITS if row.get(unit)), "")


def main(options: argparse.Namespace) -> int:
    slower: list[str] = []
    for task in options.tasks:
        best: list[dict[Key, float]] = [{}, {}]
        for _ in range(options.rounds):
            for kept, python in zip(best, (options.before, options.after), strict=True):
                for key, took in measure(python, task, options.full, options.wall).items():
                    kept[key] = min(kept.get(key, float("inf")), took)
        for key in sorted(best[0].keys() ^ best[1].keys()):
            print(f"{task} {key[1]}, {key[2]}: only {'before' if key in best[0] else 'after'}", flush=True)
        for key in (key for key in best[0] if key in best[1]):
            before, after = (kept[key] for kept in best)
            _, case, who, threads, unit = key
            ratio = after / before
            mark = "  slower" if ratio > options.slower else ""
            name = f"{task} {case}, {who}, threads: {threads}" if threads else f"{task} {case}, {who}"
            print(f"{name:70s} {before:10.4g} {after:10.4g} {unit:7s} {ratio:6.2f}{mark}", flush=True)
            slower += [name] * bool(mark)
    print(f"{len(slower)} slower by more than {100 * (options.slower - 1):.0f} %")
    return int(bool(slower))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the Python of the earlier commit.")
    parser.add_argument("after", help="the Python of the later commit.")
    parser.add_argument("--tasks", nargs="+", default=TASKS, help=f"Default: {' '.join(TASKS)}.")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each. Default: 2.")
    parser.add_argument("--full", action="store_true", help="the sizes of the published figures. Default: small ones.")
    parser.add_argument("--wall", action="store_true", help="wall-clock time, on an idle machine. Default: CPU time.")
    parser.add_argument("--slower", type=float, default=1.1, help="ratio that counts as slower. Default: 1.1.")
    sys.exit(main(parser.parse_args()))

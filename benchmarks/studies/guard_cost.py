"""Cost of the guard on a quiet machine: the tables of docs/self-contact.md and docs/gauntlet.md.

`python benchmarks/studies/guard_cost.py [ROUNDS] [CASE ...]` prints a line per case whose name contains one of CASE, by
default all: ms per frame of 0.01 s without self-contact and safe, in turn, and the share of the guard, by wall clock
and by CPU time. Of each frame the least of ROUNDS runs counts, by default 3; the median over frames 21 to 40 of the
tablecloth and 31 to 70 of worn garments, for which the time per 1/30 s of animation is added. NUMBA_NUM_THREADS chooses
the threads.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import pliant
from pliant.scenes import SCENES
from pliant_bench.garments.wearing import Run, scene, simulation, tailored

SIDES = (36, 100, 200)
WORN = (("mannequin", "skirt", 1000), ("mannequin", "T-shirt", 1000), ("human", "skirt", 1000))
LARGE = ("mannequin", "skirt", 10_000)


def tablecloth(side: int, mode: str) -> pliant.Simulation:
    return pliant.Simulation(SCENES["tablecloth-on-bust"](resolution=side, self_contact=mode), 0.01)


def worn(who: str, garment: str, particles: int, mode: str) -> pliant.Simulation:
    run = Run(who, garment, particles, self_contact=mode)
    return simulation(run, scene(run, tailored(run)))


def measure(make: Callable[[str], pliant.Simulation], first: int, last: int, rounds: int) -> dict[str, np.ndarray]:
    """Wall-clock and CPU ms per frame (2,), by mode."""
    best: dict[str, np.ndarray] = {}
    for _ in range(rounds):
        for mode in ("off", "safe"):
            sim, spent = make(mode), []
            for _ in range(last):
                wall, cpu = time.perf_counter(), time.process_time()
                sim.step()
                spent.append((time.perf_counter() - wall, time.process_time() - cpu))
            best[mode] = np.minimum(best.get(mode, np.inf), np.array(spent[first - 1 :]))
    return {mode: 1e3 * np.median(spent, axis=0) for mode, spent in best.items()}


def main() -> None:
    words = sys.argv[1:]
    rounds = int(words.pop(0)) if words and words[0].isdigit() else 3
    cases = {f"tablecloth, {side * side}": (lambda mode, n=side: tablecloth(n, mode), 21, 40) for side in SIDES}
    for run in (*WORN, LARGE):
        cases[", ".join(map(str, run))] = (lambda mode, run=run: worn(*run, mode), 31, 70)
    print(f"{'case':28s} {'off':>8s} {'safe':>8s}  share: wall, CPU   safe per 1/30 s")
    for name, (make, first, last) in cases.items():
        if words and not any(word in name for word in words):
            continue
        spent = measure(make, first, last, rounds)
        share = 100.0 * (1.0 - spent["off"] / spent["safe"])
        off, safe = spent["off"][0], spent["safe"][0]
        print(f"{name:28s} {off:8.2f} {safe:8.2f} {share[0]:8.0f}, {share[1]:3.0f} % {safe / 0.3:12.1f}", flush=True)


if __name__ == "__main__":
    main()

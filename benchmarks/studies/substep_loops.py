"""Time of every loop of a substep, on one thread and on two: the table of docs/simulation.md.

`python benchmarks/studies/substep_loops.py SIDE THREADS` drops 75 cm of cloth of SIDE x SIDE particles on the bust and
prints, for frames 31 to 50, the loops that kernels run: calls per substep and microseconds per call (the lower quartile
of all calls, because other processes lengthen some).
"""

import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.kernels import jit
from pliant.scenes import SCENES

SETTLED, FRAMES, SUBSTEPS = 30, 20, 4
LEAST = 5.0  # microseconds per substep: shorter loops are not printed


def timed(kernel: Callable[..., Any], name: str, calls: dict[str, list[float]]) -> Callable[..., Any]:
    """Wrap a kernel, and its serial form if it has one, so that the time of each call is stored in `calls`."""

    def run(*args: Any) -> Any:
        start = time.perf_counter()
        result = kernel(*args)
        calls.setdefault(name, []).append(time.perf_counter() - start)
        return result

    if hasattr(kernel, "serial"):
        run.serial = timed(kernel.serial, name, calls)  # type: ignore[attr-defined]
    return run


def is_kernel(found: Any) -> bool:
    return hasattr(found, "compiled") or hasattr(found, "py_func")


def wrap_kernels(calls: dict[str, list[float]]) -> None:
    """Wrap all kernels that Python code calls, in the modules loaded so far."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("pliant.") or name.startswith("pliant.kernels"):
            continue
        for alias, found in list(vars(module).items()):
            if isinstance(found, types.ModuleType) and found.__name__.startswith("pliant.kernels."):
                short = found.__name__.removeprefix("pliant.kernels.")
                own = {k: timed(f, f"{short}.{k}", calls) if is_kernel(f) else f for k, f in vars(found).items()}
                setattr(module, alias, types.SimpleNamespace(**own))
            elif is_kernel(found):
                short = found.__module__.removeprefix("pliant.kernels.")
                setattr(module, alias, timed(found, f"{short}.{alias}", calls))


def main() -> None:
    side, threads = int(sys.argv[1]), int(sys.argv[2])
    jit.set_threads(threads)
    pliant.Simulation(SCENES["tablecloth-on-bust"](resolution=8), substeps=SUBSTEPS).step()  # loads all modules
    calls: dict[str, list[float]] = {}
    wrap_kernels(calls)
    sim = pliant.Simulation(SCENES["tablecloth-on-bust"](resolution=side), 0.01, substeps=SUBSTEPS)
    for _ in range(SETTLED):
        sim.step()
    calls.clear()
    spent = [sim.step().seconds for _ in range(FRAMES)]
    print(f"{side * side} particles, {threads} threads: {1e3 * float(np.median(spent)):.2f} ms per frame")
    for name, seconds in sorted(calls.items(), key=lambda item: -sum(item[1])):
        each, often = 1e6 * float(np.percentile(seconds, 25)), len(seconds) / (FRAMES * SUBSTEPS)
        if each * often >= LEAST:
            print(f"{name:60s} {often:6.2f} calls per substep {each:9.1f} us")


if __name__ == "__main__":
    main()
